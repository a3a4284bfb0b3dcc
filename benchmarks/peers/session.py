"""A conversation with a peer in a process of its own: tolerances there, seconds and coefficients back."""

import os
import selectors
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import NamedTuple, Self

import scipy.sparse as sp

from . import handover

# celer and the like need another numpy than this package: FWLASSO_PEERS names the Python that has them.
PYTHON = os.environ.get("FWLASSO_PEERS", ".venv-peers/bin/python")
# The usual order of speed: slower ones are cut short.
PEERS = ("glmnet", "skglm", "pycasso", "adelie", "celer", "sklearn", "sklearn_gram", "lars")
_MODULES = {"lars": "sklearn", "sklearn_gram": "sklearn"}  # where it is not the name of the peer
_SETUP_SECONDS = 300.0  # to read the problem and to compile


class Answer(NamedTuple):
    """A path by a peer: the seconds of its shortest call, and its coefficients for the columns handed over."""

    seconds: float
    coefs: sp.csc_array


class PeerError(RuntimeError):
    """The peer has ended without an answer."""


def why_missing(name: str) -> str | None:
    """Return why a peer cannot be run here, or None if it can."""
    if name != "glmnet":
        module = _MODULES.get(name, name)
        python = _python_of(name)
        here = shutil.which(python) and _runs(python, "-c", f"import {module}")
        return None if here else f"{PYTHON} has no {module}: set FWLASSO_PEERS to a Python that has it, or make bench"
    if shutil.which("Rscript") and _runs("Rscript", "-e", "library(glmnet)"):
        return None
    return "R with glmnet is not installed (Debian: apt-get install r-cran-glmnet)"


def _python_of(name: str) -> str:
    """Return the Python that runs a peer: without an environment of theirs, our own does for scikit-learn."""
    return sys.executable if _MODULES.get(name, name) == "sklearn" and not shutil.which(PYTHON) else PYTHON


def _runs(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Session:
    """A peer that has read the problem of a folder and is warm. Use it as a context: the process ends with it."""

    def __init__(self, name: str, folder: Path, p: int, n_points: int) -> None:
        self._folder, self._shape = folder, (p, n_points)
        here = Path(__file__).parent
        command = [_python_of(name), str(here / "serve.py"), f"with_{name}", str(folder)]
        if name == "glmnet":
            command = ["Rscript", str(here / "glmnet.R"), str(folder)]
        self._errors = TemporaryFile()  # noqa: SIM115 - closed with the session
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, bufsize=0
        )

    def __enter__(self) -> Self:
        try:
            self._wait("ready", _SETUP_SECONDS)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def ask(self, tol: float, limit: float, calls: int = 1) -> Answer:
        """Return the path at the peer's tolerance `tol`, the best of some calls; TimeoutError after `limit` seconds."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{tol!r} {calls}\n".encode())
        seconds = float(self._wait("took", limit))
        return Answer(seconds, handover.read_coefs(self._folder, *self._shape))

    def _wait(self, word: str, limit: float) -> str:
        """Return what follows `word` in the next line of the peer that begins with it."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + limit
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while selector.select(max(0.0, deadline - time.monotonic())):
                line = self._process.stdout.readline().decode()
                if not line:
                    raise PeerError(self._last_words())
                if line.startswith(word):
                    return line.removeprefix(word).strip()
        raise TimeoutError

    def _last_words(self) -> str:
        self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"it ended with code {self._process.returncode}"

    def _end(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()
