"""What the runs of a method on a data set come to: means over the seeds."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from fwlasso._core.columns import Vector

from .methods import METHODS, Method
from .study import Record


class Mean(NamedTuple):
    """A mean over runs, and their standard deviation: 0 for a single one."""

    value: float
    deviation: float
    n_runs: int = 1

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval of the mean, by Student's t; zero for a single run."""
        if self.n_runs < 2:
            return 0.0
        return float(stats.t.ppf(0.975, self.n_runs - 1) * self.deviation / np.sqrt(self.n_runs))


class Summary(NamedTuple):
    """A method on a data set. Curves are means over the runs, point by point; what a peer does not tell is None."""

    method: Method
    runs: Sequence[Record]
    seconds: Mean
    solve_seconds: Mean | None
    iterations: Mean | None
    dot_products: Mean | None
    n_active: Mean  # of the mean over the points
    largest_gap: float
    median_gap: float
    stalled: float  # points that ended because a sample showed no descent
    unfinished: float  # points that ended by a limit
    l1: Vector
    active: Vector
    train_mse: Vector
    test_mse: Vector | None

    @property
    def n_runs(self) -> int:
        """The number of runs."""
        return len(self.runs)

    def mean_of(self, look: Callable[[Record], float]) -> Mean:
        """Return the mean over the runs of what is computed from the record of each."""
        return mean_of([float(look(run)) for run in self.runs])

    @property
    def best(self) -> int:
        """The point with the smallest test error; the last one where there is no test set."""
        return len(self.l1) - 1 if self.test_mse is None else int(np.argmin(self.test_mse))


def summarize(records: Mapping[str, Record], prefix: str) -> dict[str, Summary]:
    """Return a summary of every method that has records with keys ``prefix/method/seed``, in the order of `METHODS`."""
    runs: dict[str, list[Record]] = {}
    for key, record in records.items():
        head, _, rest = key.partition(f"{prefix}/")
        method, _, _seed = rest.partition("/")
        if not head and method in METHODS and "missing" not in record:
            runs.setdefault(method, []).append(record)
    return {key: _summary(method, runs[key]) for key, method in METHODS.items() if key in runs}


def _summary(method: Method, runs: Sequence[Record]) -> Summary:
    gaps = np.array([run["gaps"] for run in runs], dtype=float)
    return Summary(
        method,
        runs,
        seconds=mean_of([seconds for run in runs for seconds in run.get("times", [run["seconds"]])]),
        solve_seconds=_mean(runs, "solve_seconds"),
        iterations=_mean(runs, "iterations"),
        dot_products=_mean(runs, "dot_products"),
        n_active=mean_of([float(np.mean(run["n_active"])) for run in runs]),
        largest_gap=float(np.nanmax(gaps)),
        median_gap=float(np.nanmedian(gaps)),
        stalled=float(np.mean([len(run.get("stalled", [])) for run in runs])),
        unfinished=float(np.mean([run.get("unfinished", 0) for run in runs])),
        l1=_curve(runs, "l1"),
        active=_curve(runs, "n_active"),
        train_mse=_curve(runs, "train_mse"),
        test_mse=_curve(runs, "test_mse") if "test_mse" in runs[0] else None,
    )


def _mean(runs: Sequence[Record], name: str) -> Mean | None:
    return mean_of([run[name] for run in runs]) if name in runs[0] else None


def mean_of(values: Sequence[float]) -> Mean:
    """Return the mean and the standard deviation of some runs."""
    return Mean(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0, len(values))


def _curve(runs: Sequence[Record], name: str) -> Vector:
    return np.asarray(np.mean(np.array([run[name] for run in runs], dtype=float), axis=0))


class Result(NamedTuple):
    """All methods on a data set."""

    name: str
    title: str  # says so where it is a stand-in
    is_standin: bool
    variance: float  # of y: the mean square error of the empty model
    found: dict[str, Summary]
    missing: dict[str, str]  # methods that could not be run here, and why
