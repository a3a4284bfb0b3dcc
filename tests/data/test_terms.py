"""Terms of columns: numbers, arrays and mappings of names, patterns and places become arrays; the rest is refused."""

import numpy as np
import pytest

from fwlasso import lasso_path
from fwlasso.data.terms import as_terms

NAMES = ("age", "sex", "gene_a", "gene_b")
INF = np.inf


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"penalty_factor": {"age": 0, "gene_*": 2, -1: INF}}, [0.0, 1.0, 2.0, INF]),
        ({"penalty_factor": [1, 2, 3, 4], "unpenalized": ["sex", 3]}, [1.0, 0.0, 3.0, 0.0]),
        ({"unpenalized": ("gene_?",)}, [1.0, 1.0, 0.0, 0.0]),
    ],
)
def test_factors_by_name_pattern_and_place(given, expected):
    terms = as_terms(4, NAMES, **given)
    assert terms.factors.tolist() == expected
    assert terms.unpenalized.tolist() == [k for k, v in enumerate(expected) if v == 0.0]
    assert terms.excluded.tolist() == [k for k, v in enumerate(expected) if v == INF]


def test_bounds_and_positive():
    terms = as_terms(4, NAMES, lower={"age": -1.0}, upper=2)
    assert (terms.lower.tolist(), terms.upper.tolist()) == ([-1.0, -INF, -INF, -INF], [2.0] * 4)
    assert as_terms(4, None, positive=True, lower=-3.0).lower.tolist() == [0.0] * 4
    assert terms.facts(NAMES) == {"ends": [[-1.0, None, None, None], 2.0], "n_bounded": 4}
    assert as_terms(4, NAMES, penalty_factor=[0, 2, 1, INF]).facts(NAMES) == {
        "unpenalized_columns": [0], "excluded": "'gene_b'", "factors": "1 to 2",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"penalty_factor": [1, 2]}, "penalty_factor must be a number, one for each of the 4 columns"),
        ({"penalty_factor": -1.0}, "penalty_factor must be from 1e-10 to 1e.10, 0 .*got -1"),
        ({"penalty_factor": {"age": "2"}}, "penalty_factor must be numbers"),
        ({"penalty_factor": {"weight": 2}}, "penalty_factor: no column is called 'weight'"),
        ({"penalty_factor": 0.0}, "penalty_factor: all columns are without a penalty"),
        ({"unpenalized": "age"}, "unpenalized must be a sequence"),
        ({"unpenalized": [4]}, "unpenalized: there is no column 4, there are 4"),
        ({"unpenalized": [1.5]}, "unpenalized must be names, patterns or places"),
        ({"lower": 1.0}, "lower must be <= 0"),
        ({"upper": {"age": -1.0}}, "upper must be >= 0"),
        ({"upper": np.nan}, "upper must be numbers, none of them NaN"),
        ({"upper": 1.0, "unpenalized": ["age"]}, "upper: columns without a penalty have no bounds, 'age' among them"),
        ({"positive": True, "unpenalized": ["age"]}, "positive: columns without a penalty have no bounds"),
    ],
)
def test_others_are_refused_by_name(given, match):
    with pytest.raises(ValueError, match=match):
        as_terms(4, NAMES, **given)


def test_columns_without_names_go_by_place():
    with pytest.raises(ValueError, match="unpenalized: the columns of X have no names"):
        as_terms(4, None, unpenalized=["age"])


X, Y = np.eye(6), np.arange(6.0)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"l1_ratio": 0.0}, r"l1_ratio must be a number in \(0, 1\]"),
        ({"l1_ratio": 0.5, "radii": 3}, "l1_ratio=0.5: the ridge would follow alpha.*ridge=... in its place"),
        ({"l1_ratio": 0.5, "ridge": 1.0}, "give l1_ratio or ridge, not both"),
        ({"ridge": -1.0}, "ridge must be a number >= 0"),
        ({"upper": 1.0, "radii": 3}, "lower, upper: bounds are for alphas"),
        ({"upper": 1.0, "solver": "sfw", "alphas": 3}, "lower, upper: .* solver='sfw' has none, take 'certified'"),
        ({"unpenalized": [0], "solver": "fw"}, "unpenalized, penalty_factor: .* solver='fw' has none"),
        ({"penalty_factor": {0: 0}, "solver": "afw"}, "unpenalized, penalty_factor: .* solver='afw' has none"),
        ({"max_active": 0}, "max_active must be an integer >= 1 or None"),
        ({"sample_weight": [1.0, 2.0]}, "sample_weight must be one number for each of the 6 samples, got 2"),
        ({"sample_weight": [-1.0, 1, 1, 1, 1, 1]}, "sample_weight must be >= 0"),
        ({"sample_weight": np.zeros(6)}, "sample_weight must be >= 0, and not zero for all"),
        ({"sample_weight": [np.nan, 1, 1, 1, 1, 1]}, "sample_weight contains NaN or infinity"),
        ({"sample_weight": "heavy"}, "sample_weight must be numbers"),
        ({"offset": ["a"] * 6}, "offset must be numbers"),
    ],
)
def test_paths_refuse_by_name(given, match):
    with pytest.raises(ValueError, match=match):
        lasso_path(X, Y, **given)


def test_a_path_ends_before_the_first_point_with_more_columns_than_max_active():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((80, 120))
    y = A[:, :10] @ rng.standard_normal(10) + rng.standard_normal(80)
    for solver in ("certified", "gram", "cd", "sfw", "pfw"):
        whole = lasso_path(A, y, solver=solver, alphas=30) if solver != "pfw" else lasso_path(A, y, solver=solver)
        grid = {"alphas": 30} if solver != "pfw" else {}
        path = lasso_path(A, y, solver=solver, max_active=7, random_state=0, **grid)
        assert path.ending.value == "max_active"
        assert path.n_active.max() <= 7 < whole.n_active.max()
        assert 1 < len(path) < len(whole)
    first = lasso_path(A, y, alphas=[0.01], max_active=3)  # there is always a point
    assert (len(first), first.ending.value) == (1, "max_active")
