"""Code of Markdown pages: the blocks of a language, and the command lines in them."""

import re
import shlex
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[tuple[int, str]]:
    """Return the blocks of a page in a language, each with the number of its first line."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = _BLOCK.finditer(text)
    return [(text.count("\n", 0, match.start(2)) + 1, match[2]) for match in found if match[1] == language]


def commands(page: str) -> list[str]:
    """Return the command lines of the ``sh`` blocks of a page, without comments."""
    lines = (
        shlex.join(shlex.split(line, comments=True)) for _, block in blocks(page, "sh") for line in block.split("\n")
    )
    return [line for line in lines if line]


def run_python(page: str, names: dict[str, Any], only: int | None = None) -> None:
    """Run the Python blocks of a page one after the other, or one of them, with shared names.

    Errors have the line of the page.
    """
    found = blocks(page, "python")
    for line, block in found if only is None else [found[only]]:
        exec(compile("\n" * (line - 1) + block, str(ROOT / page), "exec"), names)
