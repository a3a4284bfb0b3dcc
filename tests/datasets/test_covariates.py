"""Genotypes with covariates: joined by ids, without a penalty, and found again where a model predicts."""

import numpy as np
import pandas as pd
import pytest
from bed_reader import to_bed

from attack.storages import impute, pack
from conftest import formed
from fwlasso._core.beside import Beside
from fwlasso._core.columns import add_column, column_moments, dot_column, shape
from fwlasso.bed import Cohort, Genotypes
from fwlasso.data.design import as_design
from fwlasso.datasets import open_bed, read_table
from fwlasso.report.describe import describe

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
    ids = {"fid": FIDS[rows], "iid": IIDS[rows], "sid": [f"rs{j}" for j in range(P)][columns]}
    variants = {"chromosome": ["1"] * P, "bp_position": list(range(P)), "allele_1": ["A"] * P, "allele_2": ["C"] * P}
    properties = ids | {key: it[columns] for key, it in variants.items()} | {"pheno": list(map(str, Y[rows]))}
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
