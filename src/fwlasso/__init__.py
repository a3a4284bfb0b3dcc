"""Complete Lasso paths on millions of features, with a duality gap over all columns for every point."""

__version__ = "0.1.0"

from typing import TYPE_CHECKING, Any

from ._core.start import QuietImports

with QuietImports():
    from .estimators import Lasso, LassoCV
    from .file_sums import sum_table
    from .gram.summed import SummedTable
    from .models import LinearModel
    from .monitor import Progress
    from .path import lasso_path
    from .problem.points import Counters
    from .result import LassoPath
    from .selection.choice import Choice
    from .selection.cross_validation import CrossValidation, lasso_cv
    from .selection.stability import Stability, stability_selection
    from .solvers.levels import Confidence
    from .solvers.sample_size import AdaptiveRule, FixedSize, FractionOfColumns, QuantileRule, SparsityRule
    from .status import Status

if TYPE_CHECKING:
    from .warmup import warm_up

__all__ = [
    "AdaptiveRule",
    "Choice",
    "Confidence",
    "Counters",
    "CrossValidation",
    "FixedSize",
    "FractionOfColumns",
    "Lasso",
    "LassoCV",
    "LassoPath",
    "LinearModel",
    "Progress",
    "QuantileRule",
    "SparsityRule",
    "Stability",
    "Status",
    "SummedTable",
    "lasso_cv",
    "lasso_path",
    "stability_selection",
    "sum_table",
    "warm_up",
]


def __getattr__(name: str) -> Any:
    """Return what is imported when it is asked for: `python -m fwlasso.warmup` must not find itself here already."""
    if name == "warm_up":
        from .warmup import warm_up

        return warm_up
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
