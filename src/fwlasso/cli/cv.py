"""The command ``fwlasso cv``: a path, and the choice of a model on it by cross-validation."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold

from .._core.columns import Vector
from ..checkpoints.folder import read_run
from ..options import Options
from ..selection.criteria import INFORMATION_RULES, SCORE_RULES
from ..selection.cross_validation import cross_validate
from ..selection.folds import DEFAULT_FOLDS, Plan
from ..selection.together import Rows
from . import options as given
from .path import NOT_SCORED, Scored, finish, resumable
from .read import read_data, read_validation
from .save import check_folder, clear_folder
from .show import Detail, solving

RULES = (*SCORE_RULES, *INFORMATION_RULES)


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module to the command line."""
    app.command(epilog=given.EXIT_CODES)(cv)


# So many parameters: typer takes the options of a command from its signature.
def cv(
    context: typer.Context,
    file: given.Data,
    target: given.Target = None,
    columns: given.Columns = None,
    exclude: given.Exclude = None,
    zero_based: given.ZeroBased = None,
    folds: Annotated[int | None, typer.Option(help="Parts that are held out, one after the other. Default: 5.")] = None,
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Draw the folds at random: for sorted rows.")] = False,
    stratify: Annotated[bool, typer.Option("--stratify", help="Make folds with like responses, or classes.")] = False,
    groups: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Labels of the rows, a line each: equal ones are together.",
        ),
    ] = None,
    rule: Annotated[
        str, typer.Option(help=f"How the model is chosen: {', '.join(RULES)}.", autocompletion=lambda: list(RULES))
    ] = "min",
    relax: Annotated[bool, typer.Option("--relax", help="Choose among least-squares refits, too.")] = False,
    validation: Annotated[
        str | None, typer.Option(metavar="FILE|SHARE", help="Held-out data, or a share of the rows, in place of folds.")
    ] = None,
    alphas: given.Alphas = None,
    radii: given.Radii = None,
    eps: given.Eps = None,
    standardize: given.Standardize = False,
    intercept: given.Intercept = True,
    solver: given.Solver = Options.solver,
    stop: given.Stop = None,
    tol: given.Tol = None,
    sample_size: given.SampleSize = None,
    block_size: given.BlockSize = None,
    max_iter: given.MaxIter = Options.max_iter,
    time_limit: given.TimeLimit = None,
    seed: given.Seed = 0,
    threads: given.Threads = None,
    out: given.Out = None,
    resume: given.Resume = False,
    overwrite: given.Overwrite = False,
    as_json: given.AsJson = False,
    quiet: given.Quiet = False,
    verbose: given.Verbose = False,
) -> None:
    """Compute a path on the data in FILE, and choose a model on it by cross-validation or by an information criterion.

    With --out the paths are kept while they are computed, that of every fold, too: the same command with --resume goes
    on, and another --rule or --relax chooses again from what is solved.

    For example:

    fwlasso cv train.svm --standardize --rule 1se --out result

    fwlasso cv train.svm --standardize --rule min --out result --resume

    fwlasso cv table.csv --target price --shuffle --seed 1

    fwlasso cv table.csv --target price --validation new.csv --json
    """
    if rule not in RULES:
        raise ValueError(f"--rule must be one of {', '.join(RULES)}, got {rule!r}")
    if folds is not None and folds < 2:
        raise ValueError(f"--folds must be at least 2, got {folds}")
    has_folds = folds is not None or shuffle or stratify or groups is not None
    if has_folds and validation is not None:
        raise ValueError("give --folds, --shuffle, --stratify and --groups, or --validation, not both")
    given.check_out(out, resume=resume, overwrite=overwrite)
    # Before anything is read. In segments with and without a folder, so that it changes no bit, and so no choice.
    options = Options(checkpoint=out, in_segments=True, **given.path_settings(context.params))
    if out is not None:
        check_folder(out, resume=resume, overwrite=overwrite)
        if tol is None and (begun := read_run(out)) is not None and not overwrite:
            options = replace(options, tol=begun.tol)  # of a path, say, whose default is another
    detail = Detail(as_json, quiet, verbose)
    data = read_data(file, detail, target, zero_based, columns, exclude)
    held_out = None if validation is None else _share(validation)
    if validation is not None and held_out is None:
        held_out = read_validation(Path(validation), data, detail, target, zero_based)[:2]
    cv = _folds(folds, data.y, seed, shuffle, stratify, groups) if shuffle or stratify or groups else folds
    plan = Plan(cv=cv, rule=rule, relax=relax, validation=held_out)
    if out is not None and overwrite:
        clear_folder(out)
    with resumable(out, detail):
        with solving(detail, str(file), data) as show:
            found = cross_validate(data, None, replace(options, callback=show), plan)
        scored = Scored({found.choice.criterion: found.choice.scores}, found.choice)
        if np.isnan(found.choice.scores).all():  # ended before anything was solved in every fold
            scored = NOT_SCORED
        finish(found.path, str(file), out, detail, found.ending, scored)


def _folds(
    folds: int | None, y: Vector, seed: int, shuffle: bool, stratify: bool, groups: Path | None
) -> list[tuple[Rows, Rows]]:
    """Return the rows of every fold that are fitted, and those that are held out."""
    n_folds = folds or DEFAULT_FOLDS
    m = len(y)
    # Strata are runs of the sorted responses, as many as give each fold a part of every one; classes are, too.
    ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    strata = ranks * max(m // n_folds, 1) // m if stratify else np.zeros(m, np.int64)
    drawn: dict[str, Any] = {"shuffle": shuffle, "random_state": seed if shuffle else None}
    if groups is not None:
        labels = groups.read_text(encoding="utf-8").splitlines()
        if len(labels) != m:
            raise ValueError(f"--groups: {groups} has {len(labels)} lines, and the data have {m} rows")
        if len(set(labels)) < n_folds:
            raise ValueError(f"--groups: {groups} has {len(set(labels))} groups, and there are {n_folds} folds")
        return list(StratifiedGroupKFold(n_folds, **drawn).split(strata, strata, labels))
    splitter = StratifiedKFold(n_folds, **drawn) if stratify else KFold(n_folds, **drawn)
    return list(splitter.split(strata, strata))


def _share(text: str) -> Any:
    """Return a share of the rows; None if the text is no number, but the name of a file."""
    try:
        share = float(text)
    except ValueError:
        return None
    if not 0.0 < share < 1.0:
        raise ValueError(f"--validation must be a file, or a share between 0 and 1, got {text}")
    return share
