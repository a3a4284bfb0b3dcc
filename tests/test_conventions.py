"""Signatures and callbacks of scikit-learn, frames that come back as they came, pickles that tell their version."""

import inspect
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

import fwlasso
from fwlasso import ElasticNetCV, Lasso, LassoCV, LassoPath, LogisticLasso, StabilitySelector, lasso_cv, lasso_path
from fwlasso._core import notices

# Ours, scikit-learn's, and its parameters that are not here, since they tune its solvers or are another penalty's.
_OF_LOGISTIC = {"penalty", "dual", "intercept_scaling", "verbose", "n_jobs", "multi_class"}
SAME = [
    (Lasso, "Lasso", set()),
    (fwlasso.ElasticNet, "ElasticNet", set()),
    (LassoCV, "LassoCV", set()),
    (ElasticNetCV, "ElasticNetCV", set()),
    (LogisticLasso, "LogisticRegression", _OF_LOGISTIC),
    (fwlasso.PoissonLasso, "PoissonRegressor", {"verbose"}),
]
# Solvers differ, and with them their limits; before 1.9 a number of alphas is n_alphas.
_OTHER_DEFAULTS = {"tol", "max_iter", "solver", "l1_ratio", "alphas", "n_alphas"}


@pytest.mark.parametrize(("ours", "theirs", "absent"), SAME)
def test_signatures_are_scikit_learns(ours, theirs, absent):
    reference = getattr(linear_model, theirs)
    assert {it for it in dir(reference) if not it.startswith("_")} - set(dir(ours)) <= {"densify", "sparsify"}
    for name in ("__init__", "fit", "predict", "predict_proba", "score", "get_params", "set_params"):
        if not hasattr(reference, name):
            continue
        own, other = (inspect.signature(getattr(kind, name)).parameters for kind in (ours, reference))
        assert set(other) - set(own) <= (absent if name == "__init__" else set())
        changed = {it for it in other if it in own and own[it].default != other[it].default}
        assert changed <= (_OTHER_DEFAULTS if name == "__init__" else {"y"})  # stores have a response
        by_place = [it for it in other if other[it].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        assert [it for it in own if it in by_place][: len(by_place)] == [it for it in by_place if it in own]


class Log:
    """A callback that notes the tasks, and may end a fit."""

    def __init__(self, last=None):
        self.told, self.last = [], last

    def setup(self, estimator, context):
        self.told.append("setup")

    def teardown(self, estimator, context):
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.told.append((context.task_name, context.max_subtasks))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.told.append((context.task_name, fitted_estimator is not None))
        return (context.task_name, context.task_id) == ("point", self.last)


@pytest.mark.parametrize(
    ("model", "n_points"),
    [
        (Lasso(0.1), 1),
        (LogisticLasso(alpha=0.1), 1),
        (LassoCV(alphas=3, cv=2), 9),
        (ElasticNetCV(alphas=3, cv=2, l1_ratio=[0.5, 1.0]), 18),
    ],
)
def test_callbacks_are_told_of_the_fit_and_of_every_point(model, n_points, data):
    pytest.importorskip("sklearn.callback")
    X, y = data[0], data[1] > np.mean(data[1]) if isinstance(model, LogisticLasso) else data[1]
    log, expected = Log(), model.fit(X, y).coef_.copy()
    np.testing.assert_array_equal(model.set_callbacks(log).fit(X, y).coef_, expected)
    points = [("point", 0), ("point", False)] * n_points
    assert log.told == ["setup", ("fit", n_points), *points, ("fit", True), "teardown"]
    with pytest.raises(ValueError, match="tol"):
        model.set_params(tol="small").fit(X, y)
    assert not {"_tell", "_callback_fit_ctx"} & set(vars(model))


def test_a_callback_ends_a_fit(data):
    pytest.importorskip("sklearn.callback")
    model = LassoCV(alphas=9, rule="bic").set_callbacks(Log(last=3))
    with pytest.warns(ConvergenceWarning):
        model.fit(*data)
    assert len(model.path_) == 4


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_come_back_as_they_came(make, data, tmp_path):
    X = make({f"x{j}": column for j, column in enumerate(data[0].T)})
    path, found = lasso_path(X, data[1], alphas=5), lasso_cv(X, data[1], alphas=5, cv=2)
    path.save(tmp_path / "path.npz")
    again = LassoPath.load(tmp_path / "path.npz")
    json = fwlasso.LinearModel.from_json(path[-1].to_json())
    frames = [it.to_frame() for it in (path, again, path[-1], json, found, Lasso(0.1).fit(X, data[1]))]
    for frame in (*frames, path.to_frame("coefs")):
        assert type(frame) is type(X)
    expected = lasso_path(data[0], data[1], alphas=5)[-1].to_frame()
    assert type(expected) is pd.DataFrame
    np.testing.assert_array_equal(np.asarray(frames[2]["coef"]), expected["coef"])


def test_a_pickle_of_another_version_says_so(data, monkeypatch):
    fitted = Lasso(0.1).fit(*data), lasso_path(*data, alphas=3), StabilitySelector(n_subsamples=4).fit(*data)
    texts = [pickle.dumps(it) for it in fitted]
    for text in texts:
        assert not hasattr(pickle.loads(text), notices.VERSION)
    monkeypatch.setattr(notices, "__version__", "99.0")
    for text, name in zip(texts, ("Lasso", "path", "StabilitySelector"), strict=True):
        with pytest.warns(UserWarning, match="was pickled by") as told:
            pickle.loads(text)
        known = f"This {name} was pickled by fwlasso {fwlasso.__version__}, and this is fwlasso 99.0"
        assert any(str(each.message).startswith(known) for each in told)
