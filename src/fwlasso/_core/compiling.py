"""How long numba has compiled in this process, and whether it does now: compiling is not solving."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import event
from numba.core.registry import cpu_target


class _Clock(event.Listener):  # type: ignore[misc]
    """Counts the seconds in which kernels are compiled; numba compiles in one thread at a time."""

    def __init__(self) -> None:
        self.depth = 0  # a kernel is compiled while one that calls it is
        self.started = self.seconds = 0.0

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.started = time.perf_counter()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.perf_counter() - self.started


_clock = _Clock()
event.register("numba:compile", _clock)


def compiled_for() -> tuple[str, str]:
    """Return the processor that kernels are compiled for, and its features, as numba sees them."""
    if numba.config.DISABLE_JIT:
        return "none: kernels are plain Python", ""
    triple, processor, features = cpu_target.target_context.codegen().magic_tuple()
    return f"{processor} ({triple})", str(features)


def is_compiling() -> bool:
    """Tell whether a kernel is being compiled."""
    return _clock.depth > 0


def compile_seconds() -> float:
    """Return for how long kernels were compiled so far."""
    return _clock.seconds + (time.perf_counter() - _clock.started if _clock.depth > 0 else 0.0)


@contextmanager
def timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    """Add the time that passes in this context to that of a phase; in which kernels are compiled, to "compile"."""
    started, compiled = time.perf_counter(), compile_seconds()
    yield
    compiled = compile_seconds() - compiled
    seconds[phase] = seconds.get(phase, 0.0) + time.perf_counter() - started - compiled
    if compiled > 0.0:
        seconds["compile"] = seconds.get("compile", 0.0) + compiled
