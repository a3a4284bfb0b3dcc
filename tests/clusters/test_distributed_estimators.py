"""Estimators whose data are dask arrays and frames: those of one machine, and lazy predictions."""

import pickle

import numpy as np
import pytest

pytest.importorskip("dask.dataframe", reason="the extra [dask] is not installed")

import dask
import dask.array as da
import dask.dataframe as dd
import pandas as pd

import fwlasso
from fwlasso import distributed


@pytest.fixture
def tall(rng):
    X = rng.standard_normal((120, 6))
    return X, X[:, :2] @ [3.0, -2.0] + 2.0 * rng.standard_normal(120)


@pytest.mark.parametrize("name", ["Lasso", "ElasticNet", "LassoCV", "ElasticNetCV", "LogisticLasso"])
def test_an_estimator_of_dask_data_is_that_of_one_machine(tall, name):
    X, y = tall
    y = y > 0.0 if name.startswith("Logistic") else y
    asked = {"alpha": 0.05} if not name.endswith("CV") else {"cv": 3}
    with dask.config.set(scheduler="synchronous"):
        arrays = da.from_array(X, (50, 4)), da.from_array(y, 50)
        model, local = getattr(distributed, name)(**asked).fit(*arrays), getattr(fwlasso, name)(**asked).fit(X, y)
        np.testing.assert_allclose(model.coef_, local.coef_, rtol=0, atol=1e-11)
        lazy = model.predict(arrays[0])
        assert isinstance(lazy, da.Array)
        np.testing.assert_allclose(lazy.compute(), local.predict(X), rtol=0, atol=1e-10)
    assert model.path_.counters.traffic.round_trips > 0
    assert pickle.loads(pickle.dumps(model)).client is None
    assert set(model.get_params()) == {*local.get_params(), "client"}


def test_frames_have_names_and_an_index(tall):
    X, y = tall
    frame = pd.DataFrame(X, columns=list("abcdef"), index=np.arange(120) + 7).assign(y=y)
    with dask.config.set(scheduler="synchronous"):
        given = dd.from_pandas(frame, npartitions=3)
        model = distributed.Lasso(0.05).fit(given, "y")
        assert model.feature_names_in_.tolist() == list("abcdef")
        predicted = model.predict(given[list("abcdef")]).compute()
    assert predicted.index.equals(frame.index)
    np.testing.assert_allclose(predicted, fwlasso.Lasso(0.05).fit(X, y).predict(X), rtol=0, atol=1e-11)


@pytest.mark.parametrize("asked", [{"relax": True}, {"scoring": "r2"}, {"validation": 0.2}])
def test_rows_on_a_cluster_are_scored_by_squares_alone(tall, asked):
    X, y = (da.from_array(given, 50) for given in (tall[0], tall[1]))
    with pytest.raises(ValueError, match=next(iter(asked))):
        distributed.LassoCV(**asked).fit(X, y)
