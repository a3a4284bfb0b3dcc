"""Downloads from a server on this machine that does everything wrong that servers do."""

import hashlib
import re
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from reproduction.data import download
from reproduction.data.download import DamagedFileError, DownloadError, UnreachableError

CONTENT = bytes(range(256)) * 4_000
DATED = "Mon, 01 Jan 2024 00:00:00 GMT"


class Server(ThreadingHTTPServer):
    """Serves one file, and does to the first answers what `faults` says, one function for each."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = CONTENT
        self.labels = {"ETag": '"one"'}  # what tells versions of the file apart
        self.faults = []
        self.has_ranges = self.tells_length = True
        self.asked = []  # the Range of every request
        self.url = f"http://127.0.0.1:{self.server_port}/data/file.bz2"

    def handle_error(self, request, client_address):
        pass  # clients that hang up are part of the game


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.asked.append(self.headers["Range"])
        if server.faults and (fault := server.faults.pop(0)) is not None:
            fault(self)
        else:
            self.answer()

    def answer(self, n_bytes=None, **headers):
        """Send the file, or the rest that is asked for, or only `n_bytes` of it."""
        content, wanted = self.server.content, re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")
        first = int(wanted[1]) if wanted else 0
        same = self.headers["If-Range"] in self.server.labels.values()
        if first and same and self.server.has_ranges:
            if first >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
            headers = {"Content-Range": f"bytes {first}-{len(content) - 1}/{len(content)}", **headers}
            content = content[first:]
        else:
            self.send_response(200)
        if self.server.tells_length:
            headers = {"Content-Length": str(len(content)), **headers}
        for key, value in (self.server.labels | headers).items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content[:n_bytes])

    def log_message(self, *_):
        pass


def cut_after(n_bytes):
    return lambda handler: handler.answer(n_bytes)


def status(code):
    return lambda handler: handler.send_error(code)


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def _at_once_and_without_proxies(monkeypatch):
    monkeypatch.setattr(download, "_PAUSE", 0.0)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "folder" / "file.bz2"


def fetch(server, file, **options):
    download.download(server.url, file, **options)


def names(file):
    return sorted(entry.name for entry in file.parent.iterdir())


def check_complete(server, file):
    assert file.read_bytes() == server.content
    assert names(file) == ["file.bz2", "file.bz2.sha256"]
    digest = hashlib.sha256(server.content).hexdigest()
    assert (file.parent / "file.bz2.sha256").read_text() == f"{digest}  file.bz2\n"
    download.verify(file)


# Downloads that end well -------------------------------------------------------------------------------------


def test_complete(server, file):
    fetch(server, file)
    check_complete(server, file)
    assert server.asked == [None]


@pytest.mark.parametrize("content", [b"", b"x", CONTENT])
def test_progress_is_told_from_nothing_to_everything(server, file, content):
    server.content = content
    seen = []
    fetch(server, file, progress=seen.append)
    check_complete(server, file)
    assert {(step.what, step.total) for step in seen} == {(f"downloading {server.url}", len(content))}
    assert (seen[0].done, seen[-1].done) == (0, len(content))
    assert [step.done for step in seen] == sorted(step.done for step in seen)


@pytest.mark.parametrize(
    "labels", [{"ETag": '"one"'}, {"Last-Modified": DATED}, {"ETag": 'W/"weak"', "Last-Modified": DATED}]
)
def test_interrupted_download_is_resumed_where_it_broke_off(server, file, labels):
    server.labels = labels
    server.faults = [cut_after(300_000), cut_after(200_000)]
    fetch(server, file)
    check_complete(server, file)
    assert server.asked == [None, "bytes=300000-", "bytes=500000-"]


def test_another_call_resumes_what_the_first_has_left(server, file):
    server.faults = [cut_after(300_000)]
    with pytest.raises(DownloadError, match=r"broke off after 300,000 of 1,024,000 bytes"):
        fetch(server, file, tries=1)
    assert not file.exists()
    seen = []
    fetch(server, file, progress=seen.append)
    check_complete(server, file)
    assert seen[0].done == 300_000
    assert server.asked == [None, "bytes=300000-"]


def test_call_that_is_interrupted_by_its_user_can_be_resumed(server, file):
    def stop(step):
        if step.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(server, file, progress=stop)
    assert not file.exists()
    fetch(server, file)
    check_complete(server, file)
    assert server.asked[1] is not None


def test_server_without_ranges_sends_all_again(server, file):
    server.has_ranges = False
    server.faults = [cut_after(300_000)]
    fetch(server, file)
    check_complete(server, file)


def test_server_that_does_not_tell_versions_apart_is_asked_for_all_again(server, file):
    server.labels = {}
    server.faults = [cut_after(300_000)]
    fetch(server, file)
    check_complete(server, file)
    assert server.asked == [None, None]


def test_file_that_has_changed_on_the_server_is_not_mixed_with_the_old_one(server, file):
    server.faults = [cut_after(300_000)]
    with pytest.raises(DownloadError):
        fetch(server, file, tries=1)
    server.content, server.labels = CONTENT[::-1], {"ETag": '"two"'}
    fetch(server, file)
    check_complete(server, file)


def test_part_of_unknown_origin_is_not_used(server, file):
    file.parent.mkdir()
    (file.parent / "file.bz2.part").write_bytes(b"something else")
    fetch(server, file)
    check_complete(server, file)


@pytest.mark.parametrize("n_bytes", [len(CONTENT), len(CONTENT) + 5])
def test_part_that_is_longer_than_the_file_is_dropped(server, file, n_bytes):
    file.parent.mkdir()
    (file.parent / "file.bz2.part").write_bytes(bytes(n_bytes))
    (file.parent / "file.bz2.part.version").write_text('"one"')
    fetch(server, file)
    check_complete(server, file)


def test_answer_of_another_range_is_not_used(server, file):
    wrong = f"bytes 5-{len(CONTENT) - 1}/{len(CONTENT)}"
    server.faults = [cut_after(300_000), lambda handler: handler.answer(Content_Range=wrong)]
    fetch(server, file)
    check_complete(server, file)


@pytest.mark.parametrize("code", [429, 500, 503])
def test_busy_server_is_asked_again(server, file, code):
    server.faults = [status(code), status(code)]
    fetch(server, file)
    check_complete(server, file)


def test_server_that_hangs_is_asked_again(server, file):
    released = threading.Event()

    def hang(handler):
        released.wait(10.0)
        raise ConnectionAbortedError

    server.faults = [hang]
    fetch(server, file, timeout=0.2)
    released.set()
    check_complete(server, file)


def test_server_that_does_not_tell_the_length(server, file):
    server.tells_length = False
    seen = []
    fetch(server, file, progress=seen.append)
    check_complete(server, file)
    assert {step.total for step in seen} == {None}


def test_file_that_is_there_is_not_downloaded(server, file):
    file.parent.mkdir()
    file.write_bytes(b"mine")
    fetch(server, file)
    assert file.read_bytes() == b"mine"
    assert server.asked == []


def test_two_downloads_at_once_do_not_disturb_each_other(server, file):
    threads = [threading.Thread(target=fetch, args=(server, file)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check_complete(server, file)
    assert server.asked == [None]


# Downloads that do not ---------------------------------------------------------------------------------------


def says_what_to_do(server, file):
    return f"(?s){re.escape(server.url)}.*{re.escape(str(file.parent))}.*%s.*by other means.*file.bz2"


@pytest.mark.parametrize("code", [401, 403, 404, 410])
def test_missing_file_is_not_asked_for_again(server, file, code):
    server.faults = [status(code)]
    with pytest.raises(DownloadError, match=says_what_to_do(server, file) % code) as caught:
        fetch(server, file)
    assert not isinstance(caught.value, UnreachableError)
    assert server.asked == [None]
    assert names(file) == []


def test_tries_come_to_an_end(server, file):
    server.faults = [cut_after(10)] * 20
    with pytest.raises(DownloadError, match=says_what_to_do(server, file) % "broke off"):
        fetch(server, file, tries=5)
    assert len(server.asked) == 5
    assert names(file) == ["file.bz2.part", "file.bz2.part.version"]


def test_no_network(file):
    with socket.socket() as reserved:  # bound and not listening: connections are refused
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}/file.bz2"
        with pytest.raises(UnreachableError, match=f"{re.escape(url)}.*{re.escape(str(file.parent))}.*no connection"):
            download.download(url, file)
    assert not file.exists()


def test_folder_that_cannot_be_made_is_named(server, tmp_path):
    (tmp_path / "folder").write_text("a file")
    with pytest.raises(DownloadError, match=re.escape(str(tmp_path / "folder"))):
        fetch(server, tmp_path / "folder" / "file.bz2")
    assert server.asked == []


# Digests -----------------------------------------------------------------------------------------------------


def test_file_that_was_changed_is_found_out(server, file):
    fetch(server, file)
    changed = bytearray(CONTENT)
    changed[12_345] ^= 1
    file.write_bytes(changed)
    expected = f"{hashlib.sha256(changed).hexdigest()}.*{hashlib.sha256(CONTENT).hexdigest()}.*Delete"
    with pytest.raises(DamagedFileError, match=f"{re.escape(str(file))}.*{expected}"):
        download.verify(file)


def test_file_without_a_digest_is_taken_as_it_is(file):
    file.parent.mkdir()
    file.write_bytes(b"put there by hand")
    download.verify(file)
    assert names(file) == ["file.bz2"]


@pytest.mark.parametrize("text", ["", "no digest"])
def test_digest_that_is_none_is_not_taken_for_one(file, text):
    file.parent.mkdir()
    file.write_bytes(b"content")
    (file.parent / "file.bz2.sha256").write_text(text)
    with pytest.raises(DamagedFileError, match=r"file\.bz2\.sha256"):
        download.verify(file)


def test_second_download_must_be_as_the_first_was(server, file):
    fetch(server, file)
    file.unlink()
    fetch(server, file)
    check_complete(server, file)
    file.unlink()
    server.content = CONTENT[::-1]
    with pytest.raises(DamagedFileError, match=r"file\.bz2.*downloaded first"):
        fetch(server, file)
    assert not file.exists()
    server.content = CONTENT
    fetch(server, file)
    check_complete(server, file)
