"""Several l1_ratios: their paths and folds share the data, and the best of all models is chosen."""

import numpy as np
import pytest
from sklearn.linear_model import ElasticNetCV as ReferenceCV
from sklearn.model_selection import KFold

from conftest import dense_problem
from fwlasso import ElasticNetCV, LassoCV, Status, lasso_cv, problems
from fwlasso.gram import subsets
from run_cases import assert_same_bits, stop_at

pytestmark = pytest.mark.filterwarnings("ignore:The .* is best at the last point")

RATIOS = [0.2, 0.6, 0.95, 1.0]
FOLDS = KFold(4, shuffle=True, random_state=0)


def grouped(rng, m, p, noise):
    """Groups of five columns that are much alike, and all matter alike: an elastic net is better than the Lasso."""
    X = np.repeat(rng.standard_normal((m, p // 5)), 5, axis=1) + 0.2 * rng.standard_normal((m, p))
    return X, X[:, :15].sum(axis=1) + noise * rng.standard_normal(m)


PROBLEMS = {
    "tall groups": lambda rng: grouped(rng, 60, 20, 3.0),
    "wide groups": lambda rng: grouped(rng, 40, 80, 20.0),
    "noisy groups": lambda rng: grouped(rng, 50, 30, 10.0),
    "tall": lambda rng: dense_problem(rng, 100, 20),
    "wide": lambda rng: dense_problem(rng, 40, 60, rho=1.0),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_choice_is_scikit_learns(name, rng):
    X, y = PROBLEMS[name](rng)
    asked = {"l1_ratio": RATIOS, "cv": FOLDS, "alphas": 20, "eps": 0.02}
    ours = ElasticNetCV(**asked, tol=1e-10).fit(X, y)
    reference = ReferenceCV(**asked, tol=1e-10, max_iter=100_000).fit(X, y)
    assert ours.l1_ratio_ == reference.l1_ratio_
    assert (ours.l1_ratio_ < 1.0) == name.endswith("groups")
    assert ours.alpha_ == pytest.approx(reference.alpha_, rel=1e-12)
    np.testing.assert_allclose(ours.alphas_, reference.alphas_, rtol=1e-12)
    assert ours.mse_path_.shape == reference.mse_path_.shape == (4, 20, 4)
    np.testing.assert_allclose(ours.mse_path_, reference.mse_path_, rtol=1e-4)
    np.testing.assert_allclose(ours.coef_, reference.coef_, atol=1e-3 * np.abs(reference.coef_).max())
    assert ours.path_.alphas.tolist() == ours.alphas_[RATIOS.index(ours.l1_ratio_)].tolist()


@pytest.mark.parametrize(("route", "grid"), [("gram", {"alphas": 8}), ("working-set", {"alphas": [0.5, 0.1]})])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_every_ratio_is_as_if_it_were_alone(route, grid, n_threads, rng, monkeypatch):
    X, y = grouped(rng, 40, 20, 3.0)
    asked = {"cv": FOLDS, "solver": route, "tol": 1e-8, "n_threads": n_threads, "random_state": 0, **grid}
    alone = [lasso_cv(X, y, l1_ratio=ratio, **asked) for ratio in RATIOS]
    passes = []
    sums = subsets.row_sums
    monkeypatch.setattr(subsets, "row_sums", lambda *args, **known: passes.append(1) or sums(*args, **known))
    found = lasso_cv(X, y, l1_ratio=RATIOS, **asked)
    assert len(passes) == (route == "gram")  # one over the rows, for all ratios and folds
    for own, single in zip(found.by_ratio, alone, strict=True):
        for path, expected in zip((own.path, *own.fold_paths), (single.path, *single.fold_paths), strict=True):
            assert_same_bits(path, expected)
        np.testing.assert_array_equal(own.choice.fold_scores, single.choice.fold_scores)
    best = int(np.argmin([it.choice.scores.min() for it in alone]))
    assert (found.l1_ratio, found.alpha) == (RATIOS[best], alone[best].alpha)
    assert f"l1_ratio {RATIOS[best]:g}, 4 folds" in repr(found)
    assert found.choose("1se").alpha == alone[best].choose("1se").alpha


def test_what_else_is_asked_goes_with_ratios(rng):
    X, y = grouped(rng, 40, 20, 3.0)
    w = rng.random(40)
    for more in ({"relax": True}, {"scoring": "r2"}, {"rule": "1se"}, {"positive": True}, {"standardize": True}):
        asked = {"cv": FOLDS, "alphas": 8, "tol": 1e-8, "sample_weight": w, "offset": X[:, 0], **more}
        found = lasso_cv(X, y, l1_ratio=[0.9, 0.3], **asked)
        alone = [lasso_cv(X, y, l1_ratio=ratio, **asked) for ratio in (0.9, 0.3)]
        scores = [it.choice.scores[it.choice.best] for it in alone]
        best = alone[int(np.argmax(scores) if found.choice.greater_is_better else np.argmin(scores))]
        assert (found.l1_ratio, found.alpha, found.choice.blend) == (best.l1_ratio, best.alpha, best.choice.blend)


def test_attributes_are_of_scikit_learns_shapes(rng):
    X, y = grouped(rng, 40, 20, 3.0)
    for ratio in (0.5, [0.5]):
        model = ElasticNetCV(l1_ratio=ratio, cv=3, alphas=5).fit(X, y)
        assert (model.alphas_.shape, model.mse_path_.shape, model.l1_ratio_) == ((5,), (5, 3), 0.5)
    given = LassoCV(l1_ratio=[0.5, 1.0], cv=3, alphas=[0.5, 1.0, 0.1]).fit(X, y)
    assert (given.alphas_.tolist(), given.mse_path_.shape) == ([1.0, 0.5, 0.1], (2, 3, 3))
    assert LassoCV(cv=3, alphas=5).fit(X, y).l1_ratio_ == 1.0
    short = ElasticNetCV(l1_ratio=[0.5, 1.0], cv=3, alphas=20, max_active=4).fit(X, y)
    assert short.alphas_.shape == short.mse_path_.shape[:2]
    assert [np.isfinite(row).sum() for row in short.alphas_] == [len(it.path) for it in short_paths(X, y)]


def short_paths(X, y):
    return lasso_cv(X, y, l1_ratio=[0.5, 1.0], eps=1e-3, cv=3, alphas=20, max_active=4).by_ratio


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ratios_have_runs_of_their_own(tmp_path, rng):
    X, y = grouped(rng, 40, 20, 3.0)
    asked = {"l1_ratio": [0.5, 1.0], "cv": 2, "alphas": 6, "random_state": 0}
    begun = lasso_cv(X, y, checkpoint=tmp_path / "parts", callback=stop_at(8), **asked)
    assert begun.ending is Status.STOPPED
    told = []
    found = lasso_cv(X, y, checkpoint=tmp_path / "parts", callback=told.append, **asked)
    assert (told[-1].point, told[-1].n_points) == (35, 36)
    whole = lasso_cv(X, y, checkpoint=tmp_path / "whole", **asked)
    for own, expected in zip(found.by_ratio, whole.by_ratio, strict=True):
        for path, other in zip((own.path, *own.fold_paths), (expected.path, *expected.fold_paths), strict=True):
            assert_same_bits(path, other)
    assert sorted(it.name for it in (tmp_path / "parts").iterdir()) == ["l1_ratio-0.5", "l1_ratio-1.0"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"l1_ratio": 0}, r"l1_ratio must be a number in \(0, 1\], as 0 is ridge regression.*Ridge, got 0"),
        ({"l1_ratio": [0.5, 0.0]}, r"l1_ratio must be .*Ridge, got 0\.0"),
        ({"l1_ratio": []}, "l1_ratio must be a number, or some numbers that differ, got"),
        ({"l1_ratio": [0.5, 0.5]}, "l1_ratio must be a number, or some numbers that differ"),
        ({"l1_ratio": [[0.5]]}, "l1_ratio must be a number in"),
        ({"l1_ratio": [0.5, 1.0], "rule": "bic"}, "rule='bic' counts active features as degrees of freedom"),
        ({"l1_ratio": [0.5, 1.0], "radii": 5}, r"l1_ratio=0\.5: the ridge would follow alpha"),
        ({"l1_ratio": [0.5, 1.0], "ridge": 1.0}, "give l1_ratio or ridge, not both"),
    ],
    ids=str,
)
def test_what_is_no_ratio_is_refused_by_name(asked, message, rng, monkeypatch):
    monkeypatch.setattr(problems.Problems, "whole", lambda *_: pytest.fail("work has begun"))
    X, y = dense_problem(rng, 30, 10)
    for fit in (lambda: lasso_cv(X, y, **asked), lambda: ElasticNetCV(**asked).fit(X, y)):
        with pytest.raises(ValueError, match=message):
            fit()
