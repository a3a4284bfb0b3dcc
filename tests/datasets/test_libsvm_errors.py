"""LIBSVM files that nobody should read: every fault has an error that names file, line, column and what is expected."""

import numpy as np
import pytest

import libsvm_cases
from fwlasso.datasets import libsvm_rows, load_libsvm
from libsvm_cases import PACKERS, load, small_pieces

file = libsvm_cases.file

MALFORMED = [
    ("x 1:2\n", 1, 1, "a number as target", "'x'"),
    ("1 1:2\n\n# comment\nhigh 1:2\n", 4, 1, "a number as target", "'high'"),
    ("1 1:2\nnan 1:2\n", 2, 1, "a finite number as target", "'nan'"),
    ("1 1:1 22:x 2:x\n", 1, 10, "a number after ':'", "'x'"),
    ("1 1:1 2:abc# 3\n", 1, 9, "a number after ':'", "'abc'"),
    ("1 1:\n", 1, 5, "a number after ':'", "nothing"),
    ("1 1:", 1, 5, "a number after ':'", "nothing"),
    ("1 1:#", 1, 5, "a number after ':'", "nothing"),
    ("1 :2\n", 1, 3, "index:value", "':2'"),
    ("1 -1:2\n", 1, 3, "index:value", "'-1:2'"),
    ("1 1.0:2\n", 1, 3, "index:value", "'1.0:2'"),
    ("1 1:2 ä:2\n1 ää:1\n", 1, 7, "index:value", "'ä:2'"),
    ("1 1:2 \xa02:ä\n", 1, 7, "index:value", "'\\xa02:ä'"),
    ("1 1:2\n1 99999999999999999999:1\n", 2, 3, "an index of at most", "'99999999999999999999:1'"),
    ("1 1:2 " + 5000 * "9" + ":1\n", 1, 7, "an index of at most", "'" + 37 * "9" + "...'"),
    ("1 1:1 3:1 3:3\n", 1, 11, "every index once in a line", "'3:3'"),
    ("1\n# x\n1 qid:3 9:1 1:1 9:3 9:4 1:2\n2 x", 3, 17, "every index once in a line", "'9:3'"),
    ("1 3:1 2:1 3:3 x\n", 1, 11, "every index once in a line", "'3:3'"),
    ("1 1:2\n1 1:2 2:nan\n", 2, 9, "a finite number after ':'", "'nan'"),
    ("1 1:2 2:1e999 3:x\n", 1, 9, "a finite number after ':'", "'1e999'"),
    ("1 1:2\r\n2 1:\r\n", 2, 5, "a number after ':'", "nothing"),
    ("1 1:2 qid:3\n", 1, 7, "index:value", "'qid:3'"),
    ("1 1:" + 60 * "7" + "x\n", 1, 5, "a number after ':'", "'" + 37 * "7" + "...'"),
]


@pytest.mark.parametrize(("text", "line", "column", "expected", "found"), MALFORMED)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_malformed_file_is_located(file, text, line, column, expected, found, n_threads):
    with small_pieces(8), pytest.raises(ValueError, match=r"data\.svm") as caught:
        load(file, text.encode(), n_threads=n_threads)
    message = str(caught.value)
    assert message.startswith(f"{file}:{line}:{column}: expected {expected}")
    assert f", found {found}" in message


@pytest.mark.parametrize("text", ["age,dose,effect\n1,2,3\n", "age dose\n1 2\n", "# a table\n\n1 2 3\n", '"a";"b"\n'])
def test_a_table_is_told_before_anything_is_compiled_to_read_it(tmp_path, monkeypatch, text):
    monkeypatch.setattr(libsvm_rows, "_parse_block", None)
    file = tmp_path / "table.txt"
    file.write_text(text)
    n_lines = text.count("\n") if text.startswith("#") else 1
    with pytest.raises(ValueError, match=r"table\.txt:\d:\d: expected .* the names of tables end in \.csv") as caught:
        load_libsvm(file)
    assert f"table.txt:{n_lines}:" in str(caught.value)


@pytest.mark.parametrize("packing", PACKERS)
def test_first_of_many_errors_is_told(tmp_path, packing):
    lines = [f"{k} 1:{k} 5:2\n" for k in range(1000)]
    lines[700], lines[701], lines[950] = "1 1:2 x\n", "1 :2\n", "1 1:2 7\n"
    with small_pieces(), pytest.raises(ValueError, match=r"data\.svm.*:701:7: expected index:value, found 'x'"):
        load(tmp_path / f"data.svm{packing}", "".join(lines).encode(), PACKERS[packing], n_threads=3)
    lines[300] = "1 1:2 3:z\n"
    with small_pieces(), pytest.raises(ValueError, match=r"data\.svm.*:301:9: expected a number after ':', found 'z'"):
        load(tmp_path / f"data.svm{packing}", "".join(lines).encode(), PACKERS[packing], n_threads=3)


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b"1 1:2\n1 1:2 4:1\n", {"n_features": 3}, r"2:7: expected an index of at most 3, found '4:1'"),
        (b"1 0:2\n1 1:2 3:1\n", {"n_features": 3}, r"2:7: expected an index of at most 2, found '3:1'"),
        (b"1 1:2 3:1\n", {"n_features": 3, "zero_based": True}, r"1:7: expected an index of at most 2, found '3:1'"),
        (b"1 1:2 0:1\n", {"zero_based": False}, r"1:7: expected an index of at least 1, found '0:1'"),
        (b"1 1:2\n", {"query_id": True}, r"1:3: expected qid: and an integer, found '1:2'"),
        (b"1 qid:1\n2\n", {"query_id": True}, r"2:2: expected qid: and an integer, found nothing"),
        (b"1 qid:1.5\n", {"query_id": True}, r"1:3: expected qid: and an integer, found 'qid:1\.5'"),
        (b"1 qid:\n", {"query_id": True}, r"1:3: expected qid: and an integer, found 'qid:'"),
        (b"1 5000000000000:1\n", {}, r"1:3: expected an index of at most \d+, found .* no memory for more columns"),
    ],
)
def test_what_was_asked_for_is_held_against_the_file(file, data, options, message):
    with pytest.raises(ValueError, match=r"data\.svm:" + message):
        load(file, data, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": 0}, "n_features must be"),
        ({"n_features": 2.5}, "n_features must be"),
        ({"dtype": np.int64}, "dtype must be"),
        ({"zero_based": "yes"}, "zero_based must be"),
        ({"n_threads": 0}, "n_threads must be"),
        ({"progress": 3}, "progress must be"),
    ],
)
def test_bad_argument_is_named(file, options, message):
    with pytest.raises(ValueError, match=message):
        load(file, b"1 1:2\n", **options)


def test_more_features_than_memory_are_refused(file):
    with pytest.raises(MemoryError, match="n_features"):
        load(file, b"1 1:2\n", n_features=10**15)
