"""Models in ONNX predict what ours do."""

import numpy as np
import pytest
from onnxruntime import InferenceSession
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fwlasso import ElasticNetCV, Lasso, LinearModel, LogisticLasso, PoissonLasso, lasso_path
from fwlasso.onnx_models import register_estimators, save_onnx, to_onnx
from model_cases import X, Y


@pytest.fixture(scope="module")
def path():
    return lasso_path(X, Y, alphas=20, standardize=True)


def test_they_predict_the_same(path, tmp_path):
    for point in (0, 12):
        found = LinearModel.from_path(path, point)
        save_onnx(found, tmp_path / "model.onnx")
        session = InferenceSession(tmp_path / "model.onnx")
        np.testing.assert_allclose(session.run(None, {"X": X})[0][:, 0], found.predict(X), rtol=1e-12)


@pytest.mark.parametrize("model", [Lasso(alpha=0.1), ElasticNetCV(cv=3, alphas=10)], ids=["Lasso", "ElasticNetCV"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_skl2onnx_takes_our_estimators(model, dtype):
    import skl2onnx

    register_estimators()
    fitted = make_pipeline(StandardScaler(), model).fit(X, Y - Y.min() + 10.0)  # no prediction is nearly zero
    graph = skl2onnx.to_onnx(fitted, X.astype(dtype))
    predicted = InferenceSession(graph.SerializeToString()).run(None, {"X": X.astype(dtype)})[0]
    np.testing.assert_allclose(predicted[:, 0], fitted.predict(X), rtol=1e-6 if dtype is np.float32 else 1e-12)


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (False, True), (-1.0, 1.0)])
def test_classes_and_their_probabilities(labels):
    y = np.array(labels)[(np.median(Y) < Y).astype(int)]
    found = lasso_path(X, y, loss="logistic", alphas=4)[-1]
    label, chances = InferenceSession(to_onnx(found).SerializeToString()).run(None, {"X": X})
    np.testing.assert_array_equal(label, found.predict(X))
    np.testing.assert_allclose(chances, found.predict_proba(X), atol=1e-14)


def test_rates_and_classes_in_pipelines():
    import skl2onnx

    register_estimators()
    counts = np.random.default_rng(0).poisson(3.0, len(Y))
    rates = make_pipeline(StandardScaler(), PoissonLasso(0.1)).fit(X, counts)
    predicted = InferenceSession(skl2onnx.to_onnx(rates, X).SerializeToString()).run(None, {"X": X})[0]
    np.testing.assert_allclose(predicted[:, 0], rates.predict(X), rtol=1e-12)
    labels = make_pipeline(StandardScaler(), LogisticLasso(0.1)).fit(X, np.median(Y) < Y)
    graph = skl2onnx.to_onnx(labels, X, options={"zipmap": False})
    _, chances = InferenceSession(graph.SerializeToString()).run(None, {"X": X})
    np.testing.assert_allclose(chances, labels.predict_proba(X), atol=1e-14)


def test_an_offset_is_refused_or_left_to_users(tmp_path):
    offset = np.linspace(-1.0, 1.0, len(Y))
    found = LinearModel.from_path(lasso_path(X, Y, offset=offset, alphas=9), -1)
    with pytest.raises(ValueError, match="offset: the model was fitted with an offset, and ONNX has no place"):
        save_onnx(found, tmp_path / "model.onnx")
    save_onnx(found, tmp_path / "model.onnx", without_offset=True)
    rest = InferenceSession(tmp_path / "model.onnx").run(None, {"X": X})[0][:, 0]
    np.testing.assert_allclose(rest + offset, found.predict(X, offset=offset), rtol=1e-12)
