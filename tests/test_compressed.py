"""Lines of files, packed or not, block by block, and files that appear in one step."""

import io
import os
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fwlasso.datasets import compressed
from fwlasso.datasets.compressed import ahead, line_blocks, write_text


@settings(suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.sampled_from([b"\n", b"a", b"bc", b"defghijk"]), max_size=30).map(b"".join),
    st.integers(1, 40),
    st.integers(0, 9),
)
def test_blocks_are_whole_lines(data, block, padding):
    blocks = [part.tobytes()[: part.size - padding] for part in line_blocks(io.BytesIO(data), block, padding)]
    assert all(part.endswith(b"\n") for part in blocks)
    assert b"".join(blocks) == data + (b"" if data.endswith(b"\n") or not data else b"\n")
    first = data.find(b"\n") + 1
    assert (
        b"".join(part.tobytes()[: part.size - padding] for part in line_blocks(io.BytesIO(data), block, padding, first))
        == data[:first]
    )


def test_items_made_ahead_are_the_same_and_errors_come_through():
    assert list(ahead(iter(range(50)))) == list(range(50))

    def broken():
        yield 1
        raise ValueError("damaged")

    items = ahead(broken())
    assert next(items) == 1
    with pytest.raises(ValueError, match="damaged"):
        next(items)


def test_nobody_works_ahead_for_one_who_has_left():
    n_threads = threading.active_count()
    items = ahead(iter(range(10**9)))
    assert next(items) == 0
    items.close()
    assert threading.active_count() == n_threads


def test_a_packing_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError), compressed.replacing(tmp_path / "data.gz"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    write_text(tmp_path / "link.csv", "new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "numbers")
    reader.join(10)
    assert read == ["numbers"]
    assert pipe.is_fifo()
