"""Certified paths on data that lie on many machines: a Dask cluster, behind the extra ``fwlasso[dask]``.

Whoever reaches a Dask scheduler runs code as its user: clusters belong behind TLS or into a closed network.
"""

from .columns import ClusterDesign as ClusterDesign
from .estimators import ElasticNet as ElasticNet
from .estimators import ElasticNetCV as ElasticNetCV
from .estimators import Lasso as Lasso
from .estimators import LassoCV as LassoCV
from .estimators import LogisticLasso as LogisticLasso
from .estimators import LogisticLassoCV as LogisticLassoCV
from .opening import open_design as open_design
from .paths import lasso_cv as lasso_cv
from .paths import lasso_path as lasso_path

__all__ = [
    "ClusterDesign",
    "ElasticNet",
    "ElasticNetCV",
    "Lasso",
    "LassoCV",
    "LogisticLasso",
    "LogisticLassoCV",
    "lasso_cv",
    "lasso_path",
    "open_design",
]
