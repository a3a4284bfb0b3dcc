"""Conversion: every kind of file, parts of it, in little memory, and what is said about bad files."""

import builtins
import bz2
import errno
import gzip
import importlib
import os
import re
import resource
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.io
import scipy.sparse as sp
from pyarrow import parquet
from sklearn.datasets import dump_svmlight_file

from fwlasso.data.files import replacing_folder
from fwlasso.datasets import (
    arrow_files,
    convert,
    fill,
    open_store,
    read_table,
    source,
    text_files,
    verify_store,
    write_store,
)
from fwlasso.datasets.compressed import replacing
from fwlasso.datasets.new_rows import Features, read_new_rows
from fwlasso.datasets.readers import READERS
from programs import run_program

M, P = 23, 31
NAMES = tuple(f"f{j}" for j in range(P))
SAMPLES = tuple(f"cell {i}" for i in range(M))


def make_data():
    rng = np.random.default_rng(5)
    X = rng.integers(-8, 9, (M, P)) / 4.0 * (rng.random((M, P)) < 0.5)
    X[0, 0], X[0, -1] = 1.0, 0.25  # LIBSVM text tells the last column by its entries
    return X, np.round(rng.standard_normal(M), 3)


X, Y = make_data()


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


# Files -------------------------------------------------------------------------------------------------------


def beside(file):
    np.save(file.parent / "y.npy", Y)


def npy(file, order):
    np.save(file, np.asarray(X, order=order))
    beside(file)


def sparse_npz(file, kind):
    sp.save_npz(file, sp.coo_array(X).asformat(kind))
    beside(file)


def svm(file, pack=bytes, **options):
    plain = file.with_name("plain")
    dump_svmlight_file(X, Y, str(plain), **options)
    file.write_bytes(pack(plain.read_bytes()))
    plain.unlink()


def mtx(file, given, pack=bytes):
    plain = file.with_name("plain.mtx")
    scipy.io.mmwrite(plain, given)
    file.write_bytes(pack(plain.read_bytes()))
    plain.unlink()
    beside(file)


def frame():
    return pd.DataFrame(np.column_stack([X, Y]), columns=[*NAMES, "y"])


def h5ad(file, kind):
    """As anndata writes it."""
    with h5py.File(file, "w") as group:
        if kind == "dense":
            group.create_dataset("X", data=X, chunks=(5, 7), compression="gzip")
        else:
            given = sp.coo_array(X).asformat(kind)
            part = group.create_group("X")
            part.attrs["encoding-type"], part.attrs["shape"] = f"{kind}_matrix", np.array(X.shape)
            for name in ("data", "indices", "indptr"):
                part.create_dataset(name, data=getattr(given, name))
        for name, index in (("obs", SAMPLES), ("var", NAMES)):
            part = group.create_group(name)
            part.attrs["_index"] = "names"
            part.create_dataset("names", data=np.array(index, dtype=object), dtype=h5py.string_dtype())
        group["obs"].create_dataset("age", data=Y)
        group["obs"].create_dataset("sort", data=np.array(["a"] * M, dtype=object), dtype=h5py.string_dtype())


FILES = {
    "C.npy": lambda file: npy(file, "C"),
    "F.npy": lambda file: npy(file, "F"),
    "C.npz": lambda file: np.savez_compressed(file, X=X, y=Y),
    "F.npz": lambda file: np.savez(file, X=np.asfortranarray(X), y=Y),
    "csc.npz": lambda file: sparse_npz(file, "csc"),
    "csr.npz": lambda file: sparse_npz(file, "csr"),
    "coo.npz": lambda file: sparse_npz(file, "coo"),
    "dia.npz": lambda file: sparse_npz(file, "dia"),
    "one.svm": lambda file: svm(file, zero_based=False),
    "zero.libsvm": lambda file: svm(file, zero_based=True, comment="a comment", query_id=np.arange(M)),
    "packed.svm.gz": lambda file: svm(file, gzip.compress),
    "packed.txt.bz2": lambda file: svm(file, bz2.compress),
    "text.svmlight": svm,
    "table.csv": lambda file: frame().to_csv(file, index=False),
    "table.tsv": lambda file: frame().to_csv(file, index=False, sep="\t"),
    "packed.csv.xz": lambda file: frame().to_csv(file, index=False),
    "table.parquet": lambda file: parquet.write_table(pa.Table.from_pandas(frame()), file, row_group_size=5),
    "coordinates.mtx": lambda file: mtx(file, sp.coo_array(X)),
    "array.mtx": lambda file: mtx(file, X),
    "packed.mtx.gz": lambda file: mtx(file, sp.csr_array(X), gzip.compress),
    "dense.h5ad": lambda file: h5ad(file, "dense"),
    "csr.h5ad": lambda file: h5ad(file, "csr"),
    "csc.h5ad": lambda file: h5ad(file, "csc"),
    "a store": lambda file: write_store(file, sp.csc_array(X), Y, feature_names=NAMES),
}
NAMED = ("table.csv", "table.tsv", "packed.csv.xz", "table.parquet", "dense.h5ad", "csr.h5ad", "csc.h5ad", "a store")


@pytest.fixture(params=FILES)
def file(request, tmp_path):
    FILES[request.param](tmp_path / request.param)
    return tmp_path / request.param


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few numbers each, so that there are many."""
    monkeypatch.setattr(fill, "BLOCK_BYTES", 8 * 3 * M)
    monkeypatch.setattr(source, "BLOCK_ENTRIES", 17)
    monkeypatch.setattr(arrow_files, "BLOCK_BYTES", 8 * 4)
    monkeypatch.setattr(arrow_files, "_CSV_BLOCK", 512)
    monkeypatch.setattr(text_files, "_BLOCK", 100)


def target_of(file):
    return "age" if file.suffix == ".h5ad" else None


def check(store, file, rows=slice(None), columns=slice(None)):
    verify_store(store.folder)
    np.testing.assert_array_equal(dense(store.X), X[rows][:, columns])
    np.testing.assert_array_equal(store.y, Y[rows])
    names = tuple(np.array(NAMES)[columns].tolist()) if file.name in NAMED else None
    table = read_table(file, target_of(file))
    first_index = table.first_index
    if first_index is not None and not (isinstance(columns, slice) and columns == slice(None)):
        names, first_index = tuple(str(j + first_index) for j in np.arange(P)[columns]), None
    assert store.feature_names == names
    assert (store.target, store.first_index) == (table.target, first_index)
    assert not (store.folder / "scratch").exists()
    assert not list(store.folder.parent.glob(".*"))


@pytest.mark.usefixtures("small_blocks")
def test_every_kind_of_file_in_small_blocks(file, tmp_path):
    check(convert(file, tmp_path / "store", target=target_of(file)), file)


def test_every_ending_is_among_the_files():
    assert {Path(name).suffixes[0] for name in FILES if name != "a store"} | {".bed"} == set(READERS)


def test_every_kind_of_file_is_read_converted_and_predicted(file, tmp_path):
    store, table = convert(file, tmp_path / "store", target=target_of(file)), read_table(file, target_of(file))
    check(store, file)
    np.testing.assert_array_equal(dense(store.X), dense(table.X))
    np.testing.assert_array_equal(store.y, table.y)
    assert store.feature_names == table.feature_names
    assert sp.issparse(store.X) == sp.issparse(table.X)
    (tmp_path / "y.npy").unlink(missing_ok=True)
    rows = read_new_rows(file, None, Features(P, table.feature_names, table.first_index))
    np.testing.assert_array_equal(dense(rows.X), X)
    assert rows.feature_names == table.feature_names
    assert (rows.y is not None) == (table.first_index is not None or file.name in ("C.npz", "F.npz", "a store"))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (slice(2, 20, 3), slice(None, None, -1)),
        ([7, 0, -1, 3], [5, 30, 2]),
        (np.arange(M) % 2 == 0, None),
        (None, np.arange(P) < 4),
    ],
)
def test_parts_of_every_kind_of_file(file, tmp_path, rows, columns):
    store = convert(file, tmp_path / "store", target=target_of(file), rows=rows, columns=columns)
    everything = slice(None)
    check(store, file, everything if rows is None else rows, everything if columns is None else columns)


@pytest.mark.parametrize("name", NAMED)
def test_columns_by_name(tmp_path, name):
    FILES[name](tmp_path / name)
    store = convert(tmp_path / name, tmp_path / "store", target=target_of(tmp_path / name), columns=["f7", "f0"])
    assert store.feature_names == ("f7", "f0")
    np.testing.assert_array_equal(dense(store.X), X[:, [7, 0]])


def test_rows_of_h5ad_by_name(tmp_path):
    h5ad(tmp_path / "a.h5ad", "csr")
    store = convert(tmp_path / "a.h5ad", tmp_path / "store", target="age", rows=["cell 4", "cell 1"])
    np.testing.assert_array_equal(dense(store.X), X[[4, 1]])


@pytest.mark.parametrize("name", ["C.npy", "csr.npz", "table.csv"])
def test_dtype(tmp_path, name):
    FILES[name](tmp_path / name)
    store = convert(tmp_path / name, tmp_path / "store", dtype="float32")
    assert store.X.dtype == np.float32
    np.testing.assert_array_equal(dense(store.X), X)


def test_float32_stays_so(tmp_path):
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    beside(tmp_path / "X.npy")
    assert convert(tmp_path / "X.npy", tmp_path / "store").X.dtype == np.float32
    parquet.write_table(pa.table({"a": pa.array([1, 2], pa.float32()), "y": [1.0, 2.0]}), tmp_path / "a.parquet")
    assert convert(tmp_path / "a.parquet", tmp_path / "store").X.dtype == np.float32


@pytest.mark.parametrize(("kind", "sign"), [("symmetric", 1.0), ("skew-symmetric", -1.0)])
def test_matrix_market_that_tells_half_of_it(tmp_path, kind, sign):
    text = f"%%MatrixMarket matrix coordinate integer {kind}\n% a comment\n\n3 3 2\n2 1 5\n3 2 7\n"
    (tmp_path / "a.mtx").write_text(text)
    np.save(tmp_path / "y.npy", np.arange(3.0))
    lower = np.array([[0, 0, 0], [5, 0, 0], [0, 7, 0]])
    np.testing.assert_array_equal(dense(convert(tmp_path / "a.mtx", tmp_path / "s").X), lower + sign * lower.T)


def test_matrix_market_pattern_with_repeated_places(tmp_path):
    text = "%%MatrixMarket matrix coordinate pattern general\n2 3 4\n2 3\n1 1\n2 3\n1 3\n"
    (tmp_path / "a.mtx").write_text(text)
    np.save(tmp_path / "y.npy", np.arange(2.0))
    assert dense(convert(tmp_path / "a.mtx", tmp_path / "s").X).tolist() == [[1, 0, 1], [0, 0, 2]]


def test_progress_comes_to_its_end(file, tmp_path):
    steps = []
    convert(file, tmp_path / "store", target=target_of(file), progress=steps.append)
    last = {step.what: step for step in steps}
    works = {f"reading {file.name}", "copying", "counting", "filling", "checksums"}
    assert {"checksums"} < set(last) <= works
    assert all(0 <= step.done <= step.total for step in steps)
    assert all(step.done == step.total for step in last.values())
    for what in last:
        told = [step for step in steps if step.what == what]
        assert len({step.total for step in told}) == 1
        assert [step.done for step in told] == sorted(step.done for step in told)


# Memory ------------------------------------------------------------------------------------------------------

MEASURE = """
import sys
from fwlasso.datasets import convert, fill, source

def anonymous():
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

fill.BLOCK_BYTES = 4 << 20
fill.BLOCK_ENTRIES = source.BLOCK_ENTRIES = 1 << 17
small, large, folder = sys.argv[1:]
convert(small, folder, target=sys.argv[1] + ".y.npy" if small.endswith("npz") else None)  # compiles
before, largest = anonymous(), []
convert(large, folder, target=large + ".y.npy" if large.endswith("npz") else None,
        progress=lambda step: largest.append(anonymous()))
print(max(largest) - before)
"""


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["row-major, wide", "row-major, long", "csr", "svm"])
def test_conversion_takes_little_memory(tmp_path, kind):
    rng = np.random.default_rng(0)
    files = []
    for name, size in (("small", 10), ("large", 1000)):
        m, p = (5 * size, 1000) if kind == "row-major, long" else (size, 5000)
        values = rng.standard_normal((m, p))
        if kind == "csr":
            files.append(tmp_path / f"{name}.npz")
            sp.save_npz(files[-1], sp.csr_array(values), compressed=False)
            np.save(tmp_path / f"{name}.npz.y.npy", np.arange(float(m)))
        elif kind == "svm":
            files.append(tmp_path / f"{name}.svm")
            files[-1].write_text(
                m * (" ".join(["1", *(f"{j}:{v!r}" for j, v in enumerate(values[0].tolist()))]) + "\n")
            )
        else:
            (tmp_path / name).mkdir()
            files.append(tmp_path / name / "X.npy")
            np.save(files[-1], values)
            np.save(tmp_path / name / "y.npy", np.arange(float(m)))
    done = run_program(MEASURE, *files, tmp_path / "store")
    assert float(done.stdout) < 0.5 * 40e6  # of 40 MB, and 60 MB for csr and svm


# A full disk -------------------------------------------------------------------------------------------------


@contextmanager
def largest_file(n_bytes):
    """Let no file grow beyond some bytes: the system refuses more as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def names_of(error):
    """What an error of the system says that it is about."""
    return error.value.errno, error.value.filename


def test_full_disk_names_the_store_and_leaves_nothing(file, tmp_path):
    convert(file, tmp_path / "first", target=target_of(file))
    folder = tmp_path / "made" / "store"
    with largest_file(200), pytest.raises(OSError, match="too large") as error:
        convert(file, folder, target=target_of(file))
    assert names_of(error) == (errno.EFBIG, str(folder))
    assert list(folder.parent.iterdir()) == []


# Four arrays are written: the space of each is taken before it is mapped, or writing to it
# ends the process where the disk is full.
@pytest.mark.parametrize("failing", range(4))
def test_space_is_taken_before_it_is_written_to(tmp_path, monkeypatch, failing):
    sizes = []

    def fallocate(number, offset, size):
        if len(sizes) == failing:
            raise OSError(errno.ENOSPC, "full")
        sizes.append(size)
        os.ftruncate(number, size)

    FILES["one.svm"](tmp_path / "one.svm")
    monkeypatch.setattr(os, "posix_fallocate", fallocate)
    with pytest.raises(OSError, match=r"full: an array takes [0-9,]+ bytes, [0-9,]+ are free") as error:
        convert(tmp_path / "one.svm", tmp_path / "store")
    assert names_of(error) == (errno.ENOSPC, str(tmp_path / "store"))
    assert [path.name for path in tmp_path.iterdir()] == ["one.svm"]


def test_full_disk_names_the_file_that_is_written(tmp_path):
    with largest_file(200), pytest.raises(OSError, match="too large") as error, replacing(tmp_path / "file") as stream:
        stream.write(bytes(10_000))
    assert names_of(error) == (errno.EFBIG, str(tmp_path / "file"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("write", [replacing, replacing_folder])
def test_no_error_names_a_draft(tmp_path, write):
    place = tmp_path / ("a" * 250)  # which is a name, but that of its draft is too long
    with pytest.raises(OSError, match="too long") as error, write(place):
        pass
    assert names_of(error) == (errno.ENAMETOOLONG, str(place))


# Bad input ---------------------------------------------------------------------------------------------------

WITHOUT_NAMES = np.ones((3, 4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": [0, 9]}, "rows: there is no 9, only 3"),
        ({"columns": [-5]}, "columns: there is no -5, only 4"),
        ({"columns": [1, 1]}, "columns has some more than once"),
        ({"columns": [1, -3]}, "columns has some more than once"),
        ({"rows": []}, "rows"),
        ({"rows": slice(2, 2)}, "rows selects nothing"),
        ({"rows": [True, False]}, "rows has 2 truth values for 3"),
        ({"columns": ["a"]}, "columns: the source has no names"),
        ({"columns": [0.5]}, "columns must be a slice or a sequence"),
        ({"columns": 3}, "columns must be a slice or a sequence"),
        ({"dtype": "int8"}, "dtype must be float64 or float32"),
        ({"target": "z.npy"}, r"z\.npy: no such file"),
    ],
)
def test_bad_argument_is_named(tmp_path, options, message):
    np.save(tmp_path / "X.npy", WITHOUT_NAMES)
    np.save(tmp_path / "y.npy", np.arange(3.0))
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        convert(tmp_path / "X.npy", tmp_path / "store", **options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["X.npy", "y.npy"]


@pytest.mark.parametrize(
    ("names", "message"), [(["g"], "there is no 'g'; there are a, b, a"), (["a"], "more than one 'a'")]
)
def test_bad_names_are_named(tmp_path, names, message):
    write_store(tmp_path / "a", np.ones((3, 3)), np.arange(3.0), feature_names=["a", "b", "a"])
    with pytest.raises(ValueError, match=message):
        convert(tmp_path / "a", tmp_path / "b", columns=names)
    assert convert(tmp_path / "a", tmp_path / "b", columns=["b"]).shape == (3, 1)


HEADER = "%%MatrixMarket matrix coordinate real general\n"
BAD_FILES = {
    "bad.svm": (b"1 1:2\n2 1:2 3:x\n", r"bad\.svm:2:9"),
    "nan.svm": (b"1 1:2\n2 1:nan\n", r"nan\.svm:2:5"),
    "empty.svm": (b"", "no rows"),
    "bad.csv": (b"a,y\n1,2\nx,3\n", r"bad\.csv, row 3, column 'a'"),
    "header.csv": (b"a,y\n", "no rows"),
    "empty.csv": (b"", "empty.csv"),
    "alone.csv": (b"y\n1\n2\n", "no column besides the response, 'y'"),
    "torn.npz": (b"PK\x03\x04", r"torn\.npz"),
    "text.npy": (b"hello", r"text\.npy"),
    "text.parquet": (b"hello, hello, hello", r"text\.parquet"),
    "text.h5ad": (b"hello", r"text\.h5ad"),
    "torn.mtx.gz": (gzip.compress(HEADER.encode() * 99)[:30], r"torn\.mtx\.gz"),
    "none.mtx": (b"", "expected a Matrix Market header"),
    "complex.mtx": (HEADER.replace("real", "complex").encode(), "expected a Matrix Market header"),
    "hermitian.mtx": (HEADER.replace("general", "hermitian").encode(), "expected a Matrix Market header"),
    "sizes.mtx": ((HEADER + "2 x 2\n").encode(), "expected a line of sizes"),
    "few.mtx": ((HEADER + "2 2 2\n1 1 3\n").encode(), "expected 2 entries, found 1"),
    "word.mtx": ((HEADER + "2 2 1\n1 1 x\n").encode(), r"word\.mtx: .*x"),
    "cut.mtx": ((HEADER + "2 2 2\n1 1 3E-1-").encode(), r"cut\.mtx: .*3E-1-"),  # scipy's mmread ends the process
    "two.mtx": ((HEADER + "2 2 1\n1 1\n").encode(), "expected 3 numbers in every line"),
    "outside.mtx": ((HEADER + "2 2 1\n3 1 1\n").encode(), r"outside\.mtx: .*no number within the shape"),
    "zero.mtx": ((HEADER + "2 2 1\n0 1 1\n").encode(), r"zero\.mtx: .*no number within the shape"),
    "inf.mtx": ((HEADER + "2 2 1\n1 2 inf\n").encode(), r"inf\.mtx: .*found inf in row 0, column 1"),
    "few numbers.mtx": (b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "expected 4 numbers, found 3"),
    "table.xls": (b"1", "the ending of the name"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_file_is_named_and_leaves_nothing(tmp_path, name):
    content, message = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    np.save(tmp_path / "y.npy", np.arange(2.0))
    with pytest.raises((ValueError, OSError), match=message):
        convert(tmp_path / name, tmp_path / "store")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "y.npy"])


@pytest.mark.parametrize("name", ["missing.csv", "missing.svm", "missing"])
def test_missing_file_is_named(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path / name))):
        convert(tmp_path / name, tmp_path / "store")


@pytest.mark.parametrize("target", [None, "sort", "weight"])
def test_target_of_h5ad_must_be_numbers(tmp_path, target):
    h5ad(tmp_path / "a.h5ad", "csr")
    with pytest.raises(ValueError, match=r"target must be a column of obs with numbers, got .*; there are age"):
        convert(tmp_path / "a.h5ad", tmp_path / "store", target=target)


def test_other_h5_file_is_refused(tmp_path):
    with h5py.File(tmp_path / "a.h5ad", "w") as group:
        group["data"] = X
    with pytest.raises(ValueError, match=r"a\.h5ad: not an AnnData file, there is no X"):
        convert(tmp_path / "a.h5ad", tmp_path / "store", target="age")


def test_store_has_its_response(tmp_path):
    write_store(tmp_path / "a", X, Y)
    with pytest.raises(ValueError, match=r"target: .* is a store"):
        convert(tmp_path / "a", tmp_path / "b", target="y")


def test_old_store_survives_a_bad_file(tmp_path):
    write_store(tmp_path / "store", X, Y)
    (tmp_path / "bad.csv").write_text("a,y\n1,2\nx,3\n")
    with pytest.raises(ValueError, match="row 3"):
        convert(tmp_path / "bad.csv", tmp_path / "store")
    np.testing.assert_array_equal(open_store(tmp_path / "store").X, X)


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
        convert(tmp_path / name, tmp_path / "store", target=target_of(tmp_path / name))


def test_nothing_is_unpickled(tmp_path, monkeypatch):
    np.save(tmp_path / "X.npy", np.array([[print]], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "X.npz", X=np.array([[print]], dtype=object), y=Y)
    monkeypatch.setattr(builtins, "print", lambda *_: pytest.fail("something was called"))
    beside(tmp_path / "X.npy")
    for name in ("X.npy", "X.npz"):
        with pytest.raises(ValueError, match=r"pickle|object|Python"):
            convert(tmp_path / name, tmp_path / "store")
