"""Phenotypes of other files are joined by the ids of samples; samples and variants are chosen by id."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from bed_reader import to_bed

from cli_cases import BAD_INPUT, call, call_json
from fwlasso import LassoCV, LinearModel, lasso_path
from fwlasso.datasets import open_bed, read_table

M, P = 40, 9
rng = np.random.default_rng(3)
X = rng.binomial(2, 0.4, (M, P)).astype(float)
Y = np.round(X @ [2.0, 0, -1.5, 0, 0, 1.0, 0, 0, 0] + 0.1 * rng.standard_normal(M) + 5.0, 3)
FIDS, IIDS = [f"f{i // 2}" for i in range(M)], [f"s{i}" for i in range(M)]
ORDER = rng.permutation(M).tolist()
NO_ROW, UNKNOWN, BY_ORDER, LEFT_OUT = (
    "ignore:.* have no row in it",
    "ignore:.* are of no sample",
    "ignore:.* by their order",
    "ignore:.* left out",
)


def write(folder, name="cohort", **changes):
    properties = {"fid": FIDS, "iid": IIDS, "sid": [f"rs{j}" for j in range(P)], "pheno": ["-9"] * M} | changes
    to_bed(folder / f"{name}.bed", np.asfortranarray(X), properties=properties)
    return folder / f"{name}.bed"


@pytest.fixture
def file(tmp_path):
    return write(tmp_path)


def text(rows, header=None, sep=" "):
    return "".join(sep.join(map(str, row)) + "\n" for row in ([header] if header else []) + rows)


def rows(*columns):
    """Rows of a file in another order than that of the samples."""
    return [[column[i] for column in columns] for i in ORDER]


def frame():
    return pd.DataFrame({"FID": FIDS, "IID": IIDS, "bmi": Y, "age": np.arange(M)}).iloc[ORDER]


KINDS = {
    "FID IID without a header": ("t.txt", text(rows(FIDS, IIDS, Y)), None),
    "FID IID": ("t.pheno", text(rows(FIDS, IIDS, Y), ["FID", "IID", "bmi"]), None),
    "#FID, tabs": ("t.tsv", text(rows(FIDS, IIDS, Y), ["#FID", "IID", "bmi"], "\t"), None),
    "IID alone": ("t.txt", text(rows(IIDS, Y)), None),
    "#IID, of several": ("t.txt", text(rows(IIDS, range(M), Y), ["#IID", "age", "bmi"]), "bmi"),
    "csv, ids behind": ("t.csv", text(rows(Y, IIDS), ["bmi", "iid"], ","), None),
    "semicolons": ("t.csv", text(rows(IIDS, Y, FIDS), ["IID", "bmi", "FID"], ";"), "bmi"),
    "several without a header": ("t.txt", text(rows(FIDS, IIDS, range(M), Y)), "PHENO2"),
    "no families": ("t.txt", text(rows(["0"] * M, IIDS, Y)), None),
    "a byte order mark, and quotes": ("t.csv", '\ufeff"IID","bmi"\n' + text(rows(IIDS, Y), sep=","), None),
}


@pytest.mark.parametrize("kind", KINDS)
def test_phenotypes_are_joined_by_ids(file, tmp_path, kind):
    name, content, target = KINDS[kind]
    (tmp_path / name).write_text(content, encoding="utf-8")
    bed = open_bed(file, tmp_path / name, target=target)
    np.testing.assert_array_equal(bed.phenotype, Y)
    table = read_table(file, target, pheno=tmp_path / name)
    np.testing.assert_array_equal(table.y, Y)
    assert re.fullmatch(rf"(bmi|PHENO\d) in {re.escape(name)}", table.target)


FRAMES = {
    "a frame": (frame, "bmi"),
    "polars": (lambda: pl.DataFrame(frame()), "bmi"),
    "a frame with an index": (lambda: frame().set_index("IID")[["bmi"]], None),
    "a frame with two": (lambda: frame().set_index(["FID", "IID"]), "bmi"),
    "a series": (lambda: frame().set_index("IID")["bmi"], None),
    "a series with two": (lambda: frame().set_index(["FID", "IID"])["bmi"], None),
    "a nameless index": (lambda: pd.Series(Y, index=IIDS).iloc[ORDER], None),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_and_series_are_joined_by_ids(file, kind):
    make, target = FRAMES[kind]
    np.testing.assert_array_equal(open_bed(file, make(), target=target).phenotype, Y)


def test_a_shuffled_file_gives_the_model_of_the_file_in_order(file, tmp_path):
    (tmp_path / "t.txt").write_text(text(rows(FIDS, IIDS, Y)))
    found = call_json("path", file, "--pheno", tmp_path / "t.txt", "--alphas", 5)
    beside = call_json("path", file, "--target", "t.txt", "--alphas", 5)
    in_order = write(tmp_path, "in_order", pheno=Y.astype(str))
    expected = call_json("path", in_order, "--alphas", 5)
    assert found["points"] == beside["points"] == expected["points"]
    assert found["notices"] == []


def test_who_has_no_match_is_told_and_left_out(file, tmp_path):
    values = {**dict(zip(IIDS, Y.tolist(), strict=True)), "s7": "NA", "s8": "-9", "x1": 1.0, "x2": 2.0}
    for i in range(3):
        del values[f"s{i}"]
    (tmp_path / "t.txt").write_text(text(sorted(values.items())))
    known = np.setdiff1d(np.arange(M), [0, 1, 2, 7, 8])
    with pytest.warns(UserWarning, match="of the 40|of its 39") as warned:
        bed = open_bed(file, tmp_path / "t.txt")
    assert [str(it.message).removeprefix(f"{tmp_path}/") for it in warned] == [
        "t.txt: of its 39 rows 2 are of no sample of cohort.fam: x1, x2",
        "t.txt: of the 40 samples 3 have no row in it: f0 s0, f0 s1, f1 s2",
        "cohort.bed: of the 40 samples 5 have no phenotype, and are left out: f0 s0, f0 s1, f1 s2, f3 s7, f4 s8",
    ]
    np.testing.assert_array_equal(bed.phenotype, Y[known])
    assert bed.sample_ids == tuple(IIDS[i] for i in known)
    np.testing.assert_array_equal(bed.X @ np.eye(P), X[known])
    notices = call_json("info", file, "--pheno", tmp_path / "t.txt")["notices"]
    assert sum("left out" in it for it in notices) == 1


@pytest.mark.parametrize(
    ("content", "target", "message"),
    [
        (text(rows([f"x{i}" for i in range(M)], Y)), None, "no id in it is that of a sample of .*cohort.fam"),
        (text(rows(IIDS, Y, Y)), None, "no id in it .*; its columns are FID, IID, PHENO1: .*a header"),
        (text(rows(IIDS, FIDS, Y)), None, "no id in it"),
        (text(rows(["z"] * M, IIDS, Y)), None, "no id in it .*; by IID alone 40 would be"),
        (text([*rows(IIDS, Y), [IIDS[3], 1.0]]), None, "the sample f1 s3 has two rows"),
        (text(rows(IIDS, Y, Y), ["IID", "a", "b"]), None, "there are 2 phenotypes, a, b; target .* one of them"),
        (text(rows(IIDS, Y, Y), ["IID", "a", "b"]), "c", "there is no phenotype 'c', but a, b"),
        (text(rows(IIDS, Y), ["IID", "bmi"]) + "s1 2 3\n", None, "line 42: expected 2 columns, found 3"),
        (text(rows(IIDS), ["IID"]), None, "there is no phenotype in it"),
        (text(rows(FIDS, Y), ["FID", "bmi"]), None, "there is FID, but no column IID"),
        ("", None, "is empty"),
        (text([[y] for y in Y[:-1]]), None, "39 numbers without ids .* 40 samples"),
        (text(rows(IIDS, ["NA"] * M)), None, "no sample has a phenotype"),
        (text(rows(IIDS, [i % 2 for i in range(M)])), None, "0 .* 1 and 2"),
    ],
)
def test_phenotypes_that_do_not_fit_are_refused(file, tmp_path, content, target, message):
    (tmp_path / "t.txt").write_text(content)
    with pytest.raises(ValueError, match=message) as error:
        open_bed(file, tmp_path / "t.txt", target=target)
    assert str(tmp_path) in str(error.value)


@pytest.mark.parametrize("kind", ["txt", "npy", "array", "series"])
def test_numbers_without_ids_are_taken_in_order_with_a_notice(file, tmp_path, kind):
    np.save(tmp_path / "y.npy", Y)
    (tmp_path / "y.txt").write_text(text([[y] for y in Y]))
    given = {"array": Y, "series": pd.Series(Y)}.get(kind, tmp_path / f"y.{kind}")
    with pytest.warns(UserWarning, match="no ids: its 40 numbers are taken for the samples by their order"):
        np.testing.assert_array_equal(open_bed(file, given).phenotype, Y)
    if kind in ("txt", "npy"):
        (notice,) = call_json("path", file, "--target", f"y.{kind}", "--alphas", 2)["notices"]
        assert "by their order" in notice


def test_an_id_of_two_families_needs_them(tmp_path):
    file = write(tmp_path, iid=["s1", *IIDS[1:]], fid=["a", "b", *FIDS[2:]])
    (tmp_path / "t.txt").write_text(text(rows(IIDS, Y)))
    with pytest.raises(ValueError, match=r"s1 is the IID of more than one sample .* FID"):
        open_bed(file, tmp_path / "t.txt")
    (tmp_path / "t.txt").write_text(
        text(
            [
                ["b", "s1", 1.5],
                ["a", "s1", 2.5],
                *([f, s, 3.0 + k] for k, (f, s) in enumerate(zip(FIDS, IIDS, strict=True)) if k > 1),
            ]
        )
    )
    assert open_bed(file, tmp_path / "t.txt").phenotype[:3].tolist() == [2.5, 1.5, 5.0]


def test_cases_and_controls_are_told_from_missing(file, tmp_path):
    (tmp_path / "t.txt").write_text(text(list(zip(IIDS, [1, 2, 0] * 13 + [1], strict=True))))
    with pytest.warns(UserWarning, match="13 have no phenotype, and are left out"):
        assert set(open_bed(file, tmp_path / "t.txt").phenotype) == {1.0, 2.0}


def test_missing_phenotypes_of_the_fam_are_left_out(tmp_path):
    file = write(tmp_path, pheno=["-9", *Y[1:-1].astype(str), "NA"])
    with pytest.warns(UserWarning, match=r"2 have no phenotype, and are left out: f0 s0, f19 s39"):
        table = read_table(file)
    np.testing.assert_array_equal(table.X @ np.eye(P), X[1:-1])
    np.testing.assert_array_equal(table.y, Y[1:-1])


# Samples and variants --------------------------------------------------------------------------------------------

LISTS = {
    "keep, FID IID": ({"keep": text([["f0", "s1"], ["f5", "s10"], ["f3", "s6"]])}, [1, 6, 10], range(P)),
    "keep, IID": ({"keep": text([["s1"], ["s10"]])}, [1, 10], range(P)),
    "keep, header": ({"keep": text([["f0", "s1"], ["f5", "s10"]], ["#FID", "IID"])}, [1, 10], range(P)),
    "remove": ({"remove": text([["s1"], ["s10"]])}, [i for i in range(M) if i not in (1, 10)], range(P)),
    "both": ({"keep": text([["s1"], ["s2"], ["s3"]]), "remove": "s2\n"}, [1, 3], range(P)),
    "columns": ({"columns": "rs5\nrs0\n"}, range(M), [0, 5]),
    "exclude": ({"exclude": "rs5\nrs0\n"}, range(M), [1, 2, 3, 4, 6, 7, 8]),
    "all": ({"columns": "rs5\nrs0\nrs1\n", "exclude": "rs1\n", "keep": "s2\ns0\n"}, [0, 2], [0, 5]),
}


@pytest.mark.parametrize("kind", LISTS)
def test_samples_and_variants_are_chosen_by_lists(tmp_path, kind):
    lists, samples, variants = LISTS[kind]
    file = write(tmp_path, pheno=Y.astype(str))
    for name, content in lists.items():
        (tmp_path / name).write_text(content)
    by_file = open_bed(file, **{name: tmp_path / name for name in lists})
    are_names = "FID" not in kind and "header" not in kind
    by_ids = open_bed(file, **{name: content.split() for name, content in lists.items()}) if are_names else by_file
    for bed in (by_file, by_ids):
        np.testing.assert_array_equal(bed.X @ np.eye(len(variants)), X[np.ix_(samples, variants)])
        np.testing.assert_array_equal(bed.phenotype, Y[list(samples)])
        assert bed.sample_ids == tuple(IIDS[i] for i in samples)
        assert bed.feature_names == bed.X.feature_names == tuple(f"rs{j}" for j in variants)
        assert [bed.X.variants.at(k).position for k in range(len(variants))] == [
            open_bed(file).X.variants.at(j).position for j in variants
        ]
    flags = [part for name in lists for part in (f"--{name}".replace("columns", "extract"), tmp_path / name)]
    found = call_json("info", file, *flags)
    assert (found["n_samples"], found["n_features"]) == (len(samples), len(variants))


def test_pairs_of_ids_choose_samples(file):
    assert open_bed(file, keep=[("f0", "s1"), ("f5", "s10")]).sample_ids == ("s1", "s10")


def test_names_with_commas_choose_variants_too(tmp_path):
    file = write(tmp_path, pheno=Y.astype(str))
    assert call_json("info", file, "--columns", "rs1,rs3")["n_features"] == 2
    assert call_json("info", file, "--exclude", "rs1,rs3")["n_features"] == P - 2


def test_columns_of_a_table_are_chosen_by_a_file_too(tmp_path):
    pd.DataFrame(X, columns=list("abcdefghi")).assign(y=Y).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "few").write_text("a\nc\n")
    assert call_json("info", tmp_path / "t.csv", "--target", "y", "--columns", tmp_path / "few")["n_features"] == 2


def test_ids_that_are_not_there_are_told(file, tmp_path):
    (tmp_path / "ids").write_text("s1\nx1\ns2\nx2\n")
    with pytest.warns(UserWarning, match=r"keep: of the 4 ids .*2 are of no sample of .*cohort.fam: x1, x2"):
        assert open_bed(file, keep=tmp_path / "ids").sample_ids == ("s1", "s2")
    with pytest.warns(UserWarning, match=r"columns: of the 2 ids 1 are of no variant of .*cohort.bim: rs99"):
        assert open_bed(file, columns=["rs1", "rs99"]).feature_names == ("rs1",)
    with pytest.warns(UserWarning, match=r"remove: of the 1 ids 1 are of no sample of .*cohort.fam: f0 x"):
        assert len(open_bed(file, remove=[("f0", "x")]).X) == M


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"keep": ["x"]}, "keep: none of its 1 ids is that of a sample of .*cohort.fam"),
        ({"columns": ["x"]}, "columns: none of its 1 ids is that of a variant of .*cohort.bim"),
        ({"remove": IIDS}, "no sample is left"),
        ({"exclude": [f"rs{j}" for j in range(P)]}, "no variant is left"),
        ({"keep": 3}, "keep must be a file or a sequence of ids, got 3"),
        ({"columns": [1, 2]}, "columns must be a file or a sequence of texts"),
    ],
)
def test_lists_that_choose_nothing_are_refused(file, chosen, message):
    with pytest.raises(ValueError, match=message):
        open_bed(file, **chosen)


def test_other_files_have_no_ids(tmp_path, call_main):
    pd.DataFrame(X).add_prefix("c").to_csv(tmp_path / "t.csv", index=False)
    lasso_path(X, Y, alphas=3)[-1].save(model := tmp_path / "model.json")
    for name in ("keep", "remove", "pheno"):
        with pytest.raises(ValueError, match=rf"{name} is of genotypes \(.bed\).* not of .*t.csv"):
            read_table(tmp_path / "t.csv", **{name: ["s1"]})
        (tmp_path / "ids").write_text("s1\n")
        exit_code, _, stderr = call_main("path", tmp_path / "t.csv", f"--{name}", tmp_path / "ids")
        assert exit_code == BAD_INPUT
        assert f"--{name} is of genotypes" in stderr
    for flags, reason in (
        (("--exclude", "c1"), "--exclude is of genotypes"),
        (("--missing", "x"), "--missing must be"),
    ):
        exit_code, _, stderr = call_main("predict", model, tmp_path / "t.csv", *flags)
        assert exit_code == BAD_INPUT
        assert reason in stderr


@pytest.mark.filterwarnings(LEFT_OUT, NO_ROW, UNKNOWN)
def test_fit_on_some_and_predict_the_others(file, tmp_path):
    """Phenotypes, lists, a run and its predictions on the command line, and the same in Python."""
    (tmp_path / "t.csv").write_text(text(rows(FIDS, IIDS, Y), ["FID", "IID", "bmi"], ","))
    (tmp_path / "train").write_text(text([[i] for i in IIDS[:30]]))
    call("cv", file, "--pheno", tmp_path / "t.csv", "--keep", tmp_path / "train", "--quiet", "--out", tmp_path / "run")
    rest = "--remove", tmp_path / "train", "--pheno", tmp_path / "t.csv"
    found = call_json("predict", tmp_path / "run", file, *rest)
    bed = open_bed(file, tmp_path / "t.csv", keep=IIDS[:30])
    model, others = LassoCV().fit(bed.X, bed.phenotype), open_bed(file, tmp_path / "t.csv", remove=IIDS[:30])
    np.testing.assert_allclose(found["predictions"], model.predict(others.X), atol=0.02)
    predicted = LinearModel.load(tmp_path / "run" / "model.json").predict(others.X)
    np.testing.assert_allclose(found["predictions"], predicted, rtol=1e-12)
    assert found["r2"] > 0.9
    assert found["ids"] == [[FIDS[i], IIDS[i]] for i in range(30, M)]
    call("predict", tmp_path / "run", file, *rest, "--quiet", "--out", tmp_path / "scores.csv")
    scores = pd.read_csv(tmp_path / "scores.csv")
    assert scores.columns.tolist() == ["FID", "IID", "prediction"]
    np.testing.assert_allclose(scores["prediction"], found["predictions"])


def test_a_series_in_another_order_than_the_samples_is_refused(file):
    bed = open_bed(file)
    y = pd.Series(Y, index=IIDS)
    fitted = LassoCV(cv=2, alphas=5).fit(bed.X, y)
    with pytest.raises(ValueError, match="y has the ids of the samples in another order: open_bed"):
        LassoCV(cv=2, alphas=5).fit(bed.X, y.iloc[ORDER])
    np.testing.assert_array_equal(fitted.coef_, LassoCV(cv=2, alphas=5).fit(bed.X, Y).coef_)
