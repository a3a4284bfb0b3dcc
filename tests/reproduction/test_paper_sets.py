"""The data sets of the paper by name: what is made, what is read, what is downloaded, and what is said otherwise."""

import bz2
import lzma
import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from math import comb
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, make_regression

from fwlasso.datasets import product_features
from reproduction.data import download, paper_sets, places, sparse_sets, standins
from reproduction.data.download import DamagedFileError, DownloadError, UnreachableError
from reproduction.data.paper_sets import PAPER_SETS, fetch_paper_set

SYNTHETIC = [name for name in PAPER_SETS if name.startswith("synthetic")]
PRODUCTS = {"pyrim": ("pyrim_scale", 74, 27), "triazines": ("triazines_scale", 186, 60)}
STEMS = {"e2006-tfidf": "E2006", "e2006-log1p": "log1p.E2006"}
TEST_ROWS, TRAIN_ROWS, COLUMNS = 6, 20, 15  # of the small E2006 below
PACKERS = {"": bytes, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch, tmp_path):
    """No data of the user, no network, no pauses."""
    monkeypatch.delenv("FWLASSO_DATA", raising=False)
    monkeypatch.setattr(places, "_PER_USER", str(tmp_path / "per-user"))
    monkeypatch.setattr(paper_sets, "_HOME", "http://127.0.0.1:9/regression/")  # nobody listens there
    monkeypatch.setattr(download, "_PAUSE", 0.0)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def small(monkeypatch):
    """The same sets, so small that a test can hold them."""
    sizes = {name: size._replace(m=TRAIN_ROWS, n_test=TEST_ROWS, p=COLUMNS) for name, size in PAPER_SETS.items()}
    sizes |= {name: PAPER_SETS[name] for name in PRODUCTS}
    size = standins.Size(300, 50, 400, 9_000)
    monkeypatch.setattr(paper_sets, "PAPER_SETS", sizes)
    monkeypatch.setattr(paper_sets, "_PRODUCTS", {name: (stem, d, 2) for name, (stem, _, d) in PRODUCTS.items()})
    monkeypatch.setattr(
        paper_sets, "_STANDINS", {"e2006-tfidf": (standins.tfidf, size), "e2006-log1p": (standins.log1p, size)}
    )


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The folder of a server that the package takes for the home of the data."""
    folder = tmp_path / "site"
    folder.mkdir()
    handler = type("Handler", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setattr(paper_sets, "_HOME", f"http://127.0.0.1:{server.server_port}/")
    yield folder
    server.shutdown()
    thread.join()
    server.server_close()


def table(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (n_rows, n_columns)) / 4.0
    X[:, -1] = 0.0  # the number of columns cannot be seen from the file
    return X, rng.integers(-8, 9, n_rows) / 8.0


def write(file, X, y, pack=bytes):
    dump_svmlight_file(sp.csr_array(X), y, str(file), zero_based=False)
    file.write_bytes(pack(file.read_bytes()))
    return file


def write_products(folder, name, ending="", pack=bytes):
    stem, m, d = PRODUCTS[name]
    X, y = table(m, d)
    write(folder / f"{stem}{ending}", X, y, pack)
    return X, y


def write_e2006(folder, name, packing=".bz2"):
    """Return what is in the files: X, y, X_test, y_test."""
    train, test = table(TRAIN_ROWS, COLUMNS), table(TEST_ROWS, COLUMNS, seed=1)
    for part, of_part in (("train", train), ("test", test)):
        write(folder / f"{STEMS[name]}.{part}{packing}", *of_part, PACKERS[packing])
    return *train, *test


def check_e2006(data, expected):
    for found, wanted in zip((data.X.toarray(), data.y, data.X_test.toarray(), data.y_test), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert data.X.format == data.X_test.format == "csc"
    assert not data.is_standin
    assert "stand-in" not in data.title


# Sets that are made ------------------------------------------------------------------------------------------


def test_names_and_sizes_are_those_of_the_paper():
    assert {name: size[1:] for name, size in PAPER_SETS.items()} == {
        "synthetic-10000-32": (200, 200, 10_000),
        "synthetic-10000-100": (200, 200, 10_000),
        "synthetic-50000-158": (200, 200, 50_000),
        "synthetic-50000-500": (200, 200, 50_000),
        "pyrim": (74, 0, 201_376),
        "triazines": (186, 0, 635_376),
        "e2006-tfidf": (16_087, 3_308, 150_360),
        "e2006-log1p": (16_087, 3_308, 4_272_227),
    }
    assert len({size.title for size in PAPER_SETS.values()}) == len(PAPER_SETS)


@pytest.mark.parametrize("name", SYNTHETIC)
def test_training_part_is_what_make_regression_gives(name):
    _, p, n_relevant = name.split("-")
    X, y, model = make_regression(200, int(p), n_informative=int(n_relevant), noise=1.0, coef=True, random_state=0)
    data = fetch_paper_set(name)
    assert (data.name, data.title) == (name, PAPER_SETS[name].title)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.relevant, np.flatnonzero(model))
    assert data.X.flags.f_contiguous
    assert data.X_test.flags.f_contiguous
    assert data.X_test.shape == X.shape
    assert not data.is_standin
    noise = data.y_test - data.X_test @ model  # the same model, rows of its own
    assert 0.8 < noise.std() < 1.2
    assert abs(data.X_test.mean()) < 0.01
    assert data.X_test.std() == pytest.approx(1.0, abs=0.01)
    assert abs(np.corrcoef(data.X[0], data.X_test[0])[0, 1]) < 0.05


def test_seed_changes_what_is_made():
    one, same, other = (fetch_paper_set("synthetic-10000-32", random_state=seed) for seed in (0, np.int64(0), 1))
    np.testing.assert_array_equal(one.y_test, same.y_test)
    assert not np.array_equal(one.y, other.y)
    assert not np.array_equal(one.relevant, other.relevant)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "e2006"}, "name must be one of synthetic-10000-32, .*got 'e2006'"),
        ({"name": None}, "name must be one of"),
        ({"random_state": -1}, "random_state must be .*-1"),
        ({"random_state": 0.5}, "random_state must be .*0.5"),
        ({"random_state": 2**32}, "random_state must be"),
        ({"folder": 7}, "folder must be a path, got 7"),
        ({"folder": __file__}, "folder must name a folder"),
        ({"progress": 1}, "progress must be callable, got 1"),
    ],
)
def test_bad_arguments_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        fetch_paper_set(**{"name": "synthetic-10000-32", **wrong})


# Files that are found ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("ending", ["", ".svm", ".txt"])
@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.usefixtures("small")
def test_products_of_a_file(tmp_path, name, ending, packing):
    X, y = write_products(tmp_path, name, ending + packing, PACKERS[packing])
    data = fetch_paper_set(name, tmp_path)
    np.testing.assert_array_equal(data.X, product_features(X, 2))
    np.testing.assert_array_equal(data.y, y)
    assert data.X.flags.f_contiguous
    assert (data.X_test, data.y_test, data.relevant, data.is_standin) == (None, None, None, False)


@pytest.mark.parametrize("name", PRODUCTS)
def test_orders_give_the_sizes_of_the_paper(name):
    _, m, d = PRODUCTS[name]
    _, n_columns, order = paper_sets._PRODUCTS[name]
    assert (n_columns, comb(d + order, order), m) == (d, PAPER_SETS[name].p, PAPER_SETS[name].m)


@pytest.mark.parametrize("name", STEMS)
@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.usefixtures("small")
def test_e2006_files(tmp_path, name, packing):
    expected = write_e2006(tmp_path, name, packing)
    data = fetch_paper_set(name, tmp_path, download=False)
    check_e2006(data, expected)
    assert data.title == PAPER_SETS[name].title
    assert data.relevant is None


@pytest.mark.usefixtures("small")
def test_folders_come_in_order(tmp_path, monkeypatch):
    def mark(folder, number):
        folder.mkdir()
        X, _ = table(74, 27)
        write(folder / "pyrim_scale", X, np.full(74, number))

    def found():
        return fetch_paper_set("pyrim", tmp_path / "given" if given else None, download=False).y[0]

    given = False
    mark(tmp_path / "per-user", 1.0)
    assert found() == 1.0
    mark(tmp_path / "environment", 2.0)
    monkeypatch.setenv("FWLASSO_DATA", str(tmp_path / "environment"))
    assert found() == 2.0
    mark(tmp_path / "given", 3.0)
    given = True
    assert found() == 3.0


def test_environment_that_names_a_file_is_said(monkeypatch):
    monkeypatch.setenv("FWLASSO_DATA", __file__)
    with pytest.raises(ValueError, match=f"FWLASSO_DATA must name a folder, but {re.escape(__file__)} is a file"):
        fetch_paper_set("pyrim")


def test_home_is_expanded(monkeypatch):
    monkeypatch.undo()
    monkeypatch.delenv("FWLASSO_DATA", raising=False)
    assert places.data_folder() == Path.home() / "fwlasso_data"
    assert places.data_folder("~/here") == Path.home() / "here"


@pytest.mark.usefixtures("small")
def test_file_with_other_rows_is_refused(tmp_path):
    write(tmp_path / "pyrim_scale.svm", *table(73, 27))
    with pytest.raises(ValueError, match=r"pyrim_scale\.svm: expected 74 rows, found 73"):
        fetch_paper_set("pyrim", tmp_path)


@pytest.mark.usefixtures("small")
def test_file_with_other_columns_is_refused(tmp_path):
    write(tmp_path / "pyrim_scale.svm", *table(74, 29))
    with pytest.raises(ValueError, match=r"pyrim_scale\.svm:.*27"):
        fetch_paper_set("pyrim", tmp_path)


@pytest.mark.parametrize("content", [bz2.compress(b"1 1:2\n" * 1000)[:-9], b"1 1:2\n", b""])
@pytest.mark.usefixtures("small")
def test_torn_file_is_named_with_what_to_do(tmp_path, content):
    write_e2006(tmp_path, "e2006-tfidf")
    (tmp_path / "E2006.train.bz2").write_bytes(content)
    with pytest.raises(ValueError, match=r"E2006\.train\.bz2: .*delete it and E2006\.train\.bz2\.sha256"):
        fetch_paper_set("e2006-tfidf", tmp_path)


# Downloads ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_products_are_downloaded_once(site, tmp_path):
    X, _ = write_products(site, "pyrim")
    seen = []
    for folder in (tmp_path / "new", None):
        data = fetch_paper_set("pyrim", folder, progress=seen.append)
        np.testing.assert_array_equal(data.X, product_features(X, 2))
    assert [step.what.rpartition("/")[2] for step in seen if step.done == step.total] == ["pyrim_scale"] * 2
    (site / "pyrim_scale").unlink()
    fetch_paper_set("pyrim", tmp_path / "new")
    fetch_paper_set("pyrim", tmp_path / "new", download=False)


@pytest.mark.parametrize("name", STEMS)
@pytest.mark.usefixtures("small")
def test_e2006_is_downloaded(site, tmp_path, name):
    expected = write_e2006(site, name)
    check_e2006(fetch_paper_set(name, tmp_path / "data"), expected)
    stem = STEMS[name]
    assert sorted(file.name for file in (tmp_path / "data").iterdir()) == [
        f"{stem}.{part}.bz2{ending}" for part in ("test", "train") for ending in ("", ".sha256")
    ]


@pytest.mark.usefixtures("small")
def test_missing_half_is_downloaded(site, tmp_path):
    expected = write_e2006(tmp_path, "e2006-tfidf", "")
    (tmp_path / "E2006.test").rename(site / "E2006.test")
    write(site / "E2006.test.bz2", *expected[2:], bz2.compress)
    check_e2006(fetch_paper_set("e2006-tfidf", tmp_path), expected)


@pytest.mark.usefixtures("small")
def test_downloaded_file_that_has_changed_is_refused(site, tmp_path):
    write_e2006(site, "e2006-tfidf")
    fetch_paper_set("e2006-tfidf", tmp_path)
    write(tmp_path / "E2006.test.bz2", *table(TEST_ROWS, COLUMNS, seed=5), bz2.compress)
    with pytest.raises(DamagedFileError, match=r"E2006\.test\.bz2"):
        fetch_paper_set("e2006-tfidf", tmp_path)


@pytest.mark.parametrize("name", [*PRODUCTS, *STEMS])
@pytest.mark.usefixtures("small", "site")
def test_file_that_the_server_does_not_have_is_an_error(tmp_path, name):
    stem, ending = (PRODUCTS[name][0], "") if name in PRODUCTS else (f"{STEMS[name]}.train", ".bz2")
    url = re.escape(f"{paper_sets._HOME}{stem}{ending}")
    with pytest.raises(DownloadError, match=f"{url}.*{re.escape(str(tmp_path))}.*404.*{stem}"):
        fetch_paper_set(name, tmp_path)


# Neither files nor a network ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_without_a_file_say_what_to_do(tmp_path, name):
    stem, *_ = PRODUCTS[name]
    parts = f"{re.escape(paper_sets._HOME + stem)}.*{re.escape(str(tmp_path))}.*no connection.*{stem}"
    with pytest.raises(UnreachableError, match=parts):
        fetch_paper_set(name, tmp_path)
    parts = f"{stem}.*{re.escape(str(tmp_path))}.*{re.escape(paper_sets._HOME + stem)}"
    with pytest.raises(FileNotFoundError, match=parts):
        fetch_paper_set(name, tmp_path, download=False)


@pytest.mark.parametrize("name", STEMS)
@pytest.mark.usefixtures("small")
def test_standin_is_labelled(tmp_path, name):
    with pytest.warns(UserWarning, match=rf"stand-in .*{PAPER_SETS[name].title}: .*no connection"):
        asked = fetch_paper_set(name, tmp_path)
    quiet = fetch_paper_set(name, tmp_path, download=False)
    make, size = paper_sets._STANDINS[name]
    for data in (asked, quiet):
        assert data.is_standin
        assert data.title == f"{PAPER_SETS[name].title} (stand-in)"
        np.testing.assert_array_equal(data.y, make(size, 2006).y)
        np.testing.assert_array_equal(data.X_test.data, make(size, 2006).X_test.data)
        assert data.relevant is None
    np.testing.assert_array_equal(fetch_paper_set(name, tmp_path, download=False, random_state=1).y, make(size, 1).y)


def test_standins_have_the_size_of_the_real_sets():
    for name, (_, size) in paper_sets._STANDINS.items():
        assert size[:3] == PAPER_SETS[name][1:]


@pytest.mark.parametrize("there", ["train", "test"])
@pytest.mark.parametrize("may_download", [True, False])
@pytest.mark.usefixtures("small")
def test_half_of_the_real_set_is_not_replaced_by_a_standin(tmp_path, there, may_download):
    write_e2006(tmp_path, "e2006-tfidf")
    missing = "test" if there == "train" else "train"
    (tmp_path / f"E2006.{missing}.bz2").unlink()
    with pytest.raises((FileNotFoundError, UnreachableError), match=rf"E2006\.{missing}"):
        fetch_paper_set("e2006-tfidf", tmp_path, download=may_download)


def test_sparse_sets_hold_out_a_sixth_of_their_samples(tmp_path, monkeypatch):
    monkeypatch.setattr(sparse_sets, "SPARSE_SETS", {"news20": paper_sets.PaperSetSize("News20", 10, 2, 5)})
    (tmp_path / "news20").mkdir()
    X = np.arange(60.0).reshape(12, 5)
    sp.save_npz(tmp_path / "news20" / "X.npz", sp.csc_array(X))
    np.save(tmp_path / "news20" / "y.npy", np.arange(12))
    data = sparse_sets.read_sparse_set("news20", tmp_path)
    assert sorted([*data.y, *data.y_test]) == list(range(12))
    np.testing.assert_array_equal(data.X_test.toarray(), X[data.y_test.astype(int)])
    np.save(tmp_path / "news20" / "y.npy", np.arange(11))
    with pytest.raises(ValueError, match="expected 12 samples of 5 features"):
        sparse_sets.read_sparse_set("news20", tmp_path)
