"""What is claimed between two nodes holds for the point itself, recomputed in long double."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conftest import STORAGES, UNITS, Case, held, make_case, random_values
from copied import least_squares
from fwlasso._core.iterate import at
from fwlasso._core.penalties import L1, L1Ball
from fwlasso._core.threads import Workers
from fwlasso.certified.nodes import Node, extend, make_span, zero_node
from fwlasso.certified.targets import AlphaTargets, RadiusTargets
from fwlasso.problem.certificate import max_correlations, prove, residual
from fwlasso.problem.passes import LocalPass
from judge import exact, recomputed_gap, untold

TINY = np.finfo(np.float64).tiny  # numbers below have fewer digits


def columns_of(case: Case) -> LocalPass:
    return LocalPass(case.problem, Workers(1))


def node_of(case: Case, lam: float, a: np.ndarray, *, slack: float = 1.0) -> Node:
    """The node of coefficients, with its largest correlation, or a bound of it."""
    columns = np.flatnonzero(a)
    r = residual(case.problem, at(case.problem, columns, a[columns]))
    largest = slack * float(max_correlations(case.problem.X, [r], Workers(1))[0])
    return least_squares(case.problem).node(lam, columns, a[columns], case.problem.sizes(columns), r, largest)


def plain_coefs(node: Node, p: int) -> np.ndarray:
    a = np.zeros(p)
    a[node.columns] = node.coefs
    return a


def random_coefs(rng, p, share=0.3):
    return rng.standard_normal(p) * (rng.random(p) < share)


def random_span(seed, m=12, p=9, slack=1.0, storage="dense64", units="centred"):
    rng = np.random.default_rng(seed)
    values = held(storage, random_values(rng, m, p, density=0.7))
    y = rng.standard_normal(m) + 1.0
    case = make_case(values, y, storage, units)
    left, right = (
        node_of(case, w, 0.2 * random_coefs(rng, p), slack=slack) for w in (rng.uniform(2, 3), rng.uniform(0.5, 1))
    )
    return exact(values, y, *UNITS[units]), case, make_span(least_squares(case.problem), left, right)


@settings(max_examples=150)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 1.0), st.sampled_from([1.0, 1.1, 2.0]), st.sampled_from(list(UNITS)))
def test_the_gap_of_a_mix_is_never_understated(seed, share, slack, units):
    given, case, span = random_span(seed, slack=slack, units=units)
    a = (1 - share) * plain_coefs(span.left, 9) + share * plain_coefs(span.right, 9)
    mix, known = span.mix(share)
    for penalty in (L1(span.lam(share)), L1(0.1), L1Ball(np.abs(a).sum()), L1Ball(1.5 * np.abs(a).sum() + 0.1)):
        a = plain_coefs(mix, 9)
        true = recomputed_gap(given, penalty, a) * given.half_yy
        unknown = untold(given, penalty, a) * given.half_yy
        claimed = span.gap(penalty, share)
        assert claimed >= true - unknown
        # The point itself knows its l1 norm, the span only a bound of it.
        of_the_mix, rounding = prove(case.problem, penalty, known)
        assert true - unknown <= of_the_mix <= claimed + rounding
        assert 0.0 < rounding <= 1e-11 * case.problem.yy  # that of the residual counts for its products, too


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 1.0), st.sampled_from(list(STORAGES)), st.sampled_from(list(UNITS)))
def test_the_numbers_of_a_mix_are_those_of_its_coefficients(seed, share, storage, units):
    _, case, span = random_span(seed, storage=storage, units=units)
    mix, known = span.mix(share)
    plain = node_of(case, span.lam(share), (1 - share) * plain_coefs(span.left, 9) + share * plain_coefs(span.right, 9))
    columns, coefs, *_ = mix
    np.testing.assert_array_equal(columns, plain.columns)
    np.testing.assert_allclose(coefs, plain.coefs, rtol=1e-12, atol=1e-300)
    q = case.Z[:, columns] @ coefs
    scale = case.problem.yy + q @ q
    assert mix.qq == pytest.approx(q @ q, abs=1e-12 * scale)
    assert mix.qy == pytest.approx(q @ case.y, abs=1e-12 * scale)
    assert mix.l1 == known.l1 == pytest.approx(plain.known.l1, rel=1e-12)
    assert known.rr == pytest.approx(plain.known.rr, abs=1e-12 * scale)
    assert known.yr == pytest.approx(plain.known.yr, abs=1e-12 * scale)
    assert known.r_size >= plain.known.r_size * (1 - 1e-12)
    assert known.max_corr >= plain.known.max_corr * (1 - 1e-12)


def test_the_ends_of_a_span_are_its_nodes():
    _, case, span = random_span(3)
    for share, node in ((0.0, span.left), (1.0, span.right)):
        mix, known = span.mix(share)
        np.testing.assert_array_equal(mix.columns, node.columns)
        np.testing.assert_array_equal(mix.coefs, node.coefs)
        assert span.lam(share) == pytest.approx(node.lam, rel=1e-15)
        assert known == node.known
        assert mix[2:] == least_squares(case.problem).solution(node.columns, node.coefs, node.known)[2:]
        for penalty in (L1(node.lam), L1Ball(node.known.l1)):
            assert span.gap(penalty, share) == prove(case.problem, penalty, node.known).gap


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 1.0))
@example(59106, 2.2250738585e-313)
def test_shares_and_forms_belong_together(seed, share):
    _, _, span = random_span(seed)
    assert AlphaTargets([L1(1.0)]).position(span, L1(span.lam(share))) == pytest.approx(share, abs=1e-12)
    near, far = span.left.known.l1, span.right.known.l1
    if far > near * (1 + 1e-6):
        radius = (1 - share) * near + share * far
        assert RadiusTargets([]).position(span, L1Ball(radius)) == pytest.approx(share, abs=1e-8)
        inside = min(1.0, max(0.0, RadiusTargets([]).position(span, L1Ball(radius))))
        assert span.mix(inside)[0].l1 <= radius * (1 + 1e-12) + TINY
        assert RadiusTargets([]).position(span, L1Ball(far)) == 1.0
        assert RadiusTargets([]).position(span, L1Ball(2 * far)) > 1.0
    else:
        assert RadiusTargets([]).position(span, L1Ball(0.5)) == math.inf or far > near


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 0.999), st.sampled_from(["dense64", "csc32"]))
def test_an_extension_is_the_line_without_changes_of_sign(seed, weight, storage):
    rng = np.random.default_rng(seed)
    case = make_case(held(storage, random_values(rng, 6, 15)), rng.standard_normal(6), storage, "centred")
    before, last = (node_of(case, w, random_coefs(rng, 15, 0.6)) for w in (2.0, 1.0))
    columns, coefs, r = extend(columns_of(case), before, last, weight)
    share = 2.0 - weight
    a, b = plain_coefs(before, 15), plain_coefs(last, 15)
    line = (1 - share) * a + share * b
    kept = line * b > 0.0
    assert (np.diff(columns) > 0).all()
    np.testing.assert_array_equal(columns, np.flatnonzero(kept))
    np.testing.assert_allclose(coefs, line[kept], rtol=1e-12)
    np.testing.assert_array_equal(np.sign(coefs), np.sign(b[columns]))
    assert r is not None
    np.testing.assert_allclose(
        r[:-1] - r[-1] / 6, case.y - case.Z[:, columns] @ coefs, atol=1e-12 * (1 + np.abs(line).sum())
    )


def test_the_zero_node_is_the_solution_at_the_largest_penalty(case):
    node = zero_node(least_squares(case.problem), columns_of(case))
    assert node.columns.size == node.coefs.size == 0
    assert node.lam == node.known.max_corr == pytest.approx(np.abs(case.Z.T @ case.y).max())
    np.testing.assert_allclose(node.residual[:-1], case.y, atol=1e-12)
    gap, rounding = prove(case.problem, L1(node.lam), node.known)
    assert 0.0 < gap <= 2.0 * rounding <= 1e-12 * case.problem.yy
