"""Columns in the text of an option: by name, and with numbers."""

import csv
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..datasets.cohorts import read_names
from ..options import Options

_NUMBERS, _NAMES = ("lower", "upper", "penalty_factor"), "unpenalized"


def names_in(text: str | None) -> list[str] | None:
    """Return the names in an option, with commas between them; one with a comma in it stands in double quotes.

    The name of a file stands for its lines.

    Examples
    --------
    >>> names_in('age,"body mass, index"')
    ['age', 'body mass, index']
    """
    if text is None:
        return None
    with suppress(OSError):  # too long for a name
        if Path(text).is_file():
            return read_names(Path(text))
    return next(csv.reader([text], skipinitialspace=True)) or [""]


def numbers_in(option: str, text: str | None) -> float | dict[str, float] | None:
    """Return the number in an option, or numbers by name.

    Examples
    --------
    >>> numbers_in("penalty_factor", 'age=0.5,"gene*=inf"')
    {'age': 0.5, 'gene*': inf}
    >>> numbers_in("lower", "-2")
    -2.0
    """
    names = names_in(text)
    if names is None:
        return None
    try:
        if len(names) == 1 and "=" not in names[0]:
            return float(names[0])
        pairs = [name.rpartition("=") for name in names]
        return {name: float(number) for name, _, number in pairs}
    except ValueError:
        raise ValueError(f"{option} must be a number, or NAME=NUMBER with commas between them, got {text!r}") from None


def with_columns(settings: dict[str, Any]) -> dict[str, Any]:
    """Return options of a path with the texts that speak of columns read."""
    read = {name: numbers_in(name, settings[name]) for name in _NUMBERS}
    return {**settings, **read, _NAMES: names_in(settings[_NAMES])}


def at_places(options: Options, first_index: int | None) -> Options:
    """Return options for columns without names, where a name is a number that counts from the first index, or zero."""

    def place(name: str) -> int | str:
        return int(name) - (first_index or 0) if re.fullmatch("[0-9]+", name) else name

    changed: dict[str, Any] = {}
    for name in _NUMBERS:
        if isinstance(given := getattr(options, name), dict):
            changed[name] = {place(key): number for key, number in given.items()}
    if options.unpenalized is not None:
        changed[_NAMES] = [place(name) for name in options.unpenalized]
    return replace(options, **changed) if changed else options
