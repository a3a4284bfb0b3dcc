"""The lazy oracle proves what it leaves out: no column with |z_j'r| > lambda, in long double, is missing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import UNITS, Case, held, make_case, random_values
from fwlasso._core.samples import sample_vector
from fwlasso._core.threads import Workers
from fwlasso.certified.nodes import Node
from fwlasso.certified.screening import Screening
from fwlasso.problem.certificate import ResidualTerms
from fwlasso.problem.passes import LocalPass
from judge import exact

NOTHING = np.empty(0, np.int64)
UNKNOWN = ResidualTerms(0.0, 0.0, 0.0, 0.0, 0.0, np.inf)


def node_at(lam: float, residual: np.ndarray) -> Node:
    """A node of which only the penalty and the residual matter."""
    return Node(lam, NOTHING, np.empty(0), residual, UNKNOWN)


def residual_of(case: Case, values: np.ndarray, centred: bool) -> np.ndarray:
    """A sample vector, without a constant part if the columns are centred."""
    return sample_vector(values - values.mean() if centred else values)


def anchored(case: Case, lams, residuals, workers: Workers) -> Screening:
    """Anchors at decreasing penalties."""
    problem, nodes = case.problem, [node_at(*pair) for pair in zip(lams, residuals, strict=True)]
    zero = node_at(
        2.0 * max(problem.lambda_max, lams[0]), np.array(problem.y)
    )  # above lambda_max the solution is zero, too
    screening = Screening(LocalPass(problem, workers), zero, problem.n_samples)
    screening.correlate(nodes[:1])
    screening.restart()
    if len(nodes) > 1:
        screening.correlate(nodes[1:])
    return screening


def correlations(values: np.ndarray, units: str, residual: np.ndarray) -> np.ndarray:
    """|z_j'r| in long double; of columns that vary by no more than the rounding of their mean, zero."""
    Z = exact(values, np.zeros(values.shape[0]), *UNITS[units]).Z
    return np.abs(Z.T @ residual[:-1].astype(np.longdouble))


def assert_none_is_missing(anchors: Screening, values, units, node: Node) -> np.ndarray:
    survivors = anchors.survivors([node])
    assert (np.diff(survivors) > 0).all()
    guilty = np.flatnonzero(correlations(values, units, node.residual) > node.lam)
    missing = np.setdiff1d(guilty, survivors)
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
        self.lams = unit_of_y * np.array([rng.uniform(0.5, 2.0), rng.uniform(0.1, 0.4)])
        self.lam = float((1 - share) * self.lams[0] + share * self.lams[1])
        self.lam = float(np.clip(self.lam, self.lams[1], self.lams[0]))
        mix = (1 - share) * first + share * second
        r = mix + distance * e
        digits = 10.0 ** -rng.integers(6, 17, 60) * rng.choice([-1.0, 1.0, 0.0], 60)
        directions = np.column_stack([*(e for _ in range(20)), *(mix + c * e for c in 10.0 ** rng.uniform(-3, 3, 40))])
        directions *= rng.choice([-1.0, 1.0], 60)
        # In units of the lam: z'r = lam (1 + digits).
        sizes = np.abs(directions.T @ r)
        sizes[sizes == 0.0] = 1.0  # e may be orthogonal to the last bit
        aims = directions * (self.lam / unit_of_y * (1 + digits) / sizes)
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
            ratio = float(np.quantile(sizes, rng.uniform(0.2, 1.0))) / self.lam or 1.0
            ratio *= 1 + rng.choice([-1, 0, 1]) * 10.0 ** -rng.integers(7, 17)
            self.lams, self.lam = self.lams * ratio, self.lam * ratio
            self.lam = float(np.clip(self.lam, self.lams[1], self.lams[0]))

    def run(self):
        with Workers(1) as workers:
            anchors = anchored(self.case, self.lams.tolist(), self.residuals, workers)
            node = node_at(self.lam, self.residual)
            alone = anchored(self.case, [self.lam * self.above], [self.mix], workers)
            assert_none_is_missing(alone, self.values, self.units, node)
            return assert_none_is_missing(anchors, self.values, self.units, node)


@pytest.mark.long
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
            patch.setattr(Screening, "distance", lambda *_: 0.0)
            try:
                attack.run()
            except AssertionError:
                missing += 1
    assert guilty > 100
    assert missing > 10


def test_survivors_are_complete_and_few_along_a_real_path(some_storage, some_units, rng):
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
        anchors = anchored(case, [lam], [np.array(case.problem.y)], workers)
        assert_none_is_missing(anchors, values, units, node_at(0.6 * lam, second))
        ((largest,),) = anchors.correlate([node_at(0.6 * lam, second)])
        assert largest == pytest.approx(np.abs(case.Z.T @ second[:-1]).max(), rel=1e-12)
        for share in (0.0, 0.1, 0.5, 0.9, 1.0):
            mix = (1 - share) * case.problem.y + share * second
            between = float(np.clip((1 - share) * lam + share * 0.6 * lam, 0.6 * lam, lam))
            for size in (0.0, 1e-9, 1e-2, 0.3):
                e = rng.standard_normal(60)
                e *= size * np.linalg.norm(mix[:-1]) / np.linalg.norm(e)
                node = node_at(between, residual_of(case, mix[:-1] + e, UNITS[units][0]))
                assert_none_is_missing(anchors, values, units, node)
                if size <= 1e-9:
                    assert anchors.survivors([node]).size < 200


@pytest.mark.parametrize("units", UNITS)
def test_the_distance_is_never_rounded_down(units, rng):
    values = random_values(rng, 25, 10) + 2.0
    case = make_case(values, rng.standard_normal(25), units=units)
    lams = [1.0, 0.7, 0.4]
    residuals = [residual_of(case, rng.standard_normal(25), UNITS[units][0]) for _ in lams]
    with Workers(1) as workers:
        anchors = anchored(case, lams, residuals, workers)
    for lam in (1.0, 0.9, 0.7, 0.55, 0.4):
        left = 0 if lam >= 0.7 else 1
        share = (np.longdouble(lams[left]) - np.longdouble(lam)) / (
            np.longdouble(lams[left]) - np.longdouble(lams[left + 1])
        )
        mix = (1 - share) * residuals[left] + share * residuals[left + 1]
        for size in (0.0, 1e-15, 1e-9, 1.0):
            residual = residual_of(case, (mix + size * rng.standard_normal(26)).astype(float)[:-1], UNITS[units][0])
            distance = np.sqrt(((residual - mix)[:-1] ** 2).sum()) / lam
            found = anchors.distance(node_at(lam, residual))
            assert distance <= found <= distance * (1 + 1e-9) + 1e-10


def test_three_anchors_serve_all_points_between_them(rng):
    values = random_values(rng, 40, 300)
    case = make_case(values, rng.standard_normal(40), units="standardized")
    lams = case.problem.lambda_max * np.array([1.0, 0.8, 0.7, 0.5])
    residuals = [residual_of(case, np.exp(-k) * case.y + 0.1 * rng.standard_normal(40), True) for k in range(4)]
    with Workers(1) as workers:
        anchors = anchored(case, lams.tolist(), residuals, workers)
        nodes = []
        for lam in np.linspace(lams[-1], lams[0], 23):
            residual = residual_of(case, rng.uniform(0.1, 1.0) * case.y + 0.1 * rng.standard_normal(40), True)
            nodes.append(node_at(float(lam), residual))
            assert_none_is_missing(anchors, values, "standardized", nodes[-1])
        together = anchors.survivors(nodes)
        for node in nodes:
            assert np.isin(anchors.survivors([node]), together).all()


def test_anchors_in_between_leave_fewer_columns_and_none_is_missing(rng):
    values = random_values(rng, 40, 300)
    case = make_case(values, rng.standard_normal(40), units="standardized")
    lam = case.problem.lambda_max
    residuals = [residual_of(case, np.exp(-k) * case.y + 0.1 * rng.standard_normal(40), True) for k in range(4)]
    middle = [node_at(share * lam, residual) for share, residual in zip((0.8, 0.7), residuals[1:], strict=False)]
    near = [node_at(node.lam * 0.999, node.residual * 1.0001) for node in middle]
    with Workers(1) as workers:
        anchors = anchored(case, [lam, 0.5 * lam], [residuals[0], residuals[3]], workers)
        before = anchors.survivors(near)
        largest = anchors.correlate(middle)[:, 0]
        after = anchors.survivors(near)
        for node in near:
            assert_none_is_missing(anchors, values, "standardized", node)
        exact = [np.abs(correlations(values, "standardized", node.residual)).max() for node in middle]
        np.testing.assert_allclose(largest, exact, rtol=1e-12)
        assert after.size < before.size / 2
        # The next stride begins where the last one ended, not at an anchor in between.
        anchors.restart()
        assert anchors.survivors([node_at(0.5 * lam, residuals[3])]).size < 300
        assert_none_is_missing(anchors, values, "standardized", node_at(0.49 * lam, residuals[3]))


def test_columns_are_weighed_by_their_entries():
    case = make_case(np.triu(np.ones((40, 40))), np.arange(40.0), "csc64")
    columns = LocalPass(case.problem, Workers(1))
    assert columns.fraction(np.arange(40)) == 1.0
    assert columns.fraction(np.array([0, 39])) == 41 / 820


def test_violators_are_the_columns_that_exceed_the_penalty_at_an_anchor(rng):
    values = random_values(rng, 40, 300)
    case = make_case(values, rng.standard_normal(40), units="centred")
    lam = case.problem.lambda_max
    residuals = [residual_of(case, rng.standard_normal(40), True) for _ in range(3)]
    with Workers(1) as workers:
        anchors = anchored(case, [0.9 * lam, 0.8 * lam, 0.5 * lam], residuals, workers)
    ratios = [
        correlations(values, "centred", residual) / lam
        for residual, lam in zip(residuals, (0.9 * lam, 0.8 * lam, 0.5 * lam), strict=True)
    ]
    exceeding = np.flatnonzero(np.max(ratios, axis=0) > 1.0)
    assert 0 < exceeding.size < 300
    np.testing.assert_array_equal(anchors.violators(), exceeding)


def test_the_norms_of_a_pass_cover_those_of_columns_whatever_the_means(rng):
    values = rng.standard_normal((30, 6)) * [1.0, 1e-8, 1e8, 1.0, 1.0, 0.0] + [0.0, 0.0, 0.0, 10.0, 1e6, 5.0]
    problem = make_case(values, rng.standard_normal(30), units="centred").problem
    norms = exact(values, np.zeros(30), True, False).norms
    means = np.array(problem.X.means)
    means[4] = 1e6  # of a column that is far from what it is counted from nothing is proved
    for X, is_far in ((problem.X, False), (problem.X._replace(means=means), True)):
        columns = LocalPass(problem._replace(X=X), Workers(1))
        mean_ratio = columns.begin(1e300, 0.5)  # no ceiling is above zero
        assert 1.0 <= mean_ratio < 1e4
        assert columns.survivors(1.0, 1e-30).tolist() == ([4] if is_far else [])
        for j in range(4):
            assert j in columns.survivors(1.0, float(0.5 / norms[j]))
            assert j not in columns.survivors(1.0, float(0.5 / norms[j]) * (1 - 1e-6))


def test_survivors_are_the_same_for_any_number_of_threads(monkeypatch, rng):
    monkeypatch.setattr("fwlasso._core.threads._CHUNK_BYTES", 512)
    values = random_values(rng, 20, 900)
    case = make_case(values, rng.standard_normal(20), units="standardized")
    lam = case.problem.lambda_max
    residual = residual_of(case, 0.5 * case.y + 0.01 * rng.standard_normal(20), True)
    found = []
    for n_threads in (1, 2, 3):
        with Workers(n_threads) as workers:
            anchors = anchored(case, [lam, 0.5 * lam], [np.array(case.problem.y), residual], workers)
            found.append(anchors.survivors([node_at(0.55 * lam, residual)]))
    assert 0 < found[0].size < 900
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])
