"""Choosing a model by five folds, against LassoCV of scikit-learn and of celer at the same gap on the same cores."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fwlasso import lasso_cv

from .equal import Arena
from .measure import Results, best_seconds
from .peers.session import PYTHON, why_missing
from .problems import SOURCES, Problem, Vector

PROBLEMS = ("synthetic-50000-158", "news20")
_GAPS = (1e-4, 1e-6)
_LIMIT = 3600.0  # seconds for the cross-validation of a peer

_PEAK = """
import sys
import numpy as np, scipy.sparse as sp
from pathlib import Path
from fwlasso import lasso_cv
def status(key):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(key))
folder = Path(sys.argv[1])
X = np.load(folder / "X.npy") if (folder / "X.npy").exists() else sp.load_npz(folder / "X.npz")
y, alphas = np.load(folder / "y.npy"), np.load(folder / "alphas.npy")
lasso_cv(X[:, :200], y, alphas=5)  # compiles
size = sum(a.nbytes for a in (X.data, X.indices, X.indptr)) if sp.issparse(X) else X.nbytes
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
lasso_cv(X, y, alphas=alphas)
print((status("VmHWM") - before) * 1024 / size)
"""


class Answer(NamedTuple):
    """Of a cross-validation by a peer."""

    seconds: float
    alpha: float  # the choice


def run(results: Results, data: Path | None, prefix: str, names: list[str]) -> None:
    results.section("Choosing a model: 5 folds of 100 points")
    for name in PROBLEMS:
        if not name.startswith(prefix):
            continue
        if SOURCES[name].is_real and data is None:
            print(f"{name}: left out, no data folder (set FWLASSO_DATA or give --data)")
            continue
        loaded = SOURCES[name].problem(data)
        with TemporaryDirectory(prefix="fwlasso-bench-") as folder:
            _compare(results, name, loaded._replace(standardize=False), Path(folder), names)


def _compare(results: Results, name: str, problem: Problem, folder: Path, names: list[str]) -> None:
    X, y = problem.X, problem.y
    first = lasso_cv(X, y, eps=problem.eps)
    write(folder, X, y, first.path.alphas)
    for gap in _GAPS:
        found = lasso_cv(X, y, eps=problem.eps, tol=gap)
        worst = max(path.gaps.max() for path in (found.path, *found.fold_paths))
        ours = best_seconds(5, ours=lambda gap=gap: lasso_cv(X, y, eps=problem.eps, tol=gap))["ours"]  # type: ignore[misc]
        results.add(f"{name}, gap {gap:g}: ours", ours, "s")
        results.add(f"{name}, gap {gap:g}: largest gap of all folds", worst, "", f"<= {gap:g}", bool(worst <= gap))
        answers = {peer: ask(folder, peer, problem, gap) for peer in names if why_missing(peer) is None}
        for peer, answer in answers.items():
            if answer is not None:
                results.add(f"{name}, gap {gap:g}: {peer}", answer.seconds, "s")
                same = abs(answer.alpha / found.path.alphas[found.choice.point] - 1.0) < 1e-9
                results.add(f"{name}, gap {gap:g}: the choice of {peer}", float(same), "", "1", bool(same))
        times = [answer.seconds for answer in answers.values() if answer is not None]
        if times:
            ratio = min(times) / ours
            results.add(f"{name}, gap {gap:g}: against the faster one", ratio, "times", ">= 10", ratio >= 10.0)
    done = subprocess.run([sys.executable, "-c", _PEAK, folder], check=True, capture_output=True, text=True)
    share = float(done.stdout)
    results.add(f"{name}: peak extra memory", 100 * share, "% of X", "< 25", share < 0.25)


def write(folder: Path, X: Any, y: Vector, alphas: Vector) -> None:
    """Write what the process of a peer reads."""
    if sp.issparse(X):
        sp.save_npz(folder / "X.npz", sp.csc_matrix(X), compressed=False)
    else:
        np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    np.save(folder / "alphas.npy", alphas)


def ask(folder: Path, peer: str, problem: Problem, gap: float) -> Answer | None:
    """Return the time of a peer, at the loosest tolerance with which its path on the first fold reaches the gap."""
    train = np.arange(-(-problem.y.size // 5), problem.y.size)
    X = sp.csc_array(sp.csr_array(problem.X)[train]) if sp.issparse(problem.X) else np.asfortranarray(problem.X[train])
    # scikit-learn's LassoCV makes Gram matrices of tall data.
    as_path = "sklearn_gram" if peer == "sklearn" and not sp.issparse(X) and X.shape[0] > X.shape[1] else peer
    with Arena.of(problem._replace(X=X, y=problem.y[train])) as arena:
        best = arena.compare(as_path, {gap: _LIMIT / 5}).get(gap)
    if best is None or best.missed is not None:
        print(f"    {peer}: the gap was not reached, {best.missed if best else 'no answer'}")
        return None
    try:
        done = subprocess.run(
            [PYTHON, Path(__file__).with_name("peer_cv.py"), folder, peer, str(best.trial.tol)],
            check=True, capture_output=True, text=True, timeout=2 * _LIMIT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        print(f"    {peer}: no answer within {2 * _LIMIT:.0f} s")
        return None
    seconds, alpha = map(float, done.stdout.split())
    return Answer(seconds, alpha)
