"""Frames: names are kept to the end, columns that are not numbers are named, and the way out works."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from attack.storages import partly_sparse
from fwlasso import Lasso, LassoCV, lasso_cv, lasso_path
from fwlasso.data.design import as_design
from programs import MEMORY, run_program

M = 40
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def numbers():
    rng = np.random.default_rng(0)
    return {
        "age": rng.integers(20, 80, M),
        "dose": rng.standard_normal(M),
        "smokes": rng.random(M) < 0.5,
        "height": rng.standard_normal(M).astype(np.float32),
    }


Y = 2.0 * numbers()["dose"] + 0.1 * numbers()["age"]


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_kept_to_the_end(kind, tmp_path):
    frame = KINDS[kind](numbers())
    path = lasso_path(frame, Y, alphas=5)
    assert path.feature_names == tuple(numbers())
    expected = lasso_path(np.column_stack([*numbers().values()]), Y, alphas=5)
    np.testing.assert_array_equal(path.coefs.toarray(), expected.coefs.toarray())
    path.save(tmp_path / "path.npz")
    assert type(path).load(tmp_path / "path.npz").feature_names == tuple(numbers())
    assert {*np.asarray(path.to_frame("coefs")["feature"])} <= set(numbers())
    assert tuple(Lasso(alpha=0.1).fit(frame, Y).feature_names_in_) == tuple(numbers())
    with pytest.raises(ValueError, match="other feature names"):
        path.predict(KINDS[kind](dict(reversed(numbers().items()))))


@dataclass
class Stream:
    """What DuckDB, cuDF and others give: a capsule of Arrow's, and nothing else that we know."""

    table: Any

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@dataclass
class Capsule:
    """What libraries of tensors give."""

    array: Any
    device: int = 1  # the processor

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, **how):
        if self.device != 1:
            raise BufferError("not on this device")
        return self.array.__dlpack__(**how)


def test_numbers_behind_a_protocol_are_read():
    table, X = pa.table(numbers()), np.column_stack([*numbers().values()])
    expected, alike = lasso_path(X, Y, alphas=5), np.testing.assert_array_equal
    for given, names in ((Stream(table), tuple(numbers())), (Capsule(X), None), (Capsule(np.asfortranarray(X)), None)):
        path = lasso_path(given, Capsule(Y), alphas=5)
        assert path.feature_names == names
        alike(path.coefs.toarray(), expected.coefs.toarray())
        model = Lasso(0.1).fit(given, Capsule(Y))
        alike(model.coef_, Lasso(0.1).fit(X, Y).coef_)
        np.testing.assert_allclose(model.predict(given), X @ model.coef_ + model.intercept_)
        np.testing.assert_allclose(path.predict(given), expected.predict(X))
        assert path.score(given, Capsule(Y))[-1] > 0.9
    once = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    np.testing.assert_allclose(Lasso(0.1).fit(table, Y).predict(once), Lasso(0.1).fit(X, Y).predict(X))
    for name, data in (("X", (Capsule(X, device=2), Y)), ("y", (X, Capsule(Y, device=2)))):
        with pytest.raises(ValueError, match=f"{name}: not on this device"):
            lasso_path(*data)


@pytest.mark.parametrize("names", [range(20), range(2000, 2020), np.arange(20) / 4, range(20)[::-1]])
def test_numbers_are_names(names):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((M, 20))
    y = X[:, 0] - 2.0 * X[:, 5] + rng.standard_normal(M)
    frame = pd.DataFrame(X, columns=list(names))
    turned, counted = frame[frame.columns[::-1]], pd.DataFrame(X)
    path, found = lasso_path(frame, y, alphas=10), lasso_cv(frame, y, alphas=10)
    for model in (path, Lasso(0.1).fit(frame, y), LassoCV(rule="bic", alphas=10).fit(frame, y)):
        np.testing.assert_allclose(model.predict(frame), model.predict(X), rtol=1e-12)
        for other in (turned, frame.add_prefix("x"), *([] if list(names) == list(range(20)) else [counted])):
            with pytest.raises(ValueError, match=r"other feature names than .* another order"):
                model.predict(other)
    for model in (found, found.model, path[-1]):
        np.testing.assert_allclose(model.predict(turned), model.predict(X), rtol=1e-12)
        np.testing.assert_allclose(model.predict(frame), model.predict(X), rtol=1e-12)
    texts = lasso_path(frame.add_prefix("x"), y, alphas=10)
    np.testing.assert_array_equal(texts.predict(counted), texts.predict(X))
    with pytest.raises(ValueError, match="other feature names"):
        texts.predict(counted[counted.columns[::-1]])


@pytest.mark.parametrize("kind", KINDS)
def test_mixed_numbers_become_float64_and_single_ones_stay(kind):
    design = as_design(KINDS[kind](numbers()))
    assert design.columns.values.dtype == np.float64
    assert design.columns.values.flags.c_contiguous
    assert design.conversion == "X was copied once, to float64 in column-major order"
    singles = KINDS[kind]({"a": numbers()["height"], "b": numbers()["height"]})
    assert as_design(singles).columns.values.dtype == np.float32


def test_sparse_frames_stay_sparse():
    frame = pd.DataFrame({"a": [0.0, 1.0], "b": [2.0, 0.0]}).astype(pd.SparseDtype(float, 0.0))
    assert as_design(frame).columns.data.size == 2


TEXT = {"town": ["x", "y"], "n": [1.0, 2.0], "day": np.array(["2020-01-01", "2020-01-02"], "datetime64[ms]")}
CODES = {
    "pandas": pd.DataFrame({"n": [1.0, 2.0], "code": pd.Categorical(["a", "b"])}),
    "polars": pl.DataFrame({"n": [1.0, 2.0], "code": pl.Series(["a", "b"], dtype=pl.Categorical)}),
    "pyarrow": pa.table({"n": [1.0, 2.0], "code": pa.array(["a", "b"]).dictionary_encode()}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_are_not_numbers_are_named_with_the_way_out(kind):
    with pytest.raises(
        ValueError, match=r"2 columns that are not numbers: 'town', 'day'\. .*ColumnTransformer.*OneHot"
    ):
        as_design(KINDS[kind](TEXT))
    with pytest.raises(ValueError, match=r"1 columns that are not numbers: 'code'"):
        as_design(CODES[kind])
    with pytest.raises(ValueError, match=r"1 columns that are not numbers: 'day'\. Convert dates to numbers, [^O]*$"):
        as_design(KINDS[kind]({"n": TEXT["n"], "day": TEXT["day"]}))


@pytest.mark.parametrize("dtype", ["datetime64[ms]", "timedelta64[s]"])
def test_dates_in_an_array_are_refused(dtype):
    """numpy would count the milliseconds since 1970."""
    with pytest.raises(ValueError, match="X has dates or durations"):
        as_design(np.array([[1], [2]], dtype))


@pytest.mark.parametrize("value", ["x", pd.Timestamp("2020-01-01"), {"a": 1}])
def test_the_column_of_an_object_that_is_no_number_is_named(value):
    X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], object)
    X[1, 2] = value
    with pytest.raises((TypeError, ValueError), match="X, column 2: "):
        as_design(X)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"n": [1.0, 2.0], "k": pd.array([1, None], dtype="Int64")}),
        pd.DataFrame({"n": [1.0, 2.0], "k": [1.5, None]}, dtype="Float64"),
        pl.DataFrame({"n": [1.0, 2.0], "k": [1, None]}),
        pa.table({"n": [1.0, 2.0], "k": [1, None]}),
        pa.table({"n": [1.0, 2.0], "k": [1.5, None]}),
    ],
    ids=["pandas", "pandas floats", "polars", "pyarrow", "pyarrow floats"],
)
def test_missing_values_are_named(frame):
    with pytest.raises(ValueError, match="missing values in 'k'"):
        as_design(frame)


@pytest.mark.parametrize("fit", [lasso_path, lambda X, y: Lasso().fit(X, y)])
def test_columns_that_are_not_finite_are_named(fit):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((M, 8))).add_prefix("x")
    for names, told in ((["x3"], r"column 'x3'$"), (frame.columns[1:], r"columns 'x1', .*, 'x5', \.\.\.$")):
        bad = frame.copy()
        bad.loc[4, names] = np.nan
        with pytest.raises(ValueError, match=f"X contains NaN, infinity.* in {told}"):
            fit(bad, Y)


def test_lazy_frames_are_to_be_collected():
    frame = pl.DataFrame(numbers())
    path, model = lasso_path(frame, Y, alphas=2), Lasso().fit(frame, Y)
    for call in (as_design, lambda X: model.fit(X, Y), model.predict, path.predict, path[-1].predict):
        with pytest.raises(ValueError, match=r"X is a lazy frame.*call collect\(\) first"):
            call(frame.lazy())


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("sparse", [True, False])
def test_pipeline_with_one_hot_codes(kind, sparse):
    town = np.array(["a", "b", "c", "d"] * 10, dtype=object)
    y = Y + 3.0 * (town == "b")
    frame = KINDS[kind]({"town": town.tolist(), "dose": numbers()["dose"]})
    codes = ColumnTransformer(
        [("codes", OneHotEncoder(sparse_output=sparse), ["town"]), ("scaled", StandardScaler(), ["dose"])],
        sparse_threshold=float(sparse),
    )
    model = make_pipeline(codes, Lasso(alpha=0.01)).fit(frame, y)
    assert hasattr(codes.transform(frame), "indptr") == sparse
    conversion = model[-1].path_.settings["conversion"]
    assert conversion == f"X was copied once, to float64 in {'CSC' if sparse else 'column-major order'}"
    names = model[:-1].get_feature_names_out().tolist()
    assert names[int(np.argmax(model[-1].coef_))] == "codes__town_b"
    assert model.score(frame, y) > 0.5


PEAK = (
    MEMORY
    + """
import numpy as np, pyarrow as pa
from fwlasso.data.design import as_design

rng = np.random.default_rng(0)
table = pa.table({f"f{j}": rng.standard_normal(100_000) for j in range(125)})
design, peak = with_peak(lambda: as_design(table))
print(peak / design.columns.values.nbytes)
"""
)


@pytest.mark.compiled
def test_a_table_is_copied_once():
    done = run_program(PEAK)
    assert 0.9 < float(done.stdout) < 1.2


def sparse(values, fill):
    return pd.arrays.SparseArray(values, fill_value=fill)


@pytest.mark.filterwarnings("ignore:X has feature names, but Lasso was fitted without")
@pytest.mark.parametrize("fill", [1.0, np.nan])
@pytest.mark.parametrize("others", [{}, {"b": sparse([0.0, 2.0, 0.0], 0.0)}])
def test_another_fill_value_than_zero_is_refused_by_name(fill, others):
    frame = pd.DataFrame({"a": sparse([1.0, 5.0, 1.0], fill), **others})
    path = lasso_path(np.array([[1.0, 0.0], [5.0, 2.0], [1.0, 0.0]])[:, : frame.shape[1]], [1.0, 2.0, 4.0], alphas=2)
    model = Lasso().fit(np.ones((3, frame.shape[1])) * [[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0])
    for use in (lambda: lasso_path(frame, [1.0, 2.0, 4.0]), lambda: path.predict(frame), lambda: model.predict(frame)):
        with pytest.raises(ValueError, match=r"X has sparse columns with a fill value other than 0: 'a'. .*to_dense"):
            use()


def test_sparse_columns_beside_dense_ones_are_the_numbers_that_they_stand_for():
    values = np.round(np.random.default_rng(0).standard_normal((M, 7))) + 1.0
    frame = partly_sparse(pd.DataFrame(values))
    path = lasso_path(frame, Y, alphas=5)
    expected = lasso_path(np.asfortranarray(values), Y, alphas=5)
    np.testing.assert_array_equal(path.coefs.toarray(), expected.coefs.toarray())
    np.testing.assert_allclose(path.predict(frame), expected.predict(values), rtol=1e-12)
    frame[0] = sparse(np.where(values[:, 0] == 1.0, np.nan, values[:, 0]), np.nan)
    with pytest.raises(ValueError, match="X has missing values in '0'"):
        lasso_path(frame, Y)
    whole = pd.DataFrame({"a": sparse(np.where(values[:, 0] == 1.0, np.nan, 0.0), 0.0)})
    with pytest.raises(ValueError, match="X contains NaN"):
        lasso_path(whole, Y)
