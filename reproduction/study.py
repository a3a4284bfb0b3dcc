"""A study is a list of parts; a part is tasks to run and a way to write what came out of them.

Tasks are the unit of progress, of time left and of resuming: each leaves one record, and a record that is there is not
computed again.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

#: What a task leaves: as JSON has it, curves as lists of numbers. One with the key "missing", a sentence, stands for
#: what could not be run here; it is tried again the next time.
Record: TypeAlias = dict[str, Any]
#: What a part can be asked for.
Kind: TypeAlias = Literal["tables", "figures"]


class Setup(NamedTuple):
    """What a study is asked to do."""

    sets: tuple[str, ...]  # names of `fetch_paper_set`
    n_seeds: int  # runs of every random method
    data: Path | None  # folder of the data sets
    out: Path  # folder of records, tables and figures
    n_threads: int | None


class Task(NamedTuple):
    """One computation."""

    key: str  # part/set/method/seed or the like: the name of its record
    seconds: float  # expected, for the time left
    run: Callable[[], Record]
    settings: Mapping[str, Any] = MappingProxyType({})  # what shapes the record, as JSON has it: others, another record


class Table(NamedTuple):
    """Rows to be written as Markdown and CSV."""

    name: str  # of its files
    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""  # what to know when reading it
    data: list[dict[str, Any]] | None = None  # for the CSV: plain numbers by name instead of the rows


class Figure(NamedTuple):
    """A picture to be written as PNG and SVG."""

    name: str  # of its files
    title: str
    draw: Callable[[], Any]  # gives a matplotlib figure


class Case(NamedTuple):
    """A claim on one data set."""

    where: str
    holds: bool | None  # None: it cannot be decided there, and `ours` says why
    ours: str  # with its 95 % interval in brackets where runs vary; empty: the paper's own figures alone
    published: str = ""
    of: str = ""  # the method, where a claim is of several
    sure: bool = True  # the whole interval says the same

    @property
    def word(self) -> str:
        """Whether it holds.

        Examples
        --------
        >>> Case("Pyrim", True, "3 s").word, Case("Pyrim", False, "3 s", sure=False).word
        ('yes', 'no, within the error')
        """
        known = {True: "yes", False: "no", None: "void"}[self.holds]
        return known if self.sure else f"{known}, within the error"


class Claim(NamedTuple):
    """A claim of the paper, and the data sets on which it was looked at."""

    text: str  # in our words, with the threshold that decides it
    cases: Sequence[Case]
    why: str = ""  # what explains it where it does not hold, or why it was not measured
    place: str = ""  # in the paper

    @property
    def verdict(self) -> str:
        """Whether it was reproduced.

        Examples
        --------
        >>> Claim("FW is fast.", [Case("A", True, "1 s"), Case("B", False, "3 s"), Case("C", None, "-")]).verdict
        'Reproduced in part'
        """
        measured = [case.holds for case in self.cases if case.ours]
        if not measured:
            return "Not measured"
        held = [holds for holds in measured if holds is not None]
        if not held:
            return "Void"
        return "Reproduced" if all(held) else "Reproduced in part" if any(held) else "Not reproduced"


class Findings(NamedTuple):
    """What a part has to show. Sentences go to the results page, each with the numbers that it rests on."""

    tables: list[Table]
    figures: list[Figure]
    sentences: list[str]
    claims: Sequence[Claim] = ()  # of the paper, with a verdict


class Part(NamedTuple):
    """A piece of the study that can be asked for by name."""

    name: str
    title: str
    tasks: Callable[[Setup], list[Task]]
    show: Callable[[Setup, Mapping[str, Record]], Findings]  # from the records that are there, by key
    makes: tuple[Kind, ...] = ("tables", "figures")
