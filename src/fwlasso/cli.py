"""The command line: how its commands, in `cli_path`, `cli_cv`, `cli_model` and `cli_data`, are called."""

import sys
from pathlib import Path
from typing import Annotated, Any

try:
    import typer
    from rich.console import Console
    from rich.markup import escape
except ModuleNotFoundError as error:  # pragma: no cover
    sys.exit(f"The command line needs {error.name}: pip install 'fwlasso[cli,plot]'")

from . import __version__, cli_cv, cli_data, cli_model, cli_path
from .cli_options import EXIT_BAD_INPUT, EXIT_CODES, EXIT_INCOMPLETE, EXIT_INTERRUPTED, Threads

# UsageError: in some versions of typer it has no public name.
_BAD_CALL: Any = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="fwlasso",
    help="Certified Lasso paths on millions of features.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for commands in (cli_path, cli_cv, cli_model, cli_data):
    commands.add_commands(app)


def main() -> None:
    """Run the command line; whatever is wrong with a call or its data ends with one line, not with a traceback."""
    try:
        ended = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except _BAD_CALL as error:
        command = "fwlasso" if error.ctx is None else error.ctx.command_path
        _say(f"{error.format_message()} See {command} --help")
        sys.exit(EXIT_BAD_INPUT)
    except MemoryError:
        _say("there is not enough memory: convert the data to a store, which may be larger than it (fwlasso convert)")
        sys.exit(EXIT_BAD_INPUT)
    except (ValueError, OSError, ImportError) as error:
        _say(str(error))
        sys.exit(EXIT_BAD_INPUT)
    if ended == EXIT_INTERRUPTED:
        _say("interrupted")
    sys.exit(ended if isinstance(ended, int) else 0)


def _say(text: str) -> None:
    """Print a line about what is wrong."""
    line = " ".join(text.split())
    Console(stderr=True, highlight=False).print(f"[red]fwlasso:[/red] {escape(line)}", soft_wrap=True)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """Certified Lasso paths on millions of features."""


@app.command(epilog="Exit codes: 0 all is computed; 2 bad input; 3 interrupted: the next run goes on.")
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

    For example:

    fwlasso paper --tables --set pyrim --data folder

    fwlasso paper --part synthetic --seeds 3
    """
    from .paper.command import run_command

    kinds = [kind for kind, wanted in (("tables", tables), ("figures", figures)) if wanted] or ["tables", "figures"]
    if not run_command(kinds, sets or [], everything, part or [], seeds, data, out, threads, quiet):
        raise typer.Exit(EXIT_INCOMPLETE)
