"""The results page: what was reproduced, what not, and the tables and figures it rests on. No number is typed in."""

import itertools
from collections.abc import Mapping, Sequence

from fwlasso.options import Options

from .machine import glmnet, origin, processor, versions
from .methods import CERTIFIED_GAP, GLMNET_THRESH
from .study import Claim, Findings, Kind, Part, Setup, Table
from .tables import to_markdown
from .text import counted, power
from .units import EPS, N_POINTS, STOPPING

_INTRODUCTION = f"""\
# Results: the paper's experiments, run again

E. Frandi, R. Ñanculef, S. Lodi, C. Sartori, J. A. K. Suykens, *Fast and Scalable Lasso via Stochastic Frank-Wolfe
Methods with a Convergence Guarantee* (2015), section 5. This page is written by `make paper DATA=folder`: every number
on it comes out of the run, or is a published one.

Units are the paper's: centred columns of unit norm, y centred and divided by √m; {N_POINTS} penalties from the largest
down to {EPS:g} of it, or {N_POINTS} l1 norms from {EPS:g} of the largest on; a point is done when a step changes no
coefficient by more than {STOPPING["tol"]:g}, at the latest after {Options.max_iter:,} iterations. FW 1, 2 and 3 % are
Algorithm 2 to the letter. CD, SCD, SLEP and FW are programs of this repository; R's glmnet runs beside them at its
default tolerance of {power(GLMNET_THRESH)}. The *certified path* solves the same grids to a proven gap
of {power(CERTIFIED_GAP)}. Square brackets hold 95 % intervals over the runs.
"""
_Numbered = Sequence[tuple[int, Claim]]


def write_page(
    setup: Setup, shown: Sequence[tuple[Part, Findings]], failures: Mapping[str, str], kinds: Sequence[Kind]
) -> str:
    """Return the page as Markdown; figures are in the folder `figures` beside it, and raw numbers in `results`."""
    sections = [_INTRODUCTION, _provenance(setup, failures)]
    count = itertools.count(1)
    claims = {part.name: [(next(count), claim) for claim in findings.claims] for part, findings in shown}
    rows = [
        (str(n), claim.text, claim.place, claim.verdict, _where(claim))
        for of_part in claims.values()
        for n, claim in of_part
    ]
    if rows:
        glance = Table("claims", "Claims", ("no.", "what the paper says", "where", "here", "on"), rows)
        note = (
            "Thresholds are part of the sentences, and hold both ways where figures are compared. Numbers, intervals "
            'and reasons are below, by the number of the claim; there "within the error" means that the interval '
            "reaches across the threshold."
        )
        sections.append(f"## At a glance\n\n{to_markdown(glance)}\n{note}\n")
    sections += [_section(part, findings, kinds, claims[part.name]) for part, findings in shown if any(findings)]
    return "\n".join(sections)


def _provenance(setup: Setup, failures: Mapping[str, str]) -> str:
    threads = counted(setup.n_threads, "thread") if setup.n_threads else "as many threads as cores"
    text = (
        f"From {origin()}, by `python -m reproduction --seeds {setup.n_seeds}"
        f"{f' --threads {setup.n_threads}' if setup.n_threads else ''}` on {', '.join(setup.sets) or 'no set'}; ran on "
        f"{processor()}, on {threads}, as R's glmnet does; {versions()}, {glmnet()}. Random methods have seeds from 0 "
        "on, and tables say how many runs they have. The raw numbers are in the folder `results` beside this page.\n"
    )
    if failures:
        text += "\nNot everything ran: " + "; ".join(f"`{key}`: {why}" for key, why in failures.items()) + ".\n"
    return text


def _where(claim: Claim) -> str:
    """Return the sets of a claim, those on which it holds first."""
    words: dict[str, set[str]] = {}
    for case in claim.cases:
        words.setdefault(case.where, set()).add(case.word.partition(",")[0])
    sets: dict[str, list[str]] = {"yes": [], "in part": [], "no": [], "void": []}
    for where, found in words.items():
        sets[found.pop() if len(found) == 1 else "in part"].append(where)
    return "; ".join(f"{word}: {', '.join(of_word)}" for word, of_word in sets.items() if of_word)


def _section(part: Part, findings: Findings, kinds: Sequence[Kind], claims: _Numbered) -> str:
    lines = [f"## {part.title}", ""]
    lines += [*(f"- {sentence}" for sentence in findings.sentences), *[""][: len(findings.sentences)]]
    lines += _evidence(claims)
    for table in findings.tables if "tables" in kinds else ():
        lines += [f"### {table.title}", "", to_markdown(table)]
        if table.note:
            lines += [table.note, ""]
    for figure in findings.figures if "figures" in kinds else ():
        lines += [f"### {figure.title}", "", f"![{figure.title}](figures/{figure.name}.png)", ""]
    return "\n".join(lines)


def _evidence(claims: _Numbered) -> list[str]:
    """Return a table of the cases, and the reasons for what was not reproduced or not measured."""
    if not claims:
        return []
    rows = [
        (str(n), case.where, case.of, case.published, case.ours, case.word)
        for n, claim in claims
        for case in claim.cases
    ]
    header = ("claim", "set", "of", "published", "ours", "holds")
    reasons = [
        f"- Claim {n}, {claim.verdict.lower()}: {claim.why}"
        for n, claim in claims
        if claim.why and claim.verdict not in ("Reproduced", "Void")
    ]
    table = [to_markdown(Table("evidence", "Evidence", header, rows))] if rows else []
    return ["### The claims, set by set", "", *table, *reasons, *[""][: len(reasons)]]
