"""Options that several commands have, by themselves and in records."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ..monitor import terminating
from ..options import SPECS, Options
from .names import with_columns

KINDS = "LIBSVM, npz, npy, csv, tsv, parquet, mtx, h5ad, bed or a store; - is a csv from standard input"

Target = Annotated[
    str | None,
    typer.Option(
        help="Response: a column of csv, parquet, h5ad and --pheno; a file (.npy, .txt) beside npz, npy, mtx and bed."
    ),
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="Base of LIBSVM indices. Default: 1 unless an index is 0; for new data, that of the model.",
    ),
]
_BESIDE = "a column of a table or h5ad, else a file (.npy, .txt) beside the data"
Weights = Annotated[str | None, typer.Option("--weights", metavar="NAME", help=f"Weights of the samples: {_BESIDE}.")]
Offset = Annotated[str | None, typer.Option(metavar="NAME", help=f"The part of the response that is known: {_BESIDE}.")]
_NAMES = "names with commas between them, or a file with one a line"
Exclude = Annotated[
    str | None,
    typer.Option(metavar="NAMES|FILE", help=f"Columns of a table, or variants, to leave out: {_NAMES}."),
]
Pheno = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Phenotypes for a bed, joined by FID and IID: lines of FID, IID, value, or a table with names.",
    ),
]
Covariates = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Covariates for a bed, without a penalty: columns with FID and IID."),
]
Keep = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Samples of a bed to take: FID and IID, or IID, a line.")
]
Remove = Annotated[Path | None, typer.Option(metavar="FILE", help="Samples of a bed to leave out, like --keep.")]
DropMissing = Annotated[
    bool,
    typer.Option("--drop-missing", help="Leave out rows of a table with a cell that has no value (empty, NA, ...)."),
]
Impute = Annotated[
    str | None,
    typer.Option(metavar="mean", help="Give cells without a value the mean of their column, in new rows, too."),
]
Threads = Annotated[int | None, typer.Option(SPECS["n_threads"].flag, help=SPECS["n_threads"].help)]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors, and JSON with --json.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show all points and the settings.")]


class Input(NamedTuple):
    """Data, and what of them is taken."""

    file: Annotated[Path, typer.Argument(metavar="FILE", help=f"{KINDS}.")]
    target: Target = None
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns", "--extract", metavar="NAMES|FILE", help=f"Features of a table, or variants, to take: {_NAMES}."
        ),
    ] = None
    exclude: Exclude = None
    zero_based: ZeroBased = None
    pheno: Pheno = None
    covariates: Covariates = None
    keep: Keep = None
    remove: Remove = None
    drop_missing: DropMissing = False
    impute: Impute = None
    weights: Weights = None
    offset: Offset = None


class RunFolder(NamedTuple):
    """Where a run is saved, and what becomes of one that is there."""

    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the run, saved as it is computed, and its results."),
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in DIR; start one if there is none.")] = False
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Start again in a folder that holds results.")] = False


def _one_or_more(given: str | float) -> float | list[float]:
    """Return a number, or some with commas between them."""
    numbers = [float(part) for part in str(given).split(",")]
    return numbers if len(numbers) > 1 else numbers[0]


#: Options with a type of their own, by name.
_PARSERS = {"l1_ratio": _one_or_more}


def with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as typer calls it: of a record among its parameters, every field is an option.

    Of several l1_ratios a command that asks for a list of options has one for each.
    """
    records: dict[str, tuple[Any, list[str]]] = {}
    flat: list[Parameter] = []
    for name, given in inspect.signature(command).parameters.items():
        if flags := _flags(given.annotation):
            make = {Options: _as_options, list[Options]: _for_ratios}.get(given.annotation, given.annotation)
            records[name] = make, [flag.name for flag in flags]
            flat += flags
        else:
            flat.append(given.replace(kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def called(**values: Any) -> None:
        with terminating():
            for name, (make, names) in records.items():
                values[name] = make(**{each: values.pop(each) for each in names})
            command(**values)

    called.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    return called


def _flags(record: Any) -> list[Parameter]:
    """Return the options that a record is made of; none if it is no record."""
    if record in (Options, list[Options]):
        return [_flag(field.name, field.type, field.default) for field in fields(Options) if SPECS[field.name].help]
    if isinstance(record, type) and (is_dataclass(record) or hasattr(record, "_fields")):
        return [each.replace(kind=Parameter.KEYWORD_ONLY) for each in inspect.signature(record).parameters.values()]
    return []


def _flag(name: str, kind: Any, default: Any) -> Parameter:
    """Return an option of a path as an option of the command line."""
    spec = SPECS[name]
    values = list(spec.values)
    option = typer.Option(
        *filter(None, [spec.flag]),
        help=spec.help,
        autocompletion=(lambda: values) if values else None,
        parser=_PARSERS.get(name),
        metavar="NUMBER,..." if name in _PARSERS else None,
    )
    default = default if spec.preset is None else spec.preset
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[spec.kind or kind, option])


def _as_options(sample_size: float | None, **settings: Any) -> Options:
    """Return the options of a path; a sample size of a whole number is one of columns, not a share."""
    settings = with_columns(settings)
    is_count = sample_size is not None and sample_size >= 1 and sample_size.is_integer()
    return Options(sample_size=int(sample_size or 0) if is_count else sample_size, **settings)


def _for_ratios(**settings: Any) -> list[Options]:
    """Return the options of a path for every l1_ratio."""
    ratios = settings.pop("l1_ratio")
    if not isinstance(ratios, list):
        return [_as_options(l1_ratio=ratios, **settings)]
    if len(set(ratios)) < len(ratios):
        raise ValueError(f"l1_ratio must be a number, or some numbers that differ, got {ratios}")
    return [_as_options(l1_ratio=ratio, **settings) for ratio in ratios]
