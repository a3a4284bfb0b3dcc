import numpy as np
import pytest

from conftest import Case, make_case
from fwlasso._core.draws import all_columns, draw, make_sampler
from fwlasso._core.iterate import correlation, move, zero
from fwlasso._core.oracle import parallel_scan, scan, scan_active
from fwlasso._core.threads import Workers


def somewhere(case: Case):
    iterate = zero(case.problem)
    for j, push in ((2, 0.5), (7, -0.3)):
        iterate, _ = move(case.problem, iterate, j, correlation(case.problem, iterate, j), 0.8, push)
    a = np.zeros(case.Z.shape[1])
    active, weights = iterate.coefs()
    a[active] = weights
    return iterate, case.Z.T @ (case.y - case.Z @ a)


def test_the_full_scan_finds_the_largest_correlation(case: Case):
    iterate, corr = somewhere(case)
    sampler = all_columns(case.problem.X)
    j, value = scan(case.problem, iterate, sampler, 0, sampler.starts.size)
    assert abs(corr[j]) == pytest.approx(np.abs(corr).max(), rel=1e-9)
    assert value == pytest.approx(corr[j], rel=1e-9)


@pytest.mark.parametrize("block_size", [1, 3, 16])
def test_a_sampled_scan_finds_the_largest_of_the_sample(block_size, rng):
    case = make_case(rng.standard_normal((20, 40)), rng.standard_normal(20), units="standardized")
    iterate, corr = somewhere(case)
    sampler = make_sampler(40, block_size, seed=1)
    for _ in range(20):
        n_blocks = draw(sampler, 10, 0)
        blocks = zip(sampler.starts[:n_blocks], sampler.lengths[:n_blocks], strict=True)
        sample = np.concatenate([np.arange(start, start + length) % 40 for start, length in blocks])
        j, value = scan(case.problem, iterate, sampler, 0, n_blocks)
        assert j == sample[np.argmax(np.abs(corr[sample]))]
        assert value == pytest.approx(corr[j], rel=1e-9)


def test_the_active_scan_looks_at_the_active_columns_only(rng):
    case = make_case(rng.standard_normal((20, 40)), rng.standard_normal(20))
    iterate, corr = somewhere(case)
    j, value = scan_active(case.problem, iterate)
    assert j == max((2, 7), key=lambda k: abs(corr[k]))
    assert value == pytest.approx(corr[j])


def test_the_first_of_equal_columns_is_found_however_the_scan_is_cut(rng):
    column = rng.standard_normal(10)
    values = np.column_stack([rng.standard_normal((10, 3)) * 1e-3] + [column] * 5)
    case = make_case(values, column)
    sampler = make_sampler(8, 1, seed=0)._replace(order=np.empty(0, np.int32))
    sampler.starts[:8], sampler.lengths[:8] = np.arange(8), 1
    with Workers(3) as workers:
        for n_bytes in (0, 1 << 30):
            assert parallel_scan(case.problem, zero(case.problem), sampler, 8, n_bytes, workers)[0] == 3


def test_a_scan_of_what_is_not_a_number_names_a_column_that_exists(case: Case):
    lost = zero(case.problem)
    lost.fitted[:] = np.nan
    lost = lost._replace(active=np.array([2, 7]), n_active=2)
    sampler = all_columns(case.problem.X)
    j, value = scan(case.problem, lost, sampler, 0, sampler.starts.size)
    assert 0 <= j < 40
    assert np.isnan(value)
    with Workers(2) as workers:
        assert 0 <= parallel_scan(case.problem, lost, sampler, sampler.starts.size, 1 << 30, workers)[0] < 40
    j, value = scan_active(case.problem, lost)
    assert j == 2
    assert np.isnan(value)
