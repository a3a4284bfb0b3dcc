import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from reproduction.solvers.projection import ball_threshold, shrink


def project_onto_ball(v: np.ndarray, radius: float) -> np.ndarray:
    """The point of the ball that is nearest to v: every entry moved towards zero by the same threshold."""
    projected = v.copy()
    shrink(projected, ball_threshold(np.abs(v), radius))
    return projected


def by_sorting(v: np.ndarray, radius: float) -> np.ndarray:
    """The textbook projection: sort, find how many entries stay, subtract what is too much."""
    if np.abs(v).sum() <= radius:
        return v
    u = np.sort(np.abs(v))[::-1]
    excess = np.cumsum(u) - radius
    n_kept = np.flatnonzero(u * np.arange(1, u.size + 1) > excess)[-1] + 1 if radius > 0 else 0
    threshold = excess[n_kept - 1] / n_kept if n_kept else u[0]
    return np.sign(v) * np.maximum(np.abs(v) - threshold, 0.0)


ENTRIES = st.one_of(st.floats(-100.0, 100.0), st.sampled_from([-1.0, 0.0, 1.0, 3.0]))  # with ties and zeros


@given(hnp.arrays(np.float64, st.integers(1, 60), elements=ENTRIES), st.one_of(st.just(0.0), st.floats(1e-6, 5e3)))
def test_it_is_that_by_sorting(v, radius):
    before = v.copy()
    projected = project_onto_ball(v, radius)
    np.testing.assert_allclose(projected, by_sorting(v, radius), atol=1e-10)
    assert np.abs(projected).sum() <= radius + 1e-13 * np.abs(v).sum()  # what rounding leaves
    np.testing.assert_array_equal(v, before)


@pytest.mark.parametrize("radius", [1e-3, 1.0, 1e3])
def test_large_vectors_with_and_without_ties(rng, radius):
    for v in (rng.standard_normal(100_000), np.ones(100_000), rng.integers(-3, 4, 100_000).astype(float)):
        projected = project_onto_ball(v, radius)
        np.testing.assert_allclose(projected, by_sorting(v, radius), atol=1e-9)
        assert np.abs(projected).sum() == pytest.approx(radius, rel=1e-6)
