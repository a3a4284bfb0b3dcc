import numpy as np
import pytest

from conftest import Case, all_coefs, make_case
from fwlasso._core.iterate import correlation, move, objective, refresh, rescale, zero


def walk(case: Case, steps):
    """Move along (j, shrink, push), in compiled code and in numpy."""
    a = np.zeros(case.Z.shape[1])
    iterate = zero(case.problem)
    for j, shrink, push in steps:
        iterate = iterate.with_room(1)
        iterate, change = move(case.problem, iterate, j, correlation(case.problem, iterate, j), shrink, push)
        before, a = a, shrink * a
        a[j] += push
        assert change == pytest.approx(np.abs(a - before).max(), rel=1e-9, abs=1e-300)
    return iterate, a


def assert_same_point(case: Case, iterate, a):
    q = case.Z @ a
    np.testing.assert_allclose(all_coefs(iterate, a.size), a, rtol=1e-12)
    assert iterate.qq == pytest.approx(q @ q, rel=1e-9)
    assert iterate.qy == pytest.approx(q @ case.y, rel=1e-9)
    assert iterate.l1 == pytest.approx(np.abs(a).sum(), rel=1e-12)
    assert objective(case.problem, iterate) == pytest.approx(0.5 * ((case.y - q) ** 2).sum(), rel=1e-8)
    corr = [correlation(case.problem, iterate, j) for j in range(a.size)]
    np.testing.assert_allclose(corr, case.Z.T @ (case.y - q), rtol=1e-8, atol=1e-8)


def test_moving_is_the_same_as_in_numpy(case: Case, rng):
    steps = [(int(rng.integers(40)), rng.uniform(0.5, 1.0), rng.standard_normal()) for _ in range(50)]
    assert_same_point(case, *walk(case, steps))


def test_a_full_step_forgets_everything_before(rng):
    case = make_case(rng.standard_normal((8, 5)), rng.standard_normal(8))
    iterate, a = walk(case, [(0, 1.0, 2.0), (1, 0.5, 1.0), (3, 0.0, -1.5)])
    assert iterate.n_active == 1
    assert_same_point(case, iterate, a)


def test_thousands_of_shrinks_do_not_underflow(rng):
    case = make_case(rng.standard_normal((8, 5)), rng.standard_normal(8))
    iterate, a = walk(case, [(k % 5, 1e-3, 1.0) for k in range(2000)])
    assert iterate.scale >= 1e-100
    assert_same_point(case, iterate, a)


def test_refresh_mends_drifted_numbers(case: Case, rng):
    iterate, a = walk(case, [(int(rng.integers(40)), 0.9, rng.standard_normal()) for _ in range(30)])
    assert iterate.age == 30
    iterate.fitted[:] += 1.0
    mended = refresh(case.problem, iterate._replace(qq=1.0, qy=2.0, l1=3.0))
    assert mended.age == 0
    assert_same_point(case, mended, a)


@pytest.mark.parametrize("factor", [0.5, 3.0, 0.0, 1e-200])
def test_rescaling_scales_the_point(factor, rng):
    case = make_case(rng.standard_normal((8, 5)), rng.standard_normal(8))
    iterate, a = walk(case, [(0, 1.0, 2.0), (1, 0.5, 1.0)])
    scaled = rescale(iterate, factor)
    assert_same_point(case, scaled, factor * a if factor > 1e-100 else 0.0 * a)


def test_room_is_made_without_losing_the_point(rng):
    case = make_case(rng.standard_normal((8, 40)), rng.standard_normal(8))
    iterate, a = walk(case, [(j, 0.9, 1.0) for j in range(40)])
    assert iterate.active.size >= 40
    assert_same_point(case, iterate.with_room(1000), a)
