"""What computes a run: the code and the processor, which the last bits of its numbers depend on."""

import platform
from importlib.metadata import version
from typing import Any

from .._core.compiling import compiled_for
from .._core.shipped import baseline, why_not
from .._core.threads import blas_libraries

# Longer texts are not shown.
_LONGEST = 80


def code_record() -> dict[str, str]:
    """Return versions, processor and BLAS libraries of this process."""
    processor, features = compiled_for()
    return {
        "processor": processor,
        "features of the processor": features,
        "code": "compiled here" if why_not() else f"of the wheel, for {baseline()[0]}",
        **{name: version(name) for name in ("numba", "llvmlite", "numpy", "scipy")},
        "BLAS": blas_libraries(),
        "Python": platform.python_version(),
    }


def changes(before: dict[str, Any], now: dict[str, str]) -> str:
    """Say what is not what it was; nothing if all is."""
    found = []
    for name, value in now.items():
        was = before.get(name, value)  # it may not have been recorded
        if was != value:
            is_long = max(len(str(was)), len(value)) > _LONGEST
            found.append(f"{name} are others" if is_long else f"{name} was {was}, and is {value}")
    return "; ".join(found)
