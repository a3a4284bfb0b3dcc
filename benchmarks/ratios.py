"""Choosing among five l1_ratios by five folds, against scikit-learn's ElasticNetCV, on one thread each."""

import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.linear_model import ElasticNetCV as Reference

from fwlasso import ElasticNetCV

from .measure import Results
from .peers.accuracy import penalty_gaps
from .problems import Problem, few_matter

PROBLEMS = {"20000x200": few_matter(20_000, 200, 30, eps=1e-3), "200x4000": few_matter(200, 4_000, 30, eps=1e-3)}
_RATIOS = (0.1, 0.5, 0.7, 0.9, 1.0)
_GAPS = (1e-4, 1e-6)  # ours; scikit-learn's is its default
_TURNS, _TIMES = 2, 10.0


def run(results: Results, prefix: str = "") -> None:
    """Run the problems whose names begin with `prefix`."""
    results.section("Choosing among 5 l1_ratios: 5 folds of 100 points, processor time")
    for name, source in PROBLEMS.items():
        if name.startswith(prefix):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _compare(results, name, source.problem(None))


def _compare(results: Results, name: str, problem: Problem) -> None:
    X, y, ratio = problem.X, problem.y, _RATIOS[1]
    theirs = Reference(l1_ratio=_RATIOS, cv=5, max_iter=100_000)
    its = min(_seconds(lambda: theirs.fit(X, y)) for _ in range(_TURNS))
    alphas = theirs.alphas_[1]
    coefs = Reference.path(X - X.mean(axis=0), y - y.mean(), l1_ratio=ratio, alphas=alphas, tol=theirs.tol)[1]
    gap = float(penalty_gaps(X, y, coefs, alphas, False, None, ratio).max())
    results.add(f"{name}: scikit-learn", its, "s")
    results.add(f"{name}: its largest gap at l1_ratio {ratio:g}", gap)
    for tol in _GAPS:
        ours = ElasticNetCV(l1_ratio=_RATIOS, cv=5, tol=tol, n_threads=1)
        mine = min(_seconds(partial(ours.fit, X, y)) for _ in range(1 + _TURNS))  # the first compiles
        worst = max(path.gaps.max() for path in (ours.path_, *ours.fold_paths_))
        line = f"{name}, gap {tol:.0e}"
        results.add(f"{line}: ours", mine, "s")
        results.add(f"{line}: largest gap of all folds", worst, "", f"<= {tol:g}", bool(worst <= tol))
        same = ours.l1_ratio_ == theirs.l1_ratio_ and bool(np.isclose(ours.alpha_, theirs.alpha_, rtol=1e-9))
        results.add(f"{line}: the choice of scikit-learn", float(same))
        results.add(f"{line}: against scikit-learn", its / mine, "times", f">= {_TIMES:g}", its >= _TIMES * mine)


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started
