"""Rows in chunks: the path of one machine by one pass of sums, in this process; `test_cluster` has real workers."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("dask.dataframe", reason="the extra [dask] is not installed")

import dask
import dask.array as da
import dask.dataframe as dd
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

import fwlasso
from attack.duality import PLAIN
from fwlasso.distributed import lasso_cv, lasso_path, rows
from fwlasso.monitor import PathEnded
from fwlasso.status import Status
from judge import judge


@pytest.fixture(autouse=True)
def in_line():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(params=[1, 4096], ids=["chunk by chunk", "put together"])
def fewest(request, monkeypatch):
    monkeypatch.setattr(rows, "_FEWEST_ROWS", request.param)


def some_data(rng, m=300, p=8):
    X = rng.standard_normal((m, p)) * rng.uniform(0.1, 10.0, p) + rng.choice([0.0, 50.0], p)
    return X, X[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_normal(m)


def in_chunks(values, n):
    return da.from_array(values, chunks=(n, *values.shape[1:]))


def problem_of(seed):
    """A random problem, and what is asked of it."""
    rng = np.random.default_rng(seed)
    X, y = some_data(rng, int(rng.integers(20, 200)), int(rng.integers(3, 12)))
    m, p = X.shape
    asked, options = PLAIN, {"standardize": bool(rng.random() < 0.4), "tol": 10.0 ** -rng.integers(3, 12)}
    if rng.random() < 0.3:
        X[:, rng.integers(p)] = 7.25
    if rng.random() < 0.3:
        X += 10.0 ** rng.integers(2, 7)
    if rng.random() < 0.2:
        X[:, 0] *= 1e200
    if rng.random() < 0.4:
        asked = asked._replace(sample_weight=rng.integers(0, 3, m) * rng.uniform(0.5, 2.0, m))
    if rng.random() < 0.3:
        asked = asked._replace(penalty_factor=rng.uniform(0.5, 2.0, p))
    kind = rng.integers(4)
    if kind == 1:
        asked = asked._replace(l1_ratio=0.5)
    elif kind == 2:
        asked = asked._replace(lower=np.full(p, -1.0), upper=np.full(p, 2.0))
    elif kind == 3:
        options["radii"] = 10
    options["fit_intercept"] = bool(rng.random() < 0.8)
    return X, y, asked, {**options, "alphas": None if kind == 3 else 10}, int(rng.integers(5, m + 1))


def test_what_is_claimed_of_chunks_is_so(fewest):
    for seed in range(60):
        X, y, asked, options, n = problem_of(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            path = lasso_path(in_chunks(X, n), in_chunks(y, n), **asked.keywords(), **options)
        judge(path, X, y, asked)


OPTIONS = {
    "plain": {},
    "net": {"l1_ratio": 0.5},
    "bounds": {"lower": -1.0, "upper": 2.0},
    "factors": {"penalty_factor": {2: 0.5}, "standardize": True},
    "free": {"unpenalized": [1]},
    "radii": {"radii": 10},
    "no intercept": {"fit_intercept": False},
}


@pytest.mark.parametrize("asked", OPTIONS)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_path_is_that_of_one_machine(rng, asked, is_weighted, fewest):
    X, y = some_data(rng)
    given = {"sample_weight": np.arange(300.0) % 4, "offset": rng.standard_normal(300)} if is_weighted else {}
    path = lasso_path(in_chunks(X, 70), in_chunks(y, 70), **given, **OPTIONS[asked])
    local = fwlasso.lasso_path(X, y, **given, **OPTIONS[asked])
    size = abs(local.coefs).max()
    assert abs(path.coefs - local.coefs).max() <= 1e-12 * size
    np.testing.assert_allclose(path.intercepts, local.intercepts, rtol=0, atol=1e-11 * size)
    assert path.settings["n_samples"] == local.settings["n_samples"]
    assert path.gaps.max() <= 1e-4


def test_frames_have_names_weights_and_partitions_of_unknown_sizes(rng):
    X, y = some_data(rng)
    w = np.arange(300.0) % 3
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(8)]).assign(price=y, w=w)
    given = dd.from_pandas(frame, npartitions=4)
    given = given[given.c0 > -1e9]  # sizes are unknown now
    local = fwlasso.lasso_path(X, y, sample_weight=w)
    for path in (
        lasso_path(given, "price", sample_weight="w"),
        lasso_path(given.drop(columns=["price", "w"]), given["price"], sample_weight=w),
    ):
        assert path.feature_names == tuple(frame.columns[:8])
        assert path.settings["target"] == "price"
        assert abs(path.coefs - local.coefs).max() <= 1e-12 * abs(local.coefs).max()


def test_parquet_is_read_by_row_groups(rng, tmp_path):
    X, y = some_data(rng)
    frame = pd.DataFrame(X, columns=list("abcdefgh")).assign(price=y)
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=70)
    path = lasso_path(tmp_path / "x.parquet", "price")
    again = lasso_path(in_chunks(X, 70), in_chunks(y, 70))
    assert path.feature_names == tuple("abcdefgh")
    np.testing.assert_allclose(path.coefs.toarray(), again.coefs.toarray(), atol=1e-12)


def test_sparse_chunks(rng):
    X = sp.random_array((200, 12), density=0.2, rng=rng, format="csr")
    y, w = X @ np.arange(12.0) + rng.standard_normal(200), np.arange(200) % 3
    parts = [da.from_delayed(dask.delayed(X[k : k + 50]), (50, 12), float, meta=X[:0]) for k in range(0, 200, 50)]
    path = lasso_path(da.concatenate(parts), y, sample_weight=w)
    local = fwlasso.lasso_path(X.tocsc(), y, sample_weight=w)
    assert abs(path.coefs - local.coefs).max() <= 1e-12 * abs(local.coefs).max()


@pytest.mark.parametrize(
    "asked", [{}, {"sample_weight": "w", "rule": "1se"}, {"l1_ratio": [0.5, 1.0]}, {"rule": "bic"}]
)
def test_folds_are_summed_in_the_same_pass(rng, asked):
    X, y = some_data(rng, 500)
    y = y + 30.0 * rng.standard_normal(500)
    frame = pd.DataFrame(X).rename(columns=str).assign(y=y, w=np.arange(500.0) % 4)
    frame = frame if "sample_weight" in asked else frame.drop(columns="w")
    passes = []
    given = dd.from_pandas(frame, npartitions=4).map_partitions(lambda part: passes.append(1) or part, meta=frame[:0])
    found = lasso_cv(given, "y", **asked)
    assert len(passes) == 2 * 4 if "rule" not in asked else len(passes) <= 2 * 4  # one counts rows
    local = fwlasso.lasso_cv(X, y, **{**asked, **({"sample_weight": frame["w"]} if "w" in frame else {})})
    assert found.choice.point == local.choice.point
    np.testing.assert_allclose(found.choice.scores, local.choice.scores, rtol=1e-9)
    assert len(found.fold_paths) == len(local.fold_paths)


def test_errors_that_sums_do_not_tell_are_those_of_rows(rng):
    X, _ = some_data(rng)
    y = X[:, :3] @ [3.0, -2.0, 1.0] + 1e-6 * rng.standard_normal(300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, local = lasso_cv(in_chunks(X, 70), in_chunks(y, 70), eps=1e-8), fwlasso.lasso_cv(X, y, eps=1e-8)
    np.testing.assert_allclose(found.choice.scores, local.choice.scores, rtol=1e-4)


FRAME = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0]}), npartitions=1)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"X": FRAME, "loss": "logistic"}, "loss"),
        ({"X": FRAME, "solver": "sfw"}, "solver"),
        ({"y": None}, "y: give the response"),
        ({"y": np.ones(5)}, "one number for each of the 300"),
        ({"y": "price"}, "no frame"),
        ({"X": np.ones((3, 2))}, "must lie in files"),
        ({"sample_weight": -np.ones(300)}, "sample_weight"),
        ({"sample_weight": np.zeros(300)}, "sample_weight"),
        ({"y": np.full(300, np.nan)}, "y contains NaN"),
    ],
)
def test_what_is_no_problem_of_rows_is_refused_by_name(rng, change, told):
    X, y = some_data(rng)
    given = {"X": in_chunks(X, 70), "y": in_chunks(y, 70), **change}
    with pytest.raises(ValueError, match=told):
        lasso_path(given.pop("X"), given.pop("y"), **given)


def test_nan_in_chunks_is_named_by_its_column(rng):
    X, y = some_data(rng)
    X[280, 3] = np.nan
    with pytest.raises(ValueError, match="column 3"):
        lasso_path(in_chunks(X, 70), in_chunks(y, 70))


def test_the_clock_ends_the_pass(rng, monkeypatch):
    X, y = some_data(rng)
    with pytest.raises(TimeoutError, match="time_limit"):
        lasso_path(in_chunks(X, 70), in_chunks(y, 70), time_limit=1e-9)

    def lost(*_):
        raise PathEnded(Status.LOST)

    X += 1e6  # what is met in the closing pass leaves the path as sums prove it
    monkeypatch.setattr(rows.RowChunks, "_residuals", lost)
    with pytest.warns(ConvergenceWarning, match="cluster was lost"):
        path = lasso_path(in_chunks(X, 70), in_chunks(y, 70), tol=1e-13)
    assert path.ending is Status.LOST
    assert len(path) == 100
