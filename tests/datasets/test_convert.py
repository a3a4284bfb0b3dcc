"""Conversion: every kind of file, parts of it, in little memory, and what is said about bad files."""

import errno
import os
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import parquet

from file_cases import FILES, NAMED, NAMES, M, P, X, Y, beside, dense, h5ad, target_of
from fwlasso.data.compressed import replacing
from fwlasso.data.files import replacing_folder
from fwlasso.datasets import arrow_files, convert, fill, read_table, source, text_files, verify_store, write_store
from programs import MEMORY, run_program


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


def test_float32_stays_so(tmp_path):
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    beside(tmp_path / "X.npy")
    assert convert(tmp_path / "X.npy", tmp_path / "store").X.dtype == np.float32
    parquet.write_table(pa.table({"a": pa.array([1, 2], pa.float32()), "y": [1.0, 2.0]}), tmp_path / "a.parquet")
    assert convert(tmp_path / "a.parquet", tmp_path / "store").X.dtype == np.float32


@pytest.mark.parametrize(
    ("kind", "entries", "expected"),
    [
        ("integer symmetric", "2 1 5\n3 2 7\n2 2 1\n3 3 0", [[0, 5, 0], [5, 1, 7], [0, 7, 0]]),
        ("real skew-symmetric", "2 1 5\n3 2 7\n\n3 1 -.5e0\n1 1 0", [[0, -5, 0.5], [5, 0, -7], [-0.5, 7, 0]]),
        ("pattern general", "2 3\n1 1\n2 3\n1 3", [[1, 0, 1], [0, 0, 2], [0, 0, 0]]),
    ],
)
def test_matrix_market_of_every_kind(tmp_path, kind, entries, expected):
    """Half of it is told, or places alone; entries of one place are added."""
    (tmp_path / "a.mtx").write_text(f"%%MatrixMarket matrix coordinate {kind}\n% a comment\n\n3 3 4\n{entries}\n")
    np.save(tmp_path / "y.npy", np.arange(3.0))
    assert dense(convert(tmp_path / "a.mtx", tmp_path / "s").X).tolist() == expected


def test_progress_comes_to_its_end(file, tmp_path):
    steps = []
    convert(file, tmp_path / "store", target=target_of(file), progress=steps.append)
    verify_store(tmp_path / "store", steps.append)
    last = {step.what: step for step in steps}
    works = {f"reading {file.name}", "copying", "counting", "filling", "checksums", "verifying"}
    assert {"checksums", "verifying"} < set(last) <= works
    assert all(0 <= step.done <= step.total for step in steps)
    assert all(step.done == step.total for step in last.values())
    for what in last:
        told = [step for step in steps if step.what == what]
        assert len({step.total for step in told}) == 1
        assert [step.done for step in told] == sorted(step.done for step in told)


MEASURE = (
    MEMORY
    + """
import sys
from fwlasso.datasets import convert, fill, source

fill.BLOCK_BYTES = 4 << 20
fill.BLOCK_ENTRIES = source.BLOCK_ENTRIES = 1 << 17
small, large, folder = sys.argv[1:]
convert(small, folder, target=sys.argv[1] + ".y.npy" if small.endswith("npz") else None)  # compiles
before, largest = memory("RssAnon"), []
convert(large, folder, target=large + ".y.npy" if large.endswith("npz") else None,
        progress=lambda step: largest.append(memory("RssAnon")))
print(max(largest) - before)
"""
)


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


@contextmanager
def largest_file(n_bytes):
    """Let no file grow beyond some bytes: the system refuses more as it does on a full disk."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def names_of(error):
    """What an error of the system says that it is about."""
    return error.value.errno, error.value.filename


@pytest.mark.posix
def test_full_disk_names_the_store_and_leaves_nothing(file, tmp_path):
    convert(file, tmp_path / "first", target=target_of(file))
    folder = tmp_path / "made" / "store"
    with largest_file(200), pytest.raises(OSError, match="too large") as error:
        convert(file, folder, target=target_of(file))
    assert names_of(error) == (errno.EFBIG, str(folder))
    assert list(folder.parent.iterdir()) == []


# Four arrays are written: the space of each is taken before it is mapped, or writing to it
# ends the process where the disk is full.
@pytest.mark.posix
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


@pytest.mark.posix
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


WITHOUT_NAMES = np.ones((3, 4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": [0, 9]}, "rows: index 9 is out of bounds .* size 3"),
        ({"columns": [-5]}, "columns: index -5 is out of bounds .* size 4"),
        ({"columns": [1, 1]}, "columns selects some more than once"),
        ({"columns": [1, -3]}, "columns selects some more than once"),
        ({"rows": []}, "rows"),
        ({"rows": slice(2, 2)}, "rows selects nothing"),
        ({"rows": [True, False]}, "rows: boolean index did not match .* 3 .* 2"),
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
    ("names", "message"), [(["g"], "there is no 'g'; known are a, b, a"), (["a"], "more than one 'a'")]
)
def test_bad_names_are_named(tmp_path, names, message):
    write_store(tmp_path / "a", np.ones((3, 3)), np.arange(3.0), feature_names=["a", "b", "a"])
    with pytest.raises(ValueError, match=message):
        convert(tmp_path / "a", tmp_path / "b", columns=names)
    assert convert(tmp_path / "a", tmp_path / "b", columns=["b"]).shape == (3, 1)
