"""Certified paths on data that lie on many machines: a Dask cluster, behind the extra ``fwlasso[dask]``.

Whoever reaches a Dask scheduler runs code as its user: clusters belong behind TLS or into a closed network.
"""

from .paths import lasso_cv as lasso_cv
from .paths import lasso_path as lasso_path

__all__ = ["lasso_cv", "lasso_path"]
