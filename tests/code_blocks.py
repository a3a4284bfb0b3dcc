"""Code of Markdown pages: the blocks of a language, and how they are run."""

import re
import shlex
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from fwlasso.cli import app as cli

ROOT = Path(__file__).parents[1]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    """Return the blocks of a page in a language."""
    return [block for _, block in _numbered(page, language)]


def run_python(page: str, names: dict[str, Any], which: slice = slice(None)) -> None:
    """Run Python blocks of a page one after the other, with shared names. Errors have the line of the page."""
    for line, block in _numbered(page, "python")[which]:
        exec(compile("\n" * (line - 1) + block, str(ROOT / page), "exec"), names)


def run_commands(page: str, left_out: dict[str, str]) -> list[str]:
    """Run the command lines of a page, all but those that begin as a key of `left_out`; return what was run."""
    lines = [line.split(" #")[0].strip() for block in blocks(page, "sh") for line in block.splitlines()]
    lines = [line for line in lines if line and not line.startswith(tuple(left_out))]
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "fwlasso", f"{line}: add it to those left out with a reason, or write it as a call of fwlasso"
        result = CliRunner().invoke(cli.app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, f"{line}: {result.output}"
    return lines


def _numbered(page: str, language: str) -> list[tuple[int, str]]:
    """Return the blocks of a page in a language, each with the number of its first line."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = _BLOCK.finditer(text)
    return [(text.count("\n", 0, match.start(2)) + 1, match[2]) for match in found if match[1] == language]
