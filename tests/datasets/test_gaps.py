"""Cells of tables without a value: their rows are left out, or means take their places, and a warning counts them."""

import io
import re
import sys

import numpy as np
import pandas as pd
import pytest

from fwlasso import LassoPath, LinearModel, lasso_cv, lasso_path, sum_table
from fwlasso.data.sealed import seal
from fwlasso.datasets import convert, gaps, open_store, read_table
from fwlasso.datasets.gaps import SPELLINGS
from fwlasso.datasets.new_rows import Features, read_new_rows
from fwlasso.datasets.source import Wanted

M, NAMES = 40, ("wind", "sun", "day")
KINDS = ("a.csv", "a.tsv", "a.csv.gz", "a.parquet")


def make_frame():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(-9, 9, (M, 3)) / 4.0, columns=NAMES)
    frame["ozone"] = frame["wind"] - frame["sun"] + rng.standard_normal(M)
    frame.loc[[3, 7, 8], "sun"] = np.nan
    frame.loc[[8, 9], "wind"] = np.nan
    frame.loc[[0, 9, 39], "ozone"] = np.nan
    return frame


FRAME = make_frame()
WHOLE = FRAME.dropna()
ANSWERED = FRAME.dropna(subset="ozone")
MEANS = ANSWERED[list(NAMES)].mean()
FILLED = ANSWERED.fillna(MEANS)
DROPPED = r"6 of 40 rows are left out: they have no value of 'wind' \(2\), 'sun' \(3\), 'ozone' \(3\)"
IMPUTED = [
    r"3 of 40 rows are left out: they have no value of the response 'ozone'",
    r"4 cells without a value stand at the means of their columns: 'wind' \(1\), 'sun' \(3\)",
]


def write(file, frame=FRAME, **options):
    if file.suffix == ".parquet":
        frame.to_parquet(file, row_group_size=6)
    else:
        frame.to_csv(file, index=False, sep="\t" if file.suffix == ".tsv" else ",", **options)
    return file


def told(call):
    """What a call returns, and what it warns of."""
    with pytest.warns(UserWarning, match="value") as warned:
        found = call()
    return found, [str(it.message) for it in warned]


def assert_told(texts, expected):
    assert len(texts) == len(expected)
    for text, pattern in zip(texts, expected, strict=True):
        assert re.search(pattern, text)


READERS = {
    "read": read_table,
    "convert": lambda file, **options: convert(file, file.parent / "store", **options),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS)
def test_rows_are_left_out(tmp_path, monkeypatch, kind, reader):
    monkeypatch.setattr(gaps, "BLOCK_BYTES", 100)  # some rows
    table, texts = told(lambda: READERS[reader](write(tmp_path / kind), drop_missing=True))
    np.testing.assert_array_equal(table.X, WHOLE[list(NAMES)])
    np.testing.assert_array_equal(table.y, WHOLE["ozone"])
    assert_told(texts, [DROPPED])
    assert (table.feature_names, table.target, table.means) == (NAMES, "ozone", None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS)
def test_means_take_the_places(tmp_path, monkeypatch, kind, reader):
    monkeypatch.setattr(gaps, "BLOCK_BYTES", 100)
    table, texts = told(lambda: READERS[reader](write(tmp_path / kind), impute="mean"))
    np.testing.assert_allclose(table.X, FILLED[list(NAMES)], rtol=1e-15)
    np.testing.assert_array_equal(table.y, FILLED["ozone"])
    np.testing.assert_allclose(table.means, MEANS, rtol=1e-15)
    assert_told(texts, IMPUTED)


def test_a_parquet_file_of_single_precision_stays_so(tmp_path):
    file = write(tmp_path / "a.parquet", FRAME.astype(np.float32))
    table, _ = told(lambda: read_table(file, impute="mean"))
    assert (table.X.dtype, table.means.dtype) == (np.float32, np.float64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_sums_leave_rows_out(tmp_path, kind, n_threads):
    file = write(tmp_path / kind)
    sums, texts = told(lambda: sum_table(file, drop_missing=True, n_threads=n_threads))
    assert_told(texts, [DROPPED])
    assert sums.shape == WHOLE[list(NAMES)].shape
    expected = sum_table(write(tmp_path / "whole.csv", WHOLE))
    np.testing.assert_array_equal(sums.sums.products, expected.sums.products)


@pytest.mark.parametrize("spelling", [it for it in SPELLINGS if it.strip()])
def test_every_way_to_write_it_is_read(tmp_path, spelling):
    file = write(tmp_path / "a.csv", na_rep=spelling)
    table, _ = told(lambda: read_table(file, drop_missing=True))
    np.testing.assert_array_equal(table.X, WHOLE[list(NAMES)])


def test_quoted_cells_and_other_decimals(tmp_path):
    (tmp_path / "a.csv").write_text('"a";"b";"y"\n1,5;"NA";1\n"2,5";3;2\n;4;3\n')
    table, _ = told(lambda: read_table(tmp_path / "a.csv", impute="mean"))
    np.testing.assert_array_equal(table.X, [[1.5, 3.5], [2.5, 3.0], [2.0, 4.0]])


def test_a_pipe_is_read_once(monkeypatch):
    text = io.TextIOWrapper(io.BytesIO(FRAME.to_csv(index=False).encode()))
    monkeypatch.setattr(sys, "stdin", text)
    table, _ = told(lambda: read_table("-", impute="mean"))
    np.testing.assert_allclose(table.X, FILLED[list(NAMES)], rtol=1e-15)


def test_columns_that_are_not_read_may_lack_anything(tmp_path):
    table, texts = told(lambda: read_table(write(tmp_path / "a.csv"), exclude=["sun"], drop_missing=True))
    assert table.X.shape == (FRAME[["wind", "ozone"]].dropna().shape[0], 2)
    assert "'sun'" not in texts[0]
    store, _ = told(lambda: convert(tmp_path / "a.csv", tmp_path / "s", columns=["sun", "wind"], impute="mean"))
    np.testing.assert_allclose(store.means, MEANS[["sun", "wind"]])


def test_without_gaps_nothing_is_told(tmp_path):
    file = write(tmp_path / "a.csv", WHOLE)
    for options in ({"drop_missing": True}, {"impute": "mean"}):
        np.testing.assert_array_equal(read_table(file, **options).X, WHOLE[list(NAMES)])


FAULTS = {
    "both": ({"drop_missing": True, "impute": "mean"}, "^give drop_missing or impute, not both"),
    "unknown": ({"impute": "median"}, "^impute must be mean or None, got 'median'"),
    "no flag": ({"drop_missing": "yes"}, "^drop_missing must be True or False"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("reader", READERS)
def test_bad_arguments_are_named(tmp_path, fault, reader):
    options, message = FAULTS[fault]
    with pytest.raises(ValueError, match=message):
        READERS[reader](write(tmp_path / "a.csv"), **options)


@pytest.mark.parametrize("name", ["a.npy", "a.svm"])
@pytest.mark.parametrize("option", [{"drop_missing": True}, {"impute": "mean"}])
def test_other_files_are_refused(tmp_path, name, option):
    (tmp_path / name).write_text("1 1:2\n")
    readers = [*READERS.values(), *([sum_table] if name == "a.svm" and "drop_missing" in option else [])]
    for reader in readers:
        with pytest.raises(ValueError, match=rf"^{next(iter(option))} is of tables \(csv, tsv, parquet\), and not of"):
            reader(tmp_path / name, **option)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_empty_throughout_is_told(tmp_path, kind):
    file = write(tmp_path / kind, FRAME.assign(sun=np.nan))
    with pytest.raises(ValueError, match=r"no row is left: each lacks a value, of 'wind' \(2\), 'sun' \(40\)"):
        read_table(file, drop_missing=True)
    with (
        pytest.warns(UserWarning, match="value"),
        pytest.raises(ValueError, match="column 'sun': there is no value, and so no mean"),
    ):
        read_table(file, impute="mean")
    with pytest.raises(ValueError, match="no row is left"):
        read_table(write(tmp_path / kind, FRAME.assign(ozone=np.nan)), impute="mean")


@pytest.mark.parametrize("kind", ["a.csv", "a.parquet"])
def test_infinity_is_no_missing_value(tmp_path, kind):
    file = write(tmp_path / kind, FRAME.assign(day=np.inf))
    with pytest.raises(ValueError, match=r"row .*, column 'day': expected a finite number, found inf"):
        read_table(file, drop_missing=True)


# Models ----------------------------------------------------------------------------------------------------------


def test_models_keep_the_means(tmp_path):
    table, _ = told(lambda: read_table(write(tmp_path / "a.csv"), impute="mean"))
    path = lasso_path(table, alphas=5)
    path.save(tmp_path / "path.npz")
    model = path[-1]
    np.testing.assert_allclose(model.means, MEANS[list(model.feature_names)])
    assert LassoPath.load(tmp_path / "path.npz").means == path.means
    assert LinearModel.from_json(model.to_json()) == model
    found = lasso_cv(table, alphas=5)
    assert found.model.means == tuple(found.path.means[j] for j in found.model.indices)
    assert lasso_path(WHOLE[list(NAMES)], WHOLE["ozone"], alphas=3)[-1].means is None


@pytest.mark.parametrize("mean", ["1", None, [1.0], True])
def test_means_that_are_none_are_refused(tmp_path, mean):
    table, _ = told(lambda: read_table(write(tmp_path / "a.csv"), impute="mean"))
    record = lasso_path(table, alphas=5)[-1]._record()
    record["features"][0]["mean"] = mean
    with pytest.raises(ValueError, match="not a model"):
        LinearModel.from_json(seal(record))


def test_a_store_keeps_the_means(tmp_path):
    told(lambda: convert(write(tmp_path / "a.csv"), tmp_path / "store", impute="mean"))
    store = open_store(tmp_path / "store")
    np.testing.assert_allclose(lasso_path(store, alphas=5)[-1].means, MEANS)
    chosen = read_table(tmp_path / "store", columns=["sun"])
    np.testing.assert_allclose(chosen.means, MEANS[["sun"]])


@pytest.mark.parametrize("kind", KINDS)
def test_new_rows_stand_at_the_means_of_the_training_data(tmp_path, kind):
    model = Features(3, ("sun", "wind"), means=(10.0, 20.0))
    file = write(tmp_path / kind)
    rows, texts = told(lambda: read_new_rows(file, Wanted(needs_response=False), model))
    np.testing.assert_array_equal(rows.X, FRAME[["sun", "wind"]].fillna({"sun": 10.0, "wind": 20.0}))
    assert_told(
        texts, [r"5 cells without a value stand at the means in the data of the model: 'sun' \(3\), 'wind' \(2\)"]
    )
    rows, texts = told(lambda: read_new_rows(file, Wanted("ozone", needs_response=False), model))
    assert np.isnan(rows.y).sum() == 3
    assert rows.X.shape[0] == M
    assert texts[1].endswith("scores cover the 37 of 40 samples with a value of ozone")
    table, _ = told(lambda: read_table(file, impute={"sun": 10.0, "wind": 20.0, "day": 0.0}))
    np.testing.assert_array_equal(table.X, ANSWERED[list(NAMES)].fillna({"sun": 10.0, "wind": 20.0}))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", [None, "ozone"])
def test_new_rows_for_a_model_without_means_are_refused(tmp_path, kind, target):
    with pytest.raises(
        ValueError, match=r"row .*, column 'sun': there is no value.*fitted with --impute mean has means"
    ):
        read_new_rows(write(tmp_path / kind), Wanted(target, needs_response=False), Features(3, ("sun", "day")))


@pytest.mark.parametrize("kind", KINDS)
def test_new_rows_for_a_model_without_features_may_lack_anything(tmp_path, kind):
    rows, _ = told(lambda: read_new_rows(write(tmp_path / kind), Wanted(needs_response=False), Features(3, ())))
    assert rows.X.shape[0] == M
