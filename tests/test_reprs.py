"""What public records look like at a prompt: a line or some, whatever is in them."""

from pathlib import Path

import numpy as np
import pytest

from fwlasso import LassoCV, LinearModel, lasso_cv, lasso_path, stability_selection, sum_table
from fwlasso.bed import Genotypes
from fwlasso.data.genotypes import Variants
from fwlasso.datasets import Table, write_store
from fwlasso.datasets.plink import BedFile
from fwlasso.solvers.polytopes import minimise_on_simplices

M, P = 60, 300
NAMES = tuple(f"feature {j}" for j in range(P))
X = np.random.default_rng(0).standard_normal((M, P))
Y = X[:, :3] @ [3.0, -2.0, 1.0] + 0.1 * X[:, 5]


def csv(folder: Path) -> Path:
    rows = [",".join([*NAMES[:9], "y"]), *(",".join(map(repr, row)) for row in X[:, :10].tolist())]
    (folder / "a.csv").write_text("\n".join(rows))
    return folder / "a.csv"


def bed(_folder: Path) -> BedFile:
    genotypes = Genotypes(np.zeros((P, 15), np.uint8), M, NAMES)
    return BedFile(genotypes, tuple(map(str, range(M))), NAMES, None)


MADE = {
    "Table": lambda folder: Table(X, Y, NAMES, "y"),
    "Store": lambda folder: write_store(folder / "store", X, Y, feature_names=NAMES),
    "SummedTable": lambda folder: sum_table(csv(folder), target="y"),
    "BedFile": bed,
    "Genotypes": lambda folder: bed(folder).X,
    "Variants": lambda folder: Variants(NAMES, np.arange(P), NAMES, NAMES),
    "LinearModel": lambda folder: lasso_path(Table(X, Y, NAMES), alphas=9)[-1],
    "LassoPath": lambda folder: lasso_path(Table(X, Y, NAMES), alphas=9),
    "Counters": lambda folder: lasso_path(Table(X, Y, NAMES), alphas=9).counters,
    "Choice": lambda folder: lasso_cv(X, Y, alphas=[1.0, 0.5, 0.01, 0.009], cv=2).choice,
    "CrossValidation": lambda folder: lasso_cv(X, Y, alphas=[1.0, 0.5, 0.01, 0.009], cv=2),
    "Stability": lambda folder: stability_selection(X, Y, alphas=9, n_subsamples=4, random_state=0),
    "OnSimplices": lambda folder: minimise_on_simplices(X, random_state=0),
}


@pytest.mark.parametrize("kind", MADE)
def test_reprs_are_short(kind, tmp_path):
    text = repr(MADE[kind](tmp_path))
    assert text.startswith(f"<{kind}: ")
    assert text.endswith(">")
    assert len(text) < 250 + len(str(tmp_path)) if kind != "LassoPath" else len(text.splitlines()) < 10
    assert "array" not in text


def test_a_model_shows_its_largest_coefficients():
    model = LinearModel(50, np.array([3, 8, 9, 30]), np.array([0.5, -2.0, 0.125, 1.0]), 7.0)
    assert repr(model) == "<LinearModel: 4 of 50 features, intercept 7, 8: -2, 30: 1, 3: 0.5, ...>"
    empty = LinearModel(50, np.array([], int), np.array([]), 7.0, feature_names=())
    assert repr(empty) == "<LinearModel: 0 of 50 features, intercept 7>"


def test_an_estimator_shows_its_settings():
    assert repr(LassoCV(cv=3)) == "LassoCV(cv=3)"
