"""Models in ONNX predict what ours do."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fwlasso import Lasso, LassoCV, LinearModel, lasso_path
from fwlasso.onnx_models import OnnxModel, register_estimators, save_onnx, to_onnx
from model_cases import P, X, Y


@pytest.fixture(scope="module")
def path():
    return lasso_path(X, Y, alphas=20, standardize=True)


@pytest.fixture(scope="module")
def model(path):
    return LinearModel.from_path(path, 12)


def test_they_predict_the_same(path, tmp_path):
    for point in (0, 12):
        found = LinearModel.from_path(path, point)
        save_onnx(found, tmp_path / "model.onnx")
        again = OnnxModel(tmp_path / "model.onnx")
        assert again.n_features == P
        for rows in (X, sp.csr_array(X), X.astype(np.float32)):
            np.testing.assert_allclose(again.predict(rows), found.predict(X), rtol=1e-12)


def test_it_takes_rows_in_blocks(model, monkeypatch):
    monkeypatch.setattr("fwlasso.onnx_models._BLOCK_BYTES", 8 * P * 7)
    again = OnnxModel(to_onnx(model).SerializeToString())
    np.testing.assert_allclose(again.predict(sp.csc_array(X)), model.predict(X), rtol=1e-12)


def test_what_does_not_fit_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match="X has 3 features"):
        OnnxModel(to_onnx(model).SerializeToString()).predict(X[:, :3])
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    with pytest.raises(ValueError, match=r"bad\.onnx: not a model in ONNX"):
        OnnxModel(tmp_path / "bad.onnx")


@pytest.mark.parametrize("model", [Lasso(alpha=0.1), LassoCV(cv=3, alphas=10)], ids=["Lasso", "LassoCV"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_skl2onnx_takes_our_estimators(model, dtype):
    import skl2onnx

    register_estimators()
    fitted = make_pipeline(StandardScaler(), model).fit(X, Y - Y.min() + 10.0)  # no prediction is nearly zero
    graph = skl2onnx.to_onnx(fitted, X.astype(dtype))
    predicted = OnnxModel(graph.SerializeToString()).predict(X)
    np.testing.assert_allclose(predicted, fitted.predict(X), rtol=1e-6 if dtype is np.float32 else 1e-12)
