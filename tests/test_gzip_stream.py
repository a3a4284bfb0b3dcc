"""Bookmarks of a gzip stream: whoever goes on from one reads what follows."""

import gzip
import io
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fwlasso.datasets import gzip_stream
from fwlasso.datasets.gzip_stream import GzipStream, OddGzipError, first_page
from gzip_cases import cut_anywhere, pack, some_text


def read_all(stream, size):
    room = bytearray(size)
    plain = b""
    while n_read := stream.readinto(memoryview(room)):
        plain += room[:n_read]
    return plain


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(
    st.integers(0, 60).map(some_text),
    st.lists(st.integers(0, 10**6), max_size=5),
    st.sampled_from([0, 1, 6, 9]),
    st.sampled_from([0, 0, 1, 70]),
    st.sampled_from([1, 7, 64, 1 << 16]),
    st.sampled_from([1, 100, 10_000]),
)
def test_every_bookmark_leads_to_what_follows(data, places, level, n_zeros, chunk, size):
    packed = io.BytesIO(pack(cut_anywhere(data, places), level, n_zeros))
    with mock.patch.object(gzip_stream, "_CHUNK_BYTES", chunk):
        stream = GzipStream(packed, first_page())
        marks = [stream.bookmark()]
        room = memoryview(bytearray(max(1, len(data) // 5)))
        while stream.readinto(room):
            marks.append(stream.bookmark())
        assert stream.n_packed == len(packed.getvalue())
        for mark in [*marks, marks[0]]:  # they can be used again
            again = GzipStream(io.BytesIO(packed.getvalue()), mark)
            assert read_all(again, size) == data[mark.n_plain :]
            later = GzipStream(io.BytesIO(packed.getvalue()), mark)
            later.skip(mark.n_plain + 50)
            assert read_all(later, size) == data[mark.n_plain + 50 :]


@pytest.mark.parametrize("damage", [b"", b"x", b"\x1f\x8bx", b"plain text\n"])
def test_what_is_no_gzip_file_is_odd(damage):
    packed = gzip.compress(some_text(30))
    for data in (damage, packed[:-1] + damage, packed + b"\0" + damage if damage else packed[:5]):
        with pytest.raises(OddGzipError):
            read_all(GzipStream(io.BytesIO(data), first_page()), 1000)
