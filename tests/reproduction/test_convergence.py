"""What docs/method/convergence.md says of the sampled method, on runs of it."""

import warnings

import numpy as np
import pytest
import scipy.stats

from conftest import make_case
from fwlasso import lasso_path
from fwlasso._core.iterate import objective, zero
from fwlasso._core.penalties import L1Ball, Sums, quadratic_step
from fwlasso._core.threads import Workers
from fwlasso.solvers.frank_wolfe import VARIANTS, FrankWolfe
from fwlasso.solvers.protocol import Burst, Stopping
from fwlasso.solvers.sample_size import FixedSize
from reproduction.beyond.convergence import (
    EXAMPLES,
    PART,
    TALL,
    away_rate,
    claimed,
    curvature,
    distances,
    proved,
    random_columns,
)

NEVER = Stopping()
N_STEPS, N_SAMPLED = 60, 20


@pytest.mark.parametrize(("n_sampled", "k", "exact"), [(1, 50, 0.302503), (1, 99, 0.184865), (10, 9, 0.193710)])
def test_the_mean_on_the_needle_is_exact_and_above_the_claimed_bound(n_sampled, k, exact):
    """E h_k = 1/2 (1 - kappa/p)^k, where 4C/(k + 2) is claimed with C = 2."""
    h = distances(EXAMPLES["needle"]._replace(n_sampled=n_sampled), k, 2000)
    error = h.std(ddof=1) / np.sqrt(h.size)
    assert exact == pytest.approx(0.5 * (1.0 - n_sampled / 100) ** k, abs=1e-6)
    assert abs(h.mean() - exact) <= 3.0 * error
    assert h.mean() <= proved(2.0, n_sampled / 100, 0.5, float(k))
    if n_sampled == 1:
        assert h.mean() - 10.0 * error > claimed(2.0, float(k))


@pytest.fixture(scope="module")
def runs():
    """Yield h, the sampled gap and whether the draw was a hit, step by step from a = 0, for 200 seeds; and C."""
    X, y, radius = random_columns()
    case = make_case(X, y)
    best = lasso_path(X, y, radii=[radius], fit_intercept=False, tol=1e-12)
    minimum = 0.5 * np.sum((y - X @ best.coefs.toarray()[:, 0]) ** 2)
    penalty, traces = L1Ball(radius), []
    with Workers(1) as workers:
        for seed in range(200):
            method = FrankWolfe(FixedSize(N_SAMPLED), 1, seed, VARIANTS["paper"])
            iterate, trace = zero(case.problem), []
            for _ in range(N_STEPS):
                active, coefs = iterate.coefs()
                corrs = np.abs(X.T @ (y - X[:, active] @ coefs))
                h = objective(case.problem, iterate) - minimum
                iterate = method.advance(Burst(case.problem, penalty, NEVER, 1, workers), iterate).iterate
                sample = method._sampler.starts[:N_SAMPLED]
                signs = X[:, active].T @ (y - X[:, active] @ coefs)
                gap = radius * corrs[sample].max() - float(signs @ coefs)
                after = objective(case.problem, iterate) - minimum
                trace.append((h, gap, corrs[sample].max() == corrs.max(), after, iterate.n_active))
            traces.append(np.array(trace))
    return np.array(traces), curvature(X, radius)


def phi(x, C):
    return np.where(x <= 0.0, 0.0, np.where(x <= 2.0 * C, x**2 / (4.0 * C), x - C))


def test_every_step_keeps_the_sure_bounds(runs):
    """f never rises; it falls by phi(G) at least, and by phi(h) at a hit; h <= 4C/(N + 3) after the first of N hits."""
    traces, C = runs
    h, gap, hit, after, n_active = traces.transpose(2, 0, 1)
    rounding = 1e-9 * h[:, :1]
    assert np.all(after <= h + rounding)
    assert np.all(h - after >= phi(gap, C) - rounding)
    assert np.all((h - after >= phi(h, C) - rounding)[hit > 0])
    n_hits = np.cumsum(hit, axis=1)
    assert np.all((after <= 4.0 * C / (n_hits + 3.0))[n_hits >= 1])
    assert np.all(after <= 4.0 * C / (n_hits + 4.0 * C / h[:, :1]) + rounding)
    assert np.all(n_active <= np.arange(1, N_STEPS + 1))
    assert hit.any()
    assert (gap < 0.0).any()


def test_hits_are_binomial_and_the_mean_keeps_the_proved_bound(runs):
    traces, C = runs
    share = N_SAMPLED / 200
    n_hits = traces[:, :, 2].sum(axis=1)
    assert abs(n_hits.mean() - N_STEPS * share) <= 4.0 * np.sqrt(N_STEPS * share * (1.0 - share) / n_hits.size)
    assert scipy.stats.binomtest(int(n_hits.sum()), N_STEPS * n_hits.size, share).pvalue > 1e-3
    assert n_hits.var(ddof=1) == pytest.approx(N_STEPS * share * (1.0 - share), rel=0.35)
    steps = np.arange(1.0, N_STEPS + 1)
    assert np.all(traces[:, :, 3].mean(axis=0) <= proved(C, share, traces[0, 0, 0], steps))


def test_the_deterministic_method_keeps_its_rate_with_the_constant_of_the_appendix():
    """h_k <= 4C/(k + 3), C = 2 radius^2 max ||z_j||^2: half of Jaggi's constant."""
    X, y, radius = random_columns()
    C = curvature(X, radius)
    best = lasso_path(X, y, radii=[radius], fit_intercept=False, tol=1e-12).r2[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in (1, 2, 5, 20, 60, 200):
            path = lasso_path(X, y, radii=[radius], fit_intercept=False, solver="fw", stop="gap", tol=0.0, max_iter=k)
            assert (best - path.r2[0]) * 0.5 * (y @ y) <= 4.0 * C / (k + 3.0)
            assert path.n_active[0] <= k


def test_a_step_of_length_one_leaves_one_feature():
    for radius in np.linspace(0.1, 60.0, 500):
        shrink, push = quadratic_step(L1Ball(radius), Sums(1e6, 0.0, 0.0, 0.0), 1e3, 1e3, 1.0)
        assert (shrink, push) == (0.0, radius)


def test_samples_with_away_steps_fall_linearly():
    """E h_k <= (1 - q r)^(k/2) h_0, and sixty steps more are worth the same factor; without away steps they are not."""
    X, y, radius = TALL.make()
    means = np.array([distances(TALL, k, 15, "afw").mean() for k in (60, 120, 180)])
    assert np.all(means[:-1] > 8.0 * means[1:])
    assert means[0] <= 0.5 * (y @ y) * (1.0 - TALL.n_sampled / 40 * away_rate(X, radius)) ** 30
    plain = [distances(TALL, k, 15).mean() for k in (60, 180)]
    assert plain[0] < 4.0 * plain[1]


def test_the_study_shows_away_steps_by_themselves():
    curves = {"afw": [1.0, 0.1], "sfw": [1.0, 0.7]}
    record = {"runs": 9, "steps": [1, 9], "means": curves, "errors": curves, "rate": 1e-3, "first": 2.0}
    findings = PART.show(None, {"convergence/away": record})
    assert findings.tables[0].rows == [("1", "1.00 ± 1.96", "1.00 ± 1.96"), ("9", "0.100 ± 0.196", "0.700 ± 1.37")]
    labels = findings.figures[0].draw().axes[0].get_legend_handles_labels()[1]
    assert len(labels) == len(set(labels)) == 3
