"""Cross-validation by a peer, in its own environment: peer_cv.py FOLDER PACKAGE TOL prints seconds and choice."""

# mypy: disable-error-code="import-not-found,import-untyped"

import importlib
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

_SHORT = 60.0  # seconds: longer runs are made once


def main(folder: Path, package: str, tol: float) -> None:
    dense = folder / "X.npy"
    X = np.load(dense) if dense.exists() else sp.load_npz(folder / "X.npz")
    y, alphas = np.load(folder / "y.npy"), np.load(folder / "alphas.npy")
    model = importlib.import_module({"sklearn": "sklearn.linear_model"}.get(package, package)).LassoCV
    most = {"sklearn": 10**6}.get(package, 100)  # sweeps; of celer, working sets
    warnings.simplefilter("ignore")
    seconds: list[float] = []
    while len(seconds) < 2 and sum(seconds) < _SHORT:
        started = time.perf_counter()
        fitted = model(cv=5, alphas=alphas, tol=tol, n_jobs=2, max_iter=most).fit(X, y)
        seconds.append(time.perf_counter() - started)
    print(min(seconds), fitted.alpha_)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
