"""The study: its parts, run and written."""

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import fwlasso
from fwlasso.data.compressed import write_text

from . import data_part, differences, large_part, synthetic_part
from .data.places import data_folder
from .figures import write_figure
from .machine import processor
from .page import write_page
from .runner import Outcome, Records, Stamp, StudyStep, run_tasks
from .sets import FILES, HEADLINE, STUDY_SETS, files_of, print_of_files, sets_at_hand
from .solvers import register_baselines
from .study import Findings, Kind, Part, Setup, Task
from .tables import records_csv, write_table

#: Sources of the package that compute nothing: they show results.
_SHOWING = ("cli", "plots.py", "report")
#: Folders of the reproduction that do compute.
_COMPUTING = ("data", "solvers")


def all_parts() -> dict[str, Part]:
    """Return the parts of the study by name: those of the paper, and those beyond it."""
    from .beyond import PARTS

    paper = (data_part.PART, differences.DIFFERENCES, synthetic_part.PART, large_part.PART)
    parts = (*paper, *PARTS, differences.ABSENT)
    return {part.name: part for part in parts}


def choose_sets(names: Sequence[str], everything: bool, folder: Path | None) -> tuple[str, ...]:
    """Return the data sets to run: those named, or those at hand and the headline's; all of E2006 if `everything` is.

    A ValueError names what is not there.
    """
    unknown = [name for name in names if name not in STUDY_SETS]
    if unknown:
        raise ValueError(f"--set must be one of {', '.join(STUDY_SETS)}, got {unknown[0]!r}")
    at_hand = sets_at_hand(folder)
    e2006 = [name for name in STUDY_SETS if name.startswith("e2006")]
    wanted = names or ({*at_hand, *(e2006 if everything else [HEADLINE])})
    for name in wanted:
        if files_of(name, folder) is None and name not in e2006:  # E2006 has stand-ins
            raise ValueError(
                f"--set {name}: there is no file {FILES[name][0]} in {data_folder(folder)}, see --data; "
                f"reproduction.data.paper_sets.fetch_paper_set({name!r}) downloads it"
            )
    return tuple(name for name in STUDY_SETS if name in wanted)


class Done(NamedTuple):
    """What came of a study."""

    outcome: Outcome
    page: Path
    n_tables: int
    n_figures: int


def run_study(
    setup: Setup, parts: Sequence[Part], kinds: Sequence[Kind], tell: Callable[[StudyStep], None] = lambda _: None
) -> Done:
    """Run the tasks of some parts, then write tables, figures and the page from all records that are there."""
    register_baselines()
    chosen = [part for part in parts if set(part.makes) & set(kinds)]
    tasks = {task.key: task for part in chosen for task in part.tasks(setup)}  # parts share those of one key
    outcome = run_tasks(_set_by_set(list(tasks.values())), Records(setup.out / "records"), _stamp_of(setup), tell)
    failures = dict(outcome.failures)
    shown: list[tuple[Part, Findings]] = []
    for part in chosen:
        try:
            shown.append((part, part.show(setup, outcome.records)))
        except Exception as error:  # the other parts are shown all the same
            failures[part.name] = f"{type(error).__name__}: {error}"
    tables = [table for _, findings in shown for table in findings.tables if "tables" in kinds]
    figures = [figure for _, findings in shown for figure in findings.figures if "figures" in kinds]
    setup.out.mkdir(parents=True, exist_ok=True)
    for table in tables:
        write_table(table, setup.out / "tables")
    write_text(setup.out / "records.csv", records_csv(outcome.records))
    for figure in figures:
        write_figure(figure, setup.out / "figures")
    page = setup.out / "RESULTS.md"
    write_text(page, write_page(setup, shown, failures, kinds))
    return Done(outcome._replace(failures=failures), page, len(tables), len(figures))


def _set_by_set(tasks: list[Task]) -> list[Task]:
    """Return the tasks with those of a data set together: one of them is in memory at a time."""
    places = {name: place for place, name in enumerate(STUDY_SETS)}
    return sorted(tasks, key=lambda task: max(places.get(part, -1) for part in task.key.split("/")))


def _stamp_of(setup: Setup) -> Callable[[Task], Stamp]:
    """Return what tells records of this program, this machine and these data from others."""
    common = {
        "version": fwlasso.__version__,
        "code": _code(),
        "machine": processor(),
        "threads": setup.n_threads or os.environ.get("OMP_NUM_THREADS"),
    }

    def stamp(task: Task) -> Stamp:
        data = {name: print_of_files(name, setup.data) for name in task.key.split("/") if name in STUDY_SETS}
        return {**common, "data": data}

    return stamp


@cache
def _code() -> str:
    """Return a digest of the sources that compute: a record of other code does not fit."""
    package, here = Path(fwlasso.__file__).parent, Path(__file__).parent
    sources = {source.relative_to(package): source for source in package.rglob("*.py")}
    computing = [source for name, source in sorted(sources.items()) if name.parts[0] not in _SHOWING]
    computing += [source for folder in _COMPUTING for source in sorted((here / folder).rglob("*.py"))]
    digest = hashlib.sha256()
    for source in computing:
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
