"""The only owner of numba's machinery: compiled kernels, dispatch by type, and their cache.

`kernel` compiles a function and caches it on disk; `by_type` makes a function that picks its implementation
by the type of its first argument, in Python and in compiled code alike. With ``NUMBA_DISABLE_JIT=1`` both run
as plain Python.
"""

import functools
import hashlib
import re
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


_ROOT = Path(__file__).parent
_IMPORT = re.compile(r"^ *from (\.+)([\w.]*) import ([^(\n]*)", re.MULTILINE)
_CHOSEN_BY_TYPE = re.compile(rb"^@\w+\.register\(", re.MULTILINE)


@functools.cache
def _sources() -> dict[str, bytes]:
    """Return every source file of the package by the name of its module."""
    files = sorted(_ROOT.rglob("*.py"))
    names = (".".join((_ROOT.name, *file.relative_to(_ROOT).with_suffix("").parts)) for file in files)
    return {name.removesuffix(".__init__"): file.read_bytes() for name, file in zip(names, files, strict=True)}


@functools.cache
def _imports(name: str) -> frozenset[str]:
    """Return the modules of the package that a module of it imports by relative imports, wherever these stand."""
    sources = _sources()
    is_package = (_ROOT.parent / Path(*name.split(".")) / "__init__.py").exists()
    found = set()
    for dots, module, names in _IMPORT.findall(sources[name].decode()):
        parts = name.split(".")
        parts = parts[: len(parts) - len(dots) + is_package]
        base = ".".join((*parts, module)) if module else ".".join(parts)
        members = (f"{base}.{member.split()[0]}" for member in names.split(",") if member.strip())
        found |= {known for known in (base if module else "", *members) if known in sources}
    return frozenset(found)


@functools.cache
def stamp_of(module: str) -> str:
    """Return a digest of the sources that a kernel of `module` can be compiled from.

    numba looks only at the file that defines a kernel, and would go on running old code after an edit of a
    function that the kernel calls from another file. These are the module, what it imports from the package, what
    that imports, and all that gives a storage or a form its functions, which are chosen by type. A module of somebody
    else may import anything.
    """
    sources = _sources()
    todo = [module, *(name for name, text in sources.items() if _CHOSEN_BY_TYPE.search(text))]
    seen: set[str] = set() if module in sources else set(sources)
    while todo:
        name = todo.pop()
        if name in sources and name not in seen:
            seen.add(name)
            todo += _imports(name) if name != __name__ else ()  # what we are told has no part in a kernel
    digest = hashlib.sha256()
    for name in sorted(seen):
        digest.update(name.encode())
        digest.update(sources[name])
    return digest.hexdigest()


class _IndexFile(IndexDataCacheFile):  # type: ignore[misc]
    """numba's index of what is cached, empty where it names types that the package no longer has."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except (AttributeError, ImportError):
            return {}


class _StampedCache(FunctionCache):  # type: ignore[misc]
    """numba's on-disk cache, valid for one state of the sources that a kernel is compiled from."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _IndexFile(self._cache_path, self._impl.filename_base, stamp_of(function.__module__))

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
