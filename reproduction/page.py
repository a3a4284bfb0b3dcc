"""The results page: what was reproduced, what not, and the tables and figures it rests on. No number is typed in."""

from collections.abc import Mapping, Sequence

from .large_part import FEW_SEEDS
from .machine import glmnet, origin, processor, versions
from .study import Findings, Kind, Part, Setup, Table
from .tables import to_markdown
from .text import counted, listed

_INTRODUCTION = """\
# Results: the paper's experiments, run again

E. Frandi, R. Ñanculef, S. Lodi, C. Sartori, J. A. K. Suykens, *Fast and Scalable Lasso via Stochastic Frank-Wolfe
Methods with a Convergence Guarantee* (2015), section 5. This page is written by `python -m reproduction`
(`make paper`): every number on it comes out of the run.

Units are the paper's: centred columns of unit norm, y centred and divided by √m; 100 penalties from the largest to a
hundredth of it, or 100 l1 norms from a hundredth of the largest on; a point is done when a step changes no coefficient
by more than 1e-3. CD, SCD, SLEP and FW are programs of this repository; R's glmnet runs beside them at its default
tolerance. The *certified path* solves the same grids to a proven gap of 1e-6.
"""


def write_page(
    setup: Setup, shown: Sequence[tuple[Part, Findings]], failures: Mapping[str, str], kinds: Sequence[Kind]
) -> str:
    """Return the page as Markdown; figures are in the folder `figures` beside it."""
    threads = counted(setup.n_threads, "thread") if setup.n_threads else "as many threads as cores"
    about = [
        f"From {origin()}; ran on {processor()}, {threads}; {versions()}, {glmnet()}. Means of random methods are over "
        f"{counted(setup.n_seeds, 'run')}, seeds from 0 on; of SCD over at most {FEW_SEEDS}, on E2006 one."
    ]
    if failures:
        about.append("Not everything ran: " + "; ".join(f"`{key}`: {why}" for key, why in failures.items()) + ".")
    sections = [_INTRODUCTION, "\n\n".join(about) + "\n"]
    claims = [claim for _, findings in shown for claim in findings.claims if claim.cases]
    if claims:
        rows = [(claim.text, claim.verdict, listed([case.where for case in claim.cases])) for claim in claims]
        glance = Table("claims", "Claims", ("what the paper says", "here", "looked at on"), rows)
        sections.append(f"## At a glance\n\n{to_markdown(glance)}\nThe numbers and the reasons are below.\n")
    sections += [_section(part, findings, kinds) for part, findings in shown if any(findings)]
    return "\n".join(sections)


def _section(part: Part, findings: Findings, kinds: Sequence[Kind]) -> str:
    lines = [f"## {part.title}", ""]
    said = [*(claim.sentence for claim in findings.claims), *findings.sentences]
    lines += [*(f"- {sentence}" for sentence in said), *[""][: len(said)]]
    for table in findings.tables if "tables" in kinds else ():
        lines += [f"### {table.title}", "", to_markdown(table)]
        if table.note:
            lines += [table.note, ""]
    for figure in findings.figures if "figures" in kinds else ():
        lines += [f"### {figure.title}", "", f"![{figure.title}](figures/{figure.name}.png)", ""]
    return "\n".join(lines)
