"""Survival data: claims in long double, times and events as users have them, identities, and R's programs."""

import subprocess
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold, cross_val_score

import judge
from attack.duality import PLAIN, General
from fwlasso import CoxLasso, CoxLassoCV, LassoPath, LinearModel, lasso_cv, lasso_path
from fwlasso.data.survival import as_survival, concordance, cox_of
from programs import run_program
from test_others import has_glmnet

# As plain Python, for every combination would be compiled by itself.
EVERYWHERE = """
import sys
sys.path[:0] = sys.argv[1:]
import warnings
warnings.simplefilter("ignore")
from test_cox import judge_some
for seed in range(2, 44, 9):
    judge_some(seed)
"""


def make_data(seed: int, m: int = 60, p: int = 40, *, ties: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, p))
    eta = X[:, :4] @ [1.0, -1.0, 0.5, 0.5][: min(p, 4)] if p >= 4 else X[:, 0]
    times, ends = rng.exponential(np.exp(-eta)), rng.exponential(2.0, m)
    events, times = times <= ends, np.minimum(times, ends)
    events[0] = True
    return np.asfortranarray(X), np.column_stack([np.round(5.0 * times) if ties else times, events])


def judge_some(seed: int) -> None:
    """Solve and judge a problem: columns of other sizes and means, ties, weights, folds, offsets and strata."""
    rng, kind = np.random.default_rng(seed), seed % 5
    m, p = int(rng.integers(5, 60)), int(rng.integers(1, 60))
    X, y = make_data(seed, m, p, ties=seed % 3 == 1)
    X = X * 10.0 ** rng.uniform(-1, 1, p) + (rng.random() < 0.3) * 5.0 * rng.standard_normal(p)
    X[:, rng.random(p) < 0.3] *= rng.random((m, 1)) < 0.3
    X[:, -1] = X[:, 0]
    weights = offset = None
    if kind in (1, 2):
        weights = rng.exponential(size=m) if kind == 1 else rng.integers(0, 4, m) + 0.0
        weights[1:][rng.random(m - 1) < 0.2] = 0.0
        weights[0] = 1.0
    if kind == 3:
        offset = rng.standard_normal(m)
    strata = rng.integers(0, 3, m) if seed % 3 == 0 else None
    asked = {name: it for name, it in (("sample_weight", weights), ("offset", offset)) if it is not None}
    if kind == 4:
        net = {"l1_ratio": float(rng.uniform(0.3, 1.0)), "penalty_factor": rng.uniform(0.5, 2.0, p)}
        asked |= [net, {"positive": True, "ridge": 0.1}, {"lower": -0.1, "upper": rng.uniform(0.0, 0.5, p)}][seed % 3]
    path = lasso_path(
        sp.csc_array(X) if seed // 2 % 2 else np.asfortranarray(X), y, loss="cox", strata=strata, alphas=8, tol=1e-6,
        eps=float(rng.choice([1e-1, 1e-2, 1e-3])), standardize=bool(rng.random() < 0.3), **asked,
    )  # fmt: skip
    judge.judge_loss(path, X, y if strata is None else np.column_stack([y, strata]), General(**asked))


def test_every_claim_holds_in_long_double(pytestconfig):
    run_program(EVERYWHERE, pytestconfig.rootpath / "tests", NUMBA_DISABLE_JIT=1)


def test_the_judge_has_the_conjugate():
    """Of slopes F*(-theta) = -F - theta'eta; of multiples it is no more than what distributions bound it by."""
    X, y = make_data(0, ties=True)
    strata, eta = np.arange(60) % 2, judge.wide(X[:, 0])
    loss = judge.Cox(np.column_stack([y, strata]), np.linspace(0.5, 2.0, 60))
    theta = loss.residual(eta)
    value = loss.values(eta).sum()
    assert float(loss.conjugates(theta).sum() + value + theta @ eta) == pytest.approx(0.0, abs=1e-14)
    for s in (0.9, 0.5, 0.01):
        exact = loss.conjugates(s * theta).sum() + value + s * theta @ eta
        assert 0.0 <= exact <= loss.fenchel(eta, s * theta)
    shifted = eta + 1e-6 * X[:, 1]
    assert float(value - loss.values(shifted).sum()) == pytest.approx(float(theta @ (shifted - eta)), rel=1e-4)


@pytest.fixture(scope="module")
def data():
    return make_data(1)


@pytest.fixture(scope="module")
def path(data):
    return lasso_path(*data, loss="cox", alphas=8, eps=0.05, tol=1e-8)


def test_times_and_events_come_in_many_shapes(data):
    _, y = data
    times, events = y.T
    wanted = as_survival(y, 60)
    structured = np.array(list(zip(events > 0, times, strict=True)), dtype=[("event", "?"), ("time", float)])
    frame = pd.DataFrame({"time": times, "status": events.astype(int)})
    for given in (structured, frame, pl.from_pandas(frame), y.tolist(), np.where(events > 0, times, -times)):
        np.testing.assert_array_equal(as_survival(given, 60), wanted)
    strata = np.where(np.arange(60) < 30, "b", "a")
    in_strata = as_survival(y, 60, strata)
    numbered = np.column_stack([y, strata == "b"])
    np.testing.assert_array_equal(as_survival(numbered, 60), in_strata)
    loss = cox_of(in_strata, np.ones(60), np.zeros(60))
    assert loss.fresh.sum() == 2
    assert loss.deaths.sum() == events.sum()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": None}, "y is None: loss='cox' needs times and events"),
        ({"y": lambda y: y * [-1.0, 1.0]}, "y: some times are negative"),
        ({"y": lambda y: y * [np.nan, 1.0]}, "y: some times are NaN"),
        ({"y": lambda y: y * [1.0, 0.0]}, "y: there is no event"),
        ({"y": lambda y: y * [1.0, 2.0]}, "y: the events, its second column, must be 0 or 1"),
        ({"y": lambda y: y[:, [0, 1, 0, 1]]}, "y must be times and events"),
        ({"y": lambda y: y[:-1]}, "inconsistent numbers of samples"),
        ({"y": lambda y: 0.0 * y[:, 0]}, "y: a time of zero"),
        ({"y": lambda y: y.astype(str)}, "y must be times and events"),
        ({"strata": np.zeros(3)}, "strata must be one label"),
        ({"loss": "logistic", "y": lambda y: y[:, 1], "strata": np.zeros(60)}, "strata: they are for loss='cox'"),
        ({"sample_weight": lambda y: 1.0 - y[:, 1]}, "y: there is no event"),
        ({"unpenalized": [0]}, "unpenalized, penalty_factor: loss='cox' has no columns without a penalty"),
        ({"radii": 3}, "loss='cox' is solved over alphas by 'certified' alone"),
        ({"solver": "sfw"}, "loss='cox' is solved over alphas by 'certified' alone"),
        ({"alphas": [0.0]}, "may have no solution for alpha=0"),
    ],
)
def test_what_there_is_not_is_refused_by_name(data, change, message):
    X, y = data
    given = {"y": y, "loss": "cox"} | {name: it(y) if callable(it) else it for name, it in change.items()}
    with pytest.raises(ValueError, match=message):
        lasso_path(X, **given)


def test_identities(data, path):
    X, y = data
    alphas = path.alphas[[2, 6]]

    def coefs(X=X, y=y, **given):
        return lasso_path(X, y, loss="cox", alphas=alphas, tol=1e-10, **given).coefs.toarray()

    plain = coefs()
    np.testing.assert_array_equal(plain, coefs(strata=np.zeros(60)))
    np.testing.assert_array_equal(plain, coefs(y=np.column_stack([y[:, 0] ** 3, y[:, 1]])))  # the order alone
    np.testing.assert_allclose(plain, coefs(offset=np.full(60, 3.0)), atol=1e-6)
    np.testing.assert_allclose(plain, coefs(fit_intercept=False), atol=1e-4)
    times = np.random.default_rng(0).integers(0, 3, 60)
    repeated = coefs(np.asfortranarray(np.repeat(X, times, axis=0)), np.repeat(y, times, axis=0))
    np.testing.assert_allclose(repeated, coefs(sample_weight=times), atol=1e-4)
    assert not path.intercepts.any()


def test_predictions_scores_and_files(data, path, tmp_path):
    X, y = data
    path.save(tmp_path / "path.npz")
    assert LassoPath.load(tmp_path / "path.npz").loss == "cox"
    model = LinearModel.from_json(path[5].to_json())
    np.testing.assert_allclose(np.log(path.predict(X, point=5)), X @ path.coef(5), atol=1e-12)
    np.testing.assert_allclose(model.predict(X), path.predict(X, point=5))
    assert path.score(X, y, point=5) == pytest.approx(path.r2[5], abs=1e-9)
    assert "hazard_ratio" in model.to_frame().columns


def test_concordance():
    y = as_survival([(1, 1), (2, 0), (2, 1), (3, 1), (4, 0)], 5)
    # Pairs: 1 with all four; 3 with 2, censored at its time, 4 and 5; 4 with 5.
    assert concordance(y, np.array([5.0, 4.0, 3.0, 2.0, 1.0])) == pytest.approx(7.0 / 8.0)
    assert concordance(y, np.zeros(5)) == 0.5
    assert concordance(y, np.array([5.0, 4.0, 3.0, 2.0, 1.0]), np.array([1.0, 0.0, 1.0, 1.0, 1.0])) == 1.0


# By files: columns, times with events, strata and alphas in; coefficients out, by column.
R = """
suppressMessages({library(glmnet); library(survival)})
glmnet.control(fdev = 0, devmax = 1)
read <- function(name) as.matrix(read.table(file.path(commandArgs(TRUE)[1], name)))
X <- read("X"); y <- read("y"); alphas <- c(read("alphas")); strata <- c(read("strata"))
save <- function(b, name) write.table(format(b, digits = 17), file.path(commandArgs(TRUE)[1], name),
  quote = FALSE, row.names = FALSE, col.names = FALSE)
own <- list(Surv(y[, 1], y[, 2]), stratifySurv(Surv(y[, 1], y[, 2]), strata))
for (k in 1:2) save(as.matrix(glmnet(X, own[[k]], family = "cox", lambda = alphas, standardize = FALSE, thresh = 1e-20,
  maxit = 1e7)$beta), paste0("net", k))
few <- X[, 1:3]
save(coxph(own[[1]] ~ few, ties = "breslow", eps = 1e-12)$coefficients, "cox")
"""


@pytest.mark.long
@pytest.mark.skipif(not has_glmnet(), reason="no R with glmnet is found")
def test_objectives_of_r(data, tmp_path):
    X, y = make_data(3, p=30, ties=True)
    y[:, 0] += 1.0  # glmnet wants positive times
    strata = np.arange(60) % 3
    alphas = lasso_path(X, y, loss="cox", alphas=4, eps=0.05).alphas[1:]
    given = SimpleNamespace(X=X, y=y, alphas=alphas, strata=strata)
    for name, values in vars(given).items():
        np.savetxt(tmp_path / name, values)
    subprocess.run(["Rscript", "-e", R, str(tmp_path)], check=True, capture_output=True)
    for number, own in ((1, np.zeros(60)), (2, strata)):
        path = lasso_path(X, y, loss="cox", alphas=alphas, strata=own, tol=1e-9)
        loss = judge.Cox(np.column_stack([y, own]), np.ones(60))
        judged = judge.exact(X, y[:, 1], False, False, PLAIN, loss)
        for k, b in enumerate(np.loadtxt(tmp_path / f"net{number}").T):
            penalty = judge.L1(60.0 * alphas[k])
            ours = judge.objective(judged, penalty, judge.wide(path.coef(k)))
            theirs = judge.objective(judged, penalty, judge.wide(b))
            assert ours <= theirs + path.gaps[k] * judged.half_yy
            assert theirs - ours <= 1e-7 * judged.half_yy
    nearly = lasso_path(X[:, :3], y, loss="cox", alphas=[1e-7], tol=1e-6)
    np.testing.assert_allclose(nearly.coef(0), np.loadtxt(tmp_path / "cox"), atol=5e-3)


def test_folds_have_events_and_are_scored_by_the_partial_likelihood(data):
    X, y = data
    found = lasso_cv(X, y, loss="cox", alphas=6, eps=0.1, cv=3, random_state=0)
    _, held_out = next(StratifiedKFold(3).split(X, y[:, 1]))
    eta = X[held_out] @ found.fold_paths[0].coef(4)
    loss = judge.Cox(y[held_out], np.ones(held_out.size))
    deviance = 2 * loss.fenchel(judge.wide(eta), np.zeros(held_out.size)) / held_out.size
    assert found.choice.fold_scores[4, 0] == pytest.approx(float(deviance), rel=1e-9)
    with pytest.raises(ValueError, match="no event"):
        lasso_cv(X, y, loss="cox", cv=[(np.flatnonzero(y[:, 1] == 0), np.arange(5))])
    with pytest.raises(ValueError, match="scoring: loss='cox'"):
        lasso_cv(X, y, loss="cox", scoring="r2")


def test_estimators(data, path):
    X, y = data
    model = CoxLasso(alpha=path.alphas[4], tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, path.coef(4), atol=1e-5)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_, atol=1e-12)
    assert model.score(X, y) == pytest.approx(concordance(as_survival(y, 60), X @ model.coef_))
    X, y = make_data(1, 150)
    chosen = CoxLassoCV(alphas=6, eps=0.1, cv=3).fit(X, y)
    assert chosen.deviance_path_.shape == (6, 3)
    assert chosen.score(X, y) > 0.7
    assert cross_val_score(CoxLasso(alpha=0.1), X, y, cv=3).shape == (3,)
