"""LIBSVM files packed by gzip: what plain files give, or what gzip complains of."""

import gzip
import io
import itertools
import random
import re
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fwlasso.datasets import load_libsvm
from libsvm_cases import small_pieces


def some_text(n_rows, seed=0):
    rng = random.Random(seed)
    lines = []
    for _ in range(n_rows):
        indices = sorted(rng.sample(range(1, 60), rng.randint(0, 9)))
        lines.append(" ".join([f"{rng.gauss(0, 1):.3g}", *(f"{j}:{rng.gauss(0, 1):.8g}" for j in indices)]))
    return ("\n".join(lines) + "\n").encode() if lines else b""


def pack(pieces, level, n_zeros):
    """Pack every piece as a member of its own, with zeros behind it."""
    return b"".join(gzip.compress(piece, level, mtime=0) + bytes(n_zeros) for piece in pieces)


def cut_anywhere(data, places):
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[begin:end] for begin, end in itertools.pairwise(edges)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("gzip")


def assert_same(found, expected):
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(expected[0], name))
    assert found[0].shape == expected[0].shape
    np.testing.assert_array_equal(found[1], expected[1])


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
    st.integers(1, 5),
)
def test_gzip_file_is_read_as_the_plain_one(folder, data, is_open, places, level, n_zeros, block, n_threads):
    data = data[:-1] if is_open else data
    plain, packed = folder / "data.svm", folder / "data.svm.gz"
    plain.write_bytes(data)
    packed.write_bytes(pack(cut_anywhere(data, places), level, n_zeros))
    told = []
    with small_pieces(block):
        found = load_libsvm(packed, n_threads=n_threads, progress=told.append)
    assert_same(found, load_libsvm(plain))
    if data:
        assert [step.done for step in told] == sorted(step.done for step in told)
        assert told[-1].done == told[-1].total == packed.stat().st_size


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
        with small_pieces(200), pytest.raises(ValueError, match=r":778:\d+: expected ") as caught:
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
@given(damaged(), st.sampled_from([50, 1 << 19]), st.integers(1, 3))
def test_damage_is_what_gzip_says_it_is(folder, packed, block, n_threads):
    file, plain = folder / "data.svm.gz", folder / "data.svm"
    file.write_bytes(packed)
    text, complaint = complaint_of_gzip(packed)
    with small_pieces(block):
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
