"""Genotypes of PLINK files: the bits as bed-reader reads them, the path as on the same numbers in float64."""

import json
from mmap import mmap
from pathlib import Path

import numpy as np
import pytest
from bed_reader import open_bed as reference_reader
from bed_reader import to_bed
from sklearn.model_selection import train_test_split
from typer.testing import CliRunner

from attack.storages import impute, pack
from conftest import formed
from fwlasso import Lasso, lasso_path
from fwlasso._core.columns import nbytes
from fwlasso._core.threads import Workers, n_chunks
from fwlasso.bed import Genotypes, Samples, Variants
from fwlasso.cli.app import app
from fwlasso.data.design import as_design
from fwlasso.datasets import convert, open_bed, read_table, write_store
from fwlasso.problem.build import build_problem
from fwlasso.status import Status
from programs import MEMORY, run_program


def random_genotypes(rng, m, p, missing=0.05):
    """Copies of A1 at allele frequencies of all sizes, and NaN."""
    values = rng.binomial(2, rng.uniform(0.02, 0.98, p), (m, p)).astype(float)
    values[rng.random((m, p)) < missing] = np.nan
    return values


def write(folder: Path, values, name="cohort", **properties) -> Path:
    file = folder / f"{name}.bed"
    to_bed(file, np.asfortranarray(values), properties=properties)
    return file


@pytest.fixture
def cohort(rng):
    values = random_genotypes(rng, 61, 120)
    return values, impute(values)[:, :3] @ [1.0, -0.7, 0.4] + 0.5 * rng.standard_normal(61) + 2.0


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 64, 99, 128, 131])
def test_genotypes_are_those_that_bed_reader_reads(m, rng, tmp_path):
    file = write(tmp_path, random_genotypes(rng, m, 9, missing=0.2))
    expected = impute(reference_reader(file).read(dtype="float64"))
    X = open_bed(file).X
    assert X.shape == (m, 9)
    np.testing.assert_array_equal(formed(as_design(X).columns), expected)
    np.testing.assert_allclose(X @ np.eye(9), expected, rtol=1e-15)


def test_columns_without_variation_are_constant(rng):
    """All missing, the same call for all, and one call among missing ones: no step ever takes them."""
    values = random_genotypes(rng, 30, 6)
    values[:, 0] = np.nan
    values[:, 1] = 2.0
    values[1:, 2], values[0, 2] = np.nan, 1.0
    y = rng.standard_normal(30)
    design = as_design(Genotypes(pack(values), 30))
    with Workers(1) as workers:
        problem = build_problem(design, y, True, True, workers)
    assert problem.norms2[:3].tolist() == [0.0, 0.0, 0.0]
    path = lasso_path(Genotypes(pack(values), 30), y, standardize=True, alphas=5)
    assert abs(path.coefs[:3]).max() == 0.0
    np.testing.assert_array_equal(formed(design.columns)[:, 0], 0.0)


@pytest.mark.compiled
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("grid", [{"alphas": 8}, {"radii": 8}])
def test_the_path_is_that_of_float64(grid, standardize, cohort, tmp_path):
    values, y = cohort
    X = open_bed(write(tmp_path, values)).X
    packed = lasso_path(X, y, standardize=standardize, tol=1e-10, **grid)
    dense = lasso_path(np.asfortranarray(impute(values)), y, standardize=standardize, tol=1e-10, **grid)
    assert packed.settings["conversion"] is None
    assert set(packed.statuses) == {Status.CERTIFIED}
    scale = abs(dense.coefs).max()
    np.testing.assert_allclose(packed.coefs.toarray(), dense.coefs.toarray(), rtol=0, atol=1e-9 * scale)
    np.testing.assert_allclose(packed.predict(X), dense.predict(impute(values)), rtol=1e-9)
    np.testing.assert_allclose(packed.score(X, y), packed.r2, atol=1e-9)


@pytest.mark.compiled
def test_the_same_bits_for_any_number_of_threads(rng):
    X = Genotypes(rng.integers(0, 256, (5000, 200), dtype=np.uint8), 800)
    y = rng.standard_normal(800)
    assert n_chunks(nbytes(as_design(X).columns)) > 1
    one, two = (lasso_path(X, y, alphas=10, n_threads=n).coefs for n in (1, 2))
    np.testing.assert_array_equal(one.toarray(), two.toarray())


MEASURE = (
    MEMORY
    + """
import sys
import fwlasso
from fwlasso.datasets import open_bed

def path(file):
    bed = open_bed(file)
    path = fwlasso.lasso_path(bed.X, bed.phenotype, standardize=True, alphas=10, eps=0.6)
    bed.X @ path.coefs
    assert path.n_active[-1] > 0

path(sys.argv[1])  # compiles
print(with_peak(lambda: path(sys.argv[2]))[1])
"""
)


@pytest.mark.compiled
def test_genotypes_are_never_decoded_as_a_whole(rng, tmp_path):
    """The peak of open_bed, path and prediction is below a tenth of the matrix in float64, with all that is copied."""
    for name, m, p in (("small", 20, 50), ("large", 2000, 64_000)):
        file = tmp_path / f"{name}.bed"
        file.write_bytes(b"\x6c\x1b\x01" + rng.bytes(p * m // 4))
        file.with_suffix(".bim").write_text("".join(f"1 rs{j} 0 {j} A C\n" for j in range(p)))
        file.with_suffix(".fam").write_text("".join(f"f s{i} 0 0 0 {rng.standard_normal():.6f}\n" for i in range(m)))
    done = run_program(MEASURE, tmp_path / "small.bed", tmp_path / "large.bed")
    assert float(done.stdout) < 2000 * 64_000 * 8 / 10


def test_what_is_beside_the_genotypes(tmp_path, rng):
    values = random_genotypes(rng, 4, 2)
    properties = {"iid": list("abcd"), "sid": ["rs#1", "rs2"], "pheno": ["1.5", "-9", "NA", "-2e1"]}
    bed = open_bed(str(write(tmp_path, values, **properties)))
    assert bed.sample_ids == ("a", "b", "c", "d")
    assert bed.feature_names == bed.X.feature_names == ("rs#1", "rs2")
    np.testing.assert_array_equal(bed.phenotype, [1.5, np.nan, np.nan, -20.0])
    assert repr(bed.X) == "<Genotypes: 4 samples, 2 variants, 2 bytes>"
    assert len(bed.X) == 4
    memory = bed.X.packed
    while isinstance(memory, np.ndarray):
        memory = memory.base
    assert isinstance(memory, mmap)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        (["1", "2", "1", "0"], [1.0, 2.0, 1.0, np.nan]),  # controls, cases and unknown
        (["0", "0.5", "1", "2"], [0.0, 0.5, 1.0, 2.0]),
        (["-9", "0", "NA", "-9"], None),
    ],
)
def test_missing_phenotypes(codes, expected, tmp_path, rng):
    found = open_bed(write(tmp_path, random_genotypes(rng, 4, 2), pheno=codes)).phenotype
    if expected is None:
        assert found is None
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.fixture
def file(tmp_path, rng):
    return write(tmp_path, random_genotypes(rng, 6, 3), pheno=list("123456"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.write_bytes(f.read_bytes()[:-1]), "has 8 bytes, not the 9 .*cut off"),
        (lambda f: f.write_bytes(f.read_bytes() + b"\0"), "has 10 bytes, not the 9 .*too long"),
        (lambda f: f.write_bytes(b"\x6c\x1b\x00" + f.read_bytes()[3:]), "sample by sample.*--make-bed"),
        (lambda f: f.write_bytes(b"PK\3" + f.read_bytes()[3:]), "not a PLINK .bed file"),
        (lambda f: f.write_bytes(b""), "not a PLINK .bed file"),
        (lambda f: f.with_suffix(".bim").write_text("1 rs1 0 1 A C\n"), "the 6 samples of its .fam and the 1 variants"),
        (
            lambda f: f.with_suffix(".bim").write_text("1 rs1 0 1 A C\n1 rs2\n"),
            "bim, line 2: expected 6 columns, found 2",
        ),
        (lambda f: f.with_suffix(".bim").write_text(""), "bim is empty"),
        (lambda f: f.with_suffix(".bim").write_text("1 rs1 0 x A C\n"), "bim, line 1: expected a position, found 'x'"),
        (lambda f: f.with_suffix(".fam").write_text("f s 0 0 0 1\n" * 9), "the 9 samples of its .fam"),
    ],
)
def test_bad_files_are_refused(change, message, file):
    change(file)
    with pytest.raises(ValueError, match=message):
        open_bed(file)


@pytest.mark.parametrize("ending", [".bed", ".bim", ".fam"])
def test_all_three_files_are_needed(ending, file):
    file.with_suffix(ending).unlink()
    with pytest.raises(FileNotFoundError, match=ending):
        open_bed(file)


@pytest.mark.parametrize(
    ("packed", "n_samples", "message"),
    [
        (np.zeros((3, 2), np.uint8), 9, "packed must be an array of uint8 with 3 columns for 9 samples"),
        (np.zeros((3, 2)), 8, "got float64"),
        (np.zeros(3, np.uint8), 12, "packed must be"),
        (np.zeros((3, 0), np.uint8), 0, "packed must be"),
    ],
)
def test_bad_bytes_are_refused(packed, n_samples, message):
    with pytest.raises(ValueError, match=message):
        Genotypes(packed, n_samples)


def test_bad_names_and_products_are_refused():
    packed = np.zeros((3, 2), np.uint8)
    with pytest.raises(ValueError, match="feature_names has 1 names for 3 variants"):
        Genotypes(packed, 8, ("a",))
    with pytest.raises(ValueError, match="3 variants cannot be multiplied"):
        Genotypes(packed, 8) @ np.ones(2)
    with pytest.raises(ValueError, match="X has 3 features, the model was fitted with 4"):
        lasso_path(np.eye(8, 4), np.arange(8.0), alphas=2).predict(Genotypes(packed, 8))


def test_read_table_takes_the_phenotype_or_a_file(tmp_path, rng):
    values = random_genotypes(rng, 5, 3)
    file = write(tmp_path, values, pheno=["1.5", "2", "3", "4", "5"], sid=["a", "b", "c"])
    table = read_table(file)
    assert isinstance(table.X, Genotypes)
    assert table.y.tolist() == [1.5, 2.0, 3.0, 4.0, 5.0]
    assert table.feature_names == ("a", "b", "c")
    np.save(tmp_path / "other.npy", np.arange(5.0))
    with pytest.warns(UserWarning, match="by their order"):
        assert read_table(file, "other.npy").y.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    with pytest.raises(FileNotFoundError, match=r"none\.npy"):
        read_table(file, "none.npy")


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (["-9"] * 4, "no phenotypes; give"),
        (["3", "3", "-9", "-9"], "no phenotype for 2 samples.*'iid3'"),
        (["0", "1", "0", "1"], "no phenotype for 2 samples.*-9 means missing, and so does 0 beside 1 and 2"),
    ],
)
def test_read_table_refuses_missing_phenotypes(codes, message, tmp_path, rng):
    with pytest.raises(ValueError, match=message):
        read_table(write(tmp_path, random_genotypes(rng, 4, 3), pheno=codes))


def test_info_tells_what_is_in_a_bed_file(tmp_path, rng):
    values = random_genotypes(rng, 30, 8)
    values[:, 5], values[:, 6] = values[:, 0], 1.0
    file = write(tmp_path, values, pheno=[f"{i + 0.5}" for i in range(30)])
    done = CliRunner().invoke(app, ["info", str(file), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["n_samples"], found["n_features"], found["n_entries"]) == (30, 8, 240)
    assert (found["kind"], found["dtype"], found["conversion"]) == ("bed", "uint8", None)
    assert found["n_bytes"] == 8 * (8 + 8)  # eight bytes of genotypes and a mean for every variant
    assert (found["n_constant"], found["n_copies"]) == (1, 1)


def test_genotypes_are_not_made_a_store(file, tmp_path):
    """Neither with a phenotype nor without: the sentence comes before anything is read."""
    bed = open_bed(file)
    with pytest.raises(ValueError, match=r"cohort\.bed: packed genotypes need no store"):
        convert(file, tmp_path / "store")
    with pytest.raises(ValueError, match=r"cohort\.bed: packed genotypes need no store"):
        convert(file, tmp_path / "store", target="other.npy")
    with pytest.raises(ValueError, match="X: packed genotypes need no store"):
        write_store(tmp_path / "store", bed.X, bed.phenotype)
    assert not (tmp_path / "store").exists()
    done = CliRunner().invoke(app, ["convert", str(file), str(tmp_path / "new")])
    assert done.exit_code != 0
    assert "need no store" in str(done.exception)


_FIRST_PASS = """
import hashlib
import numpy as np
from fwlasso.bed import Genotypes
from fwlasso._core.threads import Workers
from fwlasso.problem.build import build_problem
rng = np.random.default_rng(0)
X = Genotypes(rng.integers(0, 256, (200, 20), np.uint8), 80)
problem = build_problem(X.as_design(), rng.standard_normal(80), True, True, Workers(1))
print(hashlib.sha256(problem.xty.tobytes() + problem.X.factors.tobytes()).hexdigest())
"""


@pytest.mark.long
@pytest.mark.compiled
def test_compiled_again_and_from_the_cache_it_gives_the_same_bits(tmp_path):
    first, second = (run_program(_FIRST_PASS, NUMBA_CACHE_DIR=tmp_path).stdout for _ in range(2))
    assert first == second


COLUMNS = {
    "slice": slice(10, 50, 3),
    "view": slice(20, 60),
    "indices": np.array([5, 3, 3, -1]),
    "list": [7, 0],
    "mask": np.arange(120) % 7 == 0,
    "names": ["rs7", "rs3"],
    "array of names": np.array(["rs0", "rs119"]),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("rows", [slice(None), slice(3, None, 2), np.arange(61) % 3 > 0, [5, 1, 60], np.array([-1, 0])])
def test_samples_and_variants_are_chosen_and_stay_packed(kind, rows, cohort):
    values, names = cohort[0], tuple(f"rs{j}" for j in range(120))
    variants = Variants(("1",) * 120, np.arange(120), ("A",) * 120, ("C",) * 120)
    samples = Samples(("f",) * 61, tuple(f"s{i}" for i in range(61)))
    X = Genotypes(pack(values), 61, names, variants, samples)
    columns = COLUMNS[kind]
    places = [int(name[2:]) for name in columns] if "names" in kind else np.arange(120)[columns]
    expected = values[rows][:, places]
    for found in (X[rows][:, columns], X[:, columns][rows], X[rows, columns]):
        assert found.packed.shape == (expected.shape[1], -(-len(expected) // 4))
        np.testing.assert_allclose(found @ np.eye(expected.shape[1]), impute(expected), rtol=1e-15)
        assert found.feature_names == tuple(names[j] for j in places)
        assert found.variants.positions.tolist() == list(places)
        assert found.samples.sample_ids == tuple(f"s{i}" for i in np.arange(61)[rows])
    if kind == "view":
        assert np.shares_memory(X.packed, X[:, columns].packed)


def test_a_path_on_chosen_genotypes_is_that_on_their_numbers(cohort):
    values, y = cohort
    kept, few = np.arange(61) % 4 > 0, np.arange(0, 120, 2)
    packed = lasso_path(Genotypes(pack(values), 61)[kept, few], y[kept], alphas=5, tol=1e-10)
    dense = lasso_path(np.asfortranarray(impute(values[kept][:, few])), y[kept], alphas=5, tol=1e-10)
    np.testing.assert_allclose(packed.coefs.toarray(), dense.coefs.toarray(), rtol=0, atol=1e-9)


def test_scikit_learn_splits_genotypes(cohort):
    values, y = cohort
    X = Genotypes(pack(values), 61)
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    assert train.shape == (45, 120)
    assert Lasso(0.05).fit(train, y_train).score(test, y_test) > 0.3


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        ((slice(None), [120]), IndexError, "out of bounds"),
        ((slice(None), ["rs0", "rs999"]), ValueError, "there is no variant 'rs999'"),
        ((slice(None), ["twice"]), ValueError, "there is more than one variant 'twice'"),
        ((slice(None), [True, False]), IndexError, "boolean"),
        ([], ValueError, "no sample"),
        ((slice(None), []), ValueError, "no variant"),
        (3, IndexError, "a slice, indices, a mask"),
        (([1], [1], [1]), IndexError, "samples and variants"),
    ],
)
def test_bad_choices_of_genotypes_are_refused(key, error, message, cohort):
    names = ("twice", "twice", *(f"rs{j}" for j in range(118)))
    with pytest.raises(error, match=message):
        Genotypes(pack(cohort[0]), 61, names)[key]


def test_chosen_genotypes_need_names_for_names(cohort):
    with pytest.raises(ValueError, match="have no names"):
        Genotypes(pack(cohort[0]), 61)[:, ["rs1"]]
