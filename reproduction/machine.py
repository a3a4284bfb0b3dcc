"""What the study ran on."""

import datetime
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from fwlasso import __version__

from .text import counted


def processor() -> str:
    """Return cores and name of the processor."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return f"{counted(cores, 'core')}, {_name()}"


def _name() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def versions() -> str:
    """Return the versions that matter."""
    packages = [f"{name} {version(name)}" for name in ("numpy", "scipy", "numba", "scikit-learn")]
    return ", ".join([f"fwlasso {__version__}", f"Python {platform.python_version()}", *packages])


def origin() -> str:
    """Return the commit that this is run from, whether sources differ from it, and the date."""
    commit = _said("git", "rev-parse", "--short", "HEAD") or "no commit"
    edited = " with edits" if _said("git", "status", "--porcelain", "src", "reproduction") else ""
    return f"commit {commit}{edited}, {datetime.date.today().isoformat()}"


def glmnet() -> str:
    """Return the versions of R and its glmnet, or that there are none."""
    text = _said("Rscript", "-e", 'cat(as.character(getRversion()), as.character(packageVersion("glmnet")))').split()
    return f"R {text[0]} with glmnet {text[1]}" if len(text) == 2 else "no R with glmnet"


def _said(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1])
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
