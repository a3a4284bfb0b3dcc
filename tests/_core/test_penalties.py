import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from fwlasso._core.penalties import L1, L1Ball, Sums, quadratic_gap, quadratic_step, warm_scale

seeds = st.integers(0, 2**32 - 1)
sizes = st.floats(0.01, 10.0)


class Setting:
    """A small problem, a point on it and the sums that the penalties are told."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.Z, self.y = rng.standard_normal((6, 4)), rng.standard_normal(6)
        self.a = rng.standard_normal(4) * (rng.random(4) < 0.7)
        q = self.Z @ self.a
        self.l1 = np.abs(self.a).sum()
        self.sums = Sums(self.y @ self.y, q @ q, q @ self.y, self.l1)
        self.corr = self.Z.T @ (self.y - q)
        self.j = int(np.argmax(np.abs(self.corr)))

    def search(self, penalty) -> tuple[float, float]:
        j = self.j
        norm2, xty = self.Z[:, j] @ self.Z[:, j], self.Z[:, j] @ self.y
        return quadratic_step(penalty, self.sums, self.corr[j], xty, norm2)

    def loss(self, a: np.ndarray) -> float:
        return 0.5 * float(((self.y - self.Z @ a) ** 2).sum())

    def moved(self, shrink: float, push: float) -> np.ndarray:
        a = shrink * self.a
        a[self.j] += push
        return a


@given(seeds)
def test_the_ball_step_is_the_exact_quadratic_step_towards_the_vertex(seed):
    now = Setting(seed)
    radius = now.l1 + 0.5
    vertex = np.zeros(4)
    vertex[now.j] = radius * np.sign(now.corr[now.j])
    shrink, push = now.search(L1Ball(radius))
    best = min(now.loss(now.a + t * (vertex - now.a)) for t in np.linspace(0, 1, 2001))
    a = now.moved(shrink, push)
    assert np.abs(a).sum() <= radius * (1 + 1e-12)
    assert now.loss(a) <= best + 1e-10
    assert 0.0 <= shrink <= 1.0


@given(seeds, sizes)
def test_the_penalty_step_is_the_best_of_its_quadrant(seed, weight):
    now = Setting(seed)
    sign = np.sign(now.corr[now.j])

    def model(at):
        return now.loss(now.moved(at[0], sign * at[1])) + weight * (at[0] * now.l1 + at[1])

    shrink, push = now.search(L1(weight))
    assert shrink >= 0.0
    assert push * sign >= 0.0
    start = minimize(model, [0.5, 0.5], bounds=[(0, None), (0, None)], method="L-BFGS-B", options={"ftol": 1e-15})
    assert model([shrink, push * sign]) <= start.fun + 1e-7 * (1 + abs(start.fun))


@given(seeds, sizes)
def test_no_penalty_ever_reports_a_gap_below_the_true_suboptimality(seed, size):
    now = Setting(seed)
    radius = max(size, now.l1)
    gap_penalty = quadratic_gap(L1(size), now.sums, np.abs(now.corr).max())
    gap_ball = quadratic_gap(L1Ball(radius), now.sums, np.abs(now.corr).max())
    rng = np.random.default_rng(seed)
    for trial in rng.standard_normal((200, 4)) * rng.random((200, 1)):
        objective = now.loss(now.a) + size * now.l1
        assert objective - (now.loss(trial) + size * np.abs(trial).sum()) <= gap_penalty + 1e-10
        inside = trial * min(1.0, radius / np.abs(trial).sum())
        assert now.loss(now.a) - now.loss(inside) <= gap_ball + 1e-10


@pytest.mark.parametrize("penalty", [L1Ball(2.0), L1(0.3)])
@given(seed=seeds)
def test_a_bound_on_the_correlations_only_makes_the_gap_larger(penalty, seed):
    now = Setting(seed)
    true = np.abs(now.corr).max()
    gaps = [quadratic_gap(penalty, now.sums, factor * true) for factor in (1.0, 1.5, 10.0)]
    assert gaps == sorted(gaps)


@given(seeds, sizes)
def test_the_warm_scale_is_feasible_and_never_raises_the_objective(seed, size):
    now = Setting(seed)
    scale = warm_scale(L1(size), now.sums)
    assert now.loss(scale * now.a) + size * scale * now.l1 <= now.loss(now.a) + size * now.l1 + 1e-12
    inside = warm_scale(L1Ball(size), now.sums)
    assert inside * now.l1 <= size * (1 + 1e-12)
    if now.l1 <= size:
        assert now.loss(inside * now.a) <= now.loss(now.a) + 1e-12


@pytest.mark.parametrize("penalty", [L1Ball(1.0), L1(0.1), L1Ball(0.0)])
def test_at_zero_the_warm_scale_is_one_and_the_gap_is_finite(penalty):
    assert warm_scale(penalty, Sums(1.0, 0.0, 0.0, 0.0)) == 1.0
    assert np.isfinite(quadratic_gap(penalty, Sums(1.0, 0.0, 0.0, 0.0), 0.5))
    assert quadratic_gap(penalty, Sums(0.0, 0.0, 0.0, 0.0), 0.0) == 0.0


def test_where_the_vertex_is_the_point_itself_there_is_no_step():
    # a = 2 e_1, and the vertex of the ball of radius 2 is a again.
    assert quadratic_step(L1Ball(2.0), Sums(16.0, 4.0, 8.0, 2.0), 2.0, 4.0, 1.0) == (1.0, 0.0)
