"""What the commands keep in a folder, and how a folder that holds something is treated."""

from pathlib import Path

from .choice import Choice
from .datasets.compressed import replacing
from .models import LinearModel
from .plots import draw_coefs
from .report import write_report
from .result import LassoPath
from .runs import CHOICE, MODEL, PATH, PICTURE, REPORT, clear_run, read_run, write_json


def check_folder(out: Path, *, resume: bool, overwrite: bool) -> bool:
    """Raise a ValueError unless the folder can be used as asked; tell whether it holds all that would come of it."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out: {out} is not a folder")
    if overwrite:
        return False
    run = read_run(out)
    if run is not None and not resume:
        state = "a complete run" if run.is_complete else "an unfinished run"
        raise ValueError(f"{out} holds {state}: --resume goes on with it, --overwrite begins anew")
    if run is None and (out / PATH).exists():
        raise ValueError(f"{out} holds results: --overwrite replaces them")
    return run is not None and run.is_complete and run.is_kept


def clear_folder(out: Path) -> None:
    """Remove what was kept there; files that are none of ours stay."""
    if out.is_dir():
        clear_run(out)
        for name in (PATH, PICTURE, REPORT, MODEL, CHOICE):
            (out / name).unlink(missing_ok=True)


def keep(result: LassoPath, out: Path, title: str, choice: Choice | None, *, is_whole: bool) -> list[str]:
    """Keep a path and what belongs to it; return the names of the files. Each appears in one step.

    `is_whole` tells that nothing was ended early.
    """
    out.mkdir(parents=True, exist_ok=True)
    result.save(out / PATH)
    with replacing(out / PICTURE) as stream:
        draw_coefs(result).savefig(stream, dpi=150, format="png")
    names = [PATH, PICTURE, REPORT]
    if choice is not None:
        write_json(out / CHOICE, choice.record())
        LinearModel.from_choice(choice, result.feature_names).save(out / MODEL)
        names += [CHOICE, MODEL]
    else:  # those of a shorter path would not belong to this one
        for name in (CHOICE, MODEL):
            (out / name).unlink(missing_ok=True)
    write_report(result, out / REPORT, title, choice)
    run = read_run(out)
    if run is not None and is_whole:
        run.mark_kept()
    return names
