"""Choosing a classifier by five folds, against scikit-learn's LogisticRegressionCV by liblinear, on one thread each."""

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold

from fwlasso import LogisticLassoCV

from .measure import Results
from .problems import SOURCES

# The problems, with the number that the response of the second class is above.
PROBLEMS = {"dorothea": 0.0, "news20": 9.5}
_N_FOLDS, _N_CS = 5, 10

T = TypeVar("T")


def run(results: Results, data: Path | None, prefix: str) -> None:
    results.section("Choosing a classifier: 5 folds, processor time")
    for name, edge in PROBLEMS.items():
        if not name.startswith(prefix):
            continue
        if data is None:
            print(f"{name}: left out, no data folder (set FWLASSO_DATA or give --data)")
            continue
        X, y = SOURCES[name].load(data)
        _compare(results, name, X, y > edge)


def _compare(results: Results, name: str, X: Any, labels: np.ndarray[Any, Any]) -> None:
    folds = list(StratifiedKFold(_N_FOLDS).split(labels, labels))
    ours: dict[str, Any] = {"cv": folds, "n_threads": 1}
    for fit_intercept in (True, False):  # compiles
        LogisticLassoCV(**ours, fit_intercept=fit_intercept, alphas=3, eps=0.5, rule="1se").fit(X, labels)
    seconds, found = _timed(lambda: LogisticLassoCV(**ours).fit(X, labels))
    worst = max(path.gaps.max() for path in (found.path_, *found.fold_paths_))
    results.add(f"{name}: ours, 100 alphas to 1e-3", seconds, "s")
    results.add(f"{name}: largest gap of all folds", worst, "", "<= 1e-6", bool(worst <= 1e-6))
    theirs = _liblinear(results, f"{name}: liblinear at its defaults, 10 Cs to 1e4", X, labels, cv=folds)[0]
    results.add(f"{name}: ratio at defaults", theirs / seconds, "times", ">= 8", theirs >= 8.0 * seconds)
    # The same problems: liblinear penalises an intercept, and folds keep C there and alpha here.
    Cs = 1.0 / (labels.size * np.geomspace(found.alphas_[0], found.alphas_[66], _N_CS))
    seconds, found = _timed(lambda: LogisticLassoCV(Cs=Cs, fit_intercept=False, **ours).fit(X, labels))
    same = {"cv": folds, "Cs": Cs * _N_FOLDS / (_N_FOLDS - 1), "fit_intercept": False, "scoring": "neg_log_loss"}
    theirs, other = _liblinear(results, f"{name}: liblinear, ten of our alphas", X, labels, **same)
    results.add(f"{name}: ours, the same alphas", seconds, "s")
    results.add(f"{name}: ratio at the same alphas", theirs / seconds, "times", ">= 8", theirs >= 8.0 * seconds)
    is_same = bool(abs(other.C_[0] * (_N_FOLDS - 1) / _N_FOLDS / found.C_ - 1.0) < 1e-9)
    results.add(f"{name}: the choice of liblinear", float(is_same), "", "1", is_same)


def _liblinear(results: Results, what: str, X: Any, labels: np.ndarray[Any, Any], **given: Any) -> tuple[float, Any]:
    rows = sp.csr_matrix(X)
    model = LogisticRegressionCV(l1_ratios=(1.0,), solver="liblinear", use_legacy_attributes=True, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, fitted = _timed(lambda: model.fit(rows, labels))
    results.add(what, seconds, "s")
    return seconds, fitted


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    started = time.process_time()
    done = work()
    return time.process_time() - started, done
