"""Serve this package: serve_ours.py FOLDER answers lines of JSON, each a call to be timed, with what was found.

It is started by its path, on the sources that PYTHONPATH names: those of another checkout, perhaps an older one.
"""

import json
import math
import runpy
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fwlasso

_ACCURACY = runpy.run_path(str(Path(__file__).parent / "peers" / "accuracy.py"))  # other checkouts may have none
moments, penalty_gaps = _ACCURACY["moments"], _ACCURACY["penalty_gaps"]

# Seconds in which threads of BLAS, in whatever process, come to rest: they spin after a product.
_REST = 0.2

Action = Callable[[], Any]
Telling = Callable[[Any], dict[str, Any]]


class Served:
    """The calls on the problem of a folder: each returns the action to be timed, and what is told of its result."""

    def __init__(self, folder: Path) -> None:
        self.X, self.y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
        self._known = moments(self.X)

    def path(self, **settings: Any) -> tuple[Action, Telling]:
        """Compute a path."""
        return lambda: fwlasso.lasso_path(self.X, self.y, alphas=100, **settings), lambda found: {
            "gap": self._gap(found.coefs, found.alphas, settings.get("l1_ratio", 1.0)),
            "alphas": [found.alphas[0], found.alphas[-1]],
            "active": int(found.n_active[-1]),
            "route": found.settings.get("route"),
        }

    def fit(self, package: str, **settings: Any) -> tuple[Action, Telling]:
        """Fit one model, of this package or of scikit-learn."""
        model = (fwlasso if package == "fwlasso" else __import__("sklearn.linear_model").linear_model).Lasso(**settings)
        alphas = np.array([settings["alpha"]])
        return lambda: model.fit(self.X, self.y), lambda found: {"gap": self._gap(found.coef_[:, None], alphas)}

    def cv(self, **settings: Any) -> tuple[Action, Telling]:
        """Choose a model by five folds."""
        return lambda: fwlasso.lasso_cv(self.X, self.y, cv=5, alphas=100, **settings), lambda found: {
            "gap": max(float(path.gaps.max()) for path in (found.path, *found.fold_paths)),
            "alpha": float(found.path.alphas[found.choice.point]),
        }

    def _gap(self, coefs: Any, alphas: Any, l1_ratio: float = 1.0) -> float:
        gaps = penalty_gaps(self.X, self.y, coefs, alphas, standardize=False, known=self._known, l1_ratio=l1_ratio)
        return float(gaps.max())


def main(folder: Path) -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    served = Served(folder)
    for line in sys.stdin:
        asked = json.loads(line)
        call, calls = asked.pop("call"), asked.pop("calls")
        action, tell = getattr(served, call)(**asked)
        seconds = math.inf
        time.sleep(_REST)
        for _ in range(calls):
            started = time.perf_counter()
            found = action()
            seconds = min(seconds, time.perf_counter() - started)
        print(json.dumps({"seconds": seconds, "sources": fwlasso.__file__, **tell(found)}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
