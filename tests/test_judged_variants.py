"""Whatever is asked beside the Lasso, every claim of a path is true: judged in long double, on small problems.

``FWLASSO_FUZZ=32 pytest tests/test_judged_variants.py`` judges so many problems in every storage and all units.
"""

import itertools
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from attack.generators import Data
from attack.options import ASPECTS
from conftest import STORAGES, UNITS, held, random_values
from fwlasso import Status, lasso_cv, lasso_path
from fwlasso.datasets import write_store
from judge import judge

#: What `lasso_path` has so far; another variant is a line here.
VARIANTS = [
    "weights", "counts", "offset", "factors", "excluded", "positive", "box", "mixed_sides", "l1_ratio", "ridge",
    "unpenalized",
]  # fmt: skip
#: Every storage and all units, each pair with kernels of its own: by default some of them, which have all in common.
ALL_PAIRS = list(itertools.product(["dense64", "dense32", "csc64", "bed", "store"], ["raw", "centred", "standardized"]))
FEW_PAIRS = [("dense64", "raw"), ("dense64", "standardized"), ("dense32", "centred")]
FEW_PAIRS += [("csc64", "raw"), ("csc64", "standardized"), ("bed", "standardized"), ("store", "centred")]
PAIRS = ALL_PAIRS if "FWLASSO_FUZZ" in os.environ else FEW_PAIRS
FOLDED_PAIRS = [pair for pair in PAIRS if pair[0] in ("dense64", "csc64", "bed") and pair[1] != "centred"]
SHAPES = [(24, 10), (16, 28), (30, 30), (9, 6)]
# So many problems of a variant, in each storage and unit.
N_PROBLEMS = int(os.environ.get("FWLASSO_FUZZ", "32"))
# Of both halves and of all samples: three paths each.
N_FOLDED, FOLDED = 12, [(40, 10), (30, 28)]


def make(variant: str, storage: str, number: int, shapes: list[tuple[int, int]] = SHAPES) -> Data:
    """Return columns of different scales that a storage holds exactly, and what is asked."""
    rng = np.random.default_rng([number, len(variant), len(storage)])
    m, p = shapes[number % len(shapes)]
    values = held("dense64" if storage == "store" else storage, random_values(rng, m, p, rng.choice([0.3, 1.0])))
    y = values[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(m) + 3.0
    return ASPECTS[variant](rng, Data(values, y))


def as_given(storage: str, values: np.ndarray, folder: Path) -> Any:
    if storage != "store":
        return STORAGES[storage](values)
    return write_store(folder, sp.csc_array(values) if len(values) % 2 else np.asfortranarray(values), values[:, 0]).X


@pytest.mark.parametrize(("stored", "units"), PAIRS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_claim_is_true(variant, stored, units, tmp_path):
    fit_intercept, standardize = UNITS[units]
    n_points = n_certified = 0
    for number in range(N_PROBLEMS):
        data = make(variant, stored, number)
        settings = {"alphas": 4, "eps": (0.1, 1e-3)[number // 8 % 2], "tol": (1e-4, 1e-8)[number // 16 % 2]}
        settings |= {"solver": ("gram", "working-set")[number // 4 % 2], "n_threads": 1}
        settings |= {"fit_intercept": fit_intercept, "standardize": standardize}
        path = quietly(lasso_path, as_given(stored, data.X, tmp_path / str(number)), data, **settings)
        judge(path, data.X, data.y, data.asked)
        n_points += len(path)
        n_certified += path.statuses.count(Status.CERTIFIED)
    assert n_certified >= 0.98 * n_points


@pytest.mark.parametrize(("stored", "units"), FOLDED_PAIRS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_claim_of_folds_is_true(variant, stored, units):
    fit_intercept, standardize = UNITS[units]
    for number in range(N_FOLDED):
        data = make(variant, stored, number, FOLDED)
        half = np.random.default_rng(number).permutation(len(data.y)) % 2 == 0
        splits = [(np.flatnonzero(half), np.flatnonzero(~half)), (np.flatnonzero(~half), np.flatnonzero(half))]
        settings = {"alphas": 3, "eps": 0.05, "tol": 1e-6, "solver": ("gram", "working-set")[number // 2 % 2]}
        settings |= {"fit_intercept": fit_intercept, "standardize": standardize, "n_threads": 1}
        found = quietly(lasso_cv, STORAGES[stored](data.X), data, cv=splits, **settings)
        judge(found.path, data.X, data.y, data.asked)
        for path, (rows, _) in zip(found.fold_paths, splits, strict=True):
            judge(path, data.X[rows], data.y[rows], data.asked.on(rows))


def quietly(solve: Callable[..., Any], X: Any, data: Data, **settings: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        return solve(X, data.y, **settings, **data.asked.keywords())
