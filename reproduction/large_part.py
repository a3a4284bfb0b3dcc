"""The large sets: every method on the paper's grids, in its units."""

from collections.abc import Mapping
from functools import partial

from . import published
from .claims import large_claims
from .data_part import data_task
from .figures import can_be_drawn, error_figure, sparsity_figure
from .measuring import measure
from .methods import METHODS, Method
from .sets import HEADLINE, LARGE, files_of, load
from .study import Findings, Part, Record, Setup, Task
from .summary import Result, summarize
from .tables import accuracy_table, cost_table

#: The methods of a set on which the others take minutes a path.
_ONLY = {
    "news20": ("cd", "glmnet", "sfw-1", "sfw-1-blocks", "certified", "certified-radii"),
    HEADLINE: ("cd", "sfw-1", "sfw-2", "sfw-3", "certified"),
}
_PACE = 0.3  # of the paper's seconds, roughly what a path takes today
_CHECK = 2.0  # seconds to compute gaps and errors


def n_runs(setup: Setup, name: str, method: Method) -> int:
    """Return how many runs of a method are made: one on E2006, where a path of SCD takes minutes."""
    return setup.n_seeds if method.is_random and not name.startswith("e2006") else 1


def _tasks(setup: Setup) -> list[Task]:
    tasks = []
    for name in (name for name in setup.sets if name in LARGE):
        tasks.append(data_task(setup, name))
        wanted = (key for key, method in METHODS.items() if method.sets is None or name in method.sets)
        only = METHODS if name == HEADLINE and files_of(name, setup.data) else _ONLY.get(name, METHODS)
        for method in (METHODS[key] for key in wanted if key in only):
            seeds = range(n_runs(setup, name, method))
            tasks += [_task(setup, name, method, seed) for seed in seeds]
    return tasks


def _task(setup: Setup, name: str, method: Method, seed: int) -> Task:
    paper = published.COSTS.get(name, published.COSTS["pyrim"])  # sparse sets take about as long
    seconds = _PACE * paper.get(method.key, paper["cd"]).seconds + _CHECK
    return Task(f"large/{name}/{method.key}/{seed}", seconds, partial(_run, setup, name, method, seed), method.settings)


def _run(setup: Setup, name: str, method: Method, seed: int) -> Record:
    return measure(load(name, setup.data, setup.n_threads), method, seed, setup.n_threads)


def results(setup: Setup, records: Mapping[str, Record]) -> list[Result]:
    """Return what is known of every large set."""
    known = []
    for name in (name for name in setup.sets if name in LARGE and f"data/{name}" in records):
        data = records[f"data/{name}"]
        prefix = f"large/{name}"
        missing = {
            key: records[f"{prefix}/{key}/0"]["missing"]
            for key in METHODS
            if "missing" in records.get(f"{prefix}/{key}/0", {})
        }
        found = summarize(records, prefix)
        if found:
            known.append(Result(name, data["title"], data["is_standin"], data["variance"], found, missing))
    return known


def _show(setup: Setup, records: Mapping[str, Record]) -> Findings:
    """Show cost, accuracy and figures of every set; of stand-ins, whose law is ours, the cost alone."""
    known = results(setup, records)
    tables = [
        table
        for result in known
        for table in (cost_table(result), *(() if result.is_standin else (accuracy_table(result),)))
    ]
    drawn = [result for result in known if can_be_drawn(result) and not result.is_standin]
    figures = [figure for result in drawn for figure in (sparsity_figure(result), error_figure(result))]
    return Findings(tables, figures, [], large_claims(known) if known else ())


PART = Part("large", "Large data sets", _tasks, _show)
