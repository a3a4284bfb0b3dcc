"""Every file format: what is read, and what is said about bad files."""

import bz2
import datetime
import gzip
import lzma
import re

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import parquet
from sklearn.datasets import dump_svmlight_file

from fwlasso.datasets import read_table

X = np.array([[1.0, 0.0, -2.5], [0.0, 1e-3, 3.0], [4.0, 5.0, 6e10], [-1.0, 0.0, 0.25]])
Y = np.array([0.5, -1.0, 2.0, 1e6])


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def names_place(*parts):
    return re.escape(", ".join(str(part) for part in parts))


# Files that are read -----------------------------------------------------------------------------------------

PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def write_svm(file, pack=bytes, **options):
    plain = file.with_name("plain")
    dump_svmlight_file(sp.csr_array(X), Y, str(plain), **options)
    file.write_bytes(pack(plain.read_bytes()))
    return file


def write_csv(file, header="a,b,c,y", columns=(X, Y)):
    rows = [",".join(map(repr, row)) for row in np.column_stack(columns).tolist()]
    file.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return file


def write_parquet(file, **columns):
    parquet.write_table(pa.table(columns), file)
    return file


def check(table, names=None):
    np.testing.assert_array_equal(dense(table.X), X)
    np.testing.assert_array_equal(table.y, Y)
    assert table.feature_names == names


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("ending", [".svm", ".libsvm", ".svmlight", ".txt", ".SVM"])
def test_libsvm(tmp_path, ending, packing):
    table = read_table(write_svm(tmp_path / f"data{ending}{packing}", PACKERS[packing], zero_based=False))
    check(table)
    assert table.X.format == "csc"


def test_libsvm_packed_with_an_ending_in_capitals(tmp_path):
    check(read_table(write_svm(tmp_path / "DATA.SVM.GZ", gzip.compress)))


def test_libsvm_with_indices_from_zero_comments_and_query_ids(tmp_path):
    check(read_table(write_svm(tmp_path / "data.svm", zero_based=True, comment="a #1 comment", query_id=[1, 1, 2, 2])))


def test_npz_with_both_arrays(tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=Y, other=-Y)
    check(read_table(str(tmp_path / "data.npz")))
    np.testing.assert_array_equal(read_table(tmp_path / "data.npz", "other").y, -Y)


@pytest.mark.parametrize("kind", [sp.csc_array, sp.csr_array, sp.coo_array, sp.csc_matrix])
@pytest.mark.parametrize("target", [None, "response.npy"])
def test_sparse_npz_with_the_response_beside(tmp_path, kind, target):
    sp.save_npz(tmp_path / "data.npz", kind(X))
    np.save(tmp_path / (target or "y.npy"), Y)
    table = read_table(tmp_path / "data.npz", target)
    check(table)
    assert sp.issparse(table.X)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("target", [None, "response.npy"])
def test_npy_is_mapped_into_memory(tmp_path, order, target):
    np.save(tmp_path / "X.npy", np.asarray(X, order=order))
    np.save(tmp_path / (target or "y.npy"), Y)
    table = read_table(tmp_path / "X.npy", target)
    check(table)
    assert isinstance(table.X, np.memmap)


@pytest.mark.parametrize(
    ("header", "columns", "target"),
    [
        ("a,b,c,y", (X, Y), None),
        ("a,b,c,y", (X, Y), "y"),
        ("y,a,b,c", (Y, X), "y"),
        ("\ufeffa,b,c,y", (X, Y), None),
        ('"a","b","c","y"', (X, Y), "y"),
    ],
)
def test_csv(tmp_path, header, columns, target):
    table = read_table(write_csv(tmp_path / "data.csv", header, columns), target)
    check(table, ("a", "b", "c"))
    assert table.X.flags.f_contiguous


def test_csv_of_whole_numbers_with_windows_line_ends(tmp_path):
    (tmp_path / "data.csv").write_bytes(b"a,y\r\n1,2\r\n3,4.5\r\n")
    table = read_table(tmp_path / "data.csv")
    assert table.X.tolist() == [[1.0], [3.0]]
    assert table.y.tolist() == [2.0, 4.5]


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("größe,b b,c,y", ("größe", "b b", "c")),
        ('"a, in cm",b,c,y', ("a, in cm", "b", "c")),
        ('"a ""quoted""",b,c,y', ('a "quoted"', "b", "c")),
    ],
)
def test_csv_keeps_names(tmp_path, header, names):
    check(read_table(write_csv(tmp_path / "data.csv", header)), names)


@pytest.mark.parametrize("target", [None, "y"])
def test_parquet(tmp_path, target):
    file = write_parquet(tmp_path / "data.parquet", **{"ä": X[:, 0], "b b": X[:, 1], "c": X[:, 2], "y": Y})
    table = read_table(file, target)
    check(table, ("ä", "b b", "c"))
    assert table.X.flags.f_contiguous


def test_parquet_with_integers_booleans_and_a_response_in_front(tmp_path):
    file = write_parquet(tmp_path / "data.parquet", y=[1, 2], flag=[True, False], small=pa.array([3, 4], pa.int8()))
    table = read_table(file, "y")
    assert table.X.tolist() == [[1.0, 3.0], [0.0, 4.0]]
    assert table.y.tolist() == [1.0, 2.0]
    assert table.feature_names == ("flag", "small")


# Files that are not ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["data.csv", "data.svm.gz", "data.npy"])
def test_missing_file_is_named(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path / name))):
        read_table(tmp_path / name)


def test_folder_that_is_not_a_store_is_named(tmp_path):
    (tmp_path / "data.csv").mkdir()
    with pytest.raises(ValueError, match=re.escape(str(tmp_path / "data.csv")) + " is not a store"):
        read_table(tmp_path / "data.csv")


@pytest.mark.parametrize("name", ["data.xls", "data", "data.gz", "data.svm.zip"])
def test_unknown_ending_is_answered_with_the_known_ones(tmp_path, name):
    (tmp_path / name).write_text("1 1:2\n")
    with pytest.raises(ValueError, match=re.escape(str(tmp_path / name)) + r": .*\.svm.*\.npz.*\.csv.*\.parquet"):
        read_table(tmp_path / name)


UNREADABLE = {
    "torn.csv.gz": gzip.compress(b"a,y\n1,2\n" * 1000)[:20],
    "data.npy.bz2": bz2.compress(b"1"),
    "torn.svm.gz": gzip.compress(b"1 1:2\n" * 1000)[:20],
    "torn.svm.bz2": bz2.compress(b"1 1:2\n" * 1000)[:20],
    "plain.svm.gz": b"1 1:2\n",
    "plain.svm.bz2": b"1 1:2\n",
    "torn.svm.xz": lzma.compress(b"1 1:2\n" * 1000)[:40],
    "plain.svm.xz": b"1 1:2\n",
    "empty.svm": b"",
    "comment.svm": b"# nothing else\n",
    "empty.npy": b"",
    "text.npy": b"hello",
    "empty.npz": b"",
    "text.npz": b"hello",
    "torn.npz": b"PK\x03\x04 and no more",
    "empty.csv": b"",
    "latin.csv": "größe,y\n1,2\n".encode("latin-1"),
    "twice.csv": b"a,a,y\n1,2,3\n",
    "empty.parquet": b"",
    "text.parquet": b"hello, hello, hello",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_file_is_named(tmp_path, name):
    (tmp_path / name).write_bytes(UNREADABLE[name])
    np.save(tmp_path / "y.npy", Y)
    with pytest.raises((ValueError, OSError), match=re.escape(str(tmp_path / name))):
        read_table(tmp_path / name)


def test_parquet_without_columns_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"none\.parquet"):
        read_table(write_parquet(tmp_path / "none.parquet"))


@pytest.mark.parametrize("packing", PACKERS)
def test_malformed_libsvm_is_located(tmp_path, packing):
    file = tmp_path / f"data.svm{packing}"
    file.write_bytes(PACKERS[packing](b"1 1:2\n\n1 1:2 2:x\n"))
    with pytest.raises(ValueError, match=re.escape(f"{file}:3:9: expected a number after ':', found 'x'")):
        read_table(file)


def test_libsvm_has_no_named_target(tmp_path):
    with pytest.raises(ValueError, match=r"data\.svm: .*target"):
        read_table(write_svm(tmp_path / "data.svm"), "price")


def test_npz_without_response_is_named(tmp_path):
    np.savez(tmp_path / "data.npz", X=X)
    with pytest.raises(ValueError, match=r"data\.npz: there is no array 'y'"):
        read_table(tmp_path / "data.npz")


def test_npz_without_the_target_is_named(tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=Y)
    with pytest.raises(ValueError, match=r"data\.npz: there is no array 'z'"):
        read_table(tmp_path / "data.npz", "z")


def test_npz_of_other_arrays_is_refused(tmp_path):
    np.savez(tmp_path / "data.npz", first=X, second=Y)
    with pytest.raises(ValueError, match=r"data\.npz: expected arrays X and y"):
        read_table(tmp_path / "data.npz")


@pytest.mark.parametrize(
    ("name", "save", "kind"), [("X.npy", np.save, np.asarray), ("X.npz", sp.save_npz, sp.csc_array)]
)
@pytest.mark.parametrize("target", [None, "response.npy"])
def test_missing_response_beside_is_named(tmp_path, name, save, kind, target):
    file = tmp_path / name
    save(file, kind(X))
    missing = re.escape(str(tmp_path / (target or "y.npy")))
    with pytest.raises(FileNotFoundError, match=f"{missing}.*{re.escape(file.name)}"):
        read_table(file, target)


def test_csv_without_the_target_lists_the_columns(tmp_path):
    with pytest.raises(ValueError, match=r"data\.csv: there is no column 'z'; there are a, b, c, y"):
        read_table(write_csv(tmp_path / "data.csv"), "z")


@pytest.mark.parametrize(
    ("text", "row", "column"),
    [
        ("a,b,y\n1,2,3\n4,high,6\n", 3, "b"),
        ("a,b,y\n1,2,3\n4,,6\n", 3, "b"),
        ("a,b,y\n1,2,\n4,5,6\n", 2, "y"),
        ("a,b,y\n1,2,3\n4,5,6\nNA,8,9\n", 4, "a"),
        ("a,b,y\n" + 50 * "1,2,3\n" + "1,true,3\n", 52, "b"),
    ],
)
def test_bad_cell_of_csv_is_located(tmp_path, text, row, column):
    file = tmp_path / "data.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=re.escape(str(file))) as caught:
        read_table(file)
    assert re.search(rf"row #?{row}\b", str(caught.value), re.IGNORECASE)
    assert re.search(rf"column '{column}'", str(caught.value))


@pytest.mark.parametrize(("text", "row"), [("a,b,y\n1,2\n", 2), ("a,b,y\n1,2,3\n4,5,6,7\n", 3)])
def test_csv_row_of_another_length_is_located(tmp_path, text, row):
    file = tmp_path / "data.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=rf"(?i){re.escape(str(file))}.*row #?{row}\b"):
        read_table(file)


def test_parquet_without_the_target_lists_the_columns(tmp_path):
    with pytest.raises(ValueError, match=r"data\.parquet: there is no column 'z'; there are a, y"):
        read_table(write_parquet(tmp_path / "data.parquet", a=[1.0], y=[2.0]), "z")


@pytest.mark.parametrize("name", ["a", "y"])
@pytest.mark.parametrize(
    "values",
    [
        ["high", "low"],
        ["1", "2"],  # numbers as text are text, as in frames
        pa.array(["high", "low"]).dictionary_encode(),
        [[1.0], [2.0]],
        [{"part": 1.0}, {"part": 2.0}],
        [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2)],
    ],
    ids=["text", "numbers as text", "categories", "lists", "structs", "times"],
)
def test_parquet_column_that_is_not_numbers_is_named(tmp_path, name, values):
    file = write_parquet(tmp_path / "data.parquet", **{"a": [1.0, 2.0], "y": [3.0, 4.0], name: values})
    with pytest.raises(ValueError, match=names_place(file, f"column '{name}': expected numbers")):
        read_table(file)


@pytest.mark.parametrize("name", ["a", "y"])
@pytest.mark.parametrize(("values", "row"), [([1.0, None], 2), ([None, 1], 1), (["u", None], 2), ([None, None], 1)])
def test_parquet_without_a_value_is_located(tmp_path, name, values, row):
    file = write_parquet(tmp_path / "data.parquet", **{"a": [1.0, 2.0], "y": [3.0, 4.0], name: values})
    with pytest.raises(ValueError, match=names_place(file, f"row {row}", f"column '{name}'")):
        read_table(file)
