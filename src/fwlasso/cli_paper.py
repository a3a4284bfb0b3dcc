"""The command ``fwlasso paper``: what was asked for, checked, then run with a progress bar."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn
from rich.progress import Progress as Bar
from rich.progress import Task as RichTask
from rich.text import Text

from .cli_options import EXIT_INCOMPLETE, Silent, Threads
from .cli_show import Detail, say_fault, show_log

if TYPE_CHECKING:
    from .paper.main import Done
    from .paper.runner import Step
    from .paper.study import Part, Setup


def add_commands(app: typer.Typer) -> None:
    """Add the command of this module to the command line."""
    app.command(epilog="Exit codes: 0 all is computed; 2 bad input; 3 interrupted: the next run goes on.")(paper)


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
    quiet: Silent = False,
) -> None:
    """Run the paper's experiments again: tables with the published figures beside ours, figures and a results page.

    By default on the synthetic sets and on those whose files are in the data folder (pyrim_scale, triazines_scale,
    E2006.train and E2006.test, log1p.E2006.train and log1p.E2006.test). Stand-ins of E2006 are made where --set or
    --all ask for it. Every task leaves a record: after Ctrl-C, or with other options, the next run goes on from there.

    For example:

    fwlasso paper --tables --set pyrim --data folder

    fwlasso paper --part synthetic --seeds 3
    """
    kinds = [kind for kind, wanted in (("tables", tables), ("figures", figures)) if wanted] or ["tables", "figures"]
    setup, parts = _asked(sets or [], everything, part or [], seeds, data, out, threads)
    if not _run_study(setup, parts, kinds, quiet):
        raise typer.Exit(EXIT_INCOMPLETE)


def _run_study(setup: "Setup", parts: "list[Part]", kinds: Sequence[Any], quiet: bool) -> bool:
    """Run the study; tell whether all of it ran."""
    from .paper.main import run_study

    console = Detail(quiet=quiet).aside()
    show_log(errors_only=True)  # compiling is no news among tasks of seconds
    console.print(f"[bold]The paper's experiments[/bold] on {', '.join(setup.sets)}")
    with Bar("{task.description}", BarColumn(), MofNCompleteColumn(), _TimeLeft(), console=console) as bar:
        task = bar.add_task("preparing", total=None, end=None)

        def show(now: "Step") -> None:
            end = time.monotonic() + now.seconds_left if now.key else None
            description = escape(now.key or "writing")
            bar.update(task, description=description, total=now.n_tasks, completed=now.n_done, end=end)

        done = run_study(setup, parts, kinds, show)
    _say(console, done)
    return not done.outcome.interrupted and not done.outcome.failures


def _asked(
    sets: Sequence[str],
    everything: bool,
    parts: Sequence[str],
    n_seeds: int,
    data: Path | None,
    out: Path,
    n_threads: int | None,
) -> "tuple[Setup, list[Part]]":
    """Return what to do, or raise a ValueError that names the option before any work starts."""
    from .paper.main import all_parts, choose_sets
    from .paper.study import Setup

    if n_seeds < 1:
        raise ValueError(f"--seeds must be at least 1, got {n_seeds}")
    if n_threads is not None and n_threads < 1:
        raise ValueError(f"--threads must be at least 1, got {n_threads}")
    if data is not None and not data.is_dir():
        raise ValueError(f"--data: {data} is not a folder")
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out: {out} is not a folder")
    known = all_parts()
    unknown = [name for name in parts if name not in known]
    if unknown:
        raise ValueError(f"--part must be one of {', '.join(known)}, got {unknown[0]!r}")
    chosen = [part for name, part in known.items() if name in parts or not parts]
    return Setup(choose_sets(sets, everything, data), n_seeds, data, out, n_threads), chosen


class _TimeLeft(ProgressColumn):
    """What is left until the expected end, which is expected anew after every task."""

    def render(self, task: RichTask) -> Text:
        """Return minutes and seconds."""
        end = task.fields["end"]
        if end is None:
            return Text("")
        minutes, seconds = divmod(max(0, round(end - time.monotonic())), 60)
        return Text(f"about {minutes} min {seconds:02d} s left")


def _say(console: Console, done: "Done") -> None:
    outcome = done.outcome
    if outcome.interrupted:
        console.print("[yellow]Interrupted: what is recorded is kept, and the next run goes on from there.[/yellow]")
    for key, why in outcome.failures.items():
        say_fault(f"{key}: {why}")
    kept = f" ({outcome.n_kept} of them were there)" if outcome.n_kept else ""
    console.print(f"{len(outcome.records)} records{kept}, {done.n_tables} tables, {done.n_figures} figures")
    console.print(f"results page: {escape(str(done.page))}", soft_wrap=True)
