"""What a conversion to float64 would pass over: masks, dates, and integers that it rounds."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from fwlasso import Lasso, LassoCV, lasso_cv, lasso_path
from fwlasso.datasets import Table, dump_libsvm, product_features, write_store

M = 12
X = np.asfortranarray(np.random.default_rng(0).standard_normal((M, 3)))
Y = X @ [1.0, 2.0, 0.0]
PATH, FITTED = lasso_path(X, Y, alphas=3), Lasso(0.1).fit(X, Y)
DAYS = np.datetime64("2026-01-01", "ns") + np.arange(M) * np.timedelta64(1, "D")

#: Whoever takes a response, and whoever takes columns.
TAKE_Y = {
    "path": lambda y: lasso_path(X, y),
    "fit": lambda y: Lasso().fit(X, y),
    "score": lambda y: PATH.score(X, y),
    "validation": lambda y: lasso_cv(X, Y, alphas=3, validation=(X, y)),
    "table": lambda y: lasso_path(Table(X, y)),
    "store": lambda y: write_store("never", X, y),
    "dump": lambda y: dump_libsvm(X, y, "never"),
}
TAKE_X = {
    "path": lambda X: lasso_path(X, Y),
    "fit": lambda X: LassoCV().fit(X, Y),
    "predict": PATH.predict,
    "predict by an estimator": FITTED.predict,
    "score": lambda X: PATH.score(X, Y),
    "validation": lambda X_: lasso_cv(X, Y, alphas=3, validation=(X_, Y)),
    "store": lambda X: write_store("never", X, Y),
    "dump": lambda X: dump_libsvm(X, Y, "never"),
    "products": lambda X: product_features(X, 2),
}


@pytest.fixture(autouse=True)
def _nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("take", TAKE_Y.values(), ids=TAKE_Y)
@pytest.mark.parametrize(
    "dates",
    [DAYS, DAYS - DAYS[0], pd.Series(DAYS), pd.Series(DAYS).dt.tz_localize("UTC"), pd.DataFrame({"day": DAYS}),
     pl.Series(DAYS), pl.Series([datetime.date(2026, 1, 1)] * M), pa.array(DAYS), pd.Series(DAYS).dt.time],
    ids=["dates", "durations", "pandas", "zone", "frame", "polars", "polars dates", "pyarrow", "objects"],
)  # fmt: skip
def test_a_response_of_dates_is_refused(take, dates):
    with pytest.raises((ValueError, TypeError), match=r"^(validation: )?y has dates or durations, |'datetime.time'"):
        take(dates)


@pytest.mark.parametrize("take", TAKE_Y.values(), ids=TAKE_Y)
def test_a_response_with_a_mask_is_refused(take):
    with pytest.raises(ValueError, match=r"^(validation: )?y is a masked array, which is not supported"):
        take(np.ma.masked_array(Y, Y > 0.0))


@pytest.mark.parametrize("take", TAKE_X.values(), ids=TAKE_X)
def test_columns_with_a_mask_are_refused(take):
    with pytest.raises(ValueError, match=r"^X is a masked array, which is not supported"):
        take(np.ma.masked_array(X, X > 0.0))


@pytest.mark.filterwarnings("ignore:X has feature names, but Lasso was fitted without")
@pytest.mark.parametrize("take", TAKE_X.values(), ids=TAKE_X)
def test_columns_of_dates_are_refused(take):
    with pytest.raises(ValueError, match=r"^X has dates or durations|^X must be a matrix of real numbers"):
        take(np.stack([DAYS, DAYS, DAYS], axis=1))
    if take not in (TAKE_X["dump"], TAKE_X["products"]):
        with pytest.raises(ValueError, match=r"X has 1 columns that are not numbers: 'b'\. Convert dates|names"):
            take(pd.DataFrame({"a": X[:, 0], "b": DAYS, "c": X[:, 2]}))


@pytest.mark.parametrize("name", ["alphas", "radii"])
def test_a_grid_with_a_mask_or_of_durations_is_refused(name):
    with pytest.raises(ValueError, match=f"^{name} is a masked array"):
        lasso_path(X, Y, **{name: np.ma.masked_array([0.1, 0.2], [True, False])})
    with pytest.raises(ValueError, match=f"^{name} has dates or durations"):
        lasso_path(X, Y, **{name: DAYS - DAYS[0]})


@pytest.mark.parametrize(
    "wide",
    [lambda v: v, list, pd.Series, lambda v: pd.Series(v, dtype="Int64"), pl.Series, pa.array, np.uint64, np.int32],
    ids=["numpy", "list", "pandas", "nullable", "polars", "pyarrow", "uint64", "int32"],
)
def test_integers_that_float64_rounds_are_told_of(wide):
    small, large = np.arange(M), np.arange(M) + 2**53
    assert told(lambda: lasso_path(X, wide(small), alphas=2)) == []
    said = "y has integers of 2^53 or more, which float64 does not hold exactly: they were rounded."
    if wide is not np.int32:
        assert told(lambda: lasso_path(X, wide(large), alphas=2)) == [said]
        assert told(lambda: lasso_path(X, wide(large) if wide is np.uint64 else wide(-large), alphas=2)) == [said]


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        (np.array, ", in column 1"),
        (lambda v: v.tolist(), ", in column 1"),
        (sp.csr_array, ", in column 1"),
        (lambda v: pd.DataFrame(v, columns=["a", "b", "c"]), " in 'b'"),
        (lambda v: pl.DataFrame(v, schema=["a", "b", "c"]), " in 'b'"),
        (lambda v: pa.table(dict(zip("abc", v.T, strict=True))), " in 'b'"),
        (lambda v: pd.DataFrame(v, columns=["a", "b", "c"]).astype("Int64"), " in 'b'"),
    ],
    ids=["numpy", "list", "sparse", "pandas", "polars", "pyarrow", "nullable"],
)
def test_columns_of_them_are_named(kind, where):
    values = np.arange(3 * M).reshape(M, 3)
    assert told(lambda: lasso_path(kind(values), Y, alphas=2)) == []
    values[5, 1] = -(2**53) - 1
    said = f"X has integers of 2^53 or more{where}, which float64 does not hold exactly: they were rounded."
    assert told(lambda: lasso_path(kind(values), Y, alphas=2)) == [said]


def test_a_store_says_so_too(tmp_path_factory):
    values = np.arange(3 * M).reshape(M, 3)
    folder = tmp_path_factory.mktemp("stores")
    assert told(lambda: write_store(folder / "small", values, Y)) == []
    values[5, 1] = 2**53 + 1
    for k, wide in enumerate((values, sp.csc_array(values))):
        assert told(lambda k=k, wide=wide: write_store(folder / str(k), wide, Y))[0].startswith(
            "X has integers of 2^53"
        )


def told(act):
    """The warnings that are given."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        act()
    return [str(warning.message) for warning in given if issubclass(warning.category, UserWarning)]
