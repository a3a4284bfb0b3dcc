"""What the settings of stochastic Frank-Wolfe do: sample size, block size and stopping rule, on time and true gap.

One of the three is changed at a time, from samples of 1 % in blocks of the default size that stop by the paper's rule.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from fwlasso.solvers.sample_size import AdaptiveRule, FractionOfColumns, QuantileRule

from ..data.paper_sets import PAPER_SETS
from ..intervals import Interval
from ..measuring import run
from ..methods import Method
from ..pictures import log_axes, name_of, panels, styles
from ..sets import SYNTHETIC, load
from ..study import Figure, Findings, Part, Record, Setup, Table, Task
from ..text import counted, number, power, share
from ..units import STOPPING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

_NAME: Final = "effects"
_SHARE: Final = 0.01
_BASE: Final[dict[str, Any]] = {"solver": "sfw", "sample_size": _SHARE, "block_size": None, **STOPPING}
_LARGEST: Final = "largest"  # stands for blocks of the whole sample, whose size depends on the set


class Setting(NamedTuple):
    """A change of one factor."""

    factor: str
    label: str
    change: dict[str, Any]


def _settings() -> list[Setting]:
    sizes = {f"{100 * size:g} %": size for size in (0.0025, 0.005, 0.01, 0.02, 0.04, 0.08)}
    rules = {"quantile rule": QuantileRule(), "adaptive rule": AdaptiveRule()}
    blocks = {"single columns": 1, "8": 8, "64": 64, "default": None, "the whole sample": _LARGEST}
    stops = {
        "change 1e-2 (paper)": {"stop": "paper", "tol": 1e-2},
        "change 1e-3 (paper)": {"stop": "paper", "tol": 1e-3},
        "change 1e-4 (paper)": {"stop": "paper", "tol": 1e-4},
        "relative change 1e-3": {"stop": "change", "tol": 1e-3},
        "relative change 1e-4": {"stop": "change", "tol": 1e-4},
        "gap 1e-2": {"stop": "gap", "tol": 1e-2},
        "gap 1e-3": {"stop": "gap", "tol": 1e-3},
    }
    return [
        *(Setting("sample size", label, {"sample_size": size}) for label, size in {**sizes, **rules}.items()),
        *(Setting("block size", label, {"block_size": size}) for label, size in blocks.items()),
        *(Setting("stopping rule", label, change) for label, change in stops.items()),
    ]


SETTINGS: Final = _settings()


def sets_of(setup: Setup) -> list[str]:
    """Return one synthetic set and Pyrim, of the sets that are asked for."""
    synthetic = [name for name in setup.sets if name in SYNTHETIC][:1]
    return synthetic + [name for name in setup.sets if name == "pyrim"]


def tasks(setup: Setup) -> list[Task]:
    """One task for every set and setting, with all its seeds."""
    found = []
    for name in sets_of(setup):
        for setting in SETTINGS:
            settings = {what: _plain(value) for what, value in {**_BASE, **setting.change}.items()}
            seconds = (8.0 if setting.label == "gap 1e-3" else 0.5) * setup.n_seeds
            run_all = partial(_run, setup, name, setting)
            found.append(Task(_key(name, setting), seconds, run_all, {"seeds": setup.n_seeds, **settings}))
    return found


def _key(name: str, setting: Setting) -> str:
    """Return the key of a setting; those that change nothing are one."""
    if setting.change.items() <= _BASE.items():
        return f"{_NAME}/{name}/base"
    words = f"{setting.factor} {setting.label}".replace("%", "percent").replace("(", "").replace(")", "")
    return f"{_NAME}/{name}/{'-'.join(words.split())}"


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: rules by their name and numbers."""
    return value if isinstance(value, str | int | float | None) else repr(value)


def _run(setup: Setup, name: str, setting: Setting) -> Record:
    """Run all seeds: the time of the solver, and the true gaps, computed afterwards."""
    loaded = load(name, setup.data, setup.n_threads)
    settings = {**_BASE, **setting.change}
    if settings["block_size"] == _LARGEST:
        settings["block_size"] = FractionOfColumns(_SHARE)(loaded.data.X.shape[1], n_active=0)
    method = Method("sfw", setting.label, "radii", settings, is_random=True)
    paths, seconds = [], []
    for seed in range(setup.n_seeds):
        found = run(loaded, method, seed, setup.n_threads, certify=True)
        paths.append(found.path)
        seconds.append(found.solve_seconds)
    return {
        "seconds": seconds,
        "iterations": [int(path.counters.iterations.sum()) for path in paths],
        "median_gap": [float(np.median(path.gaps)) for path in paths],
        "largest_gap": [float(path.gaps.max()) for path in paths],
        "n_active": [float(path.n_active.mean()) for path in paths],
    }


Found = dict[str, dict[str, Record]]  # records of settings, by factor and label


def show(setup: Setup, records: Mapping[str, Record]) -> Findings:
    """Return a table of every set, and a picture of time against gap."""
    found: dict[str, Found] = {}
    for name in sets_of(setup):
        for setting in SETTINGS:
            if (key := _key(name, setting)) in records:
                found.setdefault(name, {}).setdefault(setting.factor, {})[setting.label] = records[key]
    if not found:
        return Findings([], [], [])
    tables = [_table(name, of_set) for name, of_set in found.items()]
    figure = Figure(_NAME, "Time of stochastic Frank-Wolfe against its true gap, by setting", lambda: _draw(found))
    return Findings(tables, [figure], [line for name, of_set in found.items() for line in _sentences(name, of_set)])


def _range(record: Record, field: str) -> Interval:
    """Return the median of the runs, and their range."""
    values = record[field]
    return Interval(float(np.median(values)), float(min(values)), float(max(values)))


def _table(name: str, of_set: Found) -> Table:
    forms: dict[str, Callable[[float], str]] = {
        "seconds": lambda seconds: number(1e3 * seconds, 2),
        "iterations": "{:,.0f}".format,
        "median_gap": lambda gap: power(gap, 2),
        "largest_gap": lambda gap: power(gap, 2),
        "n_active": "{:.1f}".format,
    }
    rows, data = [], []
    for factor, of_factor in of_set.items():
        for label, record in of_factor.items():
            found = {field: _range(record, field) for field in forms}
            n_runs = len(record["seconds"])
            rows.append(
                (f"{factor}: {label}", f"{n_runs}", *(found[field].text(form) for field, form in forms.items()))
            )
            numbers = {f"{field}_{what}": value for field in found for what, value in found[field]._asdict().items()}
            data.append({"factor": factor, "setting": label, "runs": n_runs, **numbers})
    header = ("setting", "runs", "solver (ms)", "iterations", "median gap", "largest gap", "active features")
    note = (
        f"One factor is changed at a time, from samples of {share(_SHARE)} in blocks of the default size, stopping at "
        f"a change of {STOPPING['tol']:g}. Medians over the runs, in brackets the smallest and the largest; gaps are "
        "over all columns, relative to 1/2 ||y||²."
    )
    title = f"{PAPER_SETS[name].title}: settings of stochastic Frank-Wolfe"
    return Table(f"{_NAME}-{name}", title, header, rows, note, data)


def _sentences(name: str, of_set: Found) -> list[str]:
    """Compare the ends of every factor that has both: settled is what the ranges of the runs tell apart."""
    sentences = []
    for factor, (first, last) in {
        "sample size": ("0.25 %", "8 %"),
        "block size": ("single columns", "default"),
        "stopping rule": ("change 1e-2 (paper)", "gap 1e-3"),
    }.items():
        of_factor = of_set.get(factor, {})
        if first in of_factor and last in of_factor:
            one, other = (_range(of_factor[label], "median_gap") for label in (first, last))
            apart = one.high < other.low or other.high < one.low
            sentences.append(
                f"{PAPER_SETS[name].title}, {factor}: the median gap is {power(one.value, 2)} with {first} and "
                f"{power(other.value, 2)} with {last}; the ranges of the runs "
                f"{'are apart' if apart else 'overlap, so that this is not settled'}."
            )
    return sentences


def _draw(found: Mapping[str, Found]) -> "Picture":
    factors = list(dict.fromkeys(factor for of_set in found.values() for factor in of_set))
    shown = [(name, factor) for factor in factors for name, of_set in found.items() if factor in of_set]
    figure, axes = panels(len(shown), n_columns=len(found), size=(4.0 if len(found) > 1 else 7.0, 3.2))
    for ax, (name, factor) in zip(axes, shown, strict=True):
        _draw_factor(ax, found[name][factor])
        if factor == factors[0]:
            ax.set_title("\n".join(name_of(name).rsplit(", ", 1)), fontsize="medium")
        if name == shown[-1][0]:  # the last of a row names the settings
            place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
            ax.legend(title=factor, fontsize="small", title_fontsize="small", frameon=False, **place)
    n_seeds = max(
        len(record["seconds"]) for of_set in found.values() for of in of_set.values() for record in of.values()
    )
    figure.suptitle(
        f"FW with {share(_SHARE)} of the columns in blocks, change {STOPPING['tol']:g}: one factor changed at a time;\n"
        f"median and range of up to {counted(n_seeds, 'run')}",
        fontsize="medium",
    )
    return figure


def _draw_factor(ax: "Axes", of_factor: Mapping[str, Record]) -> None:
    for (label, record), style in zip(of_factor.items(), styles(), strict=False):
        (x, x_error), (y, y_error) = (_middle_and_range(record[field]) for field in ("seconds", "median_gap"))
        point = {**style, "linestyle": "none", "markersize": 8, "elinewidth": 1.2, "capsize": 2}
        ax.errorbar([x], [y], xerr=x_error, yerr=y_error, label=label, **point)
    ax.set_xlabel("time of the solver (s)")
    ax.set_ylabel("median gap / (1/2 ||y||²)")
    ax.margins(0.1)
    log_axes(ax)


def _middle_and_range(values: list[float]) -> tuple[float, list[list[float]]]:
    """Return the median, and how far below and above it the runs are."""
    middle = float(np.median(values))
    return middle, [[middle - min(values)], [max(values) - middle]]


PART = Part(_NAME, "Sample size, block size and stopping rule", tasks, show)
