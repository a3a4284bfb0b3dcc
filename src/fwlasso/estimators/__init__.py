"""scikit-learn estimators: of one point of a path, and of one that is chosen on it."""

from .chosen import ElasticNetCV, LassoCV
from .losses import LogisticLasso, LogisticLassoCV, PoissonLasso, PoissonLassoCV
from .single import ElasticNet, Lasso

__all__ = [
    "ElasticNet",
    "ElasticNetCV",
    "Lasso",
    "LassoCV",
    "LogisticLasso",
    "LogisticLassoCV",
    "PoissonLasso",
    "PoissonLassoCV",
]
