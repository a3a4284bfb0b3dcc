"""A checkout of this package in a process of its own, so that one can be timed in turns with another."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

HERE = Path(__file__).parent.parent


class Checkout:
    """A process that runs a program on the code of a checkout. Use it as a context: the process ends with it.

    Parameters
    ----------
    folder : the checkout
    program : arguments of Python; the program answers every line of JSON with one
    cache : folder for compiled code; the usual one by default
    """

    def __init__(self, folder: Path, program: list[str], cache: str | None = None) -> None:
        folder = folder.resolve()
        environment = {**os.environ, "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder}"}
        if cache is not None:
            environment["NUMBA_CACHE_DIR"] = cache
        command, pipe = [sys.executable, "-P", *program], subprocess.PIPE
        self._process = subprocess.Popen(command, env=environment, cwd=folder, stdin=pipe, stdout=pipe, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def ask(self, **what: object) -> Any:
        """Return what the process answers."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())
