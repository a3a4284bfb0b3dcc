"""LIBSVM files: scikit-learn's matrix where it reads them, an error with its place where nobody should.

``FWLASSO_FUZZ=1000000 pytest tests/datasets/test_libsvm.py -k odd_files`` tries so many odd files, others every time.
"""

import io
import os
import re
import sys
import threading
import time
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

import libsvm_cases
from fwlasso.datasets import libsvm, libsvm_rows
from fwlasso.datasets.libsvm_faults import Expected, first_misfit
from libsvm_cases import (
    FINITE,
    HARD_NUMBERS,
    MOST_COLUMNS,
    PACKERS,
    assert_same,
    load,
    small_pieces,
    some_matrix,
    some_text,
)
from programs import MEMORY, run_measured

file = libsvm_cases.file


NUMBERS = st.one_of(
    FINITE.map(repr),
    FINITE.map("{:+.16g}".format),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(r"[+-]?([0-9]{1,22}\.?[0-9]{0,22}|\.[0-9]{1,22})([eE][+-]?[0-9]{1,3})?", fullmatch=True),
).filter(lambda text: np.isfinite(float(text)))
BLANKS = st.text(" \t\r\x0b\x0c", min_size=1, max_size=3)
COMMENTS = st.sampled_from(["", "", "#", "# 1:2 qid:3 x", "#\x00\xff"])
EMPTY_LINES = st.sampled_from(["", " ", "# nothing", "\t# 3", "\r"])


@st.composite
def rows(draw):
    indices = sorted(draw(st.sets(st.one_of(st.integers(0, 30), st.integers(0, MOST_COLUMNS)), max_size=8)))
    query = [f"qid:{draw(st.integers(-5, 5))}"] if draw(st.booleans()) else []
    entries = [f"{draw(st.sampled_from(['', '+', '0', '000']))}{index}:{draw(NUMBERS)}" for index in indices]
    words = [draw(NUMBERS), *query, *entries]
    blank = draw(st.one_of(st.just(" "), BLANKS))
    return (
        draw(st.sampled_from(["", "", " ", "\t"]))
        + blank.join(words)
        + draw(st.sampled_from(["", " "]))
        + draw(COMMENTS)
    )


@st.composite
def files(draw):
    lines = draw(st.lists(st.one_of(rows(), rows(), rows(), EMPTY_LINES), max_size=8))
    text = draw(st.sampled_from(["\n", "\r\n"])).join(lines) + draw(st.sampled_from(["\n", "", "\r\n", "\n\n"]))
    return text.encode("latin-1")


@pytest.mark.long
@pytest.mark.compiled
@settings(max_examples=400, suppress_health_check=list(HealthCheck))
@given(
    data=files(),
    zero_based=st.sampled_from(["auto", "auto", True, False]),
    dtype=st.sampled_from([np.float64, np.float64, np.float32]),
    block=st.sampled_from([1, 16, 100, 1 << 19]),
    n_threads=st.integers(1, 4),
)
def test_files_are_read_as_scikit_learn_reads_them(file, data, zero_based, dtype, block, n_threads):
    with small_pieces(block):
        try:
            with np.errstate(over="ignore"):
                expected, y = load_svmlight_file(io.BytesIO(data), dtype=dtype, zero_based=zero_based)
        except ValueError:  # a 0 where indices count from 1
            with pytest.raises(ValueError, match=r"svm:\d+:\d+: expected an index of at least 1, found '\+?0+:"):
                load(file, data, zero_based=zero_based, n_threads=n_threads)
            return
        if not np.isfinite(expected.data).all():
            with pytest.raises(ValueError, match=r"svm:\d+:\d+: expected a finite number after ':', found "):
                load(file, data, dtype=dtype, zero_based=zero_based, n_threads=n_threads)
            return
        X, found_y = load(file, data, dtype=dtype, zero_based=zero_based, n_threads=n_threads)
    assert X.dtype == dtype
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert_same(X, found_y, expected, y)


@pytest.mark.parametrize("n_features", [3, 4, 10])
def test_number_of_features_is_that_of_scikit_learn(file, n_features):
    data = b"1 1:2 3:4\n"
    expected, y = load_svmlight_file(io.BytesIO(data), n_features=n_features)
    assert_same(*load(file, data, n_features=n_features), expected, y)


def test_unsure_numbers_of_a_file_are_those_of_python(file):
    finite = [text for text in HARD_NUMBERS if np.isfinite(float(text))]
    X, y = load(file, "".join(f"{text} 1:{text}\n" for text in finite).encode())
    expected = [float(text).hex() for text in finite]
    assert [value.hex() for value in y.tolist()] == expected
    assert [value.hex() for value in X.data.tolist()] == expected


REFUSED = [
    *["x", "abc", "0x10", "1_000", "\u0661", "\u00b2", "1,5", "1..2", "1e", "1e+", "e5", ".", "+", "-", "--1", "+-1"],
    *["1-", "1d5", "1f", "1\u00a0000", "1:2", "infinit", "0b1", "1e5.5", "1\x00", "\x00", "1e\x1c5"],
]
NOT_FINITE = [
    *["nan", "-nan", "NaN", "inf", "-inf", "+Infinity", "INF", "1e309", "-1e999", "9" * 400, "1.7976931348623159e308"]
]


@pytest.mark.parametrize(
    ("number", "kind"), [*((number, "a number") for number in REFUSED), *((n, "a finite number") for n in NOT_FINITE)]
)
def test_what_is_no_finite_number_is_refused(file, number, kind):
    with pytest.raises(ValueError, match=rf"data\.svm:2:9: expected {kind} after ':', found "):
        load(file, f"1 1:1\n2 1:1 3:{number} 4:5\n".encode())
    with pytest.raises(ValueError, match=rf"data\.svm:2:2: expected {kind} as target, found "):
        load(file, f"1\n {number} 1:1\n".encode())


@pytest.mark.parametrize(("number", "fits"), [("3.4028235677973362e38", True), ("3.4028235677973366e38", False)])
def test_what_does_not_fit_float32_is_refused(file, number, fits):
    data = f"1e300 1:-{number} 2:1e-60\n".encode()
    if fits:
        X, y = load(file, data, dtype=np.float32)
        assert X.data.tolist() == [-np.finfo(np.float32).max, 0.0]
        assert y.tolist() == [1e300]
    else:
        with pytest.raises(ValueError, match=r"data\.svm:1:9: expected a finite number after ':', found '-3\.4"):
            load(file, data, dtype=np.float32)


def test_queries_are_returned_on_request(file):
    data = b"1 qid:7 1:2\n2 qid:-3\n3 qid:+9  3:1 # qid:4\n"
    X, y, queries = load(file, data, query_id=True)
    assert queries.tolist() == [7, -3, 9]
    assert queries.dtype == np.int64
    assert_same(X, y, *load_svmlight_file(io.BytesIO(data)))
    assert len(load(file, data)) == 2


@pytest.mark.parametrize(
    ("query", "number"),
    [("0000000000000000000012", 12), ("-999999999999999999", 1 - 10**18), ("1000000000000000000", None), ("1:2", None)],
)
def test_queries_are_integers_of_up_to_18_digits(file, query, number):
    data = f"# 1 qid:7\n\t1 \tqid:1#\n2 qid:{query}\r\n".encode()
    if number is None:
        with pytest.raises(ValueError, match=r"data\.svm:3:3: expected qid: and an integer, found 'qid:1"):
            load(file, data, query_id=True)
    else:
        assert load(file, data, query_id=True)[2].tolist() == [1, number]


def test_queries_that_are_not_wanted_may_be_anything(file):
    X, _ = load(file, b"1 qid:a:b 1:2\n2 qid: 1:3\n")
    assert X.toarray().tolist() == [[2.0], [3.0]]


@pytest.mark.compiled
@pytest.mark.parametrize("n_threads", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("block", [100, 5000])
def test_any_number_of_threads_gives_the_same_arrays(file, n_threads, block):
    with small_pieces(block):
        X, y = load(file, some_text(), n_threads=n_threads)
    assert_same(X, y, *some_matrix())


@pytest.mark.compiled
def test_packed_file_of_several_streams(tmp_path):
    half = some_text().index(b"\n", 20_000) - 5
    for suffix, pack in PACKERS.items():
        both = pack(some_text()[:half]) + pack(some_text()[half:])
        assert_same(*load(tmp_path / f"data.svm{suffix}", both), *some_matrix())


def test_zst(tmp_path):
    zstd = pytest.importorskip("backports.zstd")
    assert_same(*load(tmp_path / "data.svm.zst", some_text(), zstd.compress), *some_matrix())


def test_zst_without_its_library_says_what_to_install(tmp_path):
    with (
        mock.patch.dict(sys.modules, {"compression": None, "backports": None}),
        pytest.raises(ImportError, match=r"pip install backports\.zstd"),
    ):
        load(tmp_path / "data.svm.zst", b"")


@pytest.mark.parametrize("packing", [".gz", ".bz2", ".xz", ".zst"])
def test_damaged_file_is_named(tmp_path, packing):
    pack = PACKERS.get(packing) or pytest.importorskip("backports.zstd").compress
    packed = pack(some_text())
    other = [] if packing == ".zst" else [packed[:1000] + b"?" + packed[1001:]]  # it has no checksum by default
    for damaged in (packed[: len(packed) // 2], b"1 1:2\n", *other):
        with pytest.raises(ValueError, match=rf"data\.svm\{packing}: "):
            load(tmp_path / f"data.svm{packing}", damaged)


def test_what_progress_raises_ends_the_reading(file):
    n_threads = threading.active_count()

    def interrupt(_):
        raise KeyboardInterrupt

    with small_pieces(), pytest.raises(KeyboardInterrupt):
        load(file, some_text(), n_threads=3, progress=interrupt)
    assert threading.active_count() == n_threads


def test_wide_indices_are_used_where_narrow_ones_do_not_suffice(file):
    with mock.patch.object(libsvm, "_INT32_MAX", 400), mock.patch.object(libsvm_rows, "_INT32_MAX", 20):
        X, y = load(file, some_text())
    assert X.data.size > 400
    assert_same(X, y, *some_matrix())


def test_file_that_changes_meanwhile_is_noticed(file):
    def change(_):
        time.sleep(0.01)
        file.write_bytes(file.read_bytes().replace(b" 1:", b" 2:"))

    with pytest.raises(ValueError, match=r"data\.svm: the file has changed"):
        load(file, b"1 1:2\n3 1:4\n", progress=change)


SIGNS = st.sampled_from([bytes([sign]) for sign in b"0123456789:::.    #\n\n\n\r\t+-eEqid_x\x00\x1f\x80\xff"])
PIECES = st.sampled_from(
    [
        *[b"1 ", b"\n1 ", b" 1:2", b" 2:", b" 33:4", b" qid:1 ", b"\r\n", b"1e5", b" 0:0", b"12345678", b":1e-400"],
        b"\n-1.5 7:8.25",
    ]
)
ODD_FILES = st.one_of(
    st.binary(max_size=60),
    st.lists(SIGNS, max_size=60).map(b"".join),
    st.lists(st.one_of(PIECES, PIECES, PIECES, SIGNS), max_size=30).map(b"".join),
)


@pytest.mark.long
@pytest.mark.compiled
@settings(
    max_examples=int(os.environ.get("FWLASSO_FUZZ", "600")),
    suppress_health_check=list(HealthCheck),
    derandomize="FWLASSO_FUZZ" not in os.environ,
)
@given(data=ODD_FILES, block=st.sampled_from([1, 7, 40, 1 << 19]), n_threads=st.integers(1, 3))
@example(b"1 1:2\x00", 1, 1)
@example(b"1 7:1 3:2 5:9\n2 4:1 0:2", 7, 2)
@example(b"1 qid:\x00 1:2", 1, 1)
def test_odd_files_are_read_or_refused_at_the_right_place(file, data, block, n_threads):
    """By compiled code as by plain Python, which tells what is wrong: see MALFORMED of test_libsvm_errors."""
    try:
        wrong = first_misfit(data, Expected(0, MOST_COLUMNS))
    except AssertionError:  # nothing is
        wrong = None
    with small_pieces(block):
        if wrong is not None:
            place = re.escape(f"{file}:{wrong.line + 1}:{wrong.column}: {wrong.what}")
            with pytest.raises(ValueError, match=place):
                load(file, data, n_threads=n_threads)
            return
        X, y = load(file, data, n_threads=n_threads)
    rows = [words for line in data.split(b"\n") if (words := line.partition(b"#")[0].split())]
    entries = [
        (i, int(index), float(value))
        for i, (_, *words) in enumerate(rows)
        for index, value in (word.split(b":") for word in words if not word.startswith(b"qid:"))
    ]
    base = int(bool(entries) and min(index for _, index, _ in entries) > 0)
    values = np.array([value for _, _, value in entries], dtype=float)
    places = [row for row, _, _ in entries], [index - base for _, index, _ in entries]
    targets = np.array([float(words[0]) for words in rows], dtype=float)
    assert_same(X, y, sp.coo_array((values, places), shape=X.shape), targets)


MEASURE = (
    MEMORY
    + """
import sys
from fwlasso.datasets import load_libsvm

tiny, large = sys.argv[1:]
load_libsvm(tiny)  # compiles
(X, y), peak = with_peak(lambda: load_libsvm(large, n_threads=2))
size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
print(peak / size, size)
"""
)


@pytest.mark.compiled
@pytest.mark.parametrize("packing", ["", ".gz"])
def test_peak_memory_is_that_of_the_rows_and_of_the_matrix(tmp_path, packing):
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(500):
        indices = np.unique(rng.integers(1, 100_001, 400))
        lines.append(" ".join(["1", *map("{}:{:.6g}".format, indices.tolist(), rng.random(indices.size).tolist())]))
    block = ("\n".join(lines) + "\n").encode()
    pack = PACKERS[packing]
    (tmp_path / f"large.svm{packing}").write_bytes(40 * pack(block))  # 110 MB, packed as forty streams
    (tmp_path / f"tiny.svm{packing}").write_bytes(pack(block[: block.index(b"\n") + 1]))
    share, size = run_measured(MEASURE, *(tmp_path / f"{name}.svm{packing}" for name in ("tiny", "large")))
    assert 90e6 < size < 100e6
    assert share < 2.7
