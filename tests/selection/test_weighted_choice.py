"""Sample weights and offsets in folds, scores, refits and subsamples: whole numbers repeat, zero removes."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LassoCV as ReferenceCV
from sklearn.linear_model import LinearRegression
from sklearn.metrics import make_scorer, mean_absolute_percentage_error
from sklearn.model_selection import LeaveOneGroupOut

from conftest import dense_problem
from fwlasso import lasso_cv, stability_selection
from fwlasso.datasets import Table
from fwlasso.gram import subsets

pytestmark = pytest.mark.filterwarnings("ignore:The .* is best at the last point")

GRID = {"alphas": 10, "eps": 0.05, "tol": 1e-11}
GROUPS = np.arange(45) % 3


def weighted_problem(rng, p=12):
    X, y = dense_problem(rng, 45, p)
    w = rng.integers(0, 4, 45).astype(float)
    w[:3] = 2.0
    return X, y + 3.0, w, np.repeat(np.arange(45), w.astype(int))


def folds(groups):
    return list(LeaveOneGroupOut().split(groups, groups=groups))


WAYS = {
    "errors": {},
    "refits": {"relax": True},
    "refits alone": {"relax": [0.0], "standardize": True},
    "scorer": {"scoring": "r2"},
    "scorer of refits": {"scoring": "neg_mean_absolute_error", "relax": [0.5], "fit_intercept": False},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("route", ["gram", "working-set"])
def test_whole_numbers_are_repetitions_and_zero_removes(route, way, rng, monkeypatch):
    monkeypatch.setattr(subsets, "_FEW_PRODUCTS", 0)  # errors by inner products, where these tell them
    # Refits are of supports below the number of samples, which repetitions are, too.
    for p, wrap in ((12, np.asfortranarray), (18 if "relax" in WAYS[way] else 60, sp.csc_array)):
        X, y, w, rows = weighted_problem(rng, p)
        found = lasso_cv(wrap(X), y, cv=folds(GROUPS), sample_weight=w, solver=route, **GRID, **WAYS[way])
        same = lasso_cv(wrap(X[rows]), y[rows], cv=folds(GROUPS[rows]), solver=route, **GRID, **WAYS[way])
        scale = np.nanmax(np.abs(same.choice.fold_scores))
        np.testing.assert_allclose(found.choice.fold_scores, same.choice.fold_scores, atol=1e-7 * scale)
        assert (found.choice.point, found.choice.blend) == (same.choice.point, same.choice.blend)
        coef = same.choice.coef.toarray()
        np.testing.assert_allclose(found.choice.coef.toarray(), coef, atol=1e-6 * np.abs(coef).max())
        assert found.choice.r2 == pytest.approx(same.choice.r2, abs=1e-9)


@pytest.mark.parametrize("route", ["gram", "working-set"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_rows_that_splits_repeat_count_as_often(is_weighted, route, rng):
    for m, p in ((45, 12), (30, 60)):
        X, y = dense_problem(rng, m, p)
        w = rng.random(m) + 0.1 if is_weighted else None
        drawn = [rng.integers(0, m, m) for _ in range(2)]
        cv = [(rows, np.setdiff1d(np.arange(m), rows)) for rows in drawn] + [(np.arange(20), np.arange(20, m))]
        found = lasso_cv(X, y, cv=cv, sample_weight=w, solver=route, **GRID)
        reference = ReferenceCV(cv=cv, alphas=found.path.alphas, tol=1e-12, max_iter=100_000).fit(X, y, w)
        np.testing.assert_allclose(found.choice.fold_scores, reference.mse_path_, rtol=1e-5)
        assert found.alpha == reference.alpha_
        relaxed = lasso_cv(X, y, cv=cv, sample_weight=w, relax=[0.0], rule=lambda *_: 3, solver=route, **GRID)
        train, test = cv[0]
        used, own = np.flatnonzero(found.fold_paths[0].coef(3)), np.ones(m) if w is None else w
        refit = LinearRegression().fit(X[np.ix_(train, used)], y[train], own[train])
        error = np.average((refit.predict(X[np.ix_(test, used)]) - y[test]) ** 2, weights=own[test])
        assert relaxed.choice.fold_scores[3, 0] == pytest.approx(error, rel=1e-6)


def test_repeated_rows_are_part_of_a_run(tmp_path, rng):
    X, y = dense_problem(rng, 30, 12)
    rows, others = np.r_[:20, :10], np.r_[:20, 10:20]
    lasso_cv(X, y, cv=[(rows, [25, 26])], checkpoint=tmp_path, **GRID)
    lasso_cv(X, y, cv=[(rows[::-1], [25, 26])], checkpoint=tmp_path, **GRID)
    with pytest.raises(ValueError, match="the data have changed: samples"):
        lasso_cv(X, y, cv=[(others, [25, 26])], checkpoint=tmp_path, **GRID)


def test_criteria_count_samples_with_weight(rng):
    X, y, times, rows = weighted_problem(rng)
    w, there = 0.3 * times, times > 0
    for rule in ("aic", "bic", "ebic"):
        found = lasso_cv(X, y, rule=rule, sample_weight=times, **GRID)
        same = lasso_cv(X[rows], y[rows], rule=rule, **GRID)
        np.testing.assert_allclose(found.choice.scores, same.choice.scores, rtol=1e-9)
        found = lasso_cv(X, y, rule=rule, sample_weight=w, **GRID)
        same = lasso_cv(X[there], y[there], rule=rule, sample_weight=7.0 * w[there], **GRID)
        np.testing.assert_allclose(found.choice.scores, same.choice.scores, rtol=1e-9)
        r2, n = found.path.r2, np.count_nonzero(there)
        if rule == "bic":
            np.testing.assert_allclose(found.choice.scores, n * np.log(1 - r2) + np.log(n) * found.path.n_active)


def test_offsets_are_a_part_of_what_is_scored(rng):
    X, y, w, _ = weighted_problem(rng)
    offset = 5.0 + X[:, 5]
    for scoring in (None, make_scorer(mean_absolute_percentage_error)):  # which asks how large responses are
        found = lasso_cv(X, y, cv=folds(GROUPS), sample_weight=w, offset=offset, scoring=scoring, **GRID)
        for k, (_, test) in enumerate(folds(GROUPS)):
            predicted = found.fold_paths[k].predict(X[test], offset=offset[test])
            if scoring is None:
                errors = [np.average((column - y[test]) ** 2, weights=w[test]) for column in predicted.T]
            else:
                errors = [
                    mean_absolute_percentage_error(y[test], column, sample_weight=w[test]) for column in predicted.T
                ]
            np.testing.assert_allclose(found.choice.fold_scores[:, k], errors, rtol=1e-9)
    np.testing.assert_allclose(found.predict(X, offset=offset), found.model.predict(X, offset=offset))
    assert found.predict(X, alpha=[found.alpha], offset=offset).shape == (45, 1)
    with pytest.raises(ValueError, match="offset: the model was fitted with an offset"):
        found.predict(X)


def test_other_samples_validate_with_weights_and_an_offset(rng):
    X, y, w, _ = weighted_problem(rng)
    offset, fit, other = X[:, 5], slice(30), slice(30, 45)
    for scoring, sign in ((None, 1.0), ("neg_mean_squared_error", -1.0)):
        given = {"validation": (X[other], y[other], w[other], offset[other]), "scoring": scoring}
        found = lasso_cv(X[fit], y[fit], sample_weight=w[fit], offset=offset[fit], **given, **GRID)
        predicted = found.path.predict(X[other], offset=offset[other])
        errors = [np.average((column - y[other]) ** 2, weights=w[other]) for column in predicted.T]
        np.testing.assert_allclose(sign * found.choice.scores, errors, rtol=1e-9)
    tables = (Table(X[part], y[part], None, sample_weight=w[part], offset=offset[part]) for part in (fit, other))
    of_tables = lasso_cv(next(tables), validation=((rows := next(tables)), rows.y), scoring=scoring, **GRID)
    np.testing.assert_array_equal(of_tables.choice.scores, found.choice.scores)
    plain = lasso_cv(X[fit], y[fit], validation=(X[other], y[other], w[other]), **GRID)
    same = lasso_cv(X[fit], y[fit], validation=(X[other], y[other], w[other], None), **GRID)
    np.testing.assert_array_equal(plain.choice.scores, same.choice.scores)


def test_subsamples_are_drawn_of_samples_with_weight(rng):
    X, y, w, _ = weighted_problem(rng)
    offset, there, drawn = X[:, 5], w > 0, {"n_subsamples": 6, "random_state": 3, **GRID}
    found = stability_selection(X, y, sample_weight=w, offset=offset, **drawn)
    same = stability_selection(X[there], (y - offset)[there], sample_weight=w[there], **drawn)
    np.testing.assert_array_equal(found.frequencies.toarray(), same.frequencies.toarray())
    ones, none = (stability_selection(X, y, sample_weight=weights, **drawn) for weights in (np.ones(45), None))
    np.testing.assert_array_equal(ones.frequencies.toarray(), none.frequencies.toarray())


def no_weights(_truth, _predicted):
    return 0.0


BEGIN, END = np.repeat([0.0, 1.0], [15, 30]), np.repeat([1.0, 0.0], [15, 30])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"cv": 3, "sample_weight": BEGIN}, "sample_weight: all samples to score in fold 1 have weight zero"),
        ({"cv": 3, "sample_weight": END}, "sample_weight: all samples to fit in fold 1 have weight zero"),
        ({"scoring": make_scorer(no_weights), "sample_weight": BEGIN}, "scoring: no_weights takes no sample_weight"),
        ({"scoring": lambda *_: 0.0, "sample_weight": BEGIN}, "scoring: <lambda> takes no sample_weight"),
        ({"validation": (BEGIN,)}, r"validation must be a fraction of the samples or \(X, y\), \(X, y, weights\) or"),
        ({"validation": (BEGIN, END, END[:3])}, "validation: sample_weight must be one number for each of the 45"),
        ({"validation": (BEGIN, END, None, END)}, "validation: there is an offset in one of both"),
        ({"validation": (BEGIN, END), "offset": END}, "validation: there is an offset in one of both"),
        ({"relax": True, "positive": True}, "relax: least squares on a support leaves bounds and signs"),
        ({"relax": [0.5], "lower": -1.0}, "relax: least squares"),
        ({"rule": "bic", "ridge": 0.1}, "rule='bic' counts active features as degrees of freedom"),
        ({"rule": "aic", "l1_ratio": 0.5}, "rule='aic' counts active features"),
    ],
    ids=lambda it: it if isinstance(it, str) else ", ".join(it),
)
def test_what_does_not_go_together_is_refused_by_name(asked, message, rng):
    X, y = dense_problem(rng, 45, 12)
    with pytest.raises(ValueError, match=message):
        lasso_cv(X, y, callback=lambda _: pytest.fail("work has begun"), **asked)
