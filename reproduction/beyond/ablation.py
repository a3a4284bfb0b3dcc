"""What each of our four changes of Algorithm 2 does, one at a time: from the letter, and away from ours.

The letter scales the warm start always, never looks at the active columns, ends a point on a step of zero, and draws
single columns. The package knows the letter and ours; what lies between is registered here, as solvers of the study.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple

from fwlasso._core.draws import default_block_size
from fwlasso.solvers.frank_wolfe import VARIANTS, FrankWolfe, Variant
from fwlasso.solvers.protocol import SolverSettings
from fwlasso.solvers.registry import SOLVERS, pointwise, register

from ..intervals import of_mean
from ..measuring import idle_points, run
from ..methods import METHODS, Method
from ..sets import load
from ..study import Findings, Part, Record, Setup, Table, Task
from ..summary import mean_of
from ..text import number, power, share
from ..units import STOPPING

_NAME: Final = "ablation"
_SET: Final = "pyrim"
_SHARE: Final = 0.01
_EXACT: Final = METHODS["certified-radii"]
_LETTER: Final = VARIANTS["paper"]
_OURS: Final = VARIANTS["default"]
#: Our changes by name: the field of `Variant` that each of them is; blocks are none.
_SWITCHES: Final = {
    "warm start scaled only where that helps": "always_scaled",
    "active columns looked at": "most_looked_at",
    "draws without descent go round": "longest_round",
}
_BLOCKS: Final = "blocks of columns"


class Mixture(NamedTuple):
    """A method between the letter and ours."""

    key: str
    label: str
    variant: Variant
    blocks: bool


def _mixtures() -> list[Mixture]:
    """Return the letter, with one change each, ours without one each, and ours; all count as the paper does."""
    ours = _OURS._replace(counts_like_paper=True)
    with_one = [
        Mixture(f"with-{field}", f"with: {label}", _LETTER._replace(**{field: getattr(ours, field)}), False)
        for label, field in _SWITCHES.items()
    ]
    without_one = [
        Mixture(f"without-{field}", f"without: {label}", ours._replace(**{field: getattr(_LETTER, field)}), True)
        for label, field in _SWITCHES.items()
    ]
    return [
        Mixture("letter", "Algorithm 2 to the letter", _LETTER, False),
        *with_one,
        Mixture("with-blocks", f"with: {_BLOCKS}", _LETTER, True),
        *without_one,
        Mixture("without-blocks", f"without: {_BLOCKS}", ours, False),
        Mixture("ours", "ours", ours, True),
    ]


MIXTURES: Final = _mixtures()


def _make(mixture: Mixture, settings: SolverSettings) -> FrankWolfe:
    return FrankWolfe(settings.sample_size, settings.block_size, settings.seed, mixture.variant)


def _method(mixture: Mixture, n_sampled: int) -> Method:
    """Return the method of a mixture, whose solver is registered."""
    solver = f"{_NAME}-{mixture.key}"
    if solver not in SOLVERS:
        register(solver, pointwise(("radii",), SOLVERS["sfw"].stops, partial(_make, mixture)))
    block_size = default_block_size(n_sampled) if mixture.blocks else 1
    settings = {"solver": solver, "sample_size": n_sampled, "block_size": block_size, **STOPPING}
    return Method(mixture.key, mixture.label, "radii", settings, is_random=True)


def tasks(setup: Setup) -> list[Task]:
    """One task for every mixture, with all its seeds."""
    if _SET not in setup.sets:
        return []
    return [
        Task(
            f"{_NAME}/{_SET}/{mixture.key}",
            0.3 * setup.n_seeds,
            partial(_run, setup, mixture),
            {
                "seeds": setup.n_seeds,
                "share": _SHARE,
                **mixture.variant._asdict(),
                "blocks": mixture.blocks,
                **STOPPING,
            },
        )
        for mixture in MIXTURES
    ]


def _run(setup: Setup, mixture: Mixture) -> Record:
    loaded = load(_SET, setup.data, setup.n_threads)
    method = _method(mixture, round(_SHARE * loaded.data.X.shape[1]))
    paths = [run(loaded, method, seed, setup.n_threads).path for seed in range(setup.n_seeds)]
    data = loaded.data
    errors = [loaded.mse(data.X, data.y, path.coefs, path.intercepts)[-1] for path in paths]
    exact = run(loaded, _EXACT, 0, setup.n_threads).path
    best = float(loaded.mse(data.X, data.y, exact.coefs, exact.intercepts)[-1])
    return {
        "iterations": [int(path.counters.iterations.sum()) for path in paths],
        "n_active": [float(path.n_active.mean()) for path in paths],
        "dot_products": [int(path.counters.dot_products) - data.X.shape[1] for path in paths],  # z_j'y do not count
        "last_objective": [float(error) / best for error in errors],
        "stalled": [len(idle_points(path)) for path in paths],
    }


def show(_: Setup, records: Mapping[str, Record]) -> Findings:
    """Return a table with the letter and ours at its ends."""
    found = [(mixture, records[key]) for mixture in MIXTURES if (key := f"{_NAME}/{_SET}/{mixture.key}") in records]
    if not found:
        return Findings([], [], [])
    rows, data = [], []
    for mixture, record in found:
        means = {field: of_mean(mean_of(values)) for field, values in record.items()}
        forms = {"dot_products": power}
        cells = [mean.text(forms.get(field, number)) for field, mean in means.items()]
        n_runs = len(record["iterations"])
        rows.append((mixture.label, f"{n_runs}", *cells))
        data.append({"mixture": mixture.key, "runs": n_runs, **{field: mean.value for field, mean in means.items()}})
    header = ("FW", "runs", "iterations", "active features", "dot products", "last objective", "zero steps")
    note = (
        f"Pyrim, samples of {share(_SHARE)}. The letter, and one of our four changes each; ours, and one of them taken "
        "back each. Dot products are counted as in the paper, looks at active columns included. The last objective is "
        "over its minimum. Zero steps are points that ended on samples without descent."
    )
    return Findings([Table(_NAME, "Algorithm 2 to the letter, and our four changes", header, rows, note, data)], [], [])


PART = Part(_NAME, "What our changes of the algorithm do", tasks, show, makes=("tables",))
