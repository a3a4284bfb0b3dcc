"""What the commands save in a folder, and how a folder that holds something is treated."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..checkpoints.folder import (
    CHOICE,
    MODEL,
    PATH,
    PICTURE,
    REPORT,
    Checkpoint,
    alone_in,
    clear_checkpoint,
    of_ratios,
    read_checkpoint,
)
from ..data.compressed import replacing
from ..data.files import naming
from ..data.sealed import is_number, read_record, require, write_record
from ..models import LinearModel
from ..plots import draw_coefs
from ..report.page import write_report
from ..result import LassoPath
from ..selection.choice import Choice, choice_on
from ..selection.pictures import read_pictures
from .options import RunFolder

_FORMAT, _VERSION = "fwlasso-choice", 1


def check_folder(folder: RunFolder) -> bool:
    """Raise a ValueError unless a folder can be used as asked; tell whether it holds all that would come of it."""
    out, resume, overwrite = folder
    if out is None:
        if resume or overwrite:
            raise ValueError("--resume and --overwrite need --out, the folder of the run")
        return False
    if resume and overwrite:
        raise ValueError("give --resume or --overwrite, not both")
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out: {out} is not a folder")
    if overwrite:
        return False
    try:
        run = next(iter(runs_in(out)), None)
    except ValueError as error:
        raise ValueError(f"{error}; --overwrite starts again") from error
    if run is not None and not resume:
        state = "a complete run" if run.is_complete else "an unfinished run"
        raise ValueError(f"{out} holds {state}: --resume continues it, --overwrite starts again")
    if run is None and (out / PATH).exists():
        raise ValueError(f"{out} holds results: --overwrite replaces them")
    is_saved = run is not None and run.is_complete and run.is_saved and (out / PATH).exists()
    if is_saved:  # who reads that there is nothing to do can rely on what is there
        load_choice(out, LassoPath.load(out / PATH))
    return is_saved


def runs_in(out: Path) -> list[Checkpoint]:
    """Return the run in a folder, or those of several l1_ratios in it."""
    found = map(read_checkpoint, (out, *of_ratios(out)))
    return [run for run in found if run is not None]


def clear_folder(folder: RunFolder) -> None:
    """Remove what was saved there, if that was asked for; files that are none of ours stay."""
    out = folder.out
    if out is not None and folder.overwrite and out.is_dir():
        with alone_in(out):
            for run in (out, *of_ratios(out)):
                clear_checkpoint(run)
            for name in (PATH, PICTURE, REPORT, MODEL, CHOICE):
                (out / name).unlink(missing_ok=True)


def save(result: LassoPath, out: Path, title: str, choice: Choice | None, *, is_whole: bool) -> list[str]:
    """Save a path and what belongs to it; return the names of the files. Each appears in one step.

    `is_whole` tells that nothing was ended early.
    """
    out.mkdir(parents=True, exist_ok=True)
    with alone_in(out):
        result.save(out / PATH)
        with replacing(out / PICTURE) as stream:
            draw_coefs(result).savefig(stream, dpi=150, format="png")
        names = [PATH, PICTURE, REPORT]
        if choice is not None:
            write_record(out / CHOICE, {"format": _FORMAT, "version": _VERSION, **choice.record()})
            LinearModel.from_choice(choice, path=result).save(out / MODEL)
            names += [CHOICE, MODEL]
        else:  # those of a shorter path would not belong to this one
            for name in (CHOICE, MODEL):
                (out / name).unlink(missing_ok=True)
        write_report(result, out / REPORT, title, choice)
        for run in runs_in(out) if is_whole else ():
            run.mark_saved()
    return names


def load_choice(run: Path, path: LassoPath) -> Choice | None:
    """Return the choice that is saved in a run, if there is one, with the coefficients of its model."""
    file = run / CHOICE
    if not file.is_file():
        return None
    model = LinearModel.load(run / MODEL)
    record = read_record(file, _FORMAT, _VERSION)
    with naming(file, Exception):
        point, names = record["point"], ("rule", "criterion", "greater_is_better", "blend", "radius", "r2")
        arrays: dict[str, Any] = {
            name: None if record[name] is None else np.array(record[name], dtype=np.float64)
            for name in ("scores", "standard_errors", "fold_scores")
        }
        p, (n,) = path.coefs.shape[0], arrays["scores"].shape
        known = type(point) is int and 0 <= point < n == len(path) and np.isfinite(arrays["scores"]).any()
        require(bool(known) and model.n_features == p, "it does not belong to the path and the model beside it")
        shapes = [(n,) if values is None else values.shape for values in arrays.values()]
        require(shapes[1] == (n,) and shapes[2][:1] == (n,) and len(shapes[2]) <= 2, "its scores are inconsistent")
        known = all(isinstance(record[name], str) for name in names[:2]) and type(record[names[2]]) is bool
        known = known and all(record[name] is None or is_number(record[name]) for name in names[3:])
        require(known, f"{', '.join(names)}: one is of a wrong type")
        rest: dict[str, Any] = {name: np.nan if record[name] is None else record[name] for name in names}
        rest["pictures"] = read_pictures(record.get("pictures", ()))
        coef = sp.csc_array((model.coefs, (model.indices, np.zeros(model.indices.size, np.int64))), shape=(p, 1))
        return choice_on(path, Choice(point=point, coef=coef, intercept=model.intercept, **rest, **arrays))
