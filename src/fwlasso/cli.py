"""The command line: ``fwlasso path FILE``, ``demo``, ``paper`` and, in `cli_data`, the commands about data."""

import json
import logging
import math
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

try:
    import typer
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.table import Table as RichTable
except ModuleNotFoundError as error:  # pragma: no cover
    sys.exit(f"The command line needs {error.name}: pip install 'fwlasso[cli,plot]'")

from . import __version__, cli_data
from .datasets import Table, load_diabetes_products, read_table
from .path import lasso_path
from .plots import draw_coefs
from .report import largest_coefs, point_rows, write_report
from .result import LassoPath
from .solvers.registry import SOLVERS
from .watch import Progress

_BY_RADIUS = ", ".join(name for name, entry in SOLVERS.items() if entry.grids[0] == "radii")
_BY_CHANGE = ", ".join(name for name, entry in SOLVERS.items() if entry.stops[0] == "change")
EXIT_BAD_INPUT = 2
EXIT_INCOMPLETE = 3

app = typer.Typer(
    name="fwlasso",
    help="Certified Lasso paths on millions of features.",
    epilog="Exit codes: 0 the path is complete; 2 bad input; 3 the path ended early, and what is solved is kept.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
cli_data.add_commands(app)


def main() -> None:
    """Run the command line; bad input ends with a sentence, not with a traceback."""
    try:
        app()
    except (ValueError, OSError, ModuleNotFoundError) as error:
        Console(stderr=True, highlight=False).print(f"[red]fwlasso:[/red] {escape(str(error))}", soft_wrap=True)
        sys.exit(EXIT_BAD_INPUT)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """Certified Lasso paths on millions of features."""


Out = Annotated[Path | None, typer.Option(help="Folder for path.npz, path.png and report.html.")]
Seed = Annotated[int, typer.Option(help="Seed of the random draws.")]
Threads = Annotated[int | None, typer.Option(help="Threads for scans of large data. Default: all cores.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the points as JSON, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no table.")]


@app.command()
def path(
    file: Annotated[Path, typer.Argument(help="LIBSVM, npz, npy, csv, parquet, mtx, h5ad, bed or a store.")],
    target: cli_data.Target = None,
    alphas: Annotated[int | None, typer.Option(help="Points on a grid of penalties. Default: 100.")] = None,
    radii: Annotated[
        int | None, typer.Option(help=f"Points on a grid of l1 norms. Default for {_BY_RADIUS}: 100.")
    ] = None,
    eps: Annotated[float, typer.Option(help="Ratio of the ends of the grid.")] = 1e-2,
    standardize: Annotated[bool, typer.Option(help="Scale the columns to unit variance.")] = False,
    intercept: Annotated[bool, typer.Option(help="Fit an intercept.")] = True,
    solver: Annotated[str, typer.Option(help=f"One of {', '.join(SOLVERS)}.")] = "corrective",
    stop: Annotated[
        str | None, typer.Option(help=f"gap, change or paper. Default: gap; change for {_BY_CHANGE}.")
    ] = None,
    tol: Annotated[
        float | None, typer.Option(help="Tolerance of the stopping rule. Default: 1e-4 for gap, else 1e-3.")
    ] = None,
    sample_size: Annotated[float | None, typer.Option(help="Columns per step: a number, or a share below 1.")] = None,
    block_size: Annotated[int | None, typer.Option(help="Neighbouring columns drawn together.")] = None,
    max_iter: Annotated[int, typer.Option(help="Iterations per point.")] = 10_000,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for the solver.")] = None,
    seed: Seed = 0,
    threads: Threads = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compute a path on the data in FILE.

    Examples: fwlasso path train.svm --standardize --out result, or fwlasso path table.csv --target price --alphas 50
    """
    whole = sample_size is not None and sample_size >= 1 and sample_size.is_integer()
    _solve(
        read_table(file, target),
        str(file),
        out,
        as_json,
        quiet,
        alphas=alphas,
        radii=radii,
        eps=eps,
        standardize=standardize,
        fit_intercept=intercept,
        solver=solver,
        stop=stop,  # type: ignore[arg-type]
        tol=tol,
        sample_size=int(sample_size) if whole else sample_size,  # type: ignore[arg-type]
        block_size=block_size,
        max_iter=max_iter,
        time_limit=time_limit,
        random_state=seed,
        n_threads=threads,
    )


@app.command()
def demo(
    order: Annotated[int, typer.Option(help="Degree of the product features.")] = 8,
    out: Out = Path("fwlasso-demo"),
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compute a path on embedded data: 442 diabetes patients, 43,758 product features of ten measurements.

    Every point is certified: its duality gap over all columns is at most a millionth of 1/2 ||y||^2.
    """
    X, y, names = load_diabetes_products(order)
    _solve(
        Table(X, y, names),
        f"diabetes, products of order {order}",
        out,
        as_json,
        quiet,
        standardize=True,
        tol=1e-6,
        n_threads=threads,
    )


@app.command()
def paper(
    tables: Annotated[bool, typer.Option("--tables", help="Tables alone, and only what they need.")] = False,
    figures: Annotated[bool, typer.Option("--figures", help="Figures alone, and only what they need.")] = False,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", help="A data set such as pyrim; repeat it for more. Default: those at hand."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that are at hand, and E2006 in any case.")] = False,
    part: Annotated[
        list[str] | None,
        typer.Option(help="A part of the study by name; repeat it for more."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Runs of random methods; of SCD at most 3, on E2006 one.")] = 10,
    data: Annotated[Path | None, typer.Option(help="Folder of the data sets. Default: that of FWLASSO_DATA.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for records, tables, figures and RESULTS.md.")] = Path(
        "fwlasso-paper"
    ),
    threads: Threads = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Run the paper's experiments again: tables with the published figures beside ours, figures and a results page.

    By default on the synthetic sets and on those whose files are in the data folder (pyrim_scale, triazines_scale,
    E2006.train and E2006.test, log1p.E2006.train and log1p.E2006.test). Stand-ins of E2006 are made where --set or
    --all ask for it. Every task leaves a record: after Ctrl-C, or with other options, the next run goes on from there.
    """
    from .paper.command import run_command

    kinds = [kind for kind, wanted in (("tables", tables), ("figures", figures)) if wanted] or ["tables", "figures"]
    if not run_command(kinds, sets or [], everything, part or [], seeds, data, out, threads, quiet):
        raise typer.Exit(EXIT_INCOMPLETE)


def _solve(table: Table, title: str, out: Path | None, as_json: bool, quiet: bool, **settings: Any) -> None:
    """Solve with a progress bar, then show and keep the result."""
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"--out: {out} is not a folder")
    silent = quiet or as_json
    console = Console(stderr=True, quiet=silent, highlight=False)
    logging.basicConfig(format="%(message)s", level=logging.ERROR if silent else logging.WARNING)
    n_samples, n_features = table.X.shape
    console.print(f"[bold]{escape(title)}[/bold]: {n_samples:,} samples, {n_features:,} features")
    with warnings.catch_warnings(record=True) as caught, _bar(console) as bar:
        warnings.simplefilter("always")
        task = bar.add_task("preparing", total=None, active="-", gap="-")

        def show(now: Progress) -> None:
            completed = now.point + now.done
            bar.update(
                task,
                description="path",
                total=now.n_points,
                completed=completed,
                active=str(now.n_active),
                gap=f"{now.gap:.1e}",
            )

        result = lasso_path(table.X, table.y, callback=show, **settings)
    for warning in caught:
        console.print(f"[yellow]{escape(str(warning.message))}[/yellow]", soft_wrap=True)
    result = _with_names(result, table.feature_names)
    if as_json:
        typer.echo(json.dumps(_as_records(result)))
    else:
        _show(Console(quiet=silent, highlight=False), result)
    if out is not None:
        _keep(result, out, title)
        console.print(f"kept in {escape(str(out))}: path.npz, path.png, report.html")
    if result.ending is not None:
        raise typer.Exit(EXIT_INCOMPLETE)


def _bar(console: Console) -> Bar:
    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("active {task.fields[active]}"),
        TextColumn("gap {task.fields[gap]}"),
        TimeRemainingColumn(),
        console=console,
    )


def _with_names(result: LassoPath, names: tuple[str, ...] | None) -> LassoPath:
    return result if names is None else replace(result, feature_names=names)


def _as_records(result: LassoPath) -> dict[str, Any]:
    columns = result.point_columns()
    columns["gap"] = [None if math.isnan(gap) else gap for gap in columns["gap"]]
    return {
        "points": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        "ending": result.ending.value if result.ending else None,
        "dot_products": result.counters.dot_products,
        "passes": result.counters.passes,
        "seconds": result.counters.seconds,
        "settings": result.settings,
    }


def _show(console: Console, result: LassoPath, n_rows: int = 12) -> None:
    """Print some points of the path, spread evenly, and the largest coefficients of the last one."""
    last = len(result) - 1
    points = sorted({round(k * last / (n_rows - 1)) for k in range(n_rows)})
    grid = RichTable(title="Points of the path")
    for name in ("point", "radius", "alpha", "active", "R2", "gap", "iterations", "status"):
        grid.add_column(name, justify="left" if name == "status" else "right")
    for row in point_rows(result, points):
        grid.add_row(*row)
    console.print(grid)
    strongest = ", ".join(f"{name} {value:+.3g}" for name, _, value in largest_coefs(result, point=-1, n_largest=5))
    console.print(f"largest scaled coefficients of the last point: {escape(strongest) or 'none'}")
    seconds = "  ".join(f"{phase} {value:.2f} s" for phase, value in result.counters.seconds.items())
    console.print(
        f"{int(result.counters.iterations.sum()):,} iterations, {result.counters.passes:.1f} passes; {seconds}"
    )


def _keep(result: LassoPath, out: Path, title: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    result.save(out / "path.npz")
    draw_coefs(result).savefig(out / "path.png", dpi=150)
    write_report(result, out / "report.html", title)
