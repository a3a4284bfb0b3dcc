"""LIBSVM files packed by gzip, filled in by several threads: what plain files give, or what gzip complains of."""

import gzip
import io
import re
import struct
import time
import zlib
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import libsvm_cases
from fwlasso.datasets import gzip_stream, libsvm, libsvm_parts, load_libsvm
from fwlasso.datasets.compressed import line_blocks
from gzip_cases import cut_anywhere, pack, some_text


@contextmanager
def small_pieces(block, chunk, part=64):
    with libsvm_cases.small_pieces(block, part), mock.patch.object(gzip_stream, "_CHUNK_BYTES", chunk):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("gzip")


def assert_same(found, expected):
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(expected[0], name))
    assert found[0].shape == expected[0].shape
    np.testing.assert_array_equal(found[1], expected[1])


# Blocks that wait ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_valid", [1, 2, 5])
def test_blocks_that_wait_are_not_written_over_where_lines_are_long(n_valid):
    lines = [b"%d" % k * (1 + k % 40) + b"\n" for k in range(200)]
    waiting, found = [], []
    for block in line_blocks(io.BytesIO(b"".join(lines)), 8, 4, n_valid=n_valid):
        waiting.append(block)
        if len(waiting) == n_valid:
            found.append(waiting.pop(0).tobytes()[:-4])
    found += [block.tobytes()[:-4] for block in waiting]
    assert b"".join(found) == b"".join(lines)


# The matrix --------------------------------------------------------------------------------------------------


@pytest.mark.compiled
@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(
    st.integers(0, 80).map(some_text),
    st.booleans(),
    st.lists(st.integers(0, 10**6), max_size=4),
    st.sampled_from([0, 1, 9]),
    st.sampled_from([0, 0, 70]),
    st.sampled_from([1, 50, 500, 1 << 19]),
    st.sampled_from([1, 13, 200, 1 << 16]),
    st.integers(1, 5),
)
def test_gzip_file_is_read_as_the_plain_one(folder, data, is_open, places, level, n_zeros, block, chunk, n_threads):
    data = data[:-1] if is_open else data
    plain, packed = folder / "data.svm", folder / "data.svm.gz"
    plain.write_bytes(data)
    packed.write_bytes(pack(cut_anywhere(data, places), level, n_zeros))
    told = []
    with small_pieces(block, chunk):
        found = load_libsvm(packed, n_threads=n_threads, progress=told.append)
    assert_same(found, load_libsvm(plain))
    if data:
        assert [step.done for step in told] == sorted(step.done for step in told)
        assert told[-1].done == told[-1].total == 2 * packed.stat().st_size


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_a_part_is_filled_in_by_every_thread(folder, n_threads):
    (folder / "many.svm.gz").write_bytes(gzip.compress(some_text(2000)))
    filled = []
    fill_part = libsvm_parts.fill_part

    def fill(part, *arguments):
        filled.append(part)
        return fill_part(part, *arguments)

    with small_pieces(1000, 500), mock.patch.object(libsvm, "fill_part", fill):
        _, y = load_libsvm(folder / "many.svm.gz", n_threads=n_threads)
    assert y.size == 2000
    assert len(set(map(id, filled))) == n_threads


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize(("old", "new"), [(b"7 1:1 2:", b"7 1:1 x:"), (b"7 1:1 2:", b"7 1:x 2:"), (b"7 1:", b"x 1:")])
def test_faults_are_counted_in_lines_of_the_file(folder, n_threads, old, new):
    lines = [b"7 1:1 2:%d" % k for k in range(900)]
    lines[777] = lines[777].replace(old, new)
    plain, packed = folder / "data.svm", folder / "data.svm.gz"
    plain.write_bytes(b"\n".join(lines))
    packed.write_bytes(gzip.compress(b"\n".join(lines)))
    complaints = []
    for file in (plain, packed):
        with small_pieces(200, 100), pytest.raises(ValueError, match=r":778:\d+: expected ") as caught:
            load_libsvm(file, n_threads=n_threads)
        complaints.append(str(caught.value).removeprefix(str(file)))
    assert complaints[0] == complaints[1]


# Damage ------------------------------------------------------------------------------------------------------


def complaint_of_gzip(packed):
    """Return the text that Python's gzip gives, or what it complains of."""
    try:
        return gzip.decompress(packed), None
    except (OSError, EOFError, zlib.error):
        pass
    try:
        return gzip.GzipFile(fileobj=io.BytesIO(packed)).read(), None
    except (OSError, EOFError, zlib.error) as error:
        return None, str(error)


def load_or_complain(file, n_threads):
    try:
        return load_libsvm(file, n_threads=n_threads)
    except ValueError as error:
        return str(error).removeprefix(str(file))


@st.composite
def damaged(draw):
    packed = bytearray(pack(cut_anywhere(some_text(40), draw(st.lists(st.integers(0, 10**6), max_size=2))), 6, 0))
    kind = draw(st.sampled_from(["cut", "flip", "more", "insert"]))
    place = draw(st.integers(0, len(packed) - 1))
    some = draw(st.binary(min_size=1, max_size=12))
    if kind == "cut":
        del packed[place:]
    elif kind == "flip":
        packed[place] ^= draw(st.integers(1, 255))
    elif kind == "more":
        packed += some
    else:
        packed[place:place] = some
    return bytes(packed)


@pytest.mark.compiled
@settings(max_examples=500, suppress_health_check=list(HealthCheck))
@given(damaged(), st.sampled_from([50, 1 << 19]), st.sampled_from([20, 1 << 16]), st.integers(1, 3))
def test_damage_is_what_gzip_says_it_is(folder, packed, block, chunk, n_threads):
    file, plain = folder / "data.svm.gz", folder / "data.svm"
    file.write_bytes(packed)
    text, complaint = complaint_of_gzip(packed)
    with small_pieces(block, chunk):
        found = load_or_complain(file, n_threads)
        if complaint is None:
            plain.write_bytes(text)
            expected = load_or_complain(plain, n_threads)
            if isinstance(found, str):
                assert found == expected
            else:
                assert_same(found, expected)
        else:  # what was unpacked before the damage was seen may be no LIBSVM file
            assert found == f": {complaint}" or re.match(r":\d+:\d+: expected ", found)


def test_header_that_only_gzip_accepts(folder):
    packed = gzip.compress(some_text(300))
    wrong_header = packed[:3] + b"\x02" + packed[4:10] + struct.pack("<H", 1) + packed[10:]  # a checksum of the header
    (folder / "data.svm.gz").write_bytes(wrong_header)
    (folder / "data.svm").write_bytes(some_text(300))
    told = []
    with small_pieces(500, 500):
        found = load_libsvm(folder / "data.svm.gz", n_threads=2, progress=told.append)
    assert_same(found, load_libsvm(folder / "data.svm"))
    assert told[-1].done == told[-1].total


def test_gzip_file_that_changes_meanwhile_is_noticed(folder):
    file = folder / "data.svm.gz"
    file.write_bytes(gzip.compress(some_text(500)))

    def change(step):
        if step.done == step.total // 2:
            time.sleep(0.01)
            file.write_bytes(bytes(step.total // 2))

    with small_pieces(500, 500), pytest.raises(ValueError, match=r"data\.svm\.gz: the file has changed"):
        load_libsvm(file, n_threads=2, progress=change)
