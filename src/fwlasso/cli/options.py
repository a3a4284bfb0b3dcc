"""Options that several commands have, and the codes they end with."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from ..options import Options
from ..solvers.registry import SOLVERS, STOPS

EXIT_BAD_INPUT, EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_TERMINATED = 2, 3, 130, 143
EXIT_CODES = (
    "Exit codes: 0 the path is complete; 2 bad input; 3 the path ended early, and what is solved is kept; "
    "130 Ctrl-C, or 143 SIGTERM, before there was anything to keep."
)
KINDS = "LIBSVM, npz, npy, csv, tsv, parquet, mtx, h5ad, bed or a store; - is a csv from standard input"

_BY_RADIUS = ", ".join(name for name, entry in SOLVERS.items() if entry.grids[0] == "radii")
_BY_CHANGE = ", ".join(name for name, entry in SOLVERS.items() if entry.stops[0] == "change")

Data = Annotated[Path, typer.Argument(metavar="FILE", help=f"{KINDS}.")]
Target = Annotated[
    str | None,
    typer.Option(help="Response: a column of csv, parquet and h5ad; a file (.npy, .txt) beside npz, npy, mtx and bed."),
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="Indices of LIBSVM text. Default: from 1 unless there is a 0; of new data as in those of the model.",
    ),
]
Columns = Annotated[
    str | None, typer.Option(metavar="NAMES", help="Features of a table to take, with commas between them.")
]
Exclude = Annotated[
    str | None, typer.Option(metavar="NAMES", help="Columns of a table to leave out, with commas between them.")
]
Alphas = Annotated[int | None, typer.Option(help="Points on a grid of penalties. Default: 100.")]
Radii = Annotated[int | None, typer.Option(help=f"Points on a grid of l1 norms. Default for {_BY_RADIUS}: 100.")]
Eps = Annotated[
    float | None,
    typer.Option(help="Ratio of the ends of the grid. Default: 0.01 with more features than samples, else 0.0001."),
]
Standardize = Annotated[bool, typer.Option(help="Scale the columns to a mean square of one.")]
Intercept = Annotated[bool, typer.Option(help="Fit an intercept.")]
Solver = Annotated[str, typer.Option(help=f"One of {', '.join(SOLVERS)}.", autocompletion=lambda: list(SOLVERS))]
Stop = Annotated[
    str | None,
    typer.Option(
        help=f"gap, change or paper. Default: gap; change for {_BY_CHANGE}.", autocompletion=lambda: list(STOPS)
    ),
]
_TOL = "Tolerance of the stopping rule. Default: 1e-4 for gap, 1e-6 for cv, else 1e-3."
Tol = Annotated[float | None, typer.Option(help=_TOL)]
SampleSize = Annotated[float | None, typer.Option(help="Columns per step: a number, or a share below 1.")]
BlockSize = Annotated[int | None, typer.Option(help="Neighbouring columns drawn together.")]
MaxIter = Annotated[int, typer.Option(help="Iterations per point.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds for the solver; what is solved by then is kept.")]
Seed = Annotated[int, typer.Option(help="Seed of the random draws.")]
Threads = Annotated[int | None, typer.Option(help="Threads for scans of large data. Default: all cores.")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder to keep the run in, while it is computed, and what comes of it."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in DIR; begin it if there is none.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Begin anew in a folder that holds results.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors, and JSON with --json.")]
Silent = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]  # where there is no --json
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="All points in the table, and the settings.")]


# Settings of a path that have another name on the command line: shorter, or that of other tools.
_NAMES = {"intercept": "fit_intercept", "seed": "random_state", "threads": "n_threads"}
_SETTINGS = {field.name for field in dataclasses.fields(Options)}


def check_out(out: Path | None, *, resume: bool, overwrite: bool) -> None:
    """Raise a ValueError unless the options for the folder of a run go together."""
    if (resume or overwrite) and out is None:
        raise ValueError("--resume and --overwrite need --out, the folder of the run")
    if resume and overwrite:
        raise ValueError("give --resume or --overwrite, not both")


def path_settings(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a path among the parameters of a command."""
    named = {_NAMES.get(name, name): value for name, value in parameters.items()}
    settings = {name: value for name, value in named.items() if name in _SETTINGS}
    return settings | {"sample_size": _as_sample_size(settings["sample_size"])}


def _as_sample_size(number: float | None) -> int | float | None:
    """Return a whole number of columns as one; a share as it is."""
    return int(number) if number is not None and number >= 1 and number.is_integer() else number
