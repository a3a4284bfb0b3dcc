"""What is claimed between two nodes holds for the point itself, recomputed in long double."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import STORAGES, UNITS, Case, held, make_case, random_values
from fwlasso.certificate import gap_of
from fwlasso.columns import sample_vector
from fwlasso.corrective.nodes import Node, extend, make_span, mix_coefs, zero_node
from fwlasso.forms import Ball, Penalty
from judge import exact, recomputed_gap


def node_of(case: Case, weight: float, a: np.ndarray, *, slack: float = 1.0) -> Node:
    """The node of coefficients, with its largest correlation, or a bound of it."""
    q = case.Z @ a
    residual = case.y - q
    columns = np.flatnonzero(a)
    largest = slack * np.abs(case.Z.T @ residual).max()
    return Node(weight, columns, a[columns], sample_vector(residual), q @ q, q @ case.y, np.abs(a).sum(), largest)


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
    return exact(values, y, *UNITS[units]), case, make_span(case.problem, left, right)


@settings(max_examples=150)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 1.0), st.sampled_from([1.0, 1.1, 2.0]), st.sampled_from(list(UNITS)))
def test_the_gap_of_a_mix_is_never_understated(seed, share, slack, units):
    given, case, span = random_span(seed, slack=slack, units=units)
    a = (1 - share) * plain_coefs(span.left, 9) + share * plain_coefs(span.right, 9)
    mix, max_corr = span.mix(share)
    for form in (Penalty(span.weight(share)), Penalty(0.1), Ball(np.abs(a).sum()), Ball(1.5 * np.abs(a).sum() + 0.1)):
        true = float(recomputed_gap(given, form, a.astype(np.longdouble)) * given.half_yy)
        rounding = 1e-12 * case.problem.yy
        claimed = span.gap(case.problem, form, share)
        assert claimed >= true - rounding
        # The point itself knows its l1 norm, the span only a bound of it.
        of_the_mix = gap_of(case.problem, form, mix, max_corr)
        assert true - rounding <= of_the_mix <= claimed + rounding


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 1.0), st.sampled_from(list(STORAGES)), st.sampled_from(list(UNITS)))
def test_the_numbers_of_a_mix_are_those_of_its_coefficients(seed, share, storage, units):
    _, case, span = random_span(seed, storage=storage, units=units)
    mix, max_corr = span.mix(share)
    plain = node_of(
        case, span.weight(share), (1 - share) * plain_coefs(span.left, 9) + share * plain_coefs(span.right, 9)
    )
    columns, coefs = mix.coefs()
    np.testing.assert_array_equal(columns, plain.columns)
    np.testing.assert_allclose(coefs, plain.coefs, rtol=1e-12, atol=1e-300)
    scale = case.problem.yy + plain.qq
    assert mix.qq == pytest.approx(plain.qq, abs=1e-12 * scale)
    assert mix.qy == pytest.approx(plain.qy, abs=1e-12 * scale)
    assert mix.l1 == pytest.approx(plain.l1, rel=1e-12)
    assert max_corr >= plain.max_corr * (1 - 1e-12)


def test_the_ends_of_a_span_are_its_nodes():
    _, case, span = random_span(3)
    for share, node in ((0.0, span.left), (1.0, span.right)):
        mix, max_corr = span.mix(share)
        columns, coefs = mix.coefs()
        np.testing.assert_array_equal(columns, node.columns)
        np.testing.assert_array_equal(coefs, node.coefs)
        assert span.weight(share) == pytest.approx(node.weight, rel=1e-15)
        assert (mix.qq, mix.qy, max_corr) == (node.qq, node.qy, node.max_corr)
        for form in (Penalty(node.weight), Ball(node.l1)):
            assert span.gap(case.problem, form, share) == gap_of(case.problem, form, node.iterate(), node.max_corr)


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 1.0))
def test_shares_and_forms_belong_together(seed, share):
    _, _, span = random_span(seed)
    assert span.share(Penalty(span.weight(share))) == pytest.approx(share, abs=1e-12)
    if span.right.l1 > span.left.l1 * (1 + 1e-6):
        radius = (1 - share) * span.left.l1 + share * span.right.l1
        assert span.share(Ball(radius)) == pytest.approx(share, abs=1e-8)
        assert span.mix(min(1.0, max(0.0, span.share(Ball(radius)))))[0].l1 <= radius * (1 + 1e-12)
        assert span.share(Ball(span.right.l1)) == 1.0
        assert span.share(Ball(2 * span.right.l1)) > 1.0
    else:
        assert span.share(Ball(0.5)) == math.inf or span.right.l1 > span.left.l1


def test_penalties_outside_a_span_have_shares_outside():
    _, _, span = random_span(5)
    assert span.share(Penalty(2 * span.left.weight)) < 0.0
    assert span.share(Penalty(0.5 * span.right.weight)) > 1.0
    assert span.share(Penalty(span.right.weight)) == 1.0


@settings(max_examples=150)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([0.0, 0.3, 1.0]))
def test_mixed_coefficients_are_the_plain_combination(seed, share, density):
    rng = np.random.default_rng(seed)
    case = make_case(random_values(rng, 6, 15), rng.standard_normal(6))
    left, right = (node_of(case, w, random_coefs(rng, 15, density)) for w in (2.0, 1.0))
    columns, coefs = mix_coefs(left, right, share)
    plain = (1 - share) * plain_coefs(left, 15) + share * plain_coefs(right, 15)
    np.testing.assert_array_equal(columns, np.flatnonzero(plain))
    np.testing.assert_allclose(coefs, plain[columns], rtol=1e-15)


def test_coefficients_that_cancel_are_left_out():
    case = make_case(np.eye(4), np.ones(4))
    left, right = (
        node_of(case, 2.0, np.array([1.0, 0.0, -2.0, 0.0])),
        node_of(case, 1.0, np.array([-1.0, 0.0, 2.0, 3.0])),
    )
    columns, coefs = mix_coefs(left, right, 0.5)
    assert columns.tolist() == [3]
    assert coefs.tolist() == [1.5]


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 0.999), st.sampled_from(["dense64", "csc32"]))
def test_an_extension_is_the_line_without_changes_of_sign(seed, weight, storage):
    rng = np.random.default_rng(seed)
    case = make_case(held(storage, random_values(rng, 6, 15)), rng.standard_normal(6), storage, "centred")
    before, last = (node_of(case, w, random_coefs(rng, 15, 0.6)) for w in (2.0, 1.0))
    columns, coefs, residual = extend(case.problem, before, last, weight)
    share = 2.0 - weight
    a, b = plain_coefs(before, 15), plain_coefs(last, 15)
    line = (1 - share) * a + share * b
    kept = line * b > 0.0
    assert (np.diff(columns) > 0).all()
    np.testing.assert_array_equal(columns, np.flatnonzero(kept))
    np.testing.assert_allclose(coefs, line[kept], rtol=1e-12)
    np.testing.assert_array_equal(np.sign(coefs), np.sign(b[columns]))
    assert residual is not None
    np.testing.assert_allclose(
        residual[:-1] - residual[-1] / 6, case.y - case.Z[:, columns] @ coefs, atol=1e-12 * (1 + np.abs(line).sum())
    )


def test_with_one_node_the_extension_is_the_node():
    case = make_case(np.eye(4), np.ones(4))
    last = node_of(case, 1.0, np.array([0.0, 1.0, 0.0, -2.0]))
    columns, coefs, residual = extend(case.problem, None, last, 0.5)
    assert columns.tolist() == [1, 3]
    assert coefs.tolist() == [1.0, -2.0]
    assert residual is last.residual


def test_the_zero_node_is_the_solution_at_the_largest_penalty(units, storage, rng):
    values, y = held(storage, random_values(rng, 12, 9)), rng.standard_normal(12)
    case = make_case(values, y, storage, units)
    node = zero_node(case.problem)
    assert node.columns.size == node.coefs.size == 0
    assert node.weight == node.max_corr == pytest.approx(np.abs(case.Z.T @ case.y).max())
    np.testing.assert_allclose(node.residual[:-1], case.y, atol=1e-12)
    assert gap_of(case.problem, Penalty(node.weight), node.iterate(), node.max_corr) == pytest.approx(0.0, abs=1e-15)
