"""How time, passes and memory grow with the number of features, from ten thousand to four million."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from ..intervals import Interval
from ..pictures import legend_below, line_of, log_axes, panels, pushed_apart
from ..study import Figure, Findings, Part, Record, Setup, Table, Task
from ..text import counted, number, power, share
from .fits import power_law
from .footprint import EPS, METHODS, N_NONZERO, N_RUNS, N_SAMPLES, measured_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

_DECADE: Final = 10
SIZES: Final = (10_000, 40_000, 100_000, 400_000, 1_000_000, 4_000_000)
# What is fitted: field of the records, label of the axis, and the methods that it makes sense for.
_GROWTH: Final = (
    ("seconds_per_step", "time of a step (s)", ("sfw-share", "sfw-fixed")),
    ("seconds", "time of the path (s)", tuple(METHODS)),
    ("extra_bytes", "peak memory beyond X (bytes)", tuple(METHODS)),
)


def tasks(setup: Setup) -> list[Task]:
    """One path for every number of features and method, each in a process of its own."""
    shape = {"m": N_SAMPLES, "nonzeros": N_NONZERO, "eps": EPS, "runs": N_RUNS}
    return [
        Task(
            f"scaling/{p}/{method}",
            5.0 + 5e-6 * p,
            partial(measured_apart, p, method, setup.n_threads),
            {**shape, "method": label},
        )
        for p in SIZES
        for method, (label, _) in METHODS.items()
    ]


def show(_: Setup, records: Mapping[str, Record]) -> Findings:
    """Return tables of the measured figures and of the fitted exponents, and a picture of both."""
    found = {method: [records[key] for p in SIZES if (key := f"scaling/{p}/{method}") in records] for method in METHODS}
    found = {method: of_method for method, of_method in found.items() if of_method}
    if not found:
        return Findings([], [], [])
    exponents = _exponents(found)
    what = f"CSC matrix of float32, {N_SAMPLES:,} samples, {N_NONZERO} nonzeros a column"
    figures = []
    if exponents:
        figures.append(
            Figure("scaling", f"Growth with the number of features: {what}", lambda: _draw(found, exponents, what))
        )
    tables = [_measured(found, what), _fitted(exponents)]
    return Findings([table for table in tables if table.rows], figures, _sentences(found, exponents))


Found = Mapping[str, list[Record]]
Exponents = Mapping[tuple[str, str], Interval]


def _exponents(found: Found) -> dict[tuple[str, str], Interval]:
    """Return the exponent of p over the last decade by field and method, and its range over the runs."""
    fitted = {}
    for field, _, methods in _GROWTH:
        for method in methods:
            x, y = _series(found, field, method)
            last = [k for k, p in enumerate(x) if _DECADE * p >= x[-1]]
            if len(last) > 1:
                runs = [
                    record.get("runs", {}).get(field) or [record[field]] for record in found[method] if record[field]
                ]
                slopes = [_slope(x, of_run, last) for of_run in zip(*runs, strict=True)]
                fitted[field, method] = Interval(_slope(x, y, last), min(slopes), max(slopes))
    return fitted


def _slope(x: Sequence[float], y: Sequence[float], which: Sequence[int]) -> float:
    return power_law([x[k] for k in which], [y[k] for k in which]).slope


def _series(found: Found, field: str, method: str) -> tuple[list[float], list[float]]:
    known = [record for record in found.get(method, []) if record[field]]
    return [record["p"] for record in known], [record[field] for record in known]


def _measured(found: Found, what: str) -> Table:
    rows = []
    for method, of_method in found.items():
        for record in of_method:
            extra = record["extra_bytes"]
            rows.append(
                (
                    METHODS[method][0],
                    f"{record['p']:,}",
                    number(record["bytes"] / 1e6),
                    number(1e6 * record["seconds_per_step"]) if "sfw" in method else "",
                    f"{record['iterations']:,}",
                    number(record["seconds"]),
                    f"{record['passes']:.1f}",
                    "" if extra is None else number(extra / 1e6),
                    f"{record['n_active']:,}",
                    power(record["median_gap"], 2),
                )
            )
    header = (
        "method", "features", "X (MB)", "step (µs)", "iterations", "path (s)", "passes", "extra memory (MB)",
        "active at the end", "median gap",
    )  # fmt: skip
    note = (
        f"{what}; 100 radii. Seconds are of setup and solver, medians of {N_RUNS} runs. Extra memory is the peak of a "
        "process of its own above what it had with X loaded. Passes include that of the closing certificates."
    )
    data = [record for of_method in found.values() for record in of_method]
    return Table("scaling", "Cost of a path by number of features", header, rows, note, data)


def _fitted(exponents: Exponents) -> Table:
    rows = [
        (METHODS[method][0], *(_shown(exponents.get((field, method))) for field, *_ in _GROWTH))
        for method in METHODS
        if any(method == of_method for _, of_method in exponents)
    ]
    header = ("method", *(label.partition(" (")[0] for _, label, _ in _GROWTH))
    note = (
        f"Exponent e of p^e, by least squares on logarithms over the last decade, from {SIZES[-1] // _DECADE:,} to "
        f"{SIZES[-1]:,} features, since small sizes have a fixed cost; in brackets the smallest and the largest of the "
        f"{N_RUNS} runs."
    )
    return Table("scaling-exponents", "Fitted growth with the number of features", header, rows, note)


def _shown(exponent: Interval | None) -> str:
    return "" if exponent is None else exponent.text("{:.2f}".format)


def _sentences(found: Found, exponents: Exponents) -> list[str]:
    sentences = []
    for method, of_method in found.items():
        if ("seconds", method) not in exponents:
            continue
        last = of_method[-1]
        parts = [f"time grows like p^{exponents['seconds', method].value:.2f}"]
        if (per_step := exponents.get(("seconds_per_step", method))) is not None:
            parts.append(f"that of a step like p^{per_step.value:.2f}")
        if (memory := exponents.get(("extra_bytes", method))) is not None:
            part_of_x = last["extra_bytes"] / last["bytes"]
            parts.append(
                f"extra memory like p^{memory.value:.2f}, at the end {share(part_of_x)} of X in single precision"
            )
        sentences.append(
            f"{METHODS[method][0]}, over the last decade to {last['p']:,} features: {', '.join(parts)}. The last "
            f"path takes {number(last['seconds'], 2)} s and {last['passes']:.1f} passes, at a median gap of "
            f"{power(last['median_gap'], 2)}."
        )
    return sentences


def _draw(found: Found, exponents: Exponents, what: str) -> "Picture":
    shown = [growth for growth in _GROWTH if any(field == growth[0] for field, _ in exponents)]
    figure, axes = panels(len(shown), n_columns=len(shown), size=(9.4 / len(shown), 4.2))
    for ax, (field, label, _) in zip(axes, shown, strict=True):
        _draw_growth(ax, found, exponents, field)
        ax.set_xlabel("features p")
        ax.set_ylabel(label)
    figure.suptitle(
        f"100 radii on a {what};\nmedian and range of {counted(N_RUNS, 'run')}, growth over the last decade",
        fontsize="medium",
    )
    legend_below(figure, axes)
    return figure


def _draw_growth(ax: "Axes", found: Found, exponents: Exponents, field: str) -> None:
    """Draw what a path costs by number of features, and write the exponents at the ends of the lines."""
    drawn = [(method, line_of(method, every_point=True)) for method in METHODS if (field, method) in exponents]
    for method, style in drawn:
        x, y = _series(found, field, method)
        runs = [record.get("runs", {}).get(field, [record[field]]) for record in found[method] if record[field]]
        low, high = ([of(times) for times in runs] for of in (min, max))
        ax.fill_between(x, low, high, color=style["color"], alpha=0.2, linewidth=0.0)
        ax.plot(x, y, label=METHODS[method][0], **style)
    if field == "extra_bytes":
        x, y = _series(found, "bytes", next(iter(found)))
        ax.plot(x, y, "--", color="black", linewidth=1.0, label="X itself")
    ax.margins(x=0.24)
    log_axes(ax)
    ends = [[of[-1] for of in _series(found, field, method)] for method, _ in drawn]
    apart = 0.06 * float(np.diff(np.log10(ax.get_ylim()))[0])
    places = 10.0 ** pushed_apart(np.log10([y for _, y in ends]), apart)
    for (method, style), (x_end, _), place in zip(drawn, ends, places, strict=True):
        text = f"$p^{{{exponents[field, method].value:.2f}}}$"
        ax.text(1.2 * x_end, place, text, color=style["color"], va="center", fontsize="small")


PART = Part("scaling", "Growth with the number of features", tasks, show)
