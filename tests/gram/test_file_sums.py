"""Sums over the rows of files in one pass: what they are, what they need, and what they say of wrong files."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import csv, parquet
from typer.testing import CliRunner

from conftest import random_values
from fwlasso import Lasso, LassoPath, file_sums, lasso_cv, lasso_path, sum_table
from fwlasso._core.moments import gamma
from fwlasso.cli.app import app
from fwlasso.datasets import arrow_files, dump_libsvm, libsvm_rows, read_table
from fwlasso.file_sums import TooManyFeaturesError
from fwlasso.gram.centring import moments
from fwlasso.problem.route import gram_bytes
from programs import MEMORY, run_measured

LONG = np.longdouble


def sums_of(file, n_threads=1, fit_intercept=True, **options):
    return sum_table(file, fit_intercept=fit_intercept, n_threads=n_threads, **options)


def write(folder, kind, values, y):
    """Write a file of some kind."""
    table = pa.table({**{f"x{j}": column for j, column in enumerate(values.T)}, "effect": y})
    file = folder / f"data.{kind}"
    if kind == "csv":
        csv.write_csv(table, file)
    elif kind == "parquet":
        parquet.write_table(table, file, row_group_size=700)
    else:
        dump_libsvm(sp.csc_array(values), y, file)
    return file


def assert_sums_of(found, X, y):
    """The sums are those of long double, within their bound."""
    sums = found.sums
    X = X.toarray() if sp.issparse(X) else X
    Z = np.column_stack([np.ones(len(y)), X, y]).astype(LONG) - sums.coordinates.shifts
    Z *= sums.coordinates.scales
    limit = gamma(float(sums.n_ops)) * np.sqrt(np.outer(sums.norms2, sums.norms2))
    assert (np.abs(sums.products - Z.T @ Z) <= limit).all()
    assert (sums.products == sums.products.T).all()


@pytest.mark.parametrize("kind", ["csv", "parquet", "svm", "svm.gz"])
@pytest.mark.parametrize(("m", "density"), [(1, 1.0), (1024, 1.0), (2500, 0.8), (2500, 0.04)])
def test_sums_of_a_file_are_those_of_its_table(kind, m, density, tmp_path, rng):
    values = random_values(rng, m, 20, density)
    values[:, 3] += 1e6
    y = rng.standard_normal(m) - 40.0
    file = write(tmp_path, kind.removesuffix(".gz"), values, y)
    if kind.endswith(".gz"):
        packed = file.with_name(file.name + ".gz")
        packed.write_bytes(gzip.compress(file.read_bytes()))
        file = packed
    table = read_table(file)
    for fit_intercept in (True, False):
        found, *others = (sums_of(file, n, fit_intercept) for n in (1, 2, 3))
        assert all((other.sums.products == found.sums.products).all() for other in others)
        assert_sums_of(found, table.X, table.y)
        assert found.sums.coordinates.shifts.any() == fit_intercept
        assert (found.feature_names, found.target, found.first_index) == table[2:5]
        assert found.y_values == (() if m > 1 else (y[0],))


@pytest.mark.parametrize("kind", ["csv", "svm"])
@pytest.mark.parametrize("density", [1.0, 0.04])
def test_blocks_are_cut_by_rows_and_not_by_what_a_read_brings(kind, density, tmp_path, rng, monkeypatch):
    y = rng.standard_normal(3000) + (100.0 if density == 1.0 else 0.0)  # shifts are chosen by the first rows
    file = write(tmp_path, kind, random_values(rng, 3000, 12, density), y)
    expected = sums_of(file)
    monkeypatch.setattr(arrow_files, "_CSV_BLOCK", 5000)
    monkeypatch.setattr(libsvm_rows, "_BLOCK_BYTES", 3000)
    assert (sums_of(file, 2).sums.products == expected.sums.products).all()


def test_columns_that_come_late_and_indices_from_0_or_1(tmp_path):
    file = tmp_path / "late.svm"
    rows = [f"{k % 7} 2:{k}" for k in range(3000)] + ["1 2:1 300:5", "2"]
    file.write_text("\n".join(rows) + "\n")
    for zero_based in ("auto", True, False):
        table, found = read_table(file, zero_based=zero_based), sums_of(file, zero_based=zero_based)
        assert found.first_index == table.first_index
        assert_sums_of(found, table.X, table.y)
    file.write_text("1 0:3\n2 1:5\n")
    found = sums_of(file)
    assert found.first_index == 0
    assert_sums_of(found, np.diag([3.0, 5.0]), np.array([1.0, 2.0]))
    assert found.y_values == (1.0, 2.0)
    file.write_text("1\n2 # no entries\n")
    for zero_based in ("auto", False):
        assert_sums_of(sums_of(file, zero_based=zero_based), np.zeros((2, 1)), np.array([1.0, 2.0]))


def test_columns_are_chosen_by_name(tmp_path, rng):
    values, y = random_values(rng, 50, 5), rng.standard_normal(50)
    for kind in ("csv", "parquet"):
        file = write(tmp_path, kind, values, y)
        found = sums_of(file, target="x1", exclude=["x3", "effect"])
        assert (found.feature_names, found.target) == (("x0", "x2", "x4"), "x1")
        assert_sums_of(found, values[:, [0, 2, 4]], values[:, 1])
        assert sums_of(file, columns=["x2"]).feature_names == ("x2",)


@pytest.mark.parametrize("kind", ["csv", "parquet", "svm"])
@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.parametrize("density", [1.0, 0.04])
def test_numbers_whose_squares_are_out_of_range(kind, scale, density, tmp_path, rng):
    values, y = scale * random_values(rng, 600, 12, density), rng.standard_normal(600)
    found = sums_of(write(tmp_path, kind, values, y))
    assert_sums_of(found, values, y)
    assert (found.sums.coordinates.scales[1:-1][values.any(axis=0)] != 1.0).all()
    assert np.isfinite(moments(found.sums, True, True)[0].gram).all()


@pytest.mark.parametrize("kind", ["csv", "parquet", "svm"])
def test_constant_columns_of_files_are_zero_columns(kind, tmp_path, rng):
    values, y = random_values(rng, 3000, 12, 0.9), rng.standard_normal(3000)
    values[:, 2], values[:, 4] = 0.1, 0.0
    _, centre = moments(sums_of(write(tmp_path, kind, values, y)).sums, True, False)
    assert np.flatnonzero(centre.factors == 0.0).tolist() == [2, 4]


@pytest.mark.parametrize("kind", ["csv", "parquet", "svm"])
@pytest.mark.parametrize("options", [{}, {"standardize": True, "radii": 30}, {"fit_intercept": False}])
def test_the_path_of_a_file_is_that_of_its_table(kind, options, tmp_path, rng):
    values = random_values(rng, 2500, 15) + np.arange(15.0)
    file = write(tmp_path, kind, values, values[:, :3].sum(axis=1) + rng.standard_normal(2500))
    summed = sum_table(file, fit_intercept=options.get("fit_intercept", True))
    path, table = lasso_path(summed, tol=1e-8, **options), read_table(file)
    expected = lasso_path(table, tol=1e-8, **options)
    np.testing.assert_allclose(path.coefs.toarray(), expected.coefs.toarray(), atol=1e-6)
    np.testing.assert_allclose(path.intercepts, expected.intercepts, atol=1e-5)
    assert path.gaps.max() <= 1e-8
    assert path.settings["route"] == "gram"
    assert path.counters.passes == 1.0
    known = ("target", "first_index", "n_samples")
    assert [path.settings.get(name) for name in known] == [expected.settings.get(name) for name in known]
    assert path.feature_names == expected.feature_names


def test_what_needs_rows_is_refused(tmp_path, rng):
    file = write(tmp_path, "csv", rng.standard_normal((50, 4)) + 9.0, rng.standard_normal(50))
    summed = sum_table(file)
    for call, message in [
        (lambda: lasso_cv(summed), "its rows were not kept"),
        (lambda: lasso_path(summed, np.zeros(50)), "y: X was summed"),
        (lambda: lasso_path(summed, solver="sfw"), "solver='sfw' looks at columns"),
        (lambda: lasso_path(summed, fit_intercept=False), "fit_intercept"),
        (lambda: lasso_path(summed, feature_names=["a"]), "feature_names must be one for each of the 4"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            call()
    assert Lasso(0.1).fit(summed, None).coef_.shape == (4,)  # a model is a path of one point


def test_the_command_sums_up_what_is_large_or_asked_for(tmp_path, rng, monkeypatch):
    def run(*words):
        return CliRunner().invoke(app, list(map(str, words)))

    values = rng.standard_normal((300, 4))
    file = write(tmp_path, "csv", values, values[:, 0] + rng.standard_normal(300))
    paths = []
    for n, options in enumerate(([], ["--solver", "gram"], [])):
        if n == 2:
            monkeypatch.setattr("fwlasso.cli.read.LARGE_FILE", 0.0)
        done = run("path", file, "--target", "effect", "--out", tmp_path / str(n), "--quiet", *options)
        assert done.exit_code == 0, done.output
        paths.append(LassoPath.load(tmp_path / str(n) / "path.npz"))
    assert (paths[1].coefs.toarray() == paths[2].coefs.toarray()).all()
    np.testing.assert_allclose(paths[0].coefs.toarray(), paths[1].coefs.toarray(), atol=1e-2)
    wide = write(tmp_path, "svm", rng.standard_normal((5, 5)), np.arange(5.0))
    wide.write_text(wide.read_text() + "1 9999:2\n")
    assert run("path", wide, "--quiet", "--alphas", 3).exit_code == 0  # read as others are: it has too many features
    assert isinstance(run("path", wide, "--solver", "gram").exception, TooManyFeaturesError)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "x,y\n1,2\nred,4\n", r"a\.csv, row 3, column 'x': expected a number, found 'red'"),
        ("a.csv", "x,y\n", r"a\.csv: there are no rows"),
        ("a.svm", "1 1:2\n2 3:4 3:5\n", r"a\.svm:2:7: expected every index once in a line, found '3:5'"),
        ("a.svm", "1 1:2\n2 0:3\n", r"a\.svm:2:3: expected an index of at least 1, found '0:3'"),
        ("a.svm", "# nothing\n", r"a\.svm: there are no rows"),
        ("a.npy", "", r"a\.npy: the name must end in"),
    ],
)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_what_is_wrong_is_named_with_its_place(name, text, message, n_threads, tmp_path):
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        sums_of(file, n_threads, zero_based=False)


def test_too_many_features_are_refused_before_there_is_a_matrix_of_them(tmp_path, monkeypatch):
    file = tmp_path / "a.svm"
    file.write_text("1 1:2\n2 100000000:3\n")
    with pytest.raises(TooManyFeaturesError, match=r"a\.svm: there are more than 4000 features"):
        sums_of(file)
    file = write(tmp_path, "csv", np.ones((2, 11)), np.zeros(2))
    monkeypatch.setattr(file_sums, "MOST_FEATURES", 10)
    with pytest.raises(TooManyFeaturesError, match=r"data\.csv: there are more than 10 features"):
        sums_of(file)


MEASURE = (
    MEMORY
    + """
import sys
from fwlasso import sum_table

def run(file):
    seen = []  # without what is mapped from files
    sum_table(file, n_threads=2, progress=lambda step: seen.append(memory("RssAnon")))
    return max(seen)

small, large = sys.argv[1:]
run(small)  # imports, compiles
before = memory("RssAnon")
print(run(large) - before)
"""
)


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["csv", "parquet", "svm"])
def test_memory_does_not_grow_with_the_file(kind, tmp_path, rng):
    p = 300
    (tmp_path / "small").mkdir()
    small = write(tmp_path / "small", kind, rng.standard_normal((30, p)), np.arange(30.0))
    times = 10 if kind == "svm" else 1  # rows of text may be repeated
    m = 40_000 // times
    large = write(tmp_path, kind, rng.integers(-9, 10, (m, p)) / 8.0 + 0.3, rng.standard_normal(m))
    large.write_bytes(times * large.read_bytes())
    (growth,) = run_measured(MEASURE, small, large)
    assert growth < gram_bytes(p, 2) + 64e6
    assert 8 * 40_000 * p > 90e6
