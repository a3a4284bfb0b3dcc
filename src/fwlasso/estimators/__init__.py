"""scikit-learn estimators: of one point of a path, and of one that is chosen on it."""

from .chosen import LassoCV
from .single import Lasso

__all__ = ["Lasso", "LassoCV"]
