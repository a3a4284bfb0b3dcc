"""Models as ONNX, through skl2onnx; and models of that kind read again, through onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression

from .columns import Vector
from .datasets.compressed import replacing
from .estimators import Lasso, LassoCV
from .models import LinearModel

# Rows are made dense so many bytes at a time: ONNX knows no sparse input.
_BLOCK_BYTES = 1 << 26


def to_onnx(model: LinearModel) -> Any:
    """Return a model as an ONNX graph, in double precision: input X of n_features columns, output of one.

    Coefficients are dense in it: for millions of features keep the JSON of `LinearModel.save`.

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import LinearModel, lasso_path
    >>> from fwlasso.onnx_models import OnnxModel, to_onnx
    >>> X = np.random.default_rng(0).standard_normal((50, 20))
    >>> model = LinearModel.from_path(lasso_path(X, X[:, 3]), point=20)
    >>> bool(np.allclose(OnnxModel(to_onnx(model).SerializeToString()).predict(X), model.predict(X)))
    True
    """
    skl2onnx, types = _skl2onnx()
    twin = _twin(model.dense_coef(), model.intercept)
    return skl2onnx.to_onnx(twin, initial_types=[("X", types.DoubleTensorType([None, model.n_features]))])


def save_onnx(model: LinearModel, file: str | Path) -> None:
    """Write a model to an ``.onnx`` file."""
    graph = to_onnx(model)
    with replacing(Path(file)) as stream:
        stream.write(graph.SerializeToString())


def register_estimators() -> None:
    """Teach skl2onnx our estimators: after it, ``skl2onnx.to_onnx(Lasso().fit(X, y), X)`` works, in pipelines, too."""
    skl2onnx, _ = _skl2onnx()
    from skl2onnx.common.shape_calculator import calculate_linear_regressor_output_shapes
    from skl2onnx.operator_converters.linear_regressor import convert_sklearn_linear_regressor

    def convert(scope: Any, operator: Any, container: Any) -> None:
        model = operator.raw_operator
        operator.raw_operator = _twin(model.coef_, model.intercept_)
        convert_sklearn_linear_regressor(scope, operator, container)

    for kind in (Lasso, LassoCV):
        skl2onnx.update_registered_converter(
            kind, f"Fwlasso{kind.__name__}", calculate_linear_regressor_output_shapes, convert
        )


def _twin(coef: Vector, intercept: float) -> LinearRegression:
    """Return scikit-learn's own linear model with these coefficients, as if it were fitted."""
    twin = LinearRegression()
    twin.coef_, twin.intercept_, twin.n_features_in_ = coef, np.float64(intercept), coef.size
    return twin


class OnnxModel:
    """A model in ONNX, from its file or its bytes."""

    def __init__(self, source: str | Path | bytes) -> None:
        try:
            import onnxruntime
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(_missing(error.name)) from None

        if not isinstance(source, bytes) and not Path(source).is_file():
            raise FileNotFoundError(f"{source}: no such file")
        try:
            self._session = onnxruntime.InferenceSession(
                source if isinstance(source, bytes) else str(source), providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its exceptions have no common class of their own
            name = "the bytes" if isinstance(source, bytes) else source
            raise ValueError(f"{name}: not a model in ONNX: {' '.join(str(error).split())}") from None
        if len(self._session.get_inputs()) != 1:
            raise ValueError("the model in ONNX must have one input, a matrix")

    @property
    def n_features(self) -> int | None:
        """The number of columns it wants, if it says so."""
        shape = self._session.get_inputs()[0].shape
        return shape[1] if len(shape) == 2 and isinstance(shape[1], int) else None

    def predict(self, X: Any) -> Vector:
        """Predict the response of every row."""
        if self.n_features not in (None, X.shape[1]):
            raise ValueError(f"X has {X.shape[1]} features, the model was fitted with {self.n_features}")
        given = self._session.get_inputs()[0]
        dtype = np.float32 if given.type == "tensor(float)" else np.float64
        m, p = X.shape
        n_rows = max(1, _BLOCK_BYTES // (8 * max(1, p)))
        rows = X.tocsr() if sp.issparse(X) else X
        blocks = [np.empty(0)]
        for first in range(0, m, n_rows):
            block = rows[first : first + n_rows]
            dense = np.ascontiguousarray(block.toarray() if sp.issparse(block) else block, dtype=dtype)
            blocks.append(np.asarray(self._session.run(None, {given.name: dense})[0], dtype=np.float64).reshape(-1))
        return np.concatenate(blocks)


def _skl2onnx() -> tuple[Any, Any]:
    try:
        import skl2onnx
        from skl2onnx.common import data_types
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(_missing(error.name)) from None
    return skl2onnx, data_types


def _missing(name: str | None) -> str:
    return f"models in ONNX need {name}: pip install 'fwlasso[onnx]'"
