"""The command line: its commands, and how a call of one ends."""

import os
import re
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

from .._core.start import QuietImports

with QuietImports():
    try:
        import rich  # noqa: F401
        import typer
    except ModuleNotFoundError as error:  # pragma: no cover
        sys.exit(f"The command line needs {error.name}: pip install 'fwlasso[cli,plot]'")

    from .. import __version__
    from ..monitor import terminating
    from .cv import cv
    from .data import convert, info, verify
    from .model import predict, report
    from .options import EXIT_BAD_INPUT, EXIT_CODES, EXIT_INTERRUPTED, EXIT_TERMINATED, with_flags
    from .path import demo, path
    from .show import put, say_fault

# UsageError: in some versions of typer it has no public name.
_BAD_CALL: Any = typer.BadParameter.__mro__[1]

_STDERR = 2  # of the standard streams, the one with the largest number

app = typer.Typer(
    name="fwlasso",
    help="Certified Lasso paths on millions of features.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
_COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    EXIT_CODES: (path, demo, cv),
    "Exit codes: 0 done; 2 bad input.": (predict, report, convert, info, verify),
}
for codes, commands in _COMMANDS.items():
    for command in commands:
        app.command(epilog=codes)(with_flags(command))


def main() -> None:
    """Run the command line; whatever is wrong with a call or its data ends with one line, not with a traceback."""
    _fill_closed()
    with terminating(), warnings.catch_warnings():
        warnings.showwarning = lambda warning, *_, **__: say_fault(str(warning))  # of an old name of an option, say
        _main()


def _fill_closed() -> None:
    """Let files that are opened not get the numbers of standard streams that are closed: others write to these."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(number)


def _main() -> None:
    try:
        ended = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except _BAD_CALL as error:
        command = "fwlasso" if error.ctx is None else error.ctx.command_path
        say_fault(f"{error.format_message()} See {command} --help")
        sys.exit(EXIT_BAD_INPUT)
    except MemoryError:
        remedy = "convert the data to a store, which may be larger than memory (fwlasso convert)"
        say_fault(f"there is not enough memory: {remedy}")
        sys.exit(EXIT_BAD_INPUT)
    except (ValueError, OSError, ImportError) as error:
        say_fault(_by_options(str(error)))
        sys.exit(EXIT_BAD_INPUT)
    except SystemExit as error:
        if error.code == EXIT_TERMINATED:
            say_fault("terminated")
        raise
    if ended == EXIT_INTERRUPTED:
        say_fault("interrupted")
    sys.exit(ended if isinstance(ended, int) else 0)


def _by_options(fault: str) -> str:
    """Let a fault that begins with the name of an argument in Python begin with the option that gives it."""
    commands: Any = typer.main.get_command(app)
    called = next((commands.commands[word] for word in sys.argv[1:] if word in commands.commands), commands)
    for given in called.params:
        if given.opts[0].startswith("--"):
            names = f"{given.name}|sample_weight" if given.name == "weights" else given.name
            fault = re.sub(rf"^({names})(?=:? )", given.opts[0], fault)
    return fault


def _version(wanted: bool) -> None:
    if wanted:
        put(__version__ + "\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """Certified Lasso paths on millions of features."""
