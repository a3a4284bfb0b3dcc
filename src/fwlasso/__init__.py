"""Complete Lasso paths on millions of features, with a duality gap over all columns for every point."""

__version__ = "0.1.0"

from .estimators import Lasso
from .models import LinearModel
from .path import lasso_path
from .result import Counters, LassoPath
from .sampling import AdaptiveRule, FixedSize, FractionOfColumns, QuantileRule, SparsityRule
from .status import Status
from .warmup import warm_up
from .watch import Progress

__all__ = [
    "AdaptiveRule",
    "Counters",
    "FixedSize",
    "FractionOfColumns",
    "Lasso",
    "LassoPath",
    "LinearModel",
    "Progress",
    "QuantileRule",
    "SparsityRule",
    "Status",
    "lasso_path",
    "warm_up",
]
