"""The only owner of numba's machinery: compiled kernels, dispatch by type, and their cache.

`kernel` compiles a function and caches it on disk; `by_type` makes a function that picks its implementation
by the type of its first argument, in Python and in compiled code alike. With ``NUMBA_DISABLE_JIT=1`` both run
as plain Python.
"""

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.extending import overload

from .notices import say_compiling

F = TypeVar("F", bound=Callable[..., Any])

# reassoc and contract are what vectorised sums need; NaN and inf keep their meaning.
_VECTORISED: dict[str, Any] = {"nogil": True, "fastmath": {"reassoc", "contract"}, "error_model": "numpy"}
#: Compiled into every kernel that calls it: calls of a few nanoseconds are too dear in inner loops. So is counting
#: references to arrays, an atomic operation each: such a function must neither make nor return any.
INLINE: dict[str, Any] = _VECTORISED | {"forceinline": True, "_nrt": False}
# For sums over gathered numbers: vectorised gathers are twice as slow as scalar loads.
IN_ORDER: dict[str, Any] = {"nogil": True, "fastmath": False, "error_model": "numpy"}


@functools.cache
def package_stamp() -> str:
    """Return a digest of every source file of the package.

    numba looks only at the file that defines a kernel, and would go on running old code after an edit of a
    function that the kernel calls from another file. Stamped with this digest, any edit empties the cache.
    """
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for source in sorted(root.rglob("*.py")):
        digest.update(str(source.relative_to(root)).encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


class _IndexFile(IndexDataCacheFile):  # type: ignore[misc]
    """numba's index of what is cached, empty where it names types that the package no longer has."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except (AttributeError, ImportError):
            return {}


class _StampedCache(FunctionCache):  # type: ignore[misc]
    """numba's on-disk cache, valid for one state of the whole package."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _IndexFile(self._cache_path, self._impl.filename_base, package_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        loaded = super().load_overload(sig, target_context)
        if loaded is None:
            say_compiling(cached=True)
        return loaded


class _NoCache(NullCache):  # type: ignore[misc]
    """No cache, but the user is told so."""

    def load_overload(self, sig: Any, target_context: Any) -> None:
        say_compiling(cached=False)


def kernel(function: F, **options: Any) -> F:
    """Compile `function`: no Python objects, no GIL, cached on disk where a cache can be written."""
    if numba.config.DISABLE_JIT:
        # Compiled numbers overflow, wrap around and become NaN silently; numpy's scalars do so with a warning.
        return np.errstate(all="ignore")(function)  # type: ignore[return-value]
    dispatcher = numba.njit(**(_VECTORISED | options))(function)
    try:
        dispatcher._cache = _StampedCache(function)
    except RuntimeError:  # no writable place for a cache: compile in every process
        dispatcher._cache = _NoCache()
    return dispatcher  # type: ignore[no-any-return]


def kernel_in_order(function: F) -> F:
    """Compile `function` as `kernel` does, but let it add up numbers as they come: see `IN_ORDER`."""
    return kernel(function, **IN_ORDER)


def part_of_kernel(function: F) -> F:
    """Compile `function` into every kernel that calls it: see `INLINE`."""
    return kernel(function, **INLINE)


def by_type(function: Callable[..., Any]) -> Any:
    """Make `function` choose its implementation by the type of its first argument, a NamedTuple.

    Implementations are added with ``@function.register(Type)``. The choice happens at compile time and costs
    nothing at run time.
    """
    implementations: dict[type, Callable[..., Any]] = {}

    @functools.wraps(function)
    def dispatch(first: Any, *rest: Any) -> Any:
        return implementations[type(first)](first, *rest)

    def register(kind: type, options: dict[str, Any] = _VECTORISED) -> Callable[[F], F]:
        def add(implementation: F) -> F:
            implementations[kind] = implementation

            @overload(dispatch, strict=False, jit_options=options)  # type: ignore[untyped-decorator]
            def choose(first: Any, *_rest: Any) -> Callable[..., Any] | None:
                return implementation if getattr(first, "instance_class", None) is kind else None

            return implementation

        return add

    dispatch.register = register  # type: ignore[attr-defined]
    return dispatch
