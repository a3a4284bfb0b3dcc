"""The lazy oracle proves what it leaves out: no column with |z_j'r| > lambda, in long double, is missing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import UNITS, Case, held, make_case, random_values
from fwlasso._core.samples import sample_vector
from fwlasso._core.threads import Workers
from fwlasso.certified.nodes import Node, zero_node
from fwlasso.certified.references import Anchors, Reference, first_reference, make_reach
from fwlasso.problem.certificate import Evidence
from judge import exact

NOTHING = np.empty(0, np.int64)
UNKNOWN = Evidence(0.0, 0.0, 0.0, 0.0, 0.0, np.inf)


def node_at(weight: float, residual: np.ndarray) -> Node:
    """A node of which only the penalty and the residual matter."""
    return Node(weight, NOTHING, np.empty(0), residual, UNKNOWN)


def residual_of(case: Case, values: np.ndarray, centred: bool) -> np.ndarray:
    """A sample vector, without a constant part if the columns are centred."""
    return sample_vector(values - values.mean() if centred else values)


def priced(case: Case, weight: float, residual: np.ndarray, workers: Workers) -> Reference:
    """The reference of a residual, by one pass over the data."""
    nothing = Reference(weight, np.zeros(case.problem.xty.size, np.float32))
    anchors = Anchors(make_reach(case.problem), nothing, residual)
    reference, _ = anchors.add(case.problem, [node_at(weight, residual)], workers)
    return reference


def anchored(case: Case, weights, residuals, workers: Workers) -> Anchors:
    """Anchors at decreasing penalties."""
    first = priced(case, weights[0], residuals[0], workers)
    anchors = Anchors(make_reach(case.problem), first, residuals[0])
    if len(weights) > 1:
        nodes = [node_at(*pair) for pair in zip(weights[1:], residuals[1:], strict=True)]
        anchors.add(case.problem, nodes, workers)
    return anchors


def correlations(values: np.ndarray, units: str, residual: np.ndarray) -> np.ndarray:
    """|z_j'r| in long double; of columns that vary by no more than the rounding of their mean, zero."""
    Z = exact(values, np.zeros(values.shape[0]), *UNITS[units]).Z
    return np.abs(Z.T @ residual[:-1].astype(np.longdouble))


def assert_none_is_missing(anchors: Anchors, values, units, node: Node, workers: Workers) -> np.ndarray:
    suspects = anchors.suspects([node], workers)
    assert (np.diff(suspects) > 0).all()
    guilty = np.flatnonzero(correlations(values, units, node.residual) > node.lam)
    missing = np.setdiff1d(guilty, suspects)
    assert missing.size == 0, f"{missing.size} of {guilty.size} columns are missing"
    return guilty


class Attack:
    """Two anchors, a residual between them, and columns that make use of all the room that the bound leaves.

    Of z = s e with e = r - mix, where e is orthogonal to both anchors, |z'r| = ||z|| ||e||: the bound is attained.
    Columns s (mix + c e) have all its terms. The s are such that |z'r| is lambda up to some digits. Below an anchor
    with the residual `mix` the bound is the same.
    """

    def __init__(self, seed, m, units, single, offset, spread_of_scales, unit_of_y, distance, share):
        rng = np.random.default_rng(seed)
        centred = UNITS[units][0]
        draw = lambda: rng.standard_normal(m)  # noqa: E731
        first, second, e = draw(), draw(), draw()
        if centred:
            first, second, e = (v - v.mean() for v in (first, second, e))
        if rng.random() < 0.5 and m > 3:  # e orthogonal to the anchors
            basis, _ = np.linalg.qr(np.column_stack([first, second]))
            e -= basis @ (basis.T @ e)
        self.weights = unit_of_y * np.array([rng.uniform(0.5, 2.0), rng.uniform(0.1, 0.4)])
        self.weight = float((1 - share) * self.weights[0] + share * self.weights[1])
        self.weight = float(np.clip(self.weight, self.weights[1], self.weights[0]))
        mix = (1 - share) * first + share * second
        r = mix + distance * e
        digits = 10.0 ** -rng.integers(6, 17, 60) * rng.choice([-1.0, 1.0, 0.0], 60)
        directions = np.column_stack([*(e for _ in range(20)), *(mix + c * e for c in 10.0 ** rng.uniform(-3, 3, 40))])
        directions *= rng.choice([-1.0, 1.0], 60)
        # In units of the weight: z'r = weight (1 + digits).
        sizes = np.abs(directions.T @ r)
        sizes[sizes == 0.0] = 1.0  # e may be orthogonal to the last bit
        aims = directions * (self.weight / unit_of_y * (1 + digits) / sizes)
        others = rng.standard_normal((m, 40)) * 10.0 ** rng.uniform(-spread_of_scales, spread_of_scales, 40)
        values = np.column_stack([aims, others])
        values += offset * np.sqrt((values**2).mean(axis=0))
        self.values = values.astype(np.float32).astype(float) if single else values
        self.units = units
        storage = ("csc32" if single else "csc64") if rng.random() < 0.3 else ("dense32" if single else "dense64")
        y = unit_of_y * (first + (3.0 if centred else 0.0))
        self.case = make_case(self.values, y, storage, units)
        make = lambda v: residual_of(self.case, unit_of_y * v, centred)  # noqa: E731
        self.residuals, self.mix, self.residual = [make(first), make(second)], make(mix), make(r)
        self.above = rng.choice([1.0, 1.0 + 1e-12, rng.uniform(1.0, 3.0)])
        if UNITS[units][1]:  # with columns of norm one, the penalty goes to where the columns are
            sizes = correlations(self.values, units, self.residual)
            ratio = float(np.quantile(sizes, rng.uniform(0.2, 1.0))) / self.weight or 1.0
            ratio *= 1 + rng.choice([-1, 0, 1]) * 10.0 ** -rng.integers(7, 17)
            self.weights, self.weight = self.weights * ratio, self.weight * ratio
            self.weight = float(np.clip(self.weight, self.weights[1], self.weights[0]))

    def run(self):
        with Workers(1) as workers:
            anchors = anchored(self.case, self.weights.tolist(), self.residuals, workers)
            node = node_at(self.weight, self.residual)
            alone = anchored(self.case, [self.weight * self.above], [self.mix], workers)
            assert_none_is_missing(alone, self.values, self.units, node, workers)
            # The second anchor put to the first, as by pricing the suspects alone.
            few = anchored(self.case, self.weights[:1].tolist(), self.residuals[:1], workers).among(np.arange(100))
            second = self.weights[1], self.residuals[1]
            few.put(node_at(*second), np.abs(priced(self.case, *second, workers).ratios))
            assert_none_is_missing(few, self.values, self.units, node, workers)
            return assert_none_is_missing(anchors, self.values, self.units, node, workers)


@settings(max_examples=250)
@given(
    seed=st.integers(0, 2**32 - 1),
    m=st.sampled_from([2, 3, 10, 50, 400]),
    units=st.sampled_from(list(UNITS)),
    single=st.booleans(),
    offset=st.sampled_from([0.0, 0.0, 1.0, 1e2, 3e3, 1e5]),
    spread_of_scales=st.sampled_from([0.0, 1.0, 8.0]),
    unit_of_y=st.sampled_from([1e-100, 1e-8, 1.0, 1.0, 1e8, 1e100]),
    distance=st.sampled_from([0.0, 1e-16, 1e-12, 1e-8, 1e-4, 1.0]),
    share=st.sampled_from([0.0, 1e-12, 0.3, 0.5, 0.999, 1.0]),
)
def test_no_guilty_column_is_missing(seed, m, units, single, offset, spread_of_scales, unit_of_y, distance, share):
    Attack(seed, m, units, single, offset, spread_of_scales, unit_of_y, distance, share).run()


def test_the_attack_has_columns_on_both_sides_of_the_bound_and_hits_a_bound_without_slack(monkeypatch):
    """The test above can fail: with the terms for e and for rounding left out, columns are missing."""
    missing = guilty = 0
    for seed in range(20):
        attack = Attack(seed, 50, "raw", False, 0.0, 0.0, 1.0, 1e-4, 0.3)
        n_guilty = attack.run().size
        assert 0 < n_guilty < 100
        guilty += n_guilty
        with monkeypatch.context() as patch:
            patch.setattr(Anchors, "distance", lambda *_: 0.0)
            try:
                attack.run()
            except AssertionError:
                missing += 1
    assert guilty > 100
    assert missing > 10


def test_suspects_are_complete_and_few_along_a_real_path(some_storage, some_units, rng):
    """Residuals of least squares on some columns, at anchors, between them, and away from them."""
    storage, units = some_storage, some_units
    values = held(storage, random_values(rng, 60, 400))
    y = values[:, :5] @ rng.standard_normal(5) + rng.standard_normal(60)
    case = make_case(values, y, storage, units)
    lam = case.problem.lambda_max
    a = np.zeros(400)
    a[:5] = 0.1 * rng.standard_normal(5)
    second = residual_of(case, case.y - case.Z @ a, UNITS[units][0])
    with Workers(2) as workers:
        anchors = Anchors(make_reach(case.problem), first_reference(case.problem), zero_node(case.problem).residual)
        assert_none_is_missing(anchors, values, units, node_at(0.6 * lam, second), workers)
        reference, largest = anchors.add(case.problem, [node_at(0.6 * lam, second)], workers)
        assert reference.weight == 0.6 * lam
        np.testing.assert_allclose(largest, np.abs(case.Z.T @ second[:-1]).max(), rtol=1e-12)
        np.testing.assert_allclose(reference.ratios, case.Z.T @ second[:-1] / (0.6 * lam), rtol=1e-6, atol=1e-6)
        for share in (0.0, 0.1, 0.5, 0.9, 1.0):
            mix = (1 - share) * case.problem.y + share * second
            weight = float(np.clip((1 - share) * lam + share * 0.6 * lam, 0.6 * lam, lam))
            for size in (0.0, 1e-9, 1e-2, 0.3):
                e = rng.standard_normal(60)
                e *= size * np.linalg.norm(mix[:-1]) / np.linalg.norm(e)
                node = node_at(weight, residual_of(case, mix[:-1] + e, UNITS[units][0]))
                assert_none_is_missing(anchors, values, units, node, workers)
                if size <= 1e-9:
                    assert anchors.suspects([node], workers).size < 200


@pytest.mark.parametrize("units", UNITS)
def test_the_distance_is_never_rounded_down(units, rng):
    values = random_values(rng, 25, 10) + 2.0
    case = make_case(values, rng.standard_normal(25), units=units)
    weights = [1.0, 0.7, 0.4]
    residuals = [residual_of(case, rng.standard_normal(25), UNITS[units][0]) for _ in weights]
    with Workers(1) as workers:
        anchors = anchored(case, weights, residuals, workers)
    for weight in (1.0, 0.9, 0.7, 0.55, 0.4):
        left = 0 if weight >= 0.7 else 1
        share = (np.longdouble(weights[left]) - np.longdouble(weight)) / (
            np.longdouble(weights[left]) - np.longdouble(weights[left + 1])
        )
        mix = (1 - share) * residuals[left] + share * residuals[left + 1]
        for size in (0.0, 1e-15, 1e-9, 1.0):
            residual = residual_of(case, (mix + size * rng.standard_normal(26)).astype(float)[:-1], UNITS[units][0])
            distance = np.sqrt(((residual - mix)[:-1] ** 2).sum()) / weight
            found = anchors.distance(node_at(weight, residual))
            assert distance <= found <= distance * (1 + 1e-9) + 1e-10


def test_three_anchors_serve_all_points_between_them(rng):
    values = random_values(rng, 40, 300)
    case = make_case(values, rng.standard_normal(40), units="standardized")
    weights = case.problem.lambda_max * np.array([1.0, 0.8, 0.7, 0.5])
    residuals = [residual_of(case, np.exp(-k) * case.y + 0.1 * rng.standard_normal(40), True) for k in range(4)]
    with Workers(1) as workers:
        anchors = anchored(case, weights.tolist(), residuals, workers)
        nodes = []
        for weight in np.linspace(weights[-1], weights[0], 23):
            residual = residual_of(case, rng.uniform(0.1, 1.0) * case.y + 0.1 * rng.standard_normal(40), True)
            nodes.append(node_at(float(weight), residual))
            assert_none_is_missing(anchors, values, "standardized", nodes[-1], workers)
        together = anchors.suspects(nodes, workers)
        for node in nodes:
            assert np.isin(anchors.suspects([node], workers), together).all()
        assert anchors.share_of_suspects(nodes) == together.size / 300


def test_an_anchor_put_among_some_columns_proves_what_a_pass_does(rng):
    values = random_values(rng, 40, 300)
    case = make_case(values, rng.standard_normal(40), units="standardized")
    lam = case.problem.lambda_max
    weights = [lam, 0.7 * lam, 0.5 * lam]
    residuals = [residual_of(case, share * case.y + 0.05 * rng.standard_normal(40), True) for share in (1.0, 0.8, 0.7)]
    columns = np.sort(rng.permutation(300)[:200])
    node = node_at(0.65 * lam, residual_of(case, 0.77 * case.y + 0.02 * rng.standard_normal(40), True))
    with Workers(1) as workers:
        by_pass = anchored(case, weights, residuals, workers)
        few = anchored(case, weights[::2], residuals[::2], workers).among(columns)
        n_before = few.suspects([node], workers).size
        few.put(
            node_at(weights[1], residuals[1]), np.abs(priced(case, weights[1], residuals[1], workers).ratios[columns])
        )
        assert few.distance(node) == by_pass.distance(node)
        found = few.suspects([node], workers)
        np.testing.assert_array_equal(columns[found], np.intersect1d(by_pass.suspects([node], workers), columns))
        assert 0 < found.size < n_before


def test_below_the_last_anchor_suspects_are_complete_and_few_nearby(rng):
    values = random_values(rng, 40, 300)
    case = make_case(values, rng.standard_normal(40), units="standardized")
    lam = case.problem.lambda_max
    first = zero_node(case.problem).residual
    shares = []
    with Workers(1) as workers:
        anchors = anchored(case, [lam], [first], workers)
        for weight in (1.0, 0.95, 0.8, 0.5, 0.1):
            residual = residual_of(
                case, (0.9 + 0.1 * weight) * case.y + 0.1 * (1 - weight) * rng.standard_normal(40), True
            )
            node = node_at(weight * lam, residual)
            assert_none_is_missing(anchors, values, "standardized", node, workers)
            shares.append(anchors.share_of_suspects([node]))
    assert shares[0] < 0.02
    assert shares == sorted(shares)
    assert shares[-1] > 0.9


def test_violators_are_the_columns_that_exceed_the_penalty_at_an_anchor(rng):
    values = random_values(rng, 40, 300)
    case = make_case(values, rng.standard_normal(40), units="centred")
    lam = case.problem.lambda_max
    residuals = [residual_of(case, rng.standard_normal(40), True) for _ in range(3)]
    with Workers(1) as workers:
        anchors = anchored(case, [0.9 * lam, 0.8 * lam, 0.5 * lam], residuals, workers)
    ratios = [
        correlations(values, "centred", residual) / weight
        for residual, weight in zip(residuals, (0.9 * lam, 0.8 * lam, 0.5 * lam), strict=True)
    ]
    exceeding = np.flatnonzero(np.max(ratios, axis=0) > 1.0)
    assert 0 < exceeding.size < 300
    np.testing.assert_array_equal(anchors.violators(), exceeding)


def test_the_reach_covers_the_norms_whatever_the_means(rng):
    values = rng.standard_normal((30, 6)) * [1.0, 1e-8, 1e8, 1.0, 1.0, 0.0] + [0.0, 0.0, 0.0, 10.0, 1e6, 5.0]
    problem = make_case(values, rng.standard_normal(30), units="centred").problem
    reach = make_reach(problem)
    norms = exact(values, np.zeros(30), True, False).norms
    covered = reach.norms.astype(np.longdouble) * reach.unit
    assert (covered * (1 + 2.0**-20) >= norms).all()
    assert (covered[:5] <= norms[:5] * (1 + 1e-6)).all()
    assert np.isfinite(reach.norms).all()
    # Of a column that is far from what it is counted from nothing is proved.
    means = np.array(problem.X.means)
    means[4] = 1e6
    far = make_reach(problem._replace(X=problem.X._replace(means=means)))
    np.testing.assert_array_equal(np.isinf(far.norms), np.arange(6) == 4)
    assert far.rounding == reach.rounding


def test_suspects_are_the_same_for_any_number_of_threads(monkeypatch, rng):
    monkeypatch.setattr("fwlasso._core.threads._CHUNK_BYTES", 512)
    values = random_values(rng, 20, 900)
    case = make_case(values, rng.standard_normal(20), units="standardized")
    lam = case.problem.lambda_max
    residual = residual_of(case, 0.5 * case.y + 0.01 * rng.standard_normal(20), True)
    found = []
    for n_threads in (1, 2, 3):
        with Workers(n_threads) as workers:
            anchors = anchored(case, [lam, 0.5 * lam], [zero_node(case.problem).residual, residual], workers)
            found.append(anchors.suspects([node_at(0.55 * lam, residual)], workers))
    assert 0 < found[0].size < 900
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])
