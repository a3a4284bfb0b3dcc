"""Genotypes with covariates: joined by ids, without a penalty, and found again where a model predicts."""

import numpy as np
import pandas as pd
import pytest
from bed_reader import to_bed

from attack.duality import General
from attack.storages import impute, pack
from cli_cases import BAD_INPUT, call, call_json, plain
from conftest import formed
from fwlasso import LassoPath, LinearModel, lasso_cv, lasso_path
from fwlasso._core.beside import Beside
from fwlasso._core.columns import add_column, column_moments, dot_column, shape
from fwlasso.bed import Cohort, Genotypes
from fwlasso.data.design import as_design
from fwlasso.datasets import open_bed, read_table
from fwlasso.report.describe import describe
from judge import judge, solve

M, P = 45, 12
_RNG = np.random.default_rng(6)
X = _RNG.binomial(2, 0.4, (M, P)).astype(float)
X[3, 2] = X[8, 5] = np.nan
AGE, SEX = 1950.0 + _RNG.integers(0, 60, M), _RNG.integers(0, 2, M).astype(float)
COVARIATES = np.column_stack([AGE, SEX])
Y = np.round(0.5 * AGE + 3.0 * SEX + impute(X)[:, :2] @ [2.0, -1.5] + 0.3 * _RNG.standard_normal(M), 3)
FIDS, IIDS = [f"f{i // 2}" for i in range(M)], [f"s{i}" for i in range(M)]
ORDER = _RNG.permutation(M)


def frame():
    return pd.DataFrame({"FID": FIDS, "IID": IIDS, "age": AGE, "sex": SEX}).iloc[ORDER]


def write(folder, rows=slice(None), columns=slice(None), name="cohort"):
    """Genotypes with phenotypes in the .fam, and covariates in another order beside them."""
    ids = {"fid": FIDS[rows], "iid": IIDS[rows], "sid": np.array([f"rs{j}" for j in range(P)])[columns].tolist()}
    variants = {"chromosome": ["1"] * P, "bp_position": list(range(P)), "allele_1": ["A"] * P, "allele_2": ["C"] * P}
    properties = (
        ids | {key: np.array(it)[columns].tolist() for key, it in variants.items()} | {"pheno": list(map(str, Y[rows]))}
    )
    to_bed(folder / f"{name}.bed", np.asfortranarray(X[rows, columns]), properties=properties)
    frame().to_csv(folder / "covar.txt", sep=" ", index=False)
    return folder / f"{name}.bed"


@pytest.mark.parametrize("left", [np.float64, np.float32])
def test_columns_side_by_side_are_those_of_both(left):
    dense = as_design(np.asfortranarray(COVARIATES, dtype=left)).columns
    genotypes = as_design(Genotypes(pack(X), M)).columns
    both = Beside(dense, genotypes)
    values = np.column_stack([COVARIATES, impute(X)])
    assert shape(both) == values.shape
    np.testing.assert_allclose(formed(both), values, rtol=1e-15)
    v = np.append(_RNG.standard_normal(M), 0.0)
    for j in range(P + 2):
        assert dot_column(both, j, v) == pytest.approx(values[:, j] @ v[:-1], rel=1e-12, abs=1e-12)
        mean, squares = column_moments(both, j)
        assert (mean, squares) == pytest.approx((values[:, j].mean(), values[:, j].var() * M), rel=1e-9)
        w = v.copy()
        add_column(both, j, 2.0, w)
        np.testing.assert_allclose(w[:-1], v[:-1] + 2.0 * values[:, j], rtol=1e-14)


GIVEN = {
    "a file": lambda folder: folder / "covar.txt",
    "a frame": lambda folder: frame(),
    "a frame by ids": lambda folder: frame().drop(columns="FID").set_index("IID"),
    "an array": lambda folder: COVARIATES,
}


@pytest.mark.filterwarnings("ignore:.* by their order")
@pytest.mark.parametrize("what", GIVEN)
def test_covariates_are_joined_by_ids(tmp_path, what):
    bed = open_bed(write(tmp_path), covariates=GIVEN[what](tmp_path))
    names = ("COVAR1", "COVAR2") if what == "an array" else ("age", "sex")
    assert isinstance(bed.X, Cohort)
    assert bed.feature_names == bed.X.feature_names == (*names, *(f"rs{j}" for j in range(P)))
    np.testing.assert_array_equal(bed.X.covariates, COVARIATES)
    np.testing.assert_allclose(bed.X @ np.eye(P + 2), np.column_stack([COVARIATES, impute(X)]), rtol=1e-15)
    np.testing.assert_array_equal(bed.X[5:9].covariates, COVARIATES[5:9])
    assert "2 variants" in repr(open_bed(write(tmp_path), covariates=COVARIATES, columns=["rs1", "rs4"]))
    assert "covariates" in repr(bed)
    assert "covariates" in repr(bed.X)


def test_samples_without_a_covariate_are_left_out(tmp_path):
    file, table = write(tmp_path), frame().astype({"age": object})
    table.loc[4, "age"] = "NA"
    table.loc[7, "sex"] = -9
    table.drop(index=9).to_csv(tmp_path / "covar.txt", sep="\t", index=False)
    with pytest.warns(
        UserWarning, match=r"of the 45 samples 3 lack covariates in .*covar\.txt, and are left out: f2 s4"
    ):
        bed = open_bed(file, covariates=tmp_path / "covar.txt")
    assert bed.sample_ids == tuple(f"s{i}" for i in range(M) if i not in (4, 7, 9))
    np.testing.assert_array_equal(bed.phenotype, np.delete(Y, [4, 7, 9]))
    np.testing.assert_array_equal(bed.X.covariates, np.delete(COVARIATES, [4, 7, 9], axis=0))


def test_weights_and_offset_of_genotypes_are_joined_by_ids(tmp_path):
    file = write(tmp_path)
    frame().assign(sex=SEX[ORDER]).to_csv(tmp_path / "covar.txt", sep=" ", index=False)
    frame()[["IID", "sex"]].to_csv(tmp_path / "w.txt", sep=" ", index=False)
    table = read_table(file, weights="w.txt")
    np.testing.assert_array_equal(table.sample_weight, SEX)  # zeros are weights, not codes
    frame().assign(bmi=Y[ORDER]).to_csv(tmp_path / "all.txt", sep=" ", index=False)
    table = read_table(file, "bmi", pheno=tmp_path / "all.txt", weights="sex", offset="age")
    np.testing.assert_array_equal(table.sample_weight, SEX)
    np.testing.assert_array_equal(table.offset, AGE)
    with pytest.raises(FileNotFoundError, match=r"none\.txt: no such file; it should hold numbers for cohort\.bed"):
        read_table(file, weights="none.txt")


REFUSED = {
    "another number of rows": (lambda g: Cohort(g, COVARIATES[1:]), "covariates has 44 rows for 45 samples"),
    "the name of a variant": (lambda g: Cohort(g, COVARIATES, ["age", "rs1"]), "rs1 is the name of a covariate and of"),
    "one name twice": (
        lambda g: Cohort(g, COVARIATES, ["age", "age"]),
        "names must be one for each of the 2 covariates",
    ),
    "NaN": (lambda g: Cohort(g, np.where(AGE > 1960, np.nan, AGE)[:, None]), "NaN"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_wrong_covariates_are_refused(what):
    make, message = REFUSED[what]
    with pytest.raises(ValueError, match=message):
        make(Genotypes(pack(X), M, tuple(f"rs{j}" for j in range(P))))


def test_a_cohort_is_described(tmp_path):
    found = describe(read_table(write(tmp_path), covariates=tmp_path / "covar.txt"))
    assert (found.kind, found.n_features, found.n_samples) == ("dense and bed", P + 2, M)


ROUTES = ["gram", "working-set", "cd"]


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("standardize", [False, True])
def test_paths_have_no_penalty_on_covariates_and_are_judged(route, standardize):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        m, p, k = int(rng.integers(20, 60)), int(rng.integers(3, 90)), int(rng.integers(1, 4))
        calls = rng.binomial(2, rng.uniform(0.1, 0.9, p), (m, p)).astype(float)
        calls[rng.random((m, p)) < 0.03] = np.nan
        covariates = 10.0 ** rng.uniform(-2, 2, k) * (rng.standard_normal((m, k)) + rng.uniform(-50.0, 50.0, k))
        values = np.column_stack([covariates, impute(calls)])
        y = values @ (rng.standard_normal(p + k) * (rng.random(p + k) < 0.6)) + rng.standard_normal(m)
        X = Cohort(Genotypes(pack(calls), m), covariates)
        asked = {"alphas": 6, "tol": 1e-7, "solver": route, "standardize": standardize, "random_state": 0}
        path = solve(X, y, **asked)
        judge(path, values, y, General(penalty_factor=np.append(np.zeros(k), np.ones(p))), certified=route != "cd")
        assert path.settings["unpenalized_columns"] == list(range(k))
        assert (path.coefs[:k].toarray() != 0.0).all()
        same = solve(np.asfortranarray(values), y, unpenalized=range(k), **asked)
        np.testing.assert_allclose(path.r2, same.r2, atol=1e-6 if route != "cd" else 1e-3)


@pytest.mark.filterwarnings("ignore:.* are of no sample of")
@pytest.mark.parametrize("rows", [slice(10, 25), slice(0, 3)])
def test_models_find_covariates_and_variants_elsewhere(tmp_path, rows):
    bed = open_bed(write(tmp_path), covariates=tmp_path / "covar.txt")
    path = lasso_path(bed.X, bed.phenotype, alphas=[0.3, 0.25], solver="gram")
    values = np.column_stack([COVARIATES, impute(X)])
    expected = values[rows] @ path.coefs.toarray()[:, 1] + path.intercepts[1]
    used = {int(j) - 2 for j in path.coefs[:, [1]].indices if j > 1}
    there = [*range(P - 1, -1, -1)]
    file = write(tmp_path, rows, there, "other")
    other = open_bed(file, covariates=frame()[["sex", "age", "IID"]])
    model = LinearModel.from_path(path, 1)
    models = model, LinearModel.from_json(model.to_json())
    assert models[0] == models[1]
    assert model.variants[:2] == (None, None)
    assert len(used) == len(model.variants) - 2
    for one in models:
        np.testing.assert_allclose(one.predict(other.X), expected, rtol=1e-12)
    np.testing.assert_allclose(path.predict(other.X, 1), expected, rtol=1e-12)
    frames = model.to_frame(), path.to_frame("coefs")
    assert [frame["chromosome"].notna().sum() > 0 for frame in frames] == [True, True]
    with pytest.raises(ValueError, match="X lacks covariates of the model: age, sex; read the genotypes with them"):
        model.predict(open_bed(file).X)
    with pytest.raises(ValueError, match="X lacks covariates of the model: sex"):
        model.predict(open_bed(file, covariates=frame()[["age", "IID"]]).X)


def test_commands_have_covariates(tmp_path, monkeypatch, call_main):
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    write(tmp_path, slice(10, 30), name="new")
    asked = ["--covariates", "covar.txt"]
    given = ["path", "cohort.bed", *asked, "--alphas", 5, "--validation", "new.bed", "--out", "run"]
    assert "the problem has no penalty on 'age', 'sex'" in plain(call(*given).stdout)
    record = call_json("predict", "run", "new.bed", *asked)
    assert record["r2"] > 0.99
    assert LassoPath.load(tmp_path / "run" / "path.npz").settings["unpenalized"] == "[0, 1]"
    code, _, line = call_main("predict", "run", "new.bed")
    assert (code, "X lacks covariates of the model: age, sex" in line) == (BAD_INPUT, True)
    code, _, line = call_main("path", "cohort.bed", *asked, "--solver", "sfw")
    assert (code, "unpenalized, penalty_factor: a vertex of the ball" in line) == (BAD_INPUT, True)
    frame().assign(age="old").to_csv("text.csv", index=False)
    code, _, line = call_main("path", "cohort.bed", "--covariates", "text.csv")
    assert line.endswith("text.csv, line 2: expected a number or NA, found 'old'")
    np.savetxt("w.txt", X, delimiter=",")
    code, _, line = call_main("path", "covar.txt", *asked)
    assert line.startswith("fwlasso: --covariates is of genotypes (.bed)")


def test_every_path_of_a_choice_has_the_covariates_without_a_penalty(tmp_path):
    bed = open_bed(write(tmp_path), covariates=tmp_path / "covar.txt")
    asked = {"alphas": 6, "cv": 3, "l1_ratio": [1.0, 0.5], "solver": "gram"}
    found = lasso_cv(bed.X, bed.phenotype, **asked)
    values = np.asfortranarray(np.column_stack([COVARIATES, impute(X)]))
    same = lasso_cv(values, bed.phenotype, unpenalized=[0, 1], **asked)
    for ours, theirs in zip(found.by_ratio, same.by_ratio, strict=True):
        np.testing.assert_allclose(ours.choice.scores, theirs.choice.scores, rtol=1e-9)
        assert ours.path.settings["unpenalized_columns"] == [0, 1]
