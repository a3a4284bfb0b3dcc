"""Frank-Wolfe for classes and counts: claims in long double, steps that descend, and the same points as other ways."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from attack.duality import PLAIN
from certified.test_losses import SAMPLES, make_case
from fwlasso import LassoPath, Status, lasso_path
from fwlasso._core.iterate import zero
from fwlasso._core.losses import Logistic, loss_value
from fwlasso._core.penalties import L1, L1Ball
from fwlasso._core.threads import Workers
from fwlasso.data.design import as_design
from fwlasso.problem.build import build_problem
from fwlasso.solvers.frank_wolfe import VARIANTS
from fwlasso.solvers.frank_wolfe_losses import FrankWolfeOfLosses
from fwlasso.solvers.protocol import Burst, Stopping
from judge import judge_loss
from programs import run_program
from test_losses_of_paths import make_data

# As plain Python, for every combination would be compiled by itself.
EVERYWHERE = """
import sys
sys.path[:0] = sys.argv[1:]
import warnings
warnings.simplefilter("ignore")
from solvers.test_frank_wolfe_losses import judge_some
for seed in range(0, 40, 5):
    judge_some(seed)
"""


def judge_some(seed: int) -> None:
    rng, name = np.random.default_rng(seed), ("logistic", "poisson")[seed % 2]
    case = make_case(name, SAMPLES[seed % len(SAMPLES)], seed)
    X = sp.csc_array(case.X) if seed // 2 % 2 else np.asfortranarray(case.X)
    grid, solver = ("radii", "alphas")[seed // 4 % 2], ("fw", "sfw")[seed // 8 % 2]
    stop, variant = ("gap", "change")[seed // 3 % 2], "paper" if grid == "radii" and seed % 3 == 0 else "default"
    keywords = {"sample_size": min(case.X.shape[1], 5)} if solver == "sfw" else {}
    keywords |= {name: given for name, given in case.asked._asdict().items() if given is not getattr(PLAIN, name)}
    path = lasso_path(
        X, case.y, loss=name, **{grid: 4}, eps=0.05, solver=solver, stop=stop, variant=variant, max_iter=15,
        tol=10.0 ** rng.uniform(-3, -1), standardize=case.standardize, fit_intercept=case.fit_intercept,
        random_state=seed, **keywords,
    )  # fmt: skip
    judge_loss(path, X, case.y, case.asked, tuple(Status))


def test_every_claim_holds_in_long_double(pytestconfig):
    run_program(EVERYWHERE, pytestconfig.rootpath / "tests", NUMBA_DISABLE_JIT=1)


@pytest.fixture(scope="module")
def data():
    return make_data("logistic", 0, p=300)


@pytest.fixture(scope="module")
def reference(data):
    return lasso_path(*data, loss="logistic", alphas=6, eps=0.1, tol=1e-8)


@pytest.mark.parametrize("solver", ["fw", "sfw"])
def test_points_are_those_of_the_certified_path(data, reference, solver):
    radii = np.append(reference.radii[1:], 0.0)
    path = lasso_path(*data, loss="logistic", radii=radii, solver=solver, stop="gap", tol=1e-2, random_state=0)
    assert set(path.statuses) == {Status.CERTIFIED}
    assert path.intercepts[0] == pytest.approx(reference.intercepts[0])
    np.testing.assert_allclose(path.r2[1:], reference.r2[1:], atol=1e-2)
    np.testing.assert_allclose(path.alphas[1:], reference.alphas[1:], rtol=0.1)
    judge_loss(path, *data)


def test_a_gap_over_a_sample_is_never_called_certified(data):
    """Draws that do not see the only column of use have no gap, and all others are proved over all columns."""
    X, y = data
    X = np.asfortranarray(np.column_stack([1e-6 * X[:, :200], 3.0 * (y - y.mean()) + 0.1 * X[:, 0]]))
    keywords = {"loss": "logistic", "solver": "sfw", "sample_size": 1, "stop": "gap", "tol": 0.1, "max_iter": 20}
    keywords["random_state"] = 0
    with pytest.warns(ConvergenceWarning, match="The iteration limit was reached"):
        path = lasso_path(X, y, radii=[1.0], **keywords)
    assert path.gaps[0] > 0.1
    assert path.statuses == (Status.MAX_ITER,)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("penalty", [L1Ball(4.0), L1(2.0)])
def test_every_step_descends(data, penalty, variant):
    X, y = data
    with Workers(1) as workers:
        problem = build_problem(as_design(X), y, True, False, workers, loss=Logistic)
        own = VARIANTS[variant]._replace(always_scaled=False)
        solver, iterate = FrankWolfeOfLosses(None, None, 0, own), zero(problem)
        burst = Burst(problem, penalty, Stopping(), 1, workers)
        values = []
        for _ in range(40):
            iterate = solver.advance(burst, iterate).iterate
            eta = solver._at.eta
            of_penalty = penalty.lam * iterate.l1 if isinstance(penalty, L1) else 0.0
            values.append(loss_value(problem.loss, eta) + of_penalty)
            assert abs(solver._at.theta.sum()) <= 1e-4 * np.abs(solver._at.theta).sum()
    assert (np.diff(values) < 0.0).all()
    assert isinstance(penalty, L1) or iterate.l1 <= 4.0 * (1.0 + 1e-12)


def test_a_path_in_segments_goes_on_with_the_same_bits(data, tmp_path):
    keywords = {"loss": "logistic", "radii": 9, "solver": "sfw", "random_state": 0, "max_iter": 50}
    keywords |= {"eps": 0.3, "checkpoint": tmp_path / "run", "stop": "paper", "tol": 1e-2}
    first = lasso_path(*data, **keywords)
    assert first.settings["first_sample"] == 194
    assert "kappa" not in first.settings
    (tmp_path / "run" / "segments" / "2.npz").unlink()
    np.testing.assert_array_equal(first.coefs.toarray(), lasso_path(*data, **keywords).coefs.toarray())
    first.save(tmp_path / "path.npz")
    with pytest.raises(ValueError, match="loss: the constant of a level is that of the Lasso"):
        LassoPath.load(tmp_path / "path.npz").confidence()


def test_a_callback_ends_the_path(data):
    keywords = {"loss": "logistic", "radii": 5, "eps": 0.3, "solver": "fw"}
    with pytest.warns(ConvergenceWarning, match="The callback asked to stop"):
        path = lasso_path(*data, **keywords, callback=lambda told: told.point == 2)
    assert path.ending is Status.STOPPED
    assert len(path) < 5
