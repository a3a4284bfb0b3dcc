"""Tables of the study: ours beside the published figures; Markdown to read, CSV to go on with."""

import csv
import io
import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from fwlasso.data.compressed import write_text
from fwlasso.options import Options

from . import published
from .intervals import Interval, ratio
from .methods import METHODS
from .published import Cost
from .study import Record, Table
from .summary import Mean, Result, Summary
from .text import number, percent, power
from .units import N_POINTS


def cost_table(result: Result) -> Table:
    """Return time, iterations, dot products, active features and speed-up of every method, published ones beside."""
    name, found = result.name, result.found
    times = published.COSTS.get(name, {})  # a stand-in has the size, which the time depends on
    paper = {} if result.is_standin else times
    speed_ups = {} if result.is_standin else published.SPEED_UPS.get(name, {})
    cd = found.get("cd")
    rows, data = [], []
    for key, summary in found.items():
        theirs = paper.get(key)
        speed_up = None if cd is None else ratio(cd.seconds, summary.seconds)
        rows.append(
            (
                summary.method.label,
                f"{summary.n_runs}",
                _cell(summary.seconds, times[key].seconds if key in times else None),
                _cell(summary.iterations, theirs and theirs.iterations),
                _cell(summary.dot_products, theirs and theirs.dot_products, power),
                _cell(summary.n_active, theirs and theirs.n_active),
                "-"
                if speed_up is None or key == "cd"
                else speed_up.text() + _beside(speed_ups.get(key), speed_up.value),
            )
        )
        data.append(_cost_numbers(summary, theirs, speed_up, speed_ups.get(key)))
    rows += [(METHODS[key].label, "0", f"not run: {why}", "", "", "", "") for key, why in result.missing.items()]
    note = (
        f"{'In round brackets the published figure and our deviation from it. ' if times else ''}Mean ± standard "
        "deviation over the runs; methods that are not random have the time of some calls. Time is of the whole call "
        f"without certificates{', on another machine than the published' if times else ''}. The last column is time of "
        "CD over time of the method."
    )
    header = ("method", "runs", "time, s", "iterations", "dot products", "active features", "speed-up over CD")
    title = f"{result.title}: cost and sparsity of a path of {N_POINTS} points"
    return Table(f"cost-{name}", title, header, rows, note, data)


def _cell(ours: Mean | None, theirs: float | None, form: Callable[..., str] = number) -> str:
    if ours is None:
        return "-"
    text = form(ours.value) + (f" ± {form(ours.deviation, 2)}" if ours.deviation else "")
    return text + _beside(theirs, ours.value, form)


def _beside(theirs: float | None, ours: float, form: Callable[..., str] = number) -> str:
    return "" if theirs is None else f" ({form(theirs)}, {percent(ours / theirs - 1.0)})"


def _cost_numbers(
    summary: Summary, theirs: Cost | None, speed_up: Interval | None, their_speed_up: float | None
) -> dict[str, Any]:
    line: dict[str, Any] = {"method": summary.method.key, "label": summary.method.label, "runs": summary.n_runs}
    for name in Cost._fields:
        ours: Mean | None = getattr(summary, name)
        paper = None if theirs is None else getattr(theirs, name)
        line[name] = None if ours is None else ours.value
        line[f"{name}_std"] = None if ours is None else ours.deviation
        line[f"{name}_published"] = paper
        line[f"{name}_deviation_percent"] = None if ours is None or not paper else 100.0 * (ours.value / paper - 1.0)
    line["solve_seconds"] = None if summary.solve_seconds is None else summary.solve_seconds.value
    known = speed_up or Interval(math.nan, math.nan, math.nan)
    found = {"speed_up_over_cd": known.value, "speed_up_low": known.low, "speed_up_high": known.high}
    return {**line, **found, "speed_up_published": their_speed_up}


def accuracy_table(result: Result) -> Table:
    """Return the true gaps of every method, and its errors at the best point."""
    variance = result.variance
    rows, data = [], []
    for summary in result.found.values():
        best = summary.best
        train = float(summary.train_mse[best])
        test = None if summary.test_mse is None else float(summary.test_mse[best])
        rows.append(
            (
                summary.method.label,
                power(summary.median_gap, 2),
                power(summary.largest_gap, 2),
                number(summary.stalled),
                number(summary.unfinished),
                f"{best + 1}",
                number(float(summary.l1[best])),
                number(float(summary.active[best])),
                number(train / variance),
                "-" if test is None else number(test / variance),
            )
        )
        data.append(
            {
                "method": summary.method.key,
                "label": summary.method.label,
                "runs": summary.n_runs,
                "median_gap": summary.median_gap,
                "largest_gap": summary.largest_gap,
                "stalled_points": summary.stalled,
                "unfinished_points": summary.unfinished,
                "best_point": best + 1,
                "l1_norm_at_best": float(summary.l1[best]),
                "active_at_best": float(summary.active[best]),
                "train_mse_at_best": train,
                "test_mse_at_best": test,
                "variance_of_y": variance,
            }
        )
    header = (
        "method", "median gap", "largest gap", "zero steps", "unfinished", "best point", "its l1 norm", "active",
        "train MSE", "test MSE",
    )  # fmt: skip
    note = (
        "Gaps are true duality gaps over all columns, relative to 1/2 ||y||², recomputed in plain numpy after the time "
        "was taken. Zero steps are points that ended on samples without descent: to the letter the first such step "
        "meets the rule, in ours the third in a row ends a point that has met none. Unfinished points took all "
        f"{Options.max_iter:,} iterations. The best point has the smallest test error; it is the last one where there "
        "is no test set. Errors are divided by the variance of y."
    )
    return Table(f"accuracy-{result.name}", f"{result.title}: true gaps and errors", header, rows, note, data)


def to_markdown(table: Table) -> str:
    """Return a table as GitHub shows it: columns of numbers to the right."""
    columns = zip(*table.rows, strict=True) if table.rows else ()
    rules = ["---:" if any(map(_is_number, column)) else "---" for column in columns]
    lines = [table.header, rules or ["---"] * len(table.header), *table.rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines) + "\n"


def _is_number(cell: str) -> bool:
    return cell[:1].isdigit() or cell[1:2].isdigit()


def to_csv(table: Table) -> str:
    """Return a table with commas between: the plain numbers where there are some."""
    lines: Iterable[Iterable[Any]] = [table.header, *table.rows]
    if table.data is not None:
        header = list(dict.fromkeys(name for line in table.data for name in line))
        lines = [header, *([line.get(name) for name in header] for line in table.data)]
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(lines)
    return stream.getvalue()


def write_table(table: Table, folder: Path) -> None:
    """Write NAME.md and NAME.csv."""
    folder.mkdir(parents=True, exist_ok=True)
    text = f"# {table.title}\n\n{to_markdown(table)}\n{table.note}\n"
    write_text(folder / f"{table.name}.md", text)
    write_text(folder / f"{table.name}.csv", to_csv(table))


#: Of longer lists, which are curves, the length, the mean and the last number are told.
_LONGEST_LIST = 20


def records_csv(records: Mapping[str, Record]) -> str:
    """Return every number and word of the records, one a line, by the key of the task.

    Examples
    --------
    >>> print(records_csv({"part/set": {"seconds": 2.0, "runs": [{"n": 1}], "curve": [0.0] * 99 + [1.0]}}))
    task,field,value
    part/set,seconds,2.0
    part/set,runs[0].n,1
    part/set,curve.length,100
    part/set,curve.mean,0.01
    part/set,curve.last,1.0
    <BLANKLINE>
    """
    stream = io.StringIO()
    lines = ((key, field, value) for key, record in records.items() for field, value in _flat(record))
    csv.writer(stream, lineterminator="\n").writerows([("task", "field", "value"), *lines])
    return stream.getvalue()


def _flat(value: Any, name: str = "") -> Iterable[tuple[str, Any]]:
    if isinstance(value, dict):
        for field, part in value.items():
            yield from _flat(part, f"{name}.{field}" if name else field)
    elif isinstance(value, list) and len(value) > _LONGEST_LIST and isinstance(value[-1], int | float):
        known = [number for number in value if number is not None]
        told = {"length": len(value), "mean": statistics.fmean(known), "last": value[-1]}
        yield from ((f"{name}.{what}", number) for what, number in told.items())
    elif isinstance(value, list):
        for k, part in enumerate(value):
            yield from _flat(part, f"{name}[{k}]")
    else:
        yield name, value
