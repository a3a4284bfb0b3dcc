"""Other packages find the same models: objectives beside ours, and their gaps by the judge."""

import shutil
import subprocess
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet

from attack.duality import General
from fwlasso import LassoPath, lasso_path
from fwlasso._core.penalties import L1
from judge import Exact, exact, objective, recomputed_gap, wide


def has_glmnet() -> bool:
    command = ["Rscript", "-e", "library(glmnet)"]
    return (
        shutil.which("Rscript") is not None
        and subprocess.run(command, capture_output=True, check=False).returncode == 0
    )


class Asked(NamedTuple):
    """A problem of our own units, and a path of it."""

    X: np.ndarray
    y: np.ndarray
    asked: General
    fit_intercept: bool = True

    @property
    def given(self) -> Exact:
        return exact(self.X, self.y, self.fit_intercept, False, self.asked)

    def path(self, alphas: Any, tol: float = 1e-13) -> LassoPath:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # where float64 does not tell such gaps
            return lasso_path(
                self.X, self.y, alphas=alphas, tol=tol, fit_intercept=self.fit_intercept, **self.asked.keywords()
            )

    def alphas(self) -> np.ndarray:
        """A few alphas, beginning where some columns are active."""
        size = np.abs((self.X - self.X.mean(axis=0)).T @ (self.y - self.y.mean())).max() / len(self.y)
        return size * np.array([0.5, 0.1, 0.02])

    def compare(self, b: np.ndarray, ours: np.ndarray, alpha: float, share: float = 1e-12) -> float:
        """Our objective is no larger than theirs but for `share` of it; return their gap."""
        given, lam = self.given, L1(self.asked.l1_ratio * alpha * self.given.total)
        b, ours = (given.inside(wide(coefs) / given.factors) for coefs in (b, ours))
        assert not given.is_outside(b)
        assert not given.is_outside(ours)
        assert objective(given, lam, ours) <= (1 + wide(share)) * objective(given, lam, b)
        return float(recomputed_gap(given, lam, b))


def random_problem(seed: int, m: int, p: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, p)) * 10.0 ** rng.uniform(-0.5, 0.5, p) + rng.standard_normal(p)
    return X, X[:, :4] @ [2.0, -1.5, 1.0, 0.5] + rng.standard_normal(m) + 2.0, rng


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.9, 0.5, 0.1])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("shape", [(60, 15), (25, 50)], ids=["tall", "wide"])
def test_models_of_scikit_learn(shape, fit_intercept, l1_ratio, positive):
    X, y, rng = random_problem(1, *shape)
    asked = General(rng.uniform(0.2, 3.0, len(y)), l1_ratio=l1_ratio, positive=positive)
    problem = Asked(X, y, asked, fit_intercept)
    alphas = problem.alphas()
    path = problem.path(alphas)
    for alpha, ours in zip(alphas, path.coefs.toarray().T, strict=True):
        settings = {"tol": 1e-15, "max_iter": 10**6, "positive": positive, "fit_intercept": fit_intercept}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ElasticNet(alpha, l1_ratio=l1_ratio, **settings).fit(X, y, sample_weight=asked.sample_weight)
        assert problem.compare(model.coef_, ours, alpha) <= 1e-11
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert problem.compare(ours, model.coef_, alpha) <= 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_nonnegative_least_squares_of_scipy(seed):
    """A penalty of nothing: of the largest one 1e-10."""
    X, y, _ = random_problem(seed, 40, 12)
    problem = Asked(X, y, General(positive=True), fit_intercept=False)
    alpha = 1e-10 * float(np.abs(X.T @ y).max()) / 40
    found, _ = nnls(X, y)
    assert problem.compare(found, problem.path([alpha], 1e-10).coefs.toarray()[:, 0], alpha, 1e-9) <= 1e-8


@pytest.mark.parametrize("seed", range(5))
def test_least_squares_in_boxes_of_scipy(seed):
    """There is no penalty, and all sides have bounds."""
    X, y, rng = random_problem(seed, 40, 12)
    lower, upper = -rng.uniform(0.0, 1.0, 12), rng.uniform(0.0, 1.0, 12)
    problem = Asked(X, y, General(lower=lower, upper=upper), fit_intercept=False)
    found = lsq_linear(X, y, (lower, upper), tol=1e-15, max_iter=1000, method="bvls").x
    assert problem.compare(found, problem.path([0.0], 1e-12).coefs.toarray()[:, 0], 0.0) <= 1e-13


# By a file of numbers in, and one out. lambda alpha is our alpha l1_ratio, lambda (1 - alpha) is s (1 - l1_ratio) alpha
# with s the root mean square of y, by which glmnet divides y, but not the ridge. It divides penalty factors by their
# mean, in which an infinite one counts as one, and weights by their sum, as we do.
_GLMNET = """
suppressMessages(library(glmnet))
glmnet.control(fdev = 0, devmax = 1)
for (folder in list.dirs(commandArgs(TRUE)[1], recursive = FALSE)) {
  read <- function(name) as.matrix(read.table(file.path(folder, name)))
  X <- read("X"); y <- c(read("y")); w <- c(read("w")); v <- c(read("v")); alphas <- c(read("alphas"))
  l1_ratio <- c(read("l1_ratio"))
  s <- sqrt(sum(w * (y - sum(w * y) / sum(w))^2) / sum(w))
  both <- l1_ratio + s * (1 - l1_ratio)
  mean_factor <- mean(ifelse(is.finite(v), v, 1))
  fit <- glmnet(X, y, weights = w, alpha = l1_ratio / both, lambda = alphas * both * mean_factor, penalty.factor = v,
    lower.limits = c(read("lower")), upper.limits = c(read("upper")), standardize = FALSE, thresh = 1e-20, maxit = 1e8)
  beta <- format(as.matrix(fit$beta), digits = 17)
  write.table(beta, file.path(folder, "found"), quote = FALSE, row.names = FALSE, col.names = FALSE)
}
"""


def asked_of_glmnet(p: int, m: int, rng: np.random.Generator) -> dict[str, General]:
    v, w = rng.uniform(0.3, 3.0, p), rng.uniform(0.1, 5.0, m)
    some = np.where(np.arange(p) == 2, np.inf, np.where(np.arange(p) == 5, 0.0, v))
    lower, upper = -rng.uniform(0.0, 1.0, p), rng.uniform(0.0, 1.0, p)
    return {
        "weights": General(w),
        "factors": General(penalty_factor=v),
        "excluded and free": General(penalty_factor=some),
        "positive": General(positive=True),
        "box": General(lower=lower, upper=upper),
        "net": General(l1_ratio=0.5),
        "all": General(w, None, v, lower, upper, l1_ratio=0.7),
    }


@pytest.mark.long
@pytest.mark.skipif(not has_glmnet(), reason="no R with glmnet is found")
def test_models_of_glmnet(tmp_path: Path):
    problems = {}
    for shape in ((60, 15), (25, 40)):
        X, y, rng = random_problem(2, *shape)
        for name, asked in asked_of_glmnet(shape[1], shape[0], rng).items():
            problem, folder = Asked(X, y, asked), tmp_path / f"{name} {shape[1]}"
            problems[folder] = problem
            folder.mkdir()
            lower, upper = asked.bounds(shape[1])
            free = ~np.isinf(asked.factors(shape[1]))
            numbers = {"X": X, "y": y, "w": np.ones(len(y)) if asked.sample_weight is None else asked.sample_weight}
            numbers |= {"v": asked.factors(shape[1]), "alphas": problem.alphas(), "l1_ratio": [asked.l1_ratio]}
            numbers |= {"lower": np.where(free, lower, -np.inf), "upper": np.where(free, upper, np.inf)}
            for file, values in numbers.items():
                np.savetxt(folder / file, values)
    subprocess.run(["Rscript", "-e", _GLMNET, str(tmp_path)], check=True, capture_output=True)
    for folder, problem in problems.items():
        ours = problem.path(problem.alphas()).coefs.toarray()
        for k, b in enumerate(np.loadtxt(folder / "found", ndmin=2).T):
            assert problem.compare(b, ours[:, k], problem.alphas()[k]) <= 1e-9, folder.name
