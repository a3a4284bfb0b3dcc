"""Models as ONNX, through skl2onnx."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from ._core.columns import Vector
from .datasets.compressed import replacing
from .estimators import ElasticNet, ElasticNetCV, Lasso, LassoCV
from .models import LinearModel


def to_onnx(model: LinearModel, *, without_offset: bool = False) -> Any:
    """Return a model as an ONNX graph, in double precision: input X of n_features columns, output of one.

    Coefficients are dense in it: for millions of features use the JSON of `LinearModel.save`. A graph has no place for
    the offset of new rows: a model with one needs `without_offset`, and what the graph predicts is to be added to it.

    Examples
    --------
    >>> import numpy as np
    >>> from onnxruntime import InferenceSession
    >>> from fwlasso import LinearModel, lasso_path
    >>> from fwlasso.onnx_models import to_onnx
    >>> X = np.random.default_rng(0).standard_normal((50, 20))
    >>> model = LinearModel.from_path(lasso_path(X, X[:, 3]), point=20)
    >>> predicted = InferenceSession(to_onnx(model).SerializeToString()).run(None, {"X": X})[0]
    >>> bool(np.allclose(predicted[:, 0], model.predict(X)))
    True
    """
    if model.loss != "squared":
        raise ValueError(f"model: only least squares is written as ONNX, this one is of loss={model.loss!r}")
    skl2onnx, types = _skl2onnx()
    _check_offset(has_offset=model.has_offset and not without_offset)
    twin = _twin(model.dense_coef(), model.intercept)
    return skl2onnx.to_onnx(twin, initial_types=[("X", types.DoubleTensorType([None, model.n_features]))])


def save_onnx(model: LinearModel, file: str | Path, *, without_offset: bool = False) -> None:
    """Write a model to an ``.onnx`` file; see `to_onnx`."""
    graph = to_onnx(model, without_offset=without_offset)
    with replacing(Path(file)) as stream:
        stream.write(graph.SerializeToString())


def register_estimators() -> None:
    """Register the estimators with skl2onnx: ``skl2onnx.to_onnx(Lasso().fit(X, y), X)`` works, also in pipelines."""
    skl2onnx, _ = _skl2onnx()
    from skl2onnx.common.shape_calculator import calculate_linear_regressor_output_shapes
    from skl2onnx.operator_converters.linear_regressor import convert_sklearn_linear_regressor

    def convert(scope: Any, operator: Any, container: Any) -> None:
        model = operator.raw_operator
        _check_offset(has_offset=model.path_.has_offset)
        operator.raw_operator = _twin(model.coef_, model.intercept_)
        convert_sklearn_linear_regressor(scope, operator, container)

    for kind in (Lasso, LassoCV, ElasticNet, ElasticNetCV):
        skl2onnx.update_registered_converter(
            kind, f"Fwlasso{kind.__name__}", calculate_linear_regressor_output_shapes, convert
        )


def _check_offset(*, has_offset: bool) -> None:
    if has_offset:
        raise ValueError(
            "offset: the model was fitted with an offset, and ONNX has no place for that of new rows: "
            "to_onnx(LinearModel.from_estimator(model), without_offset=True) predicts the rest"
        )


def _twin(coef: Vector, intercept: float) -> LinearRegression:
    """Return scikit-learn's own linear model with these coefficients, as if it were fitted."""
    twin = LinearRegression()
    twin.coef_, twin.intercept_, twin.n_features_in_ = coef, np.float64(intercept), coef.size
    return twin


def _skl2onnx() -> tuple[Any, Any]:
    try:
        import skl2onnx
        from skl2onnx.common import data_types
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"models in ONNX need {error.name}: pip install 'fwlasso[onnx]'") from None
    return skl2onnx, data_types
