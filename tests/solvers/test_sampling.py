import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from fwlasso import AdaptiveRule, FixedSize, FractionOfColumns, QuantileRule, SparsityRule
from fwlasso._core.draws import all_columns, default_block_size, draw, make_sampler
from fwlasso.data.design import as_design
from fwlasso.solvers.sample_size import as_sample_size


def drawn(sampler, n_sampled: int, n_idle: int = 0) -> list[int]:
    n_blocks = draw(sampler, n_sampled, n_idle)
    blocks = zip(sampler.starts[:n_blocks], sampler.lengths[:n_blocks], strict=True)
    return [int(k) % sampler.n_columns for start, length in blocks for k in range(start, start + length)]


# Sizes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "p", "size"),
    [
        (FixedSize(500), 10_000, 500),
        (FixedSize(500), 100, 100),
        # The sizes of the paper for 1, 2 and 3 %.
        (FractionOfColumns(0.01), 201_376, 2014),
        (FractionOfColumns(0.03), 635_376, 19_062),
        (FractionOfColumns(0.01), 4_272_227, 42_723),
        (FractionOfColumns(0.01, at_least=194), 1000, 194),
        (FractionOfColumns(1.0), 7, 7),
        # 2 % with probability 0.98, whatever p is.
        (QuantileRule(0.02, 0.98), 10_000, 194),
        (QuantileRule(0.02, 0.98), 4_272_227, 194),
        (QuantileRule(0.02, 0.98), 50, 50),
        # The sizes of the paper for its four synthetic problems at 99 %.
        (SparsityRule(121), 10_000, 372),
        (SparsityRule(144), 50_000, 1572),
        (SparsityRule(10), 10, 1),
    ],
)
def test_sizes(rule, p, size):
    assert rule(p, n_active=3) == size


@given(st.integers(2, 3000), st.data())
def test_the_sparsity_rule_is_the_smallest_sample_that_hits(p, data):
    relevant = data.draw(st.integers(1, p - 1))
    confidence = data.draw(st.floats(0.01, 0.999))
    size = SparsityRule(relevant, confidence)(p, n_active=0)
    miss = hypergeom(p, relevant, np.array([size - 1, size])).pmf(0)
    assert miss[1] <= (1 - confidence) * (1 + 1e-9)
    assert miss[0] >= (1 - confidence) * (1 - 1e-9)
    assert size <= math.ceil(math.log1p(-confidence) / math.log1p(-relevant / p))


@given(st.integers(1, 10**7), st.integers(0, 10**6))
def test_the_adaptive_rule_shrinks_as_the_solution_fills_up(p, n_active):
    rule = AdaptiveRule()
    sizes = [rule(p, min(s, p)) for s in (n_active, 2 * n_active + 1, p)]
    assert sizes == sorted(sizes, reverse=True)
    assert all(min(194, p) <= size <= max(math.ceil(0.1 * p), min(194, p)) for size in sizes)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: FixedSize(0), "count"),
        (lambda: FractionOfColumns(1.1), "share"),
        (lambda: QuantileRule(quantile=0.0), "quantile"),
        (lambda: QuantileRule(confidence=1.0), "confidence"),
        (lambda: SparsityRule(0), "n_relevant"),
        (lambda: SparsityRule(3, confidence=0.0), "confidence"),
        (lambda: AdaptiveRule(at_least=0), "at_least"),
        (lambda: AdaptiveRule(at_most=0.0), "at_most"),
        (lambda: as_sample_size(0), "sample_size"),
        (lambda: as_sample_size(1.5), "sample_size"),
        (lambda: as_sample_size("1%"), "sample_size"),
    ],
)
def test_sizes_out_of_range_are_refused(make, name):
    with pytest.raises(ValueError, match=name):
        make()


def test_numbers_shares_and_rules_are_sample_sizes():
    assert as_sample_size(30)(100, 0) == 30
    assert as_sample_size(np.int64(30))(100, 0) == 30
    assert as_sample_size(0.3)(100, 0) == 30
    assert as_sample_size(1.0)(100, 0) == 100
    assert as_sample_size(lambda p, n_active: 7)(100, 0) == 7
    assert as_sample_size(None)(10**6, 0) == 10_000


@pytest.mark.parametrize("n_sampled", [1, 7, 8, 194, 2014, 10**6])
def test_the_default_block_leaves_a_sample_sixteen_blocks_or_more(n_sampled):
    size = default_block_size(n_sampled)
    assert 1 <= size <= 128
    assert size == 1 or n_sampled // size >= 16


# Draws -------------------------------------------------------------------------------------------------------


@given(st.integers(1, 200), st.integers(1, 64), st.integers(0, 2**63), st.data())
def test_a_draw_has_exactly_as_many_distinct_columns_as_asked(p, block_size, seed, data):
    n_sampled = data.draw(st.integers(1, p))
    sampler = make_sampler(p, min(block_size, p), seed)
    for _ in range(3):
        columns = drawn(sampler, n_sampled)
        assert len(columns) == len(set(columns)) == n_sampled
        assert set(columns) <= set(range(p))


@pytest.mark.parametrize(("p", "block_size", "n_sampled"), [(23, 1, 5), (23, 4, 9), (24, 8, 8), (10, 10, 3), (7, 3, 7)])
def test_every_column_is_drawn_with_the_same_probability(p, block_size, n_sampled):
    """The expectation lemma: E[sum over S of e_i e_i' v] = (kappa / p) v needs equal marginals and nothing else."""
    n_draws = 20_000
    sampler = make_sampler(p, block_size, seed=1)
    counts = np.bincount(np.concatenate([drawn(sampler, n_sampled) for _ in range(n_draws)]), minlength=p)
    share = n_sampled / p
    deviation = np.sqrt(n_draws * share * (1 - share)) + 1e-9
    assert np.abs(counts - n_draws * share).max() <= 4.5 * deviation


def test_single_columns_are_drawn_independently_of_their_neighbours():
    sampler = make_sampler(12, 1, seed=5)
    pairs = np.zeros((12, 12))
    for _ in range(20_000):
        columns = drawn(sampler, 4)
        pairs[np.ix_(columns, columns)] += 1
    off_diagonal = pairs[~np.eye(12, dtype=bool)] / 20_000
    np.testing.assert_allclose(off_diagonal, 4 * 3 / (12 * 11), atol=0.012)


@given(st.integers(2, 200), st.integers(2, 64), st.integers(0, 2**63), st.data())
def test_a_round_of_blocks_looks_at_every_column_once(p, block_size, seed, data):
    n_sampled = data.draw(st.integers(1, p))
    sampler = make_sampler(p, min(block_size, p), seed)
    assume(sampler.block_size > 1)
    n_draws = -(-3 * p // n_sampled)
    seen = [column for _ in range(n_draws) for column in drawn(sampler, n_sampled)]
    for start in range(0, 3 * p, p):
        assert sorted(seen[start : start + p]) == list(range(p))


@given(st.integers(1, 200), st.integers(1, 64), st.integers(0, 2**63), st.data())
def test_draws_without_descent_look_at_every_column(p, block_size, seed, data):
    n_sampled = data.draw(st.integers(1, p))
    sampler = make_sampler(p, min(block_size, p), seed)
    for _ in range(data.draw(st.integers(0, 5))):
        drawn(sampler, n_sampled)
    seen = [column for n_idle in range(math.ceil(p / n_sampled)) for column in drawn(sampler, n_sampled, 1 + n_idle)]
    assert set(seen) == set(range(p))


def test_a_seed_fixes_the_draws():
    a, b, c = (make_sampler(1000, 8, seed) for seed in (3, 3, 4))
    first = [drawn(a, 100) for _ in range(5)]
    assert first == [drawn(b, 100) for _ in range(5)]
    assert first != [drawn(c, 100) for _ in range(5)]


def test_the_full_sampler_draws_every_column_in_order():
    sampler = all_columns(as_design(np.ones((5, 17), order="F")).columns)
    assert drawn(sampler, 17) == list(range(17))
