"""Data that change under a path: columns that turn into what is no number once the first pass has read them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp

from fwlasso import LassoPath, Status
from fwlasso.path import Problems

from .judge import Fault

#: Storages that are read in place.
IN_PLACE = ("dense64", "dense32", "csc64", "csc32")


@contextmanager
def altered_after_first_pass(X: Any, columns: np.ndarray, value: float = np.nan) -> Iterator[None]:
    """Overwrite columns of X in place after the first pass over them; have X as it was at the end."""
    numbers = X.data if sp.issparse(X) else X
    before, first_pass = numbers.copy(), Problems.whole

    def read_and_alter(*args: Any) -> Any:
        problem = first_pass(*args)
        for j in columns.tolist():
            numbers[slice(*X.indptr[j : j + 2]) if sp.issparse(X) else (slice(None), j)] = value
        return problem

    with mock.patch.object(Problems, "whole", read_and_alter):
        try:
            yield
        finally:
            numbers[:] = before


def judge_altered(path: LassoPath) -> tuple[Fault, ...]:
    """Judge a path on columns that are NaN by now, the one that enters first among them; sums need no columns."""
    is_certified = [status is Status.CERTIFIED for status in path.statuses]
    if path.settings["route"] == "gram" or not (is_certified & (path.n_active > 0)).any():
        return ()
    return (Fault("wrong", "certified on columns that are no numbers"),)
