"""Tables as people have them: any delimiter, packed or piped, with columns to leave out; doubts are told."""

import bz2
import gzip
import lzma

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow.parquet import write_table
from typer.testing import CliRunner

from cli_cases import BAD_INPUT, NAMES, X, Y, call, call_json, plain, write_csv
from fwlasso import LassoPath, LinearModel
from fwlasso.cli import app as cli
from fwlasso.datasets import arrow_files, convert, read_table

TEXT = "\n".join([",".join([*NAMES, "y"]), *(",".join(map(repr, row)) for row in np.column_stack([X, Y]).tolist()), ""])
LAYOUTS = {
    "a.csv": TEXT.encode(),
    "bom.csv": TEXT.encode("utf-8-sig"),
    "a.tsv": TEXT.replace(",", "\t").encode(),
    "tabs.csv": TEXT.replace(",", "\t").encode(),
    "semicolons.csv": TEXT.replace(",", ";").encode(),
    "continental.csv": TEXT.replace(",", ";").replace(".", ",").encode(),
    "quoted.csv": TEXT.replace("f0", '"f0"', 1).encode(),
    "odd.csv": TEXT.replace("y", '"y\n"', 1).encode(),
    "windows.csv": TEXT.replace("\n", "\r\n").encode(),
    "a.csv.gz": gzip.compress(TEXT.encode()),
    "a.tsv.bz2": bz2.compress(TEXT.replace(",", "\t").encode()),
    "a.csv.xz": lzma.compress(TEXT.encode()),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_of_a_table_is_read(tmp_path, name):
    (tmp_path / name).write_bytes(LAYOUTS[name])
    table = read_table(tmp_path / name)
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, Y)
    assert (table.feature_names, table.target) == (NAMES, "y")
    store = convert(tmp_path / name, tmp_path / "store")
    np.testing.assert_array_equal(store.X, X)
    assert (store.feature_names, store.target) == (NAMES, "y")


def test_a_table_is_piped_in(tmp_path):
    def pipe(*arguments, exit_code=0):
        done = CliRunner().invoke(cli.app, [str(part) for part in arguments], input=TEXT, catch_exceptions=False)
        assert done.exit_code == exit_code
        return done

    pipe("path", "-", "--target", "f0", "--alphas", 4, "--quiet", "--out", tmp_path / "run")
    predicted = pipe("predict", tmp_path / "run", "-", "--point", 3).stdout.splitlines()[1:]
    write_csv(tmp_path / "a.csv")
    np.testing.assert_allclose(
        np.array(predicted, float),
        call_json("predict", tmp_path / "run", tmp_path / "a.csv", "--point", 3)["predictions"],
    )
    pipe("convert", "-", tmp_path / "store", "--quiet")
    np.testing.assert_array_equal(read_table(tmp_path / "store").X, X)


def with_texts(file):
    """A table with an index without a name, an identifier, a date, and numbers."""
    frame = pd.DataFrame(X, columns=NAMES).assign(y=Y, who=[f"patient {i}" for i in range(len(Y))], when="2026-01-01")
    frame.to_csv(file)
    frame.assign(when=pd.Timestamp("2026-01-01")).to_parquet(file.with_suffix(".parquet"))
    return file


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_columns_are_chosen_by_name_and_others_need_not_be_numbers(tmp_path, ending):
    file = with_texts(tmp_path / "a.csv").with_suffix(ending)
    index = [""] if ending == ".csv" else []
    table = read_table(file, "y", exclude=["who", "when", *index])
    assert table.feature_names == NAMES
    np.testing.assert_array_equal(table.X, X)
    table = read_table(file, "y", columns=["f3", "f1", "y"], exclude=["f1"])
    assert table.feature_names == ("f3",)
    assert convert(file, tmp_path / "some", target="y", columns=["f3", "f1"]).feature_names == ("f3", "f1")
    assert convert(file, tmp_path / "rest", target="y", exclude=["who", "when", *index]).feature_names == NAMES
    store = read_table(tmp_path / "rest", columns=["f2", "f1"])
    assert store.feature_names == ("f1", "f2")
    np.testing.assert_array_equal(store.X, X[:, [1, 2]])
    for options in ({"columns": ["f9"]}, {"exclude": ["f9"]}):
        for source in (file, tmp_path / "rest"):
            with pytest.raises(ValueError, match="there is no column 'f9'"):
                read_table(source, **options)


def test_commands_leave_columns_out(tmp_path):
    file = with_texts(tmp_path / "a.csv")
    options = ("--target", "y", "--exclude", ",who,when")
    call("cv", file, *options, "--folds", 3, "--alphas", 5, "--quiet", "--out", tmp_path / "run")
    # What a model does not use, it does not read.
    predicted = call_json("predict", tmp_path / "run", file, "--target", "y")
    assert predicted["r2"] > 0.5
    assert call_json("predict", tmp_path / "run", file)["predictions"] == predicted["predictions"]
    record = call_json("cv", file, *options, "--validation", file, "--alphas", 5)
    np.testing.assert_allclose(min(record["choice"]["scores"]), predicted["rmse"] ** 2, rtol=0.5)
    assert call_json("info", file, "--target", "y", "--columns", "f0,f1")["n_features"] == 2
    call("convert", file, tmp_path / "store", *options, "--quiet")
    assert read_table(tmp_path / "store").feature_names == NAMES


def test_columns_of_what_has_no_names_are_not_chosen(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    with pytest.raises(ValueError, match=r"a\.npz: columns are chosen by name, in tables only"):
        read_table(tmp_path / "a.npz", columns=["f0"])


CELLS = {
    "1,2\n3,\n": (3, "b", "there is no value; fill it, leave out such rows with --drop-missing, give them the mean"),
    "1,2\n3, \n": (3, "b", "there is no value; fill it, leave out such rows with --drop-missing, give them the mean"),
    "1,2\n\n3,\n": (3, "b", "there is no value; fill it, leave out such rows with --drop-missing, give them the mean"),
    "1,2\nNA,4\n": (3, "a", r"there is no value \('NA'\); fill it"),
    "2026-01-01,4\n": (2, "a", "expected a number, found '2026-01-01'; convert .* pandas.get_dummies .*--exclude"),
    "1,nan\n": (2, "b", "expected a finite number, found nan"),
    50 * "1,2\n" + "1,true\n": (52, "b", "expected a number, found 'true'"),
}


@pytest.mark.parametrize("rows", CELLS)
@pytest.mark.parametrize("reader", [read_table, lambda file: convert(file, file.with_suffix(".store"))])
def test_a_cell_that_is_no_number_is_named(tmp_path, rows, reader):
    row, column, what = CELLS[rows]
    (tmp_path / "a.csv").write_text(f"a,b,y\n{rows.replace(chr(10), ',0' + chr(10)).replace(chr(10) + ',0', chr(10))}")
    with pytest.raises(ValueError, match=rf"a\.csv, row {row}, column '{column}': {what}"):
        reader(tmp_path / "a.csv")


def test_the_time_of_a_wide_table_is_that_of_its_columns(tmp_path, monkeypatch):
    """Names are looked up, not searched for: they are compared as often as there are some, and not for every other."""
    p, n_compared = 2000, 0

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            nonlocal n_compared
            n_compared += 1
            return str.__eq__(self, other)

        def strip(self):
            return self

    names = [Name(f"x{j}") for j in range(p)]
    file = tmp_path / "a.csv"
    file.write_text("\n".join([",".join(names), *([",".join(["1"] * p)] * 3)]) + "\n")
    monkeypatch.setattr(arrow_files.csv, "reader", lambda lines, **_: (names for _ in [next(iter(lines))]))
    for read in (read_table, lambda file: convert(file, tmp_path / "store")):
        n_compared = 0
        assert read(file).X.shape == (3, p - 1)
        assert n_compared < 50 * p


def test_a_guessed_response_is_told_with_the_columns(tmp_path):
    file = write_csv(tmp_path / "a.csv")
    told = plain(call("path", file, "--alphas", 3).stderr)
    assert "the response is 'y', the last column; --target names another of f0, f1, f2, f3, f4, f5, f6, f7, y" in told
    assert "last column" not in plain(call("path", file, "--target", "y", "--alphas", 3).stderr)
    assert call_json("path", file, "--alphas", 3)["settings"]["target"] == "y"
    call("convert", file, tmp_path / "store", "--target", "f3", "--quiet")
    assert call_json("path", tmp_path / "store", "--alphas", 3)["settings"]["target"] == "f3"


def test_an_index_without_a_name_is_told(tmp_path):
    pd.DataFrame(X, columns=NAMES).assign(y=Y).to_csv(tmp_path / "a.csv")
    told = plain(call("path", tmp_path / "a.csv", "--alphas", 3).stderr)
    assert "a column without a name is used as a feature; --exclude '' leaves it out" in told
    pd.DataFrame(X, columns=NAMES, index=np.arange(30) * 2).assign(y=Y).to_parquet(tmp_path / "a.parquet")
    told = plain(call("path", tmp_path / "a.parquet", "--target", "y", "--alphas", 3).stderr)
    assert "--exclude '__index_level_0__' leaves it out" in told
    assert "without a name" not in plain(call("path", tmp_path / "a.csv", "--exclude", "", "--alphas", 3).stderr)


def test_a_first_row_of_numbers_is_told(tmp_path):
    (tmp_path / "a.csv").write_text(TEXT.partition("\n")[2])
    with pytest.raises(ValueError, match=r"more than one column '-1\.5'; all names in the first row are numbers"):
        read_table(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("0.5,1.5,2.5\n1,2,3\n4,5,6\n7,1,2\n")
    told = plain(call("path", tmp_path / "a.csv", "--alphas", 3).stderr)
    assert "all names in the first row are numbers: is it a row of data" in told


@pytest.mark.parametrize("name", ["a.csv", "a.npz"])
def test_a_response_of_two_values_is_told(tmp_path, name):
    y = (np.median(Y) < Y).astype(float)
    if name == "a.csv":
        write_csv(tmp_path / name, y=y)
    else:
        np.savez(tmp_path / name, X=X, y=y)
    told = plain(call("path", tmp_path / name, "--alphas", 3).stderr)
    assert "the response 'y' has two values, 0 and 1: this is least squares, not classification" in told


@pytest.mark.parametrize("command", ["path", "cv", "info", "convert", "predict"])
@pytest.mark.parametrize("name", ["none.csv", "none.svm", "none", "none.parquet", "none.bed"])
def test_a_file_that_is_not_there_is_named(tmp_path, monkeypatch, call_main, command, name):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "a.csv")
    if command == "predict":
        call("path", "a.csv", "--alphas", 3, "--quiet", "--out", "run")
    arguments = {"convert": (name, "store"), "predict": ("run", name, "--point", 2)}.get(command, (name,))
    exit_code, stdout, stderr = call_main(command, *arguments)
    assert (exit_code, stdout, stderr) == (BAD_INPUT, "", f"fwlasso: {name}: no such file")
    for read in (read_table, lambda name: convert(name, "store"), LassoPath.load, LinearModel.load):
        with pytest.raises(FileNotFoundError, match=name):
            read(name)


@pytest.mark.parametrize("command", ["path", "info", "convert"])
@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_name_that_two_columns_have_is_told(tmp_path, call_main, command, name):
    """With and without --target; left out, both may be there."""
    values = np.column_stack([X[:, :3], Y])
    names = ["a", "a", "b", "y"]
    write_csv(tmp_path / "a.csv", names[:-1], x=X[:, :3])
    write_table(pa.table(list(values.T), names=names), tmp_path / "a.parquet")
    made = (tmp_path / "store",) if command == "convert" else ()
    for options in ((), ("--target", "y"), ("--target", "b", "--columns", "a"), ("--target", "a")):
        exit_code, stdout, stderr = call_main(command, tmp_path / name, *made, *options)
        assert (exit_code, stdout) == (BAD_INPUT, "")
        assert f"{name}: there is more than one column 'a'" in stderr
    assert call_main(command, tmp_path / name, *made, "--target", "y", "--exclude", "a")[0] == 0
