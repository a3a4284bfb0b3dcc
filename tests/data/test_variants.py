"""Variants of a model in the genotypes of others: found by name, turned where alleles are exchanged, or refused."""

import json

import numpy as np
import pytest
from bed_reader import to_bed

from attack.storages import pack
from cli_cases import BAD_INPUT, call, call_json
from fwlasso import Lasso, LassoPath, LinearModel, lasso_cv, lasso_path
from fwlasso.bed import Genotypes, Variant, Variants
from fwlasso.data.sealed import seal
from fwlasso.datasets import open_bed, read_table

ignore_turned = pytest.mark.filterwarnings("ignore:.* are turned, since A1 and A2 are exchanged")
M, P = 60, 12
NAMES = [f"rs{j}" for j in range(P)]
A1, A2 = list("ACGTACGTACGT"), list("CAACCAACCAAC")
rng = np.random.default_rng(8)
X = rng.binomial(2, rng.uniform(0.2, 0.8, P), (M, P)).astype(float)
Y = X @ [2.0, 0, 0, -1.5, 0, 0, 1.0, 0, 0, 0, 0, 0] + 0.05 * rng.standard_normal(M)


PROPERTIES = {
    "sid": NAMES,
    "chromosome": ["1"] * P,
    "bp_position": [100 * j for j in range(P)],
    "allele_1": A1,
    "allele_2": A2,
}


def write(folder, values=X, name="cohort", **changes):
    properties = PROPERTIES | {"pheno": Y.astype(str)} | changes
    to_bed(folder / f"{name}.bed", np.asfortranarray(values), properties=properties)
    return folder / f"{name}.bed"


def same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def exchange(columns, values=X):
    """The same samples in a file that counts the other allele of some variants."""
    values, first, second = values.copy(), A1.copy(), A2.copy()
    for j in columns:
        values[:, j], first[j], second[j] = 2 - values[:, j], A2[j], A1[j]
    return {"values": values, "allele_1": first, "allele_2": second}


def pick(order, values=X, **properties):
    """The variants of a file in another order, or some of them."""
    known = PROPERTIES | properties
    return {"values": values[:, order]} | {name: [column[j] for j in order] for name, column in known.items()}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return lasso_path(open_bed(write(tmp_path_factory.mktemp("fit"))).X, Y, alphas=8, eps=1e-2)


FILES = {
    "as it was": {},
    "exchanged": exchange([0, 3, 5]),
    "in another order": pick(range(P - 1, -1, -1)),
    "exchanged, in another order": pick(range(P - 1, -1, -1), **exchange([0, 6, 9])),
    "small letters": {"allele_1": [allele.lower() for allele in A1]},
    "on another build": {"bp_position": list(range(P)), "chromosome": ["7"] * P},
}


@pytest.mark.parametrize("kind", FILES)
@ignore_turned
def test_variants_are_found_and_turned(path, tmp_path, kind):
    bed = open_bed(write(tmp_path, **FILES[kind]))
    expected = path.predict(X)
    same(path.predict(bed.X), expected)
    same(path.predict(bed.X, point=5), expected[:, 5])
    same(LinearModel.from_path(path, 5).predict(bed.X), expected[:, 5])


@pytest.mark.parametrize(("alleles", "n_unsure"), [("CA", 0), ("TA", 1), ("cg", 1)])
def test_it_is_told_how_many_are_turned_and_which_labels_cannot_tell(tmp_path, alleles, n_unsure):
    alleles = {"allele_1": ["G", *A1[1:3], alleles[0], *A1[4:]], "allele_2": ["A", *A2[1:3], alleles[1], *A2[4:]]}
    bed = open_bed(write(tmp_path, **alleles))
    path = lasso_path(bed.X, Y, alphas=8, eps=1e-2)
    path.predict(bed.X)  # nothing is turned: any warning is an error here
    swapped = {"allele_1": ["A", *alleles["allele_1"][1:]], "allele_2": ["G", *alleles["allele_2"][1:]]}
    other = open_bed(write(tmp_path, name="other", **swapped))
    expected = f"1 of the 3 variants of the model are turned, since A1 and A2 are exchanged; {n_unsure} are A/T or C/G"
    for predict in (path.predict, LinearModel.from_path(path, 5).predict):
        with pytest.warns(UserWarning, match=expected):
            predict(other.X)
    path[5].save(tmp_path / "model.json")
    (notice,) = call_json("predict", tmp_path / "model.json", tmp_path / "other.bed")["notices"]
    assert notice.startswith(expected)
    scored = "cv", tmp_path / "cohort.bed", "--alphas", 8, "--relax", "--validation"
    notices = call_json(*scored, tmp_path / "other.bed")["notices"]
    assert sum("are turned" in text for text in notices) == 1


def test_a_model_without_variants_predicts_any_file(path, tmp_path):
    bed = open_bed(write(tmp_path, sid=[f"x{j}" for j in range(P)]))
    for predicted in (path.predict(bed.X, point=0), LinearModel.from_path(path, 0).predict(bed.X)):
        same(predicted, Y.mean())


def test_variants_are_found_among_others(path, tmp_path):
    model = LinearModel.from_path(path, 4)
    order = [*model.indices.tolist()[::-1], *(j for j in range(P) if j not in model.indices)][:-1]
    bed = open_bed(write(tmp_path, **pick(order)))
    same(model.predict(bed.X), path.predict(X, point=4))


@ignore_turned
def test_estimators_and_validation_turn_them_too(tmp_path):
    bed, other = open_bed(write(tmp_path)), open_bed(write(tmp_path, name="other", **exchange([0, 3, 6])))
    fitted = Lasso(0.05).fit(bed.X, Y)
    same(fitted.predict(other.X), X @ fitted.coef_ + fitted.intercept_)
    model = LinearModel.from_estimator(fitted)
    same(model.predict(other.X), X @ fitted.coef_ + fitted.intercept_)
    found = lasso_cv(bed.X, Y, alphas=8, validation=(other.X, Y), relax=True)
    assert found.choice.scores.min() < 0.02


@ignore_turned
def test_a_missing_call_is_the_mean_of_its_column_whichever_allele_counts(path, tmp_path):
    values = X.copy()
    values[::7, 0] = values[3, 3] = np.nan
    beds = [
        open_bed(write(tmp_path, name=name, **exchange(which, values))) for name, which in (("a", []), ("b", [0, 3]))
    ]
    same(path.predict(beds[0].X), path.predict(beds[1].X))


@ignore_turned
def test_alleles_that_no_sample_has_fit(path, tmp_path):
    """plink writes 0 for the allele that is not there: all samples of a small file may be alike."""
    values = X.copy()
    values[:, 0], values[:, 3] = 0.0, 2.0
    bed = open_bed(write(tmp_path, values))
    for first, second, x in (("0", A2[0], 0.0), ("0", A1[0], 0.0), (A2[0], "0", 2.0)):
        changed = values.copy()
        changed[:, 0] = x
        alleles = {"allele_1": [first, *A1[1:]], "allele_2": [second, *A2[1:]]}
        found = open_bed(write(tmp_path, changed, "other", **alleles))
        copies = values.copy()
        copies[:, 0] = 2.0 if second == A1[0] else 0.0
        same(path.predict(found.X), path.predict(copies))
    same(path.predict(bed.X), path.predict(values))


REFUSED = {
    "missing": (pick(range(1, P)), r"1 of the \d+ variants of the model are not there: rs0; impute them"),
    "all of them": (
        {"sid": [f"x{j}" for j in range(P)]},
        "3 of the 3 variants of the model are not there: rs0, rs3, rs6",
    ),
    "other alleles": (
        {"allele_1": ["G", *A1[1:]]},
        r"1 of the \d+ variants of the model have other alleles: rs0 has G/C, and had A/C; .*strand",
    ),
    "the other strand": ({"allele_1": ["T", *A1[1:]], "allele_2": ["G", *A2[1:]]}, "rs0 has T/G, and had A/C"),
    "nothing known": ({"allele_1": ["0", *A1[1:]], "allele_2": ["0", *A2[1:]]}, "rs0 has 0/0"),
    "no call": (
        {"values": np.where(np.arange(P) == 3, np.nan, X)},
        r"1 of the \d+ variants of the model have no call: rs3; impute them",
    ),
    "no call, exchanged": (exchange([3], np.where(np.arange(P) == 3, np.nan, X)), "model have no call: rs3; impute"),
    "two of a name": (pick([1, 0, 0, 3, 6]), "more than one variant 'rs0' with the same alleles"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_does_not_fit_is_refused_by_name(path, tmp_path, kind):
    changes, message = REFUSED[kind]
    bed = open_bed(write(tmp_path, **changes))
    for predict in (path.predict, LinearModel.from_path(path, 5).predict):
        with pytest.raises(ValueError, match=message):
            predict(bed.X)


@ignore_turned
def test_variants_without_a_name_are_found_by_their_position(tmp_path):
    bed = open_bed(write(tmp_path, sid=["."] * P))
    path = lasso_path(bed.X, Y, alphas=5)
    turned = pick(range(P - 1, -1, -1), sid=["."] * P, chromosome=["chr1"] * P, **exchange([0, 3]))
    other = open_bed(write(tmp_path, name="other", **turned))
    same(path.predict(other.X), path.predict(X))
    fewer = open_bed(write(tmp_path, name="fewer", **pick(range(1, P), sid=["."] * P)))
    with pytest.raises(ValueError, match="are not there: 1:0; impute them"):
        path.predict(fewer.X)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 8])
def test_a_single_call_is_enough(path, tmp_path, m):
    """Whatever the last byte has behind the samples."""
    values = X[:m].copy()
    values[: m - 1, 3] = np.nan
    variants = Variants(("1",) * P, np.arange(P), tuple(A1), tuple(A2))
    expected = path.predict(np.where(np.isnan(values), X[m - 1], values))
    same(path.predict(Genotypes(pack(values), m, tuple(NAMES), variants)), expected)
    values[:, 3] = np.nan
    with pytest.raises(ValueError, match="no call: rs3"):
        path.predict(Genotypes(pack(values), m, tuple(NAMES), variants))


def test_of_two_variants_of_a_name_each_is_found_by_its_position(tmp_path):
    sid, alleles = ["rs0", *NAMES[1:3], "rs0", *NAMES[4:]], {"allele_1": ["A"] * P, "allele_2": ["C"] * P}
    path = lasso_path(open_bed(write(tmp_path, sid=sid, **alleles)).X, Y, alphas=8, eps=1e-2)
    other = open_bed(write(tmp_path, name="other", **pick(range(P - 1, -1, -1), sid=sid, **alleles)))
    same(path.predict(other.X), path.predict(X))
    fewer = open_bed(write(tmp_path, name="fewer", **pick(range(1, P), sid=sid, **alleles)))
    for predict in (path.predict, LinearModel.from_path(path, 5).predict):
        with pytest.raises(ValueError, match=r"1 of the \d+ variants of the model are not there: rs0:1:0; impute them"):
            predict(fewer.X)


def test_of_copies_the_one_in_its_place_is_taken(tmp_path):
    bed = open_bed(
        write(tmp_path, sid=["rs0", "rs0", *NAMES[2:]], allele_1=["A", "A", *A1[2:]], allele_2=["C", "C", *A2[2:]])
    )
    path = lasso_path(bed.X, Y, alphas=5)
    same(path.predict(bed.X), path.predict(X))


def test_alleles_must_be_known_on_both_sides(path):
    bare = Genotypes(pack(X), M, tuple(NAMES))
    with pytest.raises(ValueError, match="X does not record the alleles of its variants"):
        path.predict(bare)
    known = Variants(("1",) * P, np.arange(P), tuple(A1), tuple(A2))
    unaware = lasso_path(bare, Y, alphas=5)
    same(unaware.predict(bare), unaware.predict(X))
    with pytest.raises(ValueError, match="the model does not record the alleles of its variants"):
        unaware.predict(Genotypes(pack(X), M, tuple(NAMES), known))
    with pytest.raises(ValueError, match="variants must describe 12 variants"):
        Genotypes(pack(X), M, tuple(NAMES), known._replace(other_alleles=("A",)))


def test_paths_models_and_frames_carry_the_variants(path, tmp_path):
    assert path.variants[3] == Variant("1", 300, "T", "C", X[:, 3].mean())
    path.save(tmp_path / "path.npz")
    assert LassoPath.load(tmp_path / "path.npz").variants == path.variants
    model = LinearModel.from_path(path, 5)
    assert model.variants[model.indices.tolist().index(3)] == path.variants[3]
    model.save(tmp_path / "model.json")
    assert LinearModel.load(tmp_path / "model.json") == model
    known = {"chromosome": "1", "position": 300, "effect_allele": "T", "other_allele": "C", "mean": X[:, 3].mean()}
    (feature,) = (f for f in json.loads(model.to_json())["features"] if f["name"] == "rs3")
    assert known.items() <= feature.items()
    frame = path.to_frame("coefs")
    assert frame[frame["feature"] == "rs3"][list(known)].drop_duplicates().to_dict("records") == [known]


@pytest.mark.parametrize(
    "change", [{"position": "300"}, {"other_allele": None}, {"effect_allele": 7}, {"mean": "1"}, {"mean": True}]
)
def test_a_model_with_other_things_for_a_variant_is_refused(path, change):
    record = json.loads(LinearModel.from_path(path, 5).to_json())
    record["features"][1] |= change
    with pytest.raises(ValueError, match="chromosome, position or alleles of feature 1"):
        LinearModel.from_json(seal(record))


@pytest.mark.parametrize("command", [("path",), ("cv", "--folds", 3)])
def test_a_run_is_not_resumed_with_other_variants(tmp_path, call_main, command):
    arguments = command[0], write(tmp_path), *command[1:], "--alphas", 5, "--quiet", "--out", tmp_path / "run"
    call(*arguments)
    call(*arguments, "--resume")
    for change in (exchange([3]) | {"values": X}, {"bp_position": range(P)}, {"chromosome": ["2"] * P}):
        write(tmp_path, **change)
        exit_code, _, stderr = call_main(*arguments, "--resume")
        assert exit_code == BAD_INPUT
        assert "the data have changed: variants (chromosome, position, A1, A2) was different" in stderr


def test_runs_and_reports_carry_the_variants_and_predict_other_files(tmp_path, call_main):
    call("cv", write(tmp_path), "--folds", 3, "--alphas", 8, "--quiet", "--out", tmp_path / "run")
    write(tmp_path, name="other", **pick(range(P - 1, -1, -1), **exchange([0, 3, 6])))
    predicted = call_json("predict", tmp_path / "run", tmp_path / "other.bed")["predictions"]
    same(predicted, LinearModel.load(tmp_path / "run" / "model.json").predict(X))
    assert "rs3 (1:300 T/C)" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    record = call_json("path", tmp_path / "cohort.bed", "--test", tmp_path / "other.bed", "--alphas", 8)
    assert min(record["choice"]["scores"]) < 0.02
    write(tmp_path, name="wrong", allele_1=["G", *A1[1:]])
    exit_code, stdout, stderr = call_main("predict", tmp_path / "run", tmp_path / "wrong.bed")
    assert (exit_code, stdout) == (BAD_INPUT, "")
    assert f"{tmp_path / 'wrong.bed'}: 1 of the" in stderr
    assert "rs0 has G/C, and had A/C" in stderr


@pytest.fixture(scope="module")
def model_file(path, tmp_path_factory):
    path[5].save(file := tmp_path_factory.mktemp("model") / "model.json")
    return file


def test_phenotypes_that_are_missing_are_no_part_of_scores(model_file, tmp_path):
    values = np.where(np.arange(M) < 45, (Y + np.arange(M)).astype(str), "NA")
    record = call_json("predict", model_file, write(tmp_path, pheno=values))
    expected = np.sqrt(np.mean((np.array(record["predictions"])[:45] - values[:45].astype(float)) ** 2))
    assert len(record["predictions"]) == M
    np.testing.assert_allclose(record["rmse"], expected, rtol=1e-12)
    (notice,) = record["notices"]
    assert notice.endswith("scores cover the 45 of 60 samples with a phenotype in its .fam")
    record = call_json("predict", model_file, write(tmp_path, pheno=["-9"] * M))
    assert set(record) == {"response", "ids", "predictions", "notices"}


def test_a_response_of_text_is_read_and_its_errors_name_its_file(tmp_path, call_main):
    file = write(tmp_path, pheno=["-9"] * M)
    (tmp_path / "y.txt").write_text("".join(f"{value!r}\n" for value in Y.tolist()))
    with pytest.warns(UserWarning, match="by their order"):
        np.testing.assert_array_equal(read_table(file, "y.txt").y, Y)
    (tmp_path / "y.txt").write_text("1.5\nx\n")
    (tmp_path / "y.npy").write_text("1.5\n2.5\n")
    for name, reason in (("y.txt", "could not convert string 'x'"), ("y.npy", "magic string")):
        exit_code, _, stderr = call_main("cv", file, "--target", name)
        assert exit_code == BAD_INPUT
        assert f"{tmp_path / name}, the response for {file}: " in stderr
        assert reason in stderr
        assert "a .npy file, or one number per line in a .txt" in stderr
        assert "pickle" not in stderr


# Absent variants stand at their means ----------------------------------------------------------------------------

ABSENT = {
    "missing": (pick(range(1, P)), "rs0 .not there."),
    "missing, others exchanged": (pick(range(P - 1, 0, -1), **exchange([3, 6])), "rs0 .not there."),
    "no call": ({"values": np.where(np.arange(P) == 0, np.nan, X)}, "rs0 .no call."),
    "no call, exchanged": (exchange([0], np.where(np.arange(P) == 0, np.nan, X)), "rs0 .no call."),
}


@pytest.mark.parametrize("kind", ABSENT)
@ignore_turned
def test_an_absent_variant_stands_at_its_mean(path, tmp_path, call_main, kind):
    changes, told = ABSENT[kind]
    file = write(tmp_path, **changes)
    at_mean = X.copy()
    at_mean[:, 0] = X[:, 0].mean()
    path[5].save(tmp_path / "model.json")
    path.save(tmp_path / "path.npz")
    notice = rf"1 of the 3 variants of the model stand at their means in the data of the model: {told}"
    for model in (path[5], LinearModel.load(tmp_path / "model.json"), LassoPath.load(tmp_path / "path.npz")[5]):
        with pytest.warns(UserWarning, match=notice):
            same(model.predict(open_bed(file).X, missing="mean"), path.predict(at_mean, point=5))
    record = call_json("predict", tmp_path / "model.json", file, "--missing", "mean")
    same(record["predictions"], path.predict(at_mean, point=5))
    assert any("stand at their means" in it for it in record["notices"])
    exit_code, _, stderr = call_main("predict", tmp_path / "model.json", file)
    assert exit_code == BAD_INPUT
    assert "--missing mean" in stderr


def test_a_file_without_any_variant_of_the_model_is_refused_all_the_same(path, tmp_path):
    """At their means they would all be told the same."""
    bed = open_bed(write(tmp_path, sid=[f"x{j}" for j in range(P)]))
    with pytest.raises(ValueError, match="3 of the 3 variants of the model are not there: rs0, rs3, rs6"):
        path[5].predict(bed.X, missing="mean")


def test_other_alleles_are_no_absent_variant(path, tmp_path):
    file = write(tmp_path, allele_1=["G", *A1[1:]])
    with pytest.raises(ValueError, match=r"other alleles: rs0 .*exclude"):
        path[5].predict(open_bed(file).X, missing="mean")
    with pytest.warns(UserWarning, match="1 of the 3 variants .* stand at their means"):
        path[5].predict(open_bed(file, exclude=["rs0"]).X, missing="mean")
    path[5].save(tmp_path / "model.json")
    call_json("predict", tmp_path / "model.json", file, "--exclude", "rs0", "--missing", "mean")


def test_models_of_older_files_have_no_means(path, tmp_path):
    record = json.loads(path[5].to_json())
    for feature in record["features"]:
        del feature["mean"]
    older = LinearModel.from_json(seal(record))
    same(older.predict(open_bed(write(tmp_path)).X, missing="mean"), path.predict(X, point=5))
    with pytest.raises(ValueError, match=r"the model has no mean of its variants .*earlier version.*: rs0; .*again"):
        older.predict(open_bed(write(tmp_path, name="fewer", **pick(range(1, P)))).X, missing="mean")


@pytest.mark.parametrize(
    ("missing", "kind", "message"),
    [("median", "bed", "missing must be 'error' or 'mean', got 'median'"), ("mean", "array", "missing: .* genotypes")],
)
def test_what_missing_may_be(path, tmp_path, missing, kind, message):
    given = open_bed(write(tmp_path)).X if kind == "bed" else X
    with pytest.raises(ValueError, match=message):
        path[5].predict(given, missing=missing)
