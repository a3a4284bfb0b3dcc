"""Serve a peer: ``python serve.py ADAPTER FOLDER``, in the environment of the peers.

It is started by its path, as that environment has no fwlasso: this folder becomes a package of its own. Says "ready",
then answers every line with a tolerance and a number of calls by "took SECONDS", of the shortest of the calls, the
coefficients being in the folder. Only the peer's own path call is timed. It ends with its input.
"""

import math
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

_PACKAGE = "peers"


def main(adapter_name: str, folder: Path) -> None:
    """Serve until the input ends."""
    warnings.simplefilter("ignore")  # of what did not converge: the gap is computed by whoever asks
    sys.modules[_PACKAGE] = ModuleType(_PACKAGE)
    sys.modules[_PACKAGE].__path__ = [str(Path(__file__).parent)]
    handover: Any = import_module(f"{_PACKAGE}.handover")
    adapter: Any = import_module(f"{_PACKAGE}.{adapter_name}")
    given = handover.read(folder)
    tiny = handover.Given(*_tiny(given.offset is not None), given.l1_ratio)
    adapter.coefs(adapter.solver(tiny)(1e-3))
    solve = adapter.solver(given)
    print("ready", flush=True)
    for line in sys.stdin:
        tol, calls = line.split()
        seconds = math.inf
        for _ in range(int(calls)):
            started = time.perf_counter()
            found = solve(float(tol))
            seconds = min(seconds, time.perf_counter() - started)
        handover.write_coefs(folder, adapter.coefs(found))
        print("took", seconds, flush=True)


def _tiny(sparse: bool) -> tuple[Any, ...]:
    """Return a small problem, so that whatever is compiled at the first call is compiled before the clock starts."""
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((50, 100)))
    X -= X.mean(axis=0)
    y = rng.standard_normal(50)
    y -= y.mean()
    alphas = np.abs(X.T @ y).max() / y.size * np.array([1.0, 0.5, 0.2])
    return sp.csc_matrix(X) if sparse else X, y, np.zeros(100) if sparse else None, alphas


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
