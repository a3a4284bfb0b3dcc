"""scikit-learn estimators: of one point of a path, and of one that is chosen on it."""

from .chosen import ElasticNetCV, LassoCV
from .losses import CoxLasso, CoxLassoCV, LogisticLasso, LogisticLassoCV, PoissonLasso, PoissonLassoCV
from .single import ElasticNet, Lasso

__all__ = [
    "CoxLasso",
    "CoxLassoCV",
    "ElasticNet",
    "ElasticNetCV",
    "Lasso",
    "LassoCV",
    "LogisticLasso",
    "LogisticLassoCV",
    "PoissonLasso",
    "PoissonLassoCV",
]
