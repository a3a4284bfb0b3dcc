"""A solver for benchopt's benchmark of the Lasso; see README.md beside it."""

from typing import Any

import numpy as np
from benchopt import BaseSolver

from fwlasso import lasso_path


class Solver(BaseSolver):  # type: ignore[misc]
    """The certified path, to one penalty."""

    name = "fwlasso"
    requirements = ("pip::fwlasso",)
    references = ("E. Frandi et al., Fast and scalable Lasso via stochastic Frank-Wolfe methods (2015)",)
    sampling_strategy = "tolerance"

    def set_objective(self, X: Any, y: Any, lmbd: float, fit_intercept: bool = False) -> None:
        """Take the problem; kernels are compiled before anything is timed."""
        self.X, self.y, self.fit_intercept = X, y, fit_intercept
        self.alpha = lmbd / len(y)
        self.run(1e-2)

    def run(self, tolerance: float) -> None:
        """Solve until the duality gap is below the tolerance, relative to ½ ‖y‖²."""
        path = lasso_path(
            self.X, self.y, alphas=[self.alpha], fit_intercept=self.fit_intercept, tol=min(max(tolerance, 1e-11), 0.1)
        )
        self.coef, self.intercept = path.coef(0), path.intercepts[0]

    def get_result(self) -> dict[str, Any]:
        """Return the coefficients as the benchmark has them, the intercept last."""
        return {"beta": np.append(self.coef, self.intercept) if self.fit_intercept else self.coef}
