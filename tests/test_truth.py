"""Nothing that is claimed is false: cases of `make attack`, and what is promised of the default solver."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from attack.cases import DRAWN, PROMISES, make_case, promised, run
from attack.judge import gap_of, integers, judge, point_of, root, truth_of
from attack.options import ENABLED
from attack.workers import Asked, Worker
from fwlasso import Status, lasso_path
from judge import exact, forms_of, recomputed_gap

N_CASES = 600
# Of options: what kernels are compiled for in other tests, too.
FEW_KINDS, FEW_SOLVERS = {"dense64", "rows", "frame", "csc64"}, {"certified", "gram", "working-set"}

pytestmark = [pytest.mark.compiled, pytest.mark.long]


@pytest.mark.parametrize("generator", DRAWN)
def test_every_claim_is_true(generator):
    for number in range(DRAWN.index(generator), N_CASES, len(DRAWN)):
        case = make_case(0, number)
        assert case.generator == generator
        if generator in ENABLED and (case.kind not in FEW_KINDS or case.options["solver"] not in FEW_SOLVERS):
            continue  # other kernels would be compiled for a case or two
        faults = [fault for fault in run(case).faults if fault.kind != "refused"]
        assert not faults, f"python -m tests.attack --case {number}: {case}"


@pytest.mark.parametrize("name", PROMISES)
def test_promises_are_kept(name):
    promise = PROMISES[name]
    points = certified = 0
    for number in range(0, promise.n_sets, promise.quick):
        verdict = run(promised(name, number))
        assert not verdict.faults, f"python -m tests.attack --case {name}/{number}"
        points, certified = points + verdict.points, certified + verdict.certified
    assert certified >= promise.share * points > 0 or promise.share == 0.0


def test_aborts_and_hangs_belong_to_their_case():
    worker = Worker(Asked(seed=0, names=DRAWN, strict=False, jobs=1, limit=600.0))
    try:
        worker.send("0")
        worker.process.kill()
        worker.process.join()
        assert worker.receive().counts() == {"aborts": 1}
        worker.send("0")
        assert worker.receive() is None
        worker.deadline = 0.0
        assert worker.receive().counts() == {"hangs": 1}
    finally:
        worker.process.kill()
        worker.process.join()


def test_numbers_are_integers_times_a_power_of_two():
    values = np.array([0.0, 5e-324, -1.5, 0.1, 1e308])
    n, scale = integers(values)
    assert [scale * k for k in n] == [Fraction(x) for x in values.tolist()]


@pytest.mark.parametrize("square", [Fraction(2), Fraction(1, 3), Fraction(10) ** 600, Fraction(7, 10**601)])
def test_roots_have_three_hundred_bits(square):
    assert abs(root(square) ** 2 / square - 1) < Fraction(1, 2**298)


@pytest.mark.parametrize("grid", ["alphas", "radii"])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_judge_agrees_with_long_double(grid, standardize, fit_intercept, rng):
    X, y = rng.standard_normal((20, 8)) + 3.0, rng.standard_normal(20)
    path = lasso_path(X, y, fit_intercept=fit_intercept, standardize=standardize, tol=1e-2, **{grid: 5})
    given, truth = exact(X, y, fit_intercept, standardize), truth_of(X, y, fit_intercept, standardize)
    for k, penalty in enumerate(forms_of(path)):
        coefs = path.scaled_coefs[:, [k]].toarray()[:, 0]
        point = point_of(truth, {j: Fraction(coefs[j]) for j in np.flatnonzero(coefs).tolist()})
        value = Fraction(path.radii[k]) if grid == "radii" else 20 * Fraction(path.alphas[k])
        found = gap_of(truth, point, grid, value)
        assert float(found) == pytest.approx(float(recomputed_gap(given, penalty, coefs)), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("below truth", lambda path: {"gaps": path.gaps * (1.0 - 1e-9)}),
        ("above tol", lambda path: {"statuses": (Status.CERTIFIED,) * len(path)}),
        ("non-finite", lambda path: {"gaps": path.gaps * math.nan}),
        ("non-finite", lambda path: {"intercepts": path.intercepts * math.inf}),
        ("wrong", lambda path: {"intercepts": path.intercepts * (1.0 + 1e-12)}),
        ("wrong", lambda path: {"coefs": path.coefs * (1.0 + 1e-9), "scaled_coefs": path.scaled_coefs * (1.0 + 1e-9)}),
        ("wrong", lambda path: {"r2": path.r2 + 1e-6}),
    ],
)
def test_a_false_path_is_found(kind, changes, rng):
    X, y = rng.standard_normal((20, 8)), rng.standard_normal(20)
    with pytest.warns(UserWarning, match="did not meet"):
        path = lasso_path(X, y, alphas=[0.05], solver="cd", tol=0.0, max_iter=2)
    assert not judge(path, X, X, y).faults
    assert kind in judge(replace(path, **changes(path)), X, X, y).counts()
