"""``fwlasso paper``: what was asked for, checked, then run with a progress bar."""

import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn
from rich.progress import Task as RichTask
from rich.text import Text

from .main import Done, all_parts, choose_sets, run_study
from .runner import Step
from .study import Part, Setup


def run_command(
    kinds: Sequence[Any],
    sets: Sequence[str],
    everything: bool,
    parts: Sequence[str],
    n_seeds: int,
    data: Path | None,
    out: Path,
    n_threads: int | None,
    quiet: bool,
) -> bool:
    """Run the study; tell whether all of it ran."""
    setup, chosen = _asked(sets, everything, parts, n_seeds, data, out, n_threads)
    console = Console(stderr=True, quiet=quiet, highlight=False)
    logging.basicConfig(format="%(message)s", level=logging.ERROR)  # compiling is no news among tasks of seconds
    console.print(f"[bold]The paper's experiments[/bold] on {', '.join(setup.sets)}")
    with Progress("{task.description}", BarColumn(), MofNCompleteColumn(), _TimeLeft(), console=console) as bar:
        task = bar.add_task("preparing", total=None, end=None)

        def show(now: Step) -> None:
            end = time.monotonic() + now.seconds_left if now.key else None
            description = escape(now.key or "writing")
            bar.update(task, description=description, total=now.n_tasks, completed=now.n_done, end=end)

        done = run_study(setup, chosen, kinds, show)
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
) -> tuple[Setup, list[Part]]:
    """Return what to do, or raise a ValueError that names the option before any work starts."""
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


def _say(console: Console, done: Done) -> None:
    outcome = done.outcome
    if outcome.interrupted:
        console.print("[yellow]Interrupted: what is recorded is kept, and the next run goes on from there.[/yellow]")
    for key, why in outcome.failures.items():
        console.print(f"[red]{escape(key)}[/red]: {escape(why)}", soft_wrap=True)
    kept = f" ({outcome.n_kept} of them were there)" if outcome.n_kept else ""
    console.print(f"{len(outcome.records)} records{kept}, {done.n_tables} tables, {done.n_figures} figures")
    console.print(f"results page: {escape(str(done.page))}", soft_wrap=True)
