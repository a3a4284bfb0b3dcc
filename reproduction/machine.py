"""What the study ran on."""

import os
import platform
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
