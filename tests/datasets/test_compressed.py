"""Files, packed or not, that appear in one step."""

import os
import threading

import pytest

from fwlasso.data.compressed import write_text


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    write_text(tmp_path / "link.csv", "new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.posix
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
