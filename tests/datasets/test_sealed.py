"""Files that are read again, altered in any way: an error that names the file, or the same numbers; never a signal."""

import json
import shutil
import struct
import tracemalloc
import zipfile
from contextlib import suppress

import numpy as np
import pytest

from cli_cases import BAD_INPUT, X, call, write_csv
from fwlasso import LassoPath, LinearModel, lasso_path
from fwlasso.checkpoints.folder import read_checkpoint
from fwlasso.datasets import read_table
from sealed_cases import array_bytes, edit_array, read_arrays, read_members, reseal_array, reseal_record, write_members

N_POINTS = 9
M, P = X.shape
SEGMENTS = [f"segments/{k}.npz" for k in (1, 2, 3)]
FILES = ["path.npz", *SEGMENTS, "settings.json", "choice.json", "model.json"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run with all of its files, which nobody alters."""
    place = tmp_path_factory.mktemp("kept")
    table = write_csv(place / "table.csv")
    call("path", table, "--test", table, "--alphas", N_POINTS, "--out", place / "run", "--quiet")
    return place


@pytest.fixture
def run(kept, tmp_path):
    shutil.copytree(kept, tmp_path / "copy")
    return tmp_path / "copy" / "run"


def numbers_in(run, name):
    """Read a file as the program does, use what it holds, and return all of it."""
    if name == "path.npz":
        path = LassoPath.load(run / name)
        path.coefs.toarray(), path.scaled_coefs.toarray(), repr(path), path.to_frame("coefs")
        whole = path.coefs, path.scaled_coefs
        parts = [part for coefs in whole for part in (coefs.data, coefs.indices, coefs.indptr, coefs.shape)]
        rest = path.statuses, path.ending, path.feature_names, path.settings, path.counters.seconds
        arrays = path.alphas, path.radii, path.intercepts, path.gaps, path.r2, path.counters.iterations
        return [path.predict(X), *parts, *arrays, *rest, path.counters.passes, path.counters.dot_products]
    if name == "model.json":
        model = LinearModel.load(run / name)
        return [model.predict(X) if model.n_features == P else None, *model._record().values()]
    if name == "choice.json":
        from fwlasso.cli.save import load_choice

        choice = load_choice(run, LassoPath.load(run / "path.npz"))
        return [choice.coef.toarray(), choice.best, *choice.record().values()]
    found = read_checkpoint(run)
    if name == "settings.json":
        return [*(found.grid or ()), *found._record.values()]
    number = SEGMENTS.index(name)
    points = found.segment(number, N_POINTS // 3, P)
    return [np.bincount(points.columns, minlength=P), *points]


def read_as_told(run, name, before):
    """Return whether a file is refused by its name; assert that it has the same numbers if it is not."""
    try:
        found = numbers_in(run, name)
    except ValueError as caught:
        error = caught
    else:
        for first, second in zip(before or found, found, strict=True):
            np.testing.assert_equal(first, second)
        return False
    assert name in str(error)
    return True


def damaged(content, rng, n_each):
    """Yield the bytes of a file with bits flipped, bytes exchanged, cut, doubled, and zeroed."""
    for _ in range(n_each):
        where = int(rng.integers(len(content)))
        yield content[:where] + bytes([content[where] ^ 1 << int(rng.integers(8))]) + content[where + 1 :]
    for _ in range(n_each // 2):
        where, size = int(rng.integers(len(content))), int(rng.integers(1, 64))
        yield content[:where] + rng.bytes(size) + content[where + size :]
        yield content[:where]
        yield content[:where] + content[where + size :]
        yield content[:where] + bytes(size) + content[where + size :]
        yield content[:where] + content[where : where + size] + content[where:]


@pytest.mark.parametrize("name", FILES)
def test_damaged_file_is_refused_by_name_or_holds_the_same_numbers(run, name):
    """150 of every file: with those below, more than a thousand."""
    content, before = (run / name).read_bytes(), numbers_in(run, name)
    rng = np.random.default_rng(FILES.index(name))
    n_refused = 0
    for altered in damaged(content, rng, 43):
        (run / name).write_bytes(altered)
        n_refused += read_as_told(run, name, before)
    assert n_refused > 120


def put(value, where=0):
    def change(array):
        array = array.copy()
        array.flat[where] = value
        return array

    return change


def test_altered_segments_are_refused(run):
    segments, data = run / "segments", read_table(run.parent / "table.csv")
    edit_array(segments / "3.npz", "coefs", lambda coefs: 3.0 * coefs)
    with pytest.raises(ValueError, match=r"3\.npz: coefs was altered.*Remove it, and its points are solved again"):
        lasso_path(data, alphas=N_POINTS, random_state=0, checkpoint=run)
    shutil.copy(segments / "1.npz", segments / "2.npz")
    with pytest.raises(ValueError, match=r"2\.npz: it belongs to another run or another segment"):
        lasso_path(data, alphas=N_POINTS, random_state=0, checkpoint=run)


@pytest.mark.parametrize("name", ["path.npz", "choice.json", "model.json"])
def test_altered_results_are_refused_by_all_commands(run, call_main, name):
    if name == "path.npz":
        edit_array(run / name, "data", lambda coefs: 3.0 * coefs)
    else:
        record = json.loads((run / name).read_text())
        record["features" if name == "model.json" else "scores"].pop()
        (run / name).write_text(json.dumps(record))
    table = run.parent / "table.csv"
    calls = [("report", run), ("path", table, "--alphas", N_POINTS, "--out", run, "--resume")]
    if name != "choice.json":
        calls.append(("predict", run, table, *(("--point", 3) if name == "path.npz" else ())))
    for arguments in calls:
        exit_code, _, told = call_main(*arguments)
        assert exit_code == BAD_INPUT
        assert f"{name}: " in told
        assert "was altered" in told


INDICES = {"path.npz": ("indptr", "indices"), "segments/2.npz": ("indptr", "columns")}
FLOATS = {"path.npz": ("alphas", "radii", "intercepts", "data", "scaled_data"), "segments/2.npz": ("coefs", "sums")}
SPOILT = {
    "missing": lambda array: None,
    "one more": lambda array: np.append(array, array.flat[-1:]),
    "one less": lambda array: array.flat[:-1],
    "none": lambda array: array.flat[:0],
    "single": lambda array: array.flat[0],
    "rows": lambda array: array.reshape(1, -1),
    "float32": lambda array: array.astype(np.float32),
    "big-endian": lambda array: array.astype(array.dtype.newbyteorder(">")),
    "texts": lambda array: array.astype(str),
    "pickles": lambda array: array.astype(object),
    "records": lambda array: np.zeros(array.shape, [("a", array.dtype)]),
    "no array": lambda array: b"\x93NUMPY",
    "no header": lambda array: array_bytes(array).replace(b"'", b'"'[:1]).replace(b"{", b"["),
    "huge": lambda array: array_bytes(array).replace(b"'shape': (", b"'shape': (99999999999, "),
    "huge and empty": lambda array: array_bytes(array[:0]).replace(b"'shape': (0", b"'shape': (99999999999"),
    "negative": lambda array: array_bytes(array).replace(b"'shape': (", b"'shape': (-"),
    "a part": lambda array: array_bytes(array)[:-3],
    "more bytes": lambda array: array_bytes(array) + b"12345678",
}


@pytest.mark.long
@pytest.mark.parametrize("name", INDICES)
def test_arrays_are_validated_whatever_their_checksum(run, name):
    content = (run / name).read_bytes()
    arrays = read_arrays(run / name)
    last = {array: values.size - 1 for array, values in arrays.items()}
    spoilt = [(array, change) for array in arrays for change in SPOILT.values()]
    bad = (-1, P, 10**8, 2**31, 2**40, 2**63 - 1, -(2**63))
    spoilt += [(a, put(value, where)) for a in INDICES[name] for value in bad for where in (0, last[a] // 2, last[a])]
    spoilt += [(a, put(value, where)) for a in FLOATS[name] for value in (np.nan, np.inf) for where in (0, last[a])]
    spoilt.append((INDICES[name][1], lambda columns: columns[::-1]))
    spoilt.append((INDICES[name][1], lambda columns: np.repeat(columns[:1], columns.size)))
    for array, change in spoilt:
        (run / name).write_bytes(content)
        reseal_array(run / name, array, change)
        assert read_as_told(run, name, None), (array, change(arrays[array]))
    for array in FLOATS[name]:  # numbers as good as any
        (run / name).write_bytes(content)
        reseal_array(run / name, array, lambda values: 3.0 * values)
        assert not read_as_told(run, name, None)


ODD = (None, True, -1, 0, 1, 1.5, 10**400, 2**70, "", "x", [], [None], ["x"], [[]], {}, {"a": 1}, [1.0] * 4)


@pytest.mark.long
@pytest.mark.parametrize("name", ["path.npz", "segments/2.npz", "settings.json", "choice.json", "model.json"])
def test_records_are_validated_whatever_their_checksum(run, name, call_main):
    """All that is accepted can be used: a run goes on, or tells in which way it is another one; and it is reported."""
    file = run / name
    data = read_table(run.parent / "table.csv")

    def is_refused(**changes):
        reseal_record(file, **changes)
        if read_as_told(run, name, None):
            return True
        if name in ("settings.json", "segments/2.npz"):
            with suppress(ValueError):
                lasso_path(data, alphas=N_POINTS, random_state=0, checkpoint=run)
        elif name != "model.json":
            exit_code, _, told = call_main("report", run, "--quiet")
            assert exit_code == 0, told
        return False

    content = file.read_bytes()
    record = json.loads(read_members(file)["record.json"] if name.endswith(".npz") else content)
    n_refused = 0
    for key in set(record) - {"sha256", "arrays"}:
        for value in ODD[: -4 if key == "settings" else None]:  # a path that was made by hand has none
            file.write_bytes(content)
            n_refused += is_refused(**{key: value})
        for inner in record[key] if isinstance(record[key], dict) else ():
            for value in (*ODD[:10], [], {}):
                file.write_bytes(content)
                n_refused += is_refused(**{key: {**record[key], inner: value}})
    assert n_refused > 60


@pytest.mark.parametrize(
    ("key", "values"),
    [("index", (-1, P, 10**8, 2**40, 2**70, 1.0, None, "1", True)), ("coef", ("1", True, None)), ("name", (3,))],
)
def test_features_of_a_model_are_validated_whatever_their_checksum(run, key, values):
    *others, last = json.loads((run / "model.json").read_text())["features"]
    del last["name"]  # all have one, or none
    changed = ([*others, {**others[0], **last, key: value}] for value in values)
    for spoilt in (others[:1] * 2, [*others, last], *changed):
        reseal_record(run / "model.json", features=spoilt)
        with pytest.raises(ValueError, match=r"model\.json: .*(feature|name)"):
            LinearModel.load(run / "model.json")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a": NaN}'], ids=["none", "torn", "deep", "NaN"])
def test_what_is_no_json_is_refused(run, text):
    (run / "model.json").write_text(text)
    with pytest.raises(ValueError, match=r"model\.json: not a fwlasso-model"):
        LinearModel.load(run / "model.json")


@pytest.mark.parametrize(("name", "array"), [("path.npz", "alphas"), ("segments/1.npz", "coefs")])
def test_nothing_is_unpacked(run, name, array):
    """A file of some kilobytes that would be forty megabytes."""
    edit_array(run / name, array, lambda _: np.zeros(5_000_000))
    write_members(run / name, read_members(run / name), zipfile.ZIP_DEFLATED)
    assert (run / name).stat().st_size < 100_000
    tracemalloc.start()
    try:
        assert read_as_told(run, name, None)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_directory_that_promises_more_than_there_is_is_refused(run):
    file = run / "path.npz"
    content = file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        entry, size = content.index(b"PK\x01\x02"), archive.infolist()[0].file_size
    assert struct.unpack_from("<LL", content, entry + 20) == (size, size)
    file.write_bytes(content[: entry + 20] + struct.pack("<LL", 2**31, 2**31) + content[entry + 28 :])
    with pytest.raises(ValueError, match=r"path\.npz: .*more than the file has"):
        LassoPath.load(file)


def test_files_of_an_earlier_version_are_refused_with_a_remedy(run, call_main):
    np.savez_compressed(run / "path.npz", record=np.array("{}"), indices=np.zeros(3))
    with pytest.raises(ValueError, match=r"path\.npz: not a fwlasso-path, or of an earlier version"):
        LassoPath.load(run / "path.npz")
    reseal_record(run / "model.json", version=1)
    with pytest.raises(ValueError, match=r"model\.json: .* written by an earlier version .*make it again"):
        LinearModel.load(run / "model.json")
    reseal_record(run / "settings.json", version=1)
    exit_code, _, told = call_main("path", run.parent / "table.csv", "--out", run, "--resume")
    assert exit_code == BAD_INPUT
    assert "written by an earlier version" in told
    assert "--overwrite starts again" in told
