"""The only owner of numba's machinery: compiled kernels and dispatch by type; `cache` is where they are kept.

`kernel` compiles a function and caches it on disk; `by_type` makes a function that picks its implementation
by the type of its first argument, in Python and in compiled code alike. With ``NUMBA_DISABLE_JIT=1`` both run
as plain Python.
"""

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import overload

from .cache import Kernels
from .parts import Parts, Wholes

F = TypeVar("F", bound=Callable[..., Any])

# A fork waits while another thread compiles: in the child, nobody would ever give the lock back.
_lock = global_compiler_lock
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)

# reassoc and contract are what vectorised sums need; NaN and inf keep their meaning.
_VECTORISED: dict[str, Any] = {
    "nogil": True,
    "fastmath": {"reassoc", "contract"},
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
#: Compiled into every kernel that calls it: calls of a few nanoseconds are too dear in inner loops. So is counting
#: references to arrays, an atomic operation each: such a function must neither make nor return any.
INLINE: dict[str, Any] = _VECTORISED | {"forceinline": True, "_nrt": False}
#: Called by kernels only, which neither makes nor returns arrays.
INNER: dict[str, Any] = _VECTORISED | {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# For sums over gathered numbers: vectorised gathers are twice as slow as scalar loads.
IN_ORDER: dict[str, Any] = {"nogil": True, "fastmath": False, "error_model": "numpy", "no_cfunc_wrapper": True}
# A kernel within kernels has no way in from Python, with arrays to unpack and count, and is no machine code by itself.
_AS_PART: dict[str, Any] = {"no_cpython_wrapper": True, "pipeline_class": Parts}


def kernel(function: F, **options: Any) -> F:
    """Compile `function`: no Python objects, no GIL, cached on disk if a cache can be written.

    For kernels that call it, it is compiled once more as a part of them.
    """
    if numba.config.DISABLE_JIT:
        # Compiled numbers overflow, wrap around and become NaN silently; numpy's scalars do so with a warning.
        return np.errstate(all="ignore")(function)  # type: ignore[return-value]
    dispatcher = numba.njit(**(_VECTORISED | options), pipeline_class=Wholes)(function)
    dispatcher._cache = Kernels(function)

    @functools.cache
    def inner() -> Any:
        return numba.njit(**(_VECTORISED | options | _AS_PART))(function)

    dispatcher.get_call_template = lambda *types: inner().get_call_template(*types)
    dispatcher.get_overload = lambda types: inner().get_overload(types)
    return dispatcher  # type: ignore[no-any-return]


def kernel_in_order(function: F) -> F:
    """Compile `function` as `kernel` does, but let it add up numbers as they come: see `IN_ORDER`."""
    return kernel(function, **IN_ORDER)


def inner_kernel(function: F) -> F:
    """Compile `function` for other kernels to call, not for Python: see `INNER`."""
    return kernel(function, **INNER)


def part_of_kernel(function: F) -> F:
    """Compile `function` into every kernel that calls it: see `INLINE`."""
    return kernel(function, **INLINE)


def by_type(function: Callable[..., Any]) -> Any:
    """Make `function` choose its implementation by the type of its first argument, a NamedTuple.

    Implementations are added with ``@function.register(Type)``, one for all other types with ``@function.otherwise``.
    The choice happens at compile time and costs nothing at run time.
    """
    implementations: dict[type | None, Callable[..., Any]] = {}  # None: for all others
    known: dict[type, Callable[..., Any]] = {}  # that were chosen

    def chosen(kind: type) -> type | None:
        if kind in implementations or None in implementations:
            return kind if kind in implementations else None
        known = ", ".join(sorted(each.__name__ for each in implementations if each))
        raise TypeError(f"{function.__name__}: {kind.__name__} is none of the types it is registered for: {known}")

    @functools.wraps(function)
    def dispatch(first: Any, *rest: Any) -> Any:
        found = known.get(type(first))
        if found is None:
            found = implementations.get(type(first)) or implementations[chosen(type(first))]
            known[type(first)] = found
        return found(first, *rest)

    def register(kind: type | None, options: dict[str, Any] = _VECTORISED) -> Callable[[F], F]:
        def add(implementation: F) -> F:
            implementations[kind] = implementation
            known.clear()
            known.clear()

            @overload(dispatch, strict=False, jit_options=options | _AS_PART)  # type: ignore[untyped-decorator]
            def choose(first: Any, *_rest: Any) -> Callable[..., Any] | None:
                return implementation if chosen(getattr(first, "instance_class", type(first))) is kind else None

            return implementation

        return add

    dispatch.register, dispatch.otherwise = register, register(None)  # type: ignore[attr-defined]
    return dispatch
