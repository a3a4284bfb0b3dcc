"""The one place of the command line that speaks: a bar while they work; of a path, a table and JSON."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.table import Table as RichTable
from rich.text import Text

from .._core.columns import Vector
from .._core.compiling import is_compiling
from ..data.labels import plain_label
from ..data.links import RATIOS
from ..data.progress import ProgressCallback, Step
from ..data.sealed import json_text
from ..monitor import Callback, Progress
from ..report.data import home_model
from ..report.page import point_names, point_rows
from ..report.terms import terms_in_words
from ..report.traces import ever_active, names_of
from ..result import LassoPath
from ..selection.choice import Choice
from .options import AsJson, Quiet, Verbose

_N_ROWS = 12
_UNBOUNDED = 10_000  # signs a line
_LEFT_OUT_FIRST = ("iterations", "radius", "gap", "status", "R2", "D2", "active", "alpha")


@dataclass(frozen=True)
class Detail:
    """How much is shown, and what was warned of so far."""

    as_json: AsJson = False
    quiet: Quiet = False
    verbose: Verbose = False
    notices: list[str] = field(default_factory=list, init=False)

    @property
    def is_silent(self) -> bool:
        """Whether nothing but JSON, or nothing at all, is shown."""
        return self.quiet or self.as_json

    def front(self) -> Console:
        """Return the console for the result; what is no terminal gets lines of any length."""
        console = Console(quiet=self.is_silent, highlight=False)
        return console if console.is_terminal else Console(quiet=self.is_silent, highlight=False, width=_UNBOUNDED)

    def aside(self) -> Console:
        """Return the console for what is said beside the result."""
        return Console(stderr=True, quiet=self.is_silent, highlight=False)

    def note(self, text: str, style: str | None = None) -> None:
        """Say something beside the result, to people or in the JSON."""
        self.notices.append(text)
        self.aside().print(escape(text), style=style, soft_wrap=True)


def put(text: str) -> None:
    """Write a result that programs read, as it is."""
    typer.echo(text, nl=False)


def put_json(record: Any) -> None:
    """Write a result as a line of JSON."""
    put(json_text(record) + "\n")


def show_log(*, errors_only: bool) -> None:
    """Show what the package logs, such as that it compiles, beside the result."""
    logging.basicConfig(format="%(message)s", level=logging.ERROR if errors_only else logging.WARNING)


@contextmanager
def steps_of(detail: Detail) -> Iterator[ProgressCallback]:
    """Show how far a work on data is, by a bar for every `what`: each has a total of its own."""
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Bar(*columns, console=detail.aside()) as bar:
        tasks: dict[str, TaskID] = {}

        def show(step: Step) -> None:
            if step.what not in tasks:
                tasks[step.what] = bar.add_task(escape(step.what), total=None)
            bar.update(tasks[step.what], completed=step.done, total=step.total)

        yield show


class _Phase(TextColumn):
    """What is done now: it is not solving while kernels are compiled."""

    def render(self, task: Task) -> Text:
        return Text("compiling") if is_compiling() else super().render(task)


@contextmanager
def noting_warnings(detail: Detail) -> Iterator[None]:
    """Note what was warned of, when it is over."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        detail.note(text, "yellow")


def shape_of(data: Any) -> tuple[int, int]:
    """Return the number of samples, None if they are not counted yet, and of features."""
    m, p = getattr(data, "X", data).shape
    return m, p


@contextmanager
def solving(detail: Detail, title: str, data: Any) -> Iterator[Callback]:
    """Say what is solved; show a bar for the path that calls the callback; then note what it warned of."""
    console = detail.aside()
    (m, p), response = shape_of(data), f", response {data.target!r}" if data.target else ""
    samples = "" if m is None else f"{m:,} samples, "
    console.print(f"[bold]{escape(title)}[/bold]: {samples}{p:,} features{escape(response)}", soft_wrap=True)
    show_log(errors_only=detail.is_silent)
    columns = _Phase("{task.description}"), BarColumn(), MofNCompleteColumn()
    fields = TextColumn("active {task.fields[active]}"), TextColumn("gap {task.fields[gap]}"), TimeRemainingColumn()
    with noting_warnings(detail), Bar(*columns, *fields, console=console) as bar:
        task = bar.add_task("preparing", total=None, active="-", gap="-")

        def show(now: Progress) -> None:
            bar.update(
                task,
                description="path",
                total=now.n_points,
                completed=now.point + now.done,
                active=str(now.n_active),
                gap=f"{now.gap:.1e}",
            )

        yield show


def as_records(result: LassoPath, more: dict[str, Vector], choice: Choice | None) -> dict[str, Any]:
    """Return a path as JSON has it, with more columns of its points."""
    columns = result.point_columns() if choice is None else choice.point_columns(result)
    columns |= {name.replace(" ", "_"): values.tolist() for name, values in more.items()}
    chosen = {} if choice is None else {"choice": replace(choice, pictures=()).record()}
    return {
        "response": result.target,
        "points": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        "ending": result.ending.value if result.ending else None,
        "dot_products": result.counters.dot_products,
        "passes": result.counters.passes,
        "readings": result.counters.readings,
        "seconds": result.counters.seconds,
        "settings": result.settings,
        **({} if result.counters.traffic is None else {"traffic": result.counters.traffic._asdict()}),
        **chosen,
    }


def show_path(result: LassoPath, detail: Detail, more: dict[str, Vector], choice: Choice | None) -> None:
    """Print points of the path, the chosen one marked, and the largest coefficients of its model or of the last one."""
    console = detail.front()
    last = len(result) - 1
    points = list(range(len(result)) if detail.verbose else _evenly(last, last if choice is None else choice.point))
    cells = dict(zip(point_names(result), zip(*point_rows(result, points, choice), strict=True), strict=True))
    for name, values in more.items():
        label = choice.label if choice is not None and name == choice.criterion else name
        cells[label.replace("_", " ")] = tuple(f"{values[k]:.4g}" for k in points)
    marked = None if choice is None else points.index(choice.point)
    grid = _grid(cells, marked, result.target)
    # If a line is too short, names get several, then columns are left out: a digit less would be another number.
    for name in ("", *_LEFT_OUT_FIRST):
        if Measurement.get(console, console.options.update(width=_UNBOUNDED), grid).maximum <= console.width:
            break
        cells = {header.replace(" ", "\n"): column for header, column in cells.items() if header != name}
        grid = _grid(cells, marked, result.target)
    console.print(grid)
    if terms := terms_in_words(result):
        console.print(f"the problem has {escape('; '.join(terms))}", soft_wrap=True)
    if choice is not None:
        score = choice.scores[choice.point]
        about = f"{choice.criterion}: {score:.6g} at point {choice.point + 1}, chosen by the rule {choice.rule}"
        console.print(f"[bold]*[/bold] {escape(about)}", soft_wrap=True)
    if result.classes is not None:
        first, second = map(plain_label, result.classes)
        console.print(f"classes {escape(f'{first} and {second}: coefficients are of the odds of {second}')}")
    which = "last point" if choice is None else "chosen model"
    model = home_model(result, ever_active(result), choice)
    names, values = names_of(result, model.features[:5]), model.scaled_coefs[:5].tolist()
    ratio = RATIOS.get(result.loss)
    strongest = ", ".join(
        f"{name} {value:+.3g}" + (f" ({ratio} {np.exp(value):.3g})" if ratio else "")
        for name, value in zip(names, values, strict=True)
    )
    scaled = "scaled " if result.settings["standardize"] else ""
    console.print(f"largest {scaled}coefficients of the {which}: {escape(strongest) or 'none'}")
    seconds = "  ".join(f"{phase} {value:.2f} s" for phase, value in result.counters.seconds.items())
    counters = result.counters
    cost = f"{counters.passes:.1f} passes ({counters.readings:.1f} readings)"
    console.print(f"{int(counters.iterations.sum()):,} iterations, {cost}; {seconds}")
    if detail.verbose:
        settings = ", ".join(f"{name}={value}" for name, value in result.settings.items() if value is not None)
        console.print(f"settings: {escape(settings)}", soft_wrap=True)


def _grid(cells: dict[str, tuple[str, ...]], marked: int | None, target: str | None) -> RichTable:
    """Return a table of columns; the marked row is bold, and has a star."""
    title = "Points of the path" if target is None else f"Points of the path, response {escape(repr(target))}"
    grid = RichTable(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in cells:
        grid.add_column(name, justify="left" if name == "status" else "right", no_wrap=True, overflow="fold")
    for place, (point, *row) in enumerate(zip(*cells.values(), strict=True)):
        is_marked = place == marked
        grid.add_row(f"{point} *" if is_marked else point, *row, style="bold" if is_marked else None)
    return grid


def _evenly(last: int, chosen: int) -> list[int]:
    return sorted({chosen} | {round(k * last / (_N_ROWS - 1)) for k in range(_N_ROWS)})
