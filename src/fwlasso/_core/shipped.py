"""Kernels that came with a wheel: machine code for a baseline of processors, read-only, and whether it can run here.

numba's cache asks for the processor that code was compiled on. Code needs less: the instructions that it has. So the
files are numba's own, under keys without the processor, and the machine is asked once. Whoever has set one of numba's
settings gets kernels that are compiled under it.
"""

import functools
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding
import numba

FOLDER, MANIFEST = Path(__file__).parents[1] / "_kernels", "manifest.json"
#: Where `make wheel` writes them; kernels are neither read nor kept elsewhere meanwhile.
BUILT: Path | None = Path(os.environ["FWLASSO_BUILD_KERNELS"]) if "FWLASSO_BUILD_KERNELS" in os.environ else None
_V3 = (
    "x86-64-v3",
    "cmov cx16 cx8 fxsr mmx sse sse2 sse3 ssse3 sse4.1 sse4.2 popcnt sahf avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave",
)
# Processors that kernels are compiled for, by LLVM's names, and the instructions that a machine may lack.
_BASELINES = {"x86_64": _V3, "AMD64": _V3, "arm64": ("apple-m1", ""), "aarch64": ("generic", "")}
# numba's settings that change code, as they are where nobody has set them.
_SETTINGS = {
    "CPU_NAME": None,
    "CPU_FEATURES": None,
    "OPT": 3,
    "LOOP_VECTORIZE": True,
    "SLP_VECTORIZE": False,
    "ENABLE_AVX": True,
    "BOUNDSCHECK": None,
    "DEBUGINFO_DEFAULT": 0,
    "FULL_TRACEBACKS": False,
    "ENABLE_PROFILING": False,
}


def baseline() -> tuple[str, list[str]]:
    """Return the processor that kernels of a wheel are compiled for on such a machine, and its instructions."""
    name, features = _BASELINES.get(platform.machine(), ("", ""))
    return name, features.split()


def manifest() -> dict[str, str]:
    """Return what must be the same where kernels are compiled and where they are run."""
    return {
        "baseline": baseline()[0],
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "system": f"{sys.platform}-{platform.machine()}",
        "Python": f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}",
    }


@functools.cache
def why_not(folder: Path | None = None) -> str:
    """Return why the kernels of the wheel are not used; nothing if they are."""
    try:
        known: dict[str, Any] = json.loads(((folder or FOLDER) / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return "this installation has none"
    for name, here in manifest().items():
        if known.get(name) != here:
            return f"they are for {name} {known.get(name)}, and this is {here}"
    have = llvmlite.binding.get_host_cpu_features() if baseline()[1] else {}
    if lacking := [name for name in baseline()[1] if not have.get(name)]:
        return f"this machine lacks {', '.join(lacking)}"
    if touched := [name for name, usual in _SETTINGS.items() if getattr(numba.config, name, usual) != usual]:
        return f"NUMBA_{touched[0]} is set"
    return ""
