"""Every kind of file: what is read, by name or by place, and what is said about bad ones, by all who read them."""

import bz2
import datetime
import gzip
import importlib
import lzma
import re

import h5py
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import parquet

from file_cases import FILES, NAMED, P, X, Y, beside, dense, target_of
from fwlasso.datasets import convert, read_table
from fwlasso.datasets.new_rows import Features, read_new_rows
from fwlasso.datasets.readers import READERS
from fwlasso.datasets.source import Wanted


def read(file, **options):
    return read_table(file, **options)


def make_store(file, **options):
    return convert(file, file.parent / "store", **options)


@pytest.fixture(params=[read, make_store])
def reader(request):
    return request.param


def test_every_suffix_is_among_the_files():
    assert {re.findall(r"\.\w+", name.lower())[0] for name in FILES if name != "a store"} | {".bed"} == set(READERS)


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_is_read_and_predicted(tmp_path, name):
    FILES[name](tmp_path / name)
    table = read_table(str(tmp_path / name), target_of(tmp_path / name))
    np.testing.assert_array_equal(dense(table.X), X)
    np.testing.assert_array_equal(table.y, Y)
    assert (table.feature_names is not None) == (name in NAMED)
    assert isinstance(table.X, np.memmap) == name.endswith(".npy")
    assert sp.issparse(table.X) or table.X.flags.f_contiguous or name in ("C.npy", "C.npz")
    (tmp_path / "y.npy").unlink(missing_ok=True)
    rows = read_new_rows(
        tmp_path / name, Wanted(needs_response=False), Features(P, table.feature_names, table.first_index)
    )
    np.testing.assert_array_equal(dense(rows.X), X)
    assert rows.feature_names == table.feature_names
    assert (rows.y is not None) == (table.first_index is not None or name in ("C.npz", "F.npz", "a store"))


def test_the_response_is_another_array_or_another_file(tmp_path, reader):
    np.savez(tmp_path / "both.npz", X=X, other=-Y, y=Y)
    FILES["C.npy"](tmp_path / "C.npy")
    FILES["csr.npz"](tmp_path / "csr.npz")
    np.save(tmp_path / "other.npy", -Y)
    for name, target in (("both.npz", "other"), ("C.npy", "other.npy"), ("csr.npz", "other.npy")):
        table = reader(tmp_path / name, target=target)
        np.testing.assert_array_equal(table.y, -Y)
        assert table.target == target


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("größe,b b,y", ("größe", "b b")),
        ('"a, in cm",b,y', ("a, in cm", "b")),
        ('"a ""quoted""",b,y', ('a "quoted"', "b")),
        ('pipe 5",b,y', ('pipe 5"', "b")),
    ],
)
def test_csv_has_names_of_any_text(tmp_path, header, names):
    (tmp_path / "data.csv").write_text(f"{header}\n1,2,3\n", encoding="utf-8")
    assert read_table(tmp_path / "data.csv").feature_names == names


def write_parquet(file, **columns):
    parquet.write_table(pa.table(columns), file)
    return file


def test_parquet_with_integers_booleans_and_a_response_in_front(tmp_path):
    file = write_parquet(tmp_path / "data.parquet", y=[1, 2], flag=[True, False], small=pa.array([3, 4], pa.int8()))
    table = read_table(file, "y")
    assert table.X.tolist() == [[1.0, 3.0], [0.0, 4.0]]
    assert table.y.tolist() == [1.0, 2.0]
    assert table.feature_names == ("flag", "small")


HEADER = "%%MatrixMarket matrix coordinate real general\n"
BAD_FILES = {
    "bad.svm": (b"1 1:2\n2 1:2 3:x\n", r"bad\.svm:2:9"),
    "nan.svm": (b"1 1:2\n2 1:nan\n", r"nan\.svm:2:5"),
    "empty.svm": (b"", "no rows"),
    "comment.svm": (b"# nothing else\n", "no rows"),
    "torn.svm.gz": (gzip.compress(b"1 1:2\n" * 1000)[:20], r"torn\.svm\.gz: "),
    "plain.svm.bz2": (b"1 1:2\n", r"plain\.svm\.bz2: "),
    "bad.csv": (b"a,y\n1,2\nx,3\n", r"bad\.csv, row 3, column 'a'"),
    "header.csv": (b"a,y\n", "no rows"),
    "empty.csv": (b"", "empty.csv"),
    "alone.csv": (b"y\n1\n2\n", "no column besides the response, 'y'"),
    "latin.csv": ("größe,y\n1,2\n".encode("latin-1"), r"latin\.csv"),
    "torn.csv.xz": (lzma.compress(b"a,y\n1,2\n" * 1000)[:40], r"torn\.csv\.xz"),
    "short.csv": (b"a,b,y\n1,2\n", r"short\.csv: .*Row #2: Expected 3 columns, got 2"),
    "long.csv": (b"a,b\n1,2\n3,4,5\n", r"long\.csv: .*Row #3: Expected 2 columns, got 3"),
    "torn.npz": (b"PK\x03\x04", r"torn\.npz"),
    "text.npz": (b"hello", r"text\.npz: not an npz file"),
    "empty.npy": (b"", r"empty\.npy"),
    "text.npy": (b"hello", r"text\.npy"),
    "text.parquet": (b"hello, hello, hello", r"text\.parquet"),
    "text.h5ad": (b"hello", r"text\.h5ad"),
    "torn.mtx.gz": (gzip.compress(HEADER.encode() * 99)[:30], r"torn\.mtx\.gz"),
    "none.mtx": (b"", "expected a Matrix Market header"),
    "complex.mtx": (
        HEADER.replace("real", "complex").encode() + b"1 1 0\n",
        r"complex\.mtx: .*found coordinate complex",
    ),
    "half.mtx": (b"%%MatrixMarket matrix array real symmetric\n1 1\n2\n", r"half\.mtx: .*found array real symmetric"),
    "sizes.mtx": ((HEADER + "2 x 2\n").encode(), r"sizes\.mtx: .*[Ii]nteger"),
    "few.mtx": ((HEADER + "2 2 2\n1 1 3\n").encode(), "expected 2 lines of 3 numbers, found 3 numbers"),
    "word.mtx": ((HEADER + "2 2 1\n1 1 x\n").encode(), r"word\.mtx: line 3: 'x' is in no real number"),
    "cut.mtx": ((HEADER + "2 2 1\n1 1 3E-1-").encode(), r"cut\.mtx: .*3E-1-"),  # scipy's mmread ends the process,
    "e.mtx": ((HEADER + "2 2 1\n1 1 3.5e").encode(), r"e\.mtx: .*3\.5e"),  # or reads 3.5
    "fortran.mtx": ((HEADER + "2 2 1\n1 1 3D5\n").encode(), r"fortran\.mtx: line 3: 'D' is in no real number"),  # 3
    "half an integer.mtx": (
        (HEADER + "2 2 1\n1 1 .5\n").replace("real", "integer").encode(),
        "is in no integer number",
    ),
    "more.mtx": ((HEADER + "2 2 1\n1 1 2 9\n").encode(), "expected 1 lines of 3 numbers, found 4 numbers"),
    "wide.mtx": ((HEADER + f"2 2 1\n1 1 {10**30}\n").replace("real", "integer").encode(), r"wide\.mtx: Line 3"),
    "two.mtx": ((HEADER + "2 2 1\n1 1\n").encode(), "expected 1 lines of 3 numbers, found 2 numbers"),
    "outside.mtx": ((HEADER + "2 2 1\n3 1 1\n").encode(), r"outside\.mtx: Line 3: .*out of bounds"),
    "zero.mtx": ((HEADER + "2 2 1\n0 1 1\n").encode(), r"zero\.mtx: Line 3: .*out of bounds"),
    "inf.mtx": ((HEADER + "2 2 1\n1 2 inf\n").encode(), r"inf\.mtx: line 3: 'i' is in no real number"),
    "large.mtx": ((HEADER + "2 2 1\n1 2 1e999\n").encode(), r"large\.mtx: .*found inf in row 0, column 1"),
    "few numbers.mtx": (
        b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n",
        "expected 4 lines of 1 numbers, found 3 numbers",
    ),
    **{
        name: (bz2.compress(b"1"), rf"{name}: the file extension must be one of \.svm.*\.npz.*\.parquet")
        for name in ("table.xls", "table", "table.bz2", "table.svm.zip", "table.npy.bz2")
    },
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_file_is_named_and_leaves_nothing(tmp_path, reader, name):
    content, message = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    np.save(tmp_path / "y.npy", np.arange(2.0))
    with pytest.raises((ValueError, OSError), match=message) as error:
        reader(tmp_path / name)
    assert str(tmp_path / name) in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "y.npy"])


BAD_TARGETS = {
    "one.svm": ("price", r"one\.svm: the target of a LIBSVM file is the first number"),
    "table.csv": ("z", r"table\.csv: there is no column 'z'; known are f0, .*, y"),
    "table.parquet": ("z", r"table\.parquet: there is no column 'z'"),
    "C.npz": ("z", r"C\.npz: there is no array 'z'"),
    "C.npy": ("z.npy", r"z\.npy: no such file; it should hold the response for C\.npy"),
    "csc.npz": ("z.npy", r"z\.npy: no such file; it should hold the response for csc\.npz"),
    "a store": ("y", "target: .* is a store"),
    "csr.h5ad": ("sort", "target must be a column of obs with numbers, got 'sort'; known are age"),
    "dense.h5ad": (None, "target must be a column of obs with numbers, got None; known are age"),
}


@pytest.mark.parametrize("name", BAD_TARGETS)
def test_a_response_that_is_not_there_is_named(tmp_path, reader, name):
    target, message = BAD_TARGETS[name]
    FILES[name](tmp_path / name)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        reader(tmp_path / name, target=target)


def test_npz_of_other_arrays_is_refused(tmp_path, reader):
    np.savez(tmp_path / "data.npz", first=X, second=Y)
    with pytest.raises(ValueError, match=r"data\.npz: expected arrays X and y"):
        reader(tmp_path / "data.npz")


def test_other_h5_file_is_refused(tmp_path, reader):
    with h5py.File(tmp_path / "a.h5ad", "w") as group:
        group["data"] = X
    with pytest.raises(ValueError, match=r"a\.h5ad: not an AnnData file, there is no X"):
        reader(tmp_path / "a.h5ad", target="age")


class Trap:
    def __reduce__(self):
        return pytest.fail, ("something was called",)


def test_nothing_is_unpickled(tmp_path, reader):
    objects = np.array([[Trap()]], dtype=object)
    np.save(tmp_path / "X.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "X.npz", X=objects, y=Y)
    beside(tmp_path / "X.npy")
    for name in ("X.npy", "X.npz"):
        with pytest.raises(ValueError, match=r"pickle|object|Python"):
            reader(tmp_path / name)


@pytest.mark.parametrize(
    "values",
    [
        ["1", "2"],  # numbers as text are text, as in frames
        pa.array(["high", "low"]).dictionary_encode(),
        [[1.0], [2.0]],
        [{"part": 1.0}, {"part": 2.0}],
        [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2)],
    ],
    ids=["texts", "categories", "lists", "structs", "times"],
)
@pytest.mark.parametrize("name", ["a", "y"])
def test_parquet_column_that_is_not_numbers_is_named(tmp_path, name, values):
    file = write_parquet(tmp_path / "data.parquet", **{"a": [1.0, 2.0], "y": [3.0, 4.0], name: values})
    with pytest.raises(ValueError, match=re.escape(f"{file}, column '{name}': expected numbers")):
        read_table(file)


@pytest.mark.parametrize("name", ["a", "y"])
@pytest.mark.parametrize(("values", "row"), [([1.0, None], 2), ([None, 1], 1), (["u", None], 2), ([None, None], 1)])
def test_parquet_without_a_value_is_located(tmp_path, name, values, row):
    file = write_parquet(tmp_path / "data.parquet", **{"a": [1.0, 2.0], "y": [3.0, 4.0], name: values})
    with pytest.raises(ValueError, match=re.escape(f"{file}, row {row}, column '{name}'")):
        read_table(file)


@pytest.mark.parametrize(
    ("name", "package"), [("dense.h5ad", "h5py"), ("table.csv", "pyarrow"), ("table.parquet", "pyarrow")]
)
def test_missing_package_is_named_with_its_extra(tmp_path, monkeypatch, name, package):
    FILES[name](tmp_path / name)

    def without(module, *rest):
        if module.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        return real(module, *rest)

    real = importlib.import_module
    monkeypatch.setattr("fwlasso.datasets.optional.import_module", without)
    with pytest.raises(ModuleNotFoundError, match=rf"needs {package}: pip install 'fwlasso\[data\]'"):
        read_table(tmp_path / name, target_of(tmp_path / name))


def test_a_response_of_another_length_is_told(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=Y[:-1])
    with pytest.raises(ValueError, match=r"a\.npz: the response has 22 values, and X is of shape \(23, 31\)"):
        read_table(tmp_path / "a.npz")
