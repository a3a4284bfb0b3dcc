"""Estimators whose data lie on a Dask cluster; the fitted model is here, and predicts lazily what lies there."""

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Self, TypeVar

import numpy as np

from .. import estimators as local
from ..data.table import Table
from ..models import LinearModel
from ..options import Options
from .opening import data_of

T = TypeVar("T", bound=type)


def _with_client(kind: T) -> T:
    """Decorate an estimator: its constructor is that of its base, and takes the client of a cluster besides."""
    init = kind.__init__  # type: ignore[misc]
    signature = inspect.signature(init)

    @wraps(init)
    def construct(self: Any, *args: Any, client: Any = None, **given: Any) -> None:
        init(self, *args, **given)
        self.client = client

    own = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
    construct.__signature__ = signature.replace(parameters=[*signature.parameters.values(), own])  # type: ignore[attr-defined]
    kind.__init__ = construct  # type: ignore[misc]
    return kind


class _OnCluster:
    """Data on a cluster are taken as `lasso_path` takes them; all else is the estimator's of one machine."""

    client: Any

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None, **rest: Any) -> Self:
        """Fit the model on data that lie on a cluster: see `fwlasso.distributed.lasso_path`."""
        mine: Any = self
        asked = Options(loss=mine._loss, solver=mine.solver, fit_intercept=mine.fit_intercept)
        with data_of(X, y, asked, self.client, sample_weight=sample_weight, offset=offset) as given:
            return super().fit(given.X, given.y, **given.samples, **rest)  # type: ignore[misc,no-any-return]

    def _take_names(self, X: Any) -> Any:
        given: Any = X.X if isinstance(X, Table) else X
        self.n_features_in_ = given.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if X.feature_names is not None:
            self.feature_names_in_ = np.array(X.feature_names, dtype=object)
        return X

    def predict(self, X: Any, **rest: Any) -> Any:
        """Predict the response of every row of X; of a dask array or frame lazily."""
        mine: Any = self
        if not hasattr(X, "dask"):
            return super().predict(X, **rest)  # type: ignore[misc]
        if rest:
            raise ValueError(f"{', '.join(rest)}: predictions of a dask array or frame are those of X alone")
        of_block = partial(_predict, LinearModel.from_estimator(mine))
        dtype = getattr(mine, "classes_", np.empty(0)).dtype
        if hasattr(X, "divisions"):
            import pandas as pd

            return X.map_partitions(partial(_of_frame, of_block), meta=pd.Series(dtype=dtype))
        return X.rechunk({1: -1}).map_blocks(of_block, dtype=dtype, drop_axis=1, meta=np.empty(0, dtype))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {**state, "client": None}


def _predict(model: LinearModel, rows: Any) -> Any:
    return model.predict(rows) if len(rows) else np.empty(0)


def _of_frame(predict: Callable[[Any], Any], frame: Any) -> Any:
    import pandas as pd

    return pd.Series(predict(frame), index=frame.index)


@_with_client
class Lasso(_OnCluster, local.Lasso):
    """A Lasso model of data on a Dask cluster: `fwlasso.Lasso` with a client.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the current one; if there is none, the work is done in this process.
    **others
        Those of `fwlasso.Lasso`, as its attributes are.

    Examples
    --------
    >>> import dask.array as da
    >>> from fwlasso.distributed import Lasso
    >>> X = da.random.default_rng(0).standard_normal((1000, 20), chunks=(250, 20))
    >>> model = Lasso(0.1).fit(X, 3 * X[:, 4])
    >>> model.coef_.nonzero()[0].tolist(), model.predict(X).shape
    ([4], (1000,))
    """


@_with_client
class ElasticNet(_OnCluster, local.ElasticNet):
    """An elastic net of data on a Dask cluster: `fwlasso.ElasticNet` with a client; see `Lasso`.

    Examples
    --------
    >>> import dask.array as da
    >>> from fwlasso.distributed import ElasticNet
    >>> X = da.random.default_rng(0).standard_normal((1000, 20), chunks=(250, 20))
    >>> ElasticNet(0.1).fit(X, 3 * X[:, 4]).coef_.shape
    (20,)
    """


@_with_client
class LassoCV(_OnCluster, local.LassoCV):
    """The best model of a path on a Dask cluster: `fwlasso.LassoCV` with a client; see `lasso_cv`.

    Examples
    --------
    >>> import dask.array as da
    >>> from fwlasso.distributed import LassoCV
    >>> rng = da.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 20), chunks=(250, 20))
    >>> LassoCV().fit(X, 3 * X[:, 4] + rng.standard_normal(1000, chunks=250)).coef_.shape
    (20,)
    """


@_with_client
class ElasticNetCV(_OnCluster, local.ElasticNetCV):
    """The best elastic net on a Dask cluster: `fwlasso.ElasticNetCV` with a client; see `LassoCV`.

    Examples
    --------
    >>> import dask.array as da
    >>> from fwlasso.distributed import ElasticNetCV
    >>> rng = da.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 20), chunks=(250, 20))
    >>> ElasticNetCV().fit(X, 3 * X[:, 4] + rng.standard_normal(1000, chunks=250)).coef_.shape
    (20,)
    """


@_with_client
class LogisticLasso(_OnCluster, local.LogisticLasso):
    """A model of two classes on a Dask cluster, by columns: `fwlasso.LogisticLasso` with a client; see `Lasso`.

    Examples
    --------
    >>> import dask.array as da
    >>> from fwlasso.distributed import LogisticLasso
    >>> X = da.random.default_rng(0).standard_normal((200, 20), chunks=(50, 20))
    >>> LogisticLasso(alpha=0.05).fit(X, X[:, 4] > 0).predict(X).dtype
    dtype('bool')
    """


@_with_client
class LogisticLassoCV(_OnCluster, local.LogisticLassoCV):
    """The best model of two classes on a Dask cluster: `fwlasso.LogisticLassoCV` with a client; see `LogisticLasso`.

    Examples
    --------
    >>> from fwlasso.distributed import LogisticLassoCV
    >>> LogisticLassoCV().client is None
    True
    """
