"""Run the paper's experiments again: tables with the published figures beside ours, figures and a results page."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn
from rich.progress import Progress as Bar
from rich.progress import Task as RichTask
from rich.text import Text

from fwlasso.cli.ending import EXIT_INCOMPLETE, say_fault
from fwlasso.cli.show import Detail, show_log
from fwlasso.monitor import terminating

from .main import Done, all_parts, choose_sets, run_study
from .runner import StudyStep
from .study import Kind, Part, Setup

_EPILOG = """\
By default it runs on the synthetic sets and on those whose files are in the data folder (pyrim_scale, triazines_scale,
dorothea/X.npz and y.npy, news20 likewise, E2006.train and E2006.test, log1p.E2006.train and log1p.E2006.test).
E2006-log1p, 4,272,227 variables, is a stand-in of its size and density where its files are not at hand; one of
E2006-tfidf is made where --set or --all ask for it. Every task leaves a record: after Ctrl-C, or with other
options, the next run goes on from there. Exit codes: 0 all is computed; 2 bad input; 3 interrupted, or a task failed.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; return the exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        setup, parts = _asked(given)
    except ValueError as error:
        parser.error(str(error))
    kinds: list[Kind] = [kind for kind in ("tables", "figures") if getattr(given, kind)] or ["tables", "figures"]
    with terminating():
        return 0 if _run_study(setup, parts, kinds, given.quiet) else EXIT_INCOMPLETE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__, epilog=_EPILOG)
    add = parser.add_argument
    add("--tables", action="store_true", help="tables alone, and only what they need")
    add("--figures", action="store_true", help="figures alone, and only what they need")
    add("--set", action="append", default=[], dest="sets", help="a data set such as pyrim; repeat it for more")
    add("--all", action="store_true", dest="everything", help="all sets that are at hand, and E2006 in any case")
    add("--part", action="append", default=[], dest="parts", help="a part of the study by name; repeat it for more")
    add("--seeds", type=int, default=10, help="runs of random methods; on E2006 one")
    add("--data", type=Path, help="folder of the data sets; by default that of FWLASSO_DATA")
    add("--out", type=Path, default=Path("fwlasso-paper"), help="folder for records, tables, figures and RESULTS.md")
    add("--threads", type=int, default=1, help="threads; by default one, as the programs it is compared with")
    add("--quiet", "-q", action="store_true", help="print nothing but errors")
    return parser


def _asked(given: argparse.Namespace) -> tuple[Setup, list[Part]]:
    """Return what to do, or raise a ValueError that names the option before any work starts."""
    if given.seeds < 1:
        raise ValueError(f"--seeds must be at least 1, got {given.seeds}")
    if given.threads is not None and given.threads < 1:
        raise ValueError(f"--threads must be at least 1, got {given.threads}")
    if given.data is not None and not given.data.is_dir():
        raise ValueError(f"--data: {given.data} is not a folder")
    if given.out.exists() and not given.out.is_dir():
        raise ValueError(f"--out: {given.out} is not a folder")
    known = all_parts()
    unknown = [name for name in given.parts if name not in known]
    if unknown:
        raise ValueError(f"--part must be one of {', '.join(known)}, got {unknown[0]!r}")
    chosen = [part for name, part in known.items() if name in given.parts or not given.parts]
    sets = choose_sets(given.sets, given.everything, given.data)
    return Setup(sets, given.seeds, given.data, given.out, given.threads), chosen


def _run_study(setup: Setup, parts: list[Part], kinds: Sequence[Kind], quiet: bool) -> bool:
    """Run the study; tell whether all of it ran."""
    console = Detail(quiet=quiet).aside()
    show_log(errors_only=True)  # compiling is no news among tasks of seconds
    console.print(f"[bold]The paper's experiments[/bold] on {', '.join(setup.sets)}")
    with Bar("{task.description}", BarColumn(), MofNCompleteColumn(), _TimeLeft(), console=console) as bar:
        task = bar.add_task("preparing", total=None, end=None)

        def show(now: StudyStep) -> None:
            end = time.monotonic() + now.seconds_left if now.key else None
            description = escape(now.key or "writing")
            bar.update(task, description=description, total=now.n_tasks, completed=now.n_done, end=end)

        done = run_study(setup, parts, kinds, show)
    _say(console, done)
    return not done.outcome.interrupted and not done.outcome.failures


class _TimeLeft(ProgressColumn):
    """What is left until the expected end, which is expected again after every task."""

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
        say_fault(f"{key}: {why}")
    kept = f" ({outcome.n_kept} of them were there)" if outcome.n_kept else ""
    console.print(f"{len(outcome.records)} records{kept}, {done.n_tables} tables, {done.n_figures} figures")
    console.print(f"results page: {escape(str(done.page))}", soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
