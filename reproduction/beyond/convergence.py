"""The convergence guarantee: mean distances to the minimum over many draws, beside the claimed bound and a proved one.

The needle has one column that matters among p: E h_k = 1/2 (1 - kappa/p)^k, which the claimed bound does not allow. On
random columns samples are worth far more than kappa/p, and both bounds hold. With away steps the distance falls
linearly on a strongly convex problem, with the same draws. See docs/method/convergence.md.
"""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fwlasso.path import lasso_path

from ..pictures import legend_below, line_of, log_axes, panels
from ..study import Case, Claim, Figure, Findings, Part, Record, Setup, Table, Task
from ..text import listed, number, share

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_NAME: Final = "convergence"
#: Runs of a few steps that every mean is over, for one seed of the study.
RUNS_PER_SEED: Final = 100
_TIGHT: Final = 1e-12  # relative gap of the solution that h is measured from
_AWAY: Final = "away"


class Example(NamedTuple):
    """A problem at one radius, from a = 0."""

    label: str
    make: Callable[[], tuple[NDArray[np.float64], NDArray[np.float64], float]]  # X, y and the radius
    n_sampled: int  # kappa
    steps: tuple[int, ...]
    exact: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None  # E h_k by k, where it is known


def needle(p: int = 100) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the problem whose only column that matters is the first of p."""
    return np.asfortranarray(np.eye(p)), np.eye(p)[0], 1.0


def random_columns() -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return independent Gaussian columns, and a response of ten of them with noise."""
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((30, 200)))
    y = X[:, :10] @ rng.standard_normal(10) + rng.standard_normal(30)
    return X, y, float(np.linalg.norm(y)) / 3.0


def tall_columns() -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return fewer columns than samples, and a radius whose solution is inside a face of the ball."""
    rng = np.random.default_rng(3)
    X = np.asfortranarray(rng.standard_normal((60, 40)))
    return X, X[:, :8] @ rng.standard_normal(8) + rng.standard_normal(60), 4.0


EXAMPLES: Final[dict[str, Example]] = {
    "needle": Example(
        "the needle, 1 of 100 columns a step", needle, 1, (1, 5, 10, 20, 35, 50, 75, 99, 150, 200),
        lambda steps: 0.5 * 0.99**steps,
    ),
    "random": Example("random columns, 20 of 200 a step", random_columns, 20, (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144)),
}  # fmt: skip
TALL: Final = Example(
    "40 columns of 60 samples, 4 a step", tall_columns, 4, (5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 400)
)


def curvature(X: NDArray[np.float64], radius: float) -> float:
    """Return C = sup 1/2 ||X(s - a)||^2 over two points of the ball: 2 radius^2 max ||z_j||^2."""
    return 2.0 * radius**2 * float((X**2).sum(axis=0).max())


def distances(example: Example, n_steps: int, n_runs: int, solver: str = "sfw") -> NDArray[np.float64]:
    """Return f(a_k) - f* after k steps, for as many seeds as there are runs."""
    X, y, radius = example.make()
    common: dict[str, Any] = {"radii": [radius], "fit_intercept": False}
    best = _loss(X, y, lasso_path(X, y, tol=_TIGHT, **common))
    steps: dict[str, Any] = {
        "solver": solver, "variant": "paper" if solver == "sfw" else "default", "sample_size": example.n_sampled,
        "stop": "gap", "tol": 0.0, "max_iter": n_steps, "certify": False, "n_threads": 1,
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # runs end by the number of their steps
        paths = [lasso_path(X, y, random_state=seed, **steps, **common) for seed in range(n_runs)]
    return np.array([_loss(X, y, path) for path in paths]) - best


def _loss(X: NDArray[np.float64], y: NDArray[np.float64], path: Any) -> float:
    return 0.5 * float(np.sum((y - X @ path.coefs[:, [0]].toarray()[:, 0]) ** 2))


def tasks(setup: Setup) -> list[Task]:
    """One task for every example, and one for away steps."""
    n_runs = RUNS_PER_SEED * setup.n_seeds
    settings = {"runs": RUNS_PER_SEED, "steps": list(TALL.steps)}
    away = Task(f"{_NAME}/{_AWAY}", 0.1 * RUNS_PER_SEED, partial(_run_away, RUNS_PER_SEED), settings)
    return [away] + [
        Task(
            f"{_NAME}/{key}",
            0.03 * n_runs,
            partial(_run, example, n_runs),
            {"runs": n_runs, "steps": list(example.steps)},
        )
        for key, example in EXAMPLES.items()
    ]


def _run(example: Example, n_runs: int) -> Record:
    X, y, radius = example.make()
    found = [distances(example, n_steps, n_runs) for n_steps in example.steps]
    first = 0.5 * float(y @ y) - _loss(X, y, lasso_path(X, y, radii=[radius], fit_intercept=False, tol=_TIGHT))
    return {
        "runs": n_runs,
        "steps": list(example.steps),
        "means": [float(h.mean()) for h in found],
        "errors": [float(h.std(ddof=1) / np.sqrt(h.size)) for h in found],
        "curvature": curvature(X, radius),
        "share": example.n_sampled / X.shape[1],
        "first": first,
        "plain": [float(distances(example._replace(n_sampled=X.shape[1]), k, 1)[0]) for k in example.steps],
    }


def _run_away(n_runs: int) -> Record:
    """Return means by solver; as many seeds as that are enough for curves so far apart."""
    X, y, radius = TALL.make()
    best = _loss(X, y, lasso_path(X, y, radii=[radius], fit_intercept=False, tol=_TIGHT))
    found = {solver: [distances(TALL, n_steps, n_runs, solver) for n_steps in TALL.steps] for solver in ("afw", "sfw")}
    return {
        "runs": n_runs,
        "steps": list(TALL.steps),
        "means": {solver: [float(h.mean()) for h in row] for solver, row in found.items()},
        "errors": {solver: [float(h.std(ddof=1) / np.sqrt(n_runs)) for h in row] for solver, row in found.items()},
        "rate": TALL.n_sampled / X.shape[1] * away_rate(X, radius),
        "first": 0.5 * float(y @ y) - best,
    }


def away_rate(X: NDArray[np.float64], radius: float) -> float:
    """Return r = mu/(8C) of away steps, mu the least eigenvalue of X'X times radius^2/p, the squared width of the ball.

    The atoms are its vertices and the origin.
    """
    mu: float = np.linalg.eigvalsh(X.T @ X)[0] * radius**2 / X.shape[1]
    return min(0.5, mu / (8.0 * curvature(X, radius)))


def claimed(C: float, steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the paper's 4C/(k + 2)."""
    return 4.0 * C / (steps + 2.0)


def proved(C: float, share: float, first: float, steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 4C/(k kappa/p + 4C/h_0), for h_0 <= 2C."""
    return 4.0 * C / (share * steps + 4.0 * C / first)


def show(_: Setup, records: Mapping[str, Record]) -> Findings:
    """Return a table and a picture of the means and both bounds, and the verdict on the claim."""
    known = {key: records[f"{_NAME}/{key}"] for key in EXAMPLES if f"{_NAME}/{key}" in records}
    away = records.get(f"{_NAME}/{_AWAY}")
    beside = _show_away(away) if away else Findings([], [], [])
    if not known:
        return beside
    rows, cases = [], []
    for key, record in known.items():
        steps, means = np.array(record["steps"], np.float64), np.array(record["means"])
        errors, C = np.array(record["errors"]), record["curvature"]
        bounds = claimed(C, steps), proved(C, record["share"], record["first"], steps)
        for k, mean, error, theirs, ours in zip(steps, means, errors, *bounds, strict=True):
            shown = f"{number(mean)} ± {number(1.96 * error)}"
            rows.append((EXAMPLES[key].label, f"{k:.0f}", shown, number(theirs), number(ours)))
        worst = int(np.argmax(means / bounds[0]))
        evidence = (
            f"after {steps[worst]:.0f} steps the mean over {record['runs']:,} runs is {number(means[worst])} "
            f"(95 % interval ± {number(1.96 * errors[worst])}), where {number(bounds[0][worst])} is claimed"
        )
        if key == "needle":  # one problem that contradicts it is enough
            holds = bool(means[worst] - 3.0 * errors[worst] <= bounds[0][worst])
            cases.append(Case(EXAMPLES[key].label, holds, evidence))
    why = "The bound that can be proved carries the sampling ratio: see docs/method/convergence.md."
    text = "With any number of columns a step, the mean distance to the minimum is at most 4C/(k + 2)."
    header = ("problem", "steps", "mean of h, 95 % interval", "claimed bound", "proved bound")
    n_runs = listed(sorted({f"{record['runs']:,}" for record in known.values()}))
    note = f"h = f(a) - f*, from a = 0, means over {n_runs} independent seeds; C is the curvature of f on the ball."
    table = Table(_NAME, "The convergence guarantee", header, rows, note)
    figure = Figure(_NAME, "Mean distance to the minimum, and two bounds", lambda: _draw(known))
    claims = [_plain_claim(known), Claim(text, cases, why, "section 4.4, Proposition 2")]
    return Findings([table, *beside.tables], [figure, *beside.figures], [], claims)


def _plain_claim(known: Mapping[str, Record]) -> Claim:
    """Hold the distances of Frank-Wolfe on all columns against the same bound."""
    cases = []
    for key, record in known.items():
        steps = np.array(record["steps"], np.float64)
        most = max(0.0, float(np.max(np.array(record["plain"]) / claimed(record["curvature"], steps))))
        shown = f"at most {share(most)} of the bound, up to {steps[-1]:.0f} steps; nothing is random"
        cases.append(Case(EXAMPLES[key].label.partition(",")[0], most <= 1.0, shown))
    text = "Frank-Wolfe on all columns: the distance to the minimum is at most 4C/(k + 2) after k steps."
    return Claim(text, cases, place="section 3.2, Proposition 1")


def _show_away(record: Record) -> Findings:
    """Return a table and a picture of sampled away steps beside plain steps with samples of the same size."""
    shown = [
        [f"{number(mean)} ± {number(1.96 * error)}" for mean, error in zip(means, record["errors"][name], strict=True)]
        for name, means in record["means"].items()
    ]
    rows = [(str(k), *cells) for k, *cells in zip(record["steps"], *shown, strict=True)]
    header = ("steps", *(f"mean of h, {_SAMPLED[name]}" for name in record["means"]))
    note = (
        f"{TALL.label}, from a = 0, {record['runs']} seeds, 95 % intervals. What is proved with away steps is linear, "
        f"too, but for the worst face of the ball: h falls by {number(50.0 * record['rate'])} % a step on average."
    )
    table = Table(_AWAY, "Samples with away steps", header, rows, note)
    return Findings([table], [Figure(_AWAY, "Samples with and without away steps", lambda: _draw_away(record))], [])


_SAMPLED: Final = {"afw": "away-step FW", "sfw": "FW"}


def _draw_away(record: Record) -> "Picture":
    figure, (ax,) = panels(1, size=(8.6, 4.8))
    steps = np.array(record["steps"], np.float64)
    for solver, means in record["means"].items():
        errors = 1.96 * np.array(record["errors"][solver])
        label = f"{_SAMPLED[solver]}, samples of 10 %: mean of h, 95 % interval"
        ax.errorbar(steps, means, yerr=errors, label=label, **line_of(solver, every_point=True))
    bound = record["first"] * (1.0 - record["rate"]) ** (steps / 2)
    ax.plot(steps, bound, color="black", linewidth=0.8, label=r"proved with away steps: $(1 - r\kappa/p)^{k/2} h_0$")
    log_axes(ax, "y")
    ax.set_title(f"{TALL.label}, {record['runs']:,} runs", fontsize="medium")
    ax.set_xlabel("steps k")
    ax.set_ylabel("h = f(a) - f*")
    legend_below(figure, [ax], n_columns=1)
    return figure


def _draw(known: Mapping[str, Record]) -> "Picture":
    figure, axes = panels(len(known), size=(4.7, 3.8))
    for ax, (key, record) in zip(axes, known.items(), strict=True):
        steps = np.array(record["steps"], np.float64)
        C = record["curvature"]
        ax.errorbar(
            steps, record["means"], yerr=1.96 * np.array(record["errors"]), fmt="o", markersize=4, color="black",
            label="mean of h over the draws, with its 95 % interval",
        )  # fmt: skip
        fine = np.linspace(steps[0], steps[-1], 200)
        exact = EXAMPLES[key].exact
        if exact is not None:
            ax.plot(fine, exact(fine), color="black", linewidth=0.8, label="its exact value")
        ax.plot(fine, claimed(C, fine), label="claimed: 4C/(k + 2)", color="#AA3377", linestyle="--")
        ours = proved(C, record["share"], record["first"], fine)
        ax.plot(fine, ours, label="proved: 4C/(k κ/p + 4C/h₀)", color="#777777", linewidth=2.2)
        log_axes(ax, "y")
        ax.set_title(f"{EXAMPLES[key].label}, {record['runs']:,} runs", fontsize="medium")
        ax.set_xlabel("steps k")
        ax.set_ylabel("h = f(a) - f*")
    legend_below(figure, axes, n_columns=2)
    return figure


PART = Part(_NAME, "The convergence guarantee", tasks, show)
