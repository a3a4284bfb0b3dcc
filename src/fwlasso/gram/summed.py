"""A table that is known by the sums over its rows alone."""

import hashlib
from typing import Any, NamedTuple, NoReturn

from ..data.table import described
from ..data.terms import PLAIN, Terms
from .centring import moments
from .problem import GramProblem, OnData, as_problem, free_in_sums
from .row_sums import RowSums


class SummedTable(NamedTuple):
    """A table that was read row by row and summed up, by `sum_table`: paths are computed on its inner products.

    Attributes
    ----------
    sums : inner products of the columns
    feature_names, target, first_index
        As in a `Table`.
    y_values : the distinct numbers of the response, if they are no more than two
    has_offset : whether a known part was taken off the response
    on_data : what makes a pass over the rows for points that inner products cannot prove, if the rows are there

    Examples
    --------
    >>> from fwlasso import SummedTable
    >>> SummedTable._fields[1:4]
    ('feature_names', 'target', 'first_index')
    """

    sums: RowSums
    feature_names: tuple[str, ...] | None
    target: str | None
    first_index: int | None
    y_values: tuple[float, ...]
    has_offset: bool = False
    on_data: OnData | None = None

    def __repr__(self) -> str:
        return f"<SummedTable: X of shape {self.shape}{described(self.feature_names, self.target)}>"

    @property
    def means(self) -> None:
        """The means that stand for missing values: none do."""

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples and of features."""
        return self.sums.n_rows, len(self.sums.norms2) - 2

    @property
    def origin(self) -> dict[str, Any]:
        """What is known of the response and the columns."""
        known = {"target": self.target, "first_index": self.first_index}
        known |= {"is_weighted": self.sums.is_weighted or None, "has_offset": self.has_offset or None}
        return {name: value for name, value in known.items() if value is not None}

    def fingerprint(self) -> dict[str, str]:
        """Return checksums that tell whether the rows are the same as before."""
        m, p = self.shape
        numbers = hashlib.sha256(self.sums.products.tobytes()).hexdigest()
        names = hashlib.sha256(repr(self.feature_names).encode()).hexdigest()
        return {
            "shape": f"{m} x {p}",
            "X": f"sums:{numbers}",
            "feature names": names,
            **{k: str(v) for k, v in self.origin.items()},
        }

    def problem(self, fit_intercept: bool, standardize: bool, terms: Terms = PLAIN) -> GramProblem:
        """Return the least-squares problem."""
        if not fit_intercept and self.sums.coordinates.shifts.any():
            raise ValueError("fit_intercept: the table was summed for an intercept; use sum_table(fit_intercept=False)")
        found, centre = moments(self.sums, fit_intercept, standardize, terms=terms)
        cost = free_in_sums(found, terms.cost(centre.transform, self.sums.total_weight))
        found = found._replace(cost=cost)
        problem = as_problem(found, centre, self.sums.n_rows, self.sums.total_weight, terms.l1_ratio)
        return problem._replace(on_data=self.on_data)

    def as_design(self) -> NoReturn:
        """Refuse what needs rows."""
        raise ValueError("X was summed as it was read, and its rows were not kept: use lasso_path, or read_table")
