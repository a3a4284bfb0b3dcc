"""Models by themselves: where they come from, what they predict, and how they go out and come in."""

from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn import linear_model
from sklearn.exceptions import NotFittedError

from attack.storages import pack
from cli_cases import call
from fwlasso import Lasso, LinearModel, lasso_path
from fwlasso.bed import Genotypes
from fwlasso.data.genotypes import Variant
from fwlasso.datasets import Table
from fwlasso.selection.choice import Choice
from model_cases import M, P, X, Y

NAMES = tuple(f"f{j}" for j in range(P))


@pytest.fixture(scope="module")
def path():
    return lasso_path(Table(X, Y, NAMES), alphas=20, standardize=True)


@pytest.fixture(scope="module")
def model(path):
    return LinearModel.from_path(path, 12)


@pytest.mark.parametrize("point", [0, 7, -1])
def test_model_of_a_point_predicts_as_the_path_does(path, point):
    found = LinearModel.from_path(path, point)
    np.testing.assert_allclose(found.predict(X), path.predict(X, point=point), rtol=1e-13)
    assert np.array_equal(found.dense_coef(), path.coef(point))
    assert found.about["point"] == range(20)[point]
    assert found.about["alpha"] == path.alphas[point]


@pytest.mark.parametrize("asked", [{}, {"point": 1, "alpha": 0.1}, {"point": 20}, {"point": -21}, {"alpha": 1e9}])
def test_what_is_not_on_the_path_is_refused(path, asked):
    with pytest.raises(ValueError, match=r"one of|outside"):
        LinearModel.from_path(path, **asked)


def test_model_of_a_choice(path):
    coef, intercept = path.coefs[:, [9]], float(path.intercepts[9])
    found = LinearModel.from_choice(Choice("min", 9, "error", path.gaps, False, coef, intercept), NAMES)
    np.testing.assert_allclose(found.predict(X), path.predict(X, point=9), rtol=1e-13)
    assert found.about == {"rule": "min", "criterion": "error", "point": 9, "blend": 1.0}


def test_models_of_estimators():
    fitted = Lasso(alpha=0.1).fit(pd.DataFrame(X, columns=NAMES), Y)
    found = LinearModel.from_estimator(fitted)
    np.testing.assert_allclose(found.predict(X), fitted.predict(pd.DataFrame(X, columns=NAMES)), rtol=1e-13)
    assert set(found.feature_names) <= set(NAMES)
    assert LinearModel.from_estimator(Lasso(alpha=0.1).fit(X, Y)).feature_names is None
    with pytest.raises(NotFittedError):
        LinearModel.from_estimator(Lasso())
    other = linear_model.LassoCV(cv=3, alphas=[0.3, 0.1, 0.03]).fit(X, Y)
    np.testing.assert_allclose(LinearModel.from_estimator(other).predict(X), other.predict(X), rtol=1e-12)


ORDER = [*range(P - 1, -1, -1)]
KINDS = {  # all others are in data/test_predict.py
    "no names": X,
    "counted": pd.DataFrame(X),
    "genotypes": Genotypes(pack(X), M, NAMES),
    "another order": pd.DataFrame(X[:, ORDER], columns=[NAMES[j] for j in ORDER]),
    "table in another order": Table(sp.csr_array(X[:, ORDER]), Y, tuple(NAMES[j] for j in ORDER)),
    "more columns": pd.DataFrame(X, columns=NAMES).assign(more=0.0),
    "polars": pl.DataFrame(X[:, ORDER], schema=[NAMES[j] for j in ORDER]),
    "pyarrow": pa.table({NAMES[j]: X[:, j] for j in ORDER}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_found_by_name(path, model, kind):
    np.testing.assert_allclose(model.predict(KINDS[kind]), path.predict(X, point=12), rtol=1e-6)


def test_missing_columns_are_named(model):
    with pytest.raises(ValueError, match=r"X has no column 'f1', one of the \d+ that the model uses"):
        model.predict(pd.DataFrame(X, columns=NAMES).drop(columns="f1"))
    with pytest.raises(ValueError, match="X has no column 'f0'"):
        model.predict(Table(X[:, 2:], Y, NAMES[2:]))
    with pytest.raises(ValueError, match="X has 11 features, the model was fitted with 12"):
        model.predict(X[:, 1:])


def test_a_model_with_one_name_twice_finds_nothing_by_name(tmp_path):
    """One column of the data would be taken for both."""
    values = np.random.default_rng(1).standard_normal((20, 3))
    found = LinearModel.from_path(lasso_path(values, values.sum(axis=1), feature_names=["a", "a", "b"]), -1)
    assert found.predict(values).shape == (20,)
    found.save(tmp_path / "model.json")
    pd.DataFrame(values[:, 1:], columns=["a", "b"]).assign(y=1.0).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ValueError, match="the model has two features 'a'"):
        found.predict(Table(values[:, 1:], Y, ("a", "b")))
    for target in ((), ("--target", "y")):
        with pytest.raises(ValueError, match=r"a\.csv: the model has two features 'a'"):
            call("predict", tmp_path / "model.json", tmp_path / "a.csv", *target)


# A column of a pandas frame is an attribute of it.
@pytest.mark.parametrize(
    "name", ["column_names", "schema", "select", "format", "get_columns", "as_design", "feature_names"]
)
def test_a_column_of_any_name_is_found_by_name(name):
    names = ("first", name, "last", "schema.")
    values = np.random.default_rng(1).standard_normal((20, 4))
    found = LinearModel.from_path(lasso_path(Table(values, values @ [1.0, 2.0, 3.0, 4.0], names)), -1)
    frame = pd.DataFrame(values, columns=names)
    expected = found.predict(values)
    np.testing.assert_allclose(found.predict(frame[[*names[::-1]]]), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="X has no column 'first'"):
        found.predict(frame.drop(columns="first"))
    with pytest.raises(ValueError, match="X has two columns 'last'"):
        found.predict(pd.concat([frame, frame[["last"]]], axis=1))
    path = lasso_path(frame, values[:, 0], alphas=2)
    with pytest.raises(ValueError, match="other feature names"):
        path.predict(frame[[*names[::-1]]])


def test_a_model_remembers_an_alpha_of_zero(path):
    path = replace(path, alphas=path.alphas - path.alphas[-1], radii=path.radii - path.radii[0])
    assert LinearModel.from_path(path, alpha=0.0).about == {"alpha": 0.0}
    assert LinearModel.from_path(path, radius=0.0).about == {"radius": 0.0}


def test_files_hold_every_bit(path, tmp_path):
    for point in (0, 5, 19):
        found = LinearModel.from_path(path, point)
        found.save(tmp_path / "model.json")
        joblib.dump(found, tmp_path / "model.joblib")
        for again in (LinearModel.load(tmp_path / "model.json"), joblib.load(tmp_path / "model.joblib")):
            assert again == found
            np.testing.assert_array_equal(again.predict(X), found.predict(X))
    assert found != LinearModel.from_path(path, 5)


def test_json_is_sparse():
    wide = LinearModel(10**9, np.array([7, 10**8]), np.array([1.0, -2.0]), 0.5)
    assert len(wide.to_json()) < 500
    assert LinearModel.from_json(wide.to_json()) == wide


def test_a_frame_of_genotypes_has_their_alleles():
    variants = Variant("1", 100, "A", "C"), Variant("X", 200, "G", "T")
    model = LinearModel(9, np.array([2, 5]), np.array([0.5, -1.0]), 3.0, ("rs2", "rs5"), variants=variants)
    frame = model.to_frame()
    assert list(frame) == ["feature", "coef", *Variant._fields]
    assert frame["feature"].tolist() == ["(intercept)", "rs5", "rs2"]
    assert frame["coef"].tolist() == [3.0, -1.0, 0.5]
    assert frame["position"][1:].tolist() == [200, 100]
    assert frame["effect_allele"].isna().tolist() == [True, False, False]
    empty = LinearModel(9, np.array([], int), np.array([]), 3.0, ())
    assert empty.to_frame().to_numpy().tolist() == [["(intercept)", 3.0]]
