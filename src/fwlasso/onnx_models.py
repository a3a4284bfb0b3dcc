"""Models as ONNX, through skl2onnx."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

from . import estimators
from .data.compressed import replacing
from .models import LinearModel

# scikit-learn's own models of each loss, and what skl2onnx calls them.
_TWINS = {"squared": LinearRegression, "logistic": LogisticRegression, "poisson": PoissonRegressor}
_ALIASES = {
    LinearRegression: "SklearnLinearRegressor",
    LogisticRegression: "SklearnLinearClassifier",
    PoissonRegressor: "SklearnPoissonRegressor",
}


def to_onnx(model: LinearModel, *, without_offset: bool = False) -> Any:
    """Return a model as an ONNX graph, in double precision: input X of n_features columns, output of one.

    Of two classes there are two outputs: labels, which are texts or integers, and the probabilities of both. Of counts
    the output is the rate.

    Coefficients are dense in it: for millions of features use the JSON of `LinearModel.save`. A graph has no place for
    the offset of new rows: a model with one needs `without_offset`, and what the graph predicts is to be added to it,
    or is a rate to be multiplied by its exponential.

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
    skl2onnx, types = _skl2onnx()
    _check_offset(has_offset=model.has_offset and not without_offset)
    twin = _twin(model)
    inputs = [("X", types.DoubleTensorType([None, model.n_features]))]
    return skl2onnx.to_onnx(twin, initial_types=inputs, options={"zipmap": False} if model.classes else None)


def save_onnx(model: LinearModel, file: str | Path, *, without_offset: bool = False) -> None:
    """Write a model to an ``.onnx`` file; see `to_onnx`."""
    graph = to_onnx(model, without_offset=without_offset)
    with replacing(Path(file)) as stream:
        stream.write(graph.SerializeToString())


def register_estimators() -> None:
    """Register the estimators with skl2onnx: ``skl2onnx.to_onnx(Lasso().fit(X, y), X)`` works, also in pipelines."""
    skl2onnx, _ = _skl2onnx()
    from skl2onnx.common import _registration as known

    def convert(scope: Any, operator: Any, container: Any) -> None:
        model = operator.raw_operator
        _check_offset(has_offset=model.path_.has_offset)
        operator.raw_operator = twin = _twin(LinearModel.from_estimator(model))
        known.get_converter(_ALIASES[type(twin)])(scope, operator, container)

    of_classes = {name: [True, False] for name in ("zipmap", "nocl", "output_class_labels", "raw_scores")}
    kinds = [getattr(estimators, name) for name in estimators.__all__]
    for kind in (it for it in kinds if it._loss in _TWINS):
        shape = known.get_shape_calculator(_ALIASES[_TWINS[kind._loss]])
        options = of_classes if kind._loss == "logistic" else None
        skl2onnx.update_registered_converter(kind, f"Fwlasso{kind.__name__}", shape, convert, options=options)


def _check_offset(*, has_offset: bool) -> None:
    if has_offset:
        raise ValueError(
            "offset: the model was fitted with an offset, and ONNX has no place for that of new rows: "
            "to_onnx(LinearModel.from_estimator(model), without_offset=True) predicts the rest"
        )


def _twin(model: LinearModel) -> Any:
    """Return scikit-learn's own model with these coefficients, as if it were fitted."""
    if model.loss not in _TWINS:
        raise ValueError(f"model: loss={model.loss!r} cannot be written as ONNX")
    twin, classes = _TWINS[model.loss](), model.classes
    twin.coef_, twin.intercept_, twin.n_features_in_ = model.dense_coef(), np.float64(model.intercept), model.n_features
    if classes is not None:
        twin.coef_, twin.intercept_ = np.atleast_2d(twin.coef_), np.atleast_1d(twin.intercept_)
        twin.classes_ = np.array(classes)
    return twin


def _skl2onnx() -> tuple[Any, Any]:
    try:
        import skl2onnx
        from skl2onnx.common import data_types
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"models in ONNX need {error.name}: pip install 'fwlasso[onnx]'") from None
    return skl2onnx, data_types
