"""The command line: its commands, and how a call of one ends."""

import functools
import os
import re
import sys
import warnings
from importlib import import_module
from typing import Annotated, Any

from .._core.start import QuietImports
from .._version import __version__

with QuietImports():
    try:
        import rich  # noqa: F401
        import typer
    except ModuleNotFoundError as error:  # pragma: no cover
        sys.exit(f"The command line needs {error.name}: pip install 'fwlasso[cli,plot]'")

    from typer.core import TyperCommand

    from .ending import EXIT_BAD_INPUT, EXIT_CODES, EXIT_INTERRUPTED, EXIT_TERMINATED, say_fault

# UsageError: in some versions of typer it has no public name.
_BAD_CALL: Any = typer.BadParameter.__mro__[1]

_STDERR = 2  # of the standard streams, the one with the largest number
_SETTINGS: dict[str, Any] = {"pretty_exceptions_enable": False}
# The module of every command, and the line of `fwlasso --help`: the first of its docstring. A command is imported when
# it is called, or its own help is.
COMMANDS = {
    "path": ("path", "Compute a path on the data in FILE."),
    "demo": (
        "path",
        "Compute a path on embedded data: 442 diabetes patients, 43,758 product features of ten measurements.",
    ),
    "cv": (
        "cv",
        "Compute a path on the data in FILE, and choose a model on it by cross-validation or by an information "
        "criterion.",
    ),
    "predict": (
        "model",
        'Predict the rows of DATA, one a line below the word "prediction"; with R2 and RMSE if the response is known.',
    ),
    "report": ("model", "Write the HTML report of a run again, as far as it is solved."),
    "convert": (
        "data",
        "Convert SOURCE to a STORE: a folder of arrays that is opened at once and may be larger than memory.",
    ),
    "info": (
        "data",
        "Tell what is in FILE, a file or a store, and what a path on it would cost. All columns are read.",
    ),
    "warm-up": (
        "warm",
        "Compile the kernels for all kinds of data, which takes minutes; later the first path of each starts at once.",
    ),
    "verify": ("data", "Read all of a STORE and compare it with the checksums that were written with it."),
}


@functools.cache
def command(name: str) -> Any:
    """Return a command, with its options."""
    module = COMMANDS[name][0]
    with QuietImports():
        from .options import with_flags

        function = getattr(import_module(f".{module}", __package__), name.replace("-", "_"))
    alone = typer.Typer(add_completion=False, **_SETTINGS)
    codes = EXIT_CODES if module in ("path", "cv") else "Exit codes: 0 done; 2 bad input."
    alone.command(name, epilog=codes)(with_flags(function))
    return typer.main.get_command(alone)


class _Late(TyperCommand):
    """A name and a line of help, in place of a command that is not imported yet."""

    def make_context(self, info_name: str | None, *arguments: Any, **settings: Any) -> Any:
        return command(str(self.name)).make_context(info_name, *arguments, **settings)


app = typer.Typer(
    name="fwlasso",
    help="Certified Lasso paths on millions of features.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    **_SETTINGS,
)
for _name, (_, _line) in COMMANDS.items():
    app.command(_name, cls=_Late, help=_line)(lambda: None)


def main() -> None:
    """Run the command line; whatever is wrong with a call or its data ends with one line, not with a traceback."""
    _fill_closed()
    with warnings.catch_warnings():
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
    called = next((word for word in sys.argv[1:] if word in COMMANDS), None)
    for given in command(called).params if called else []:
        if given.opts[0].startswith("--"):
            names = f"{given.name}|sample_weight" if given.name == "weights" else given.name
            fault = re.sub(rf"^({names})(?=:? )", given.opts[0], fault)
    return fault


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """Certified Lasso paths on millions of features."""
