"""The only owner of numba's machinery: compiled kernels, dispatch by type, and their cache.

`kernel` compiles a function and caches it on disk; `by_type` makes a function that picks its implementation
by the type of its first argument, in Python and in compiled code alike. With ``NUMBA_DISABLE_JIT=1`` both run
as plain Python.
"""

import functools
import grp
import hashlib
import io
import os
import pwd
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numba
import numpy as np
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    InTreeCacheLocator,
    NullCache,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
)
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import overload

from .notices import say_compiling, say_damaged_cache, say_shared_cache

F = TypeVar("F", bound=Callable[..., Any])

# A fork waits while another thread compiles: in the child, nobody would ever give the lock back.
_lock = global_compiler_lock
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


_ROOT = Path(__file__).parents[1]


@functools.cache
def _core_digest() -> Any:
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest


def stamp_of(file: Path) -> str:
    """Return a digest of what the kernels of a file are compiled from: the file itself and all of `_core`.

    numba looks only at the file that defines a kernel, and would go on running old code after an edit of a function
    that the kernel calls from another file. So kernels call kernels of their own file and of `_core`, no others.
    """
    digest = _core_digest().copy()
    digest.update(file.read_bytes())
    return str(digest.hexdigest())


class _SealedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """numba's index and data, each with a digest at its end: what is torn or altered is not there, and never run."""

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[BinaryIO]:
        with super()._open_for_write(filepath) as file, io.BytesIO() as content:
            yield content
            file.write(content.getvalue() + hashlib.sha256(content.getvalue()).digest())

    def _load_index(self) -> Any:
        try:
            _check_seal(self._index_path)
            return super()._load_index()
        except (FileNotFoundError, AttributeError, ImportError):  # or it names types that the package no longer has
            return {}
        except Exception as error:
            say_damaged_cache(self._cache_path, error)
            return {}

    def _load_data(self, name: str) -> Any:
        _check_seal(self._data_path(name))
        return super()._load_data(name)

    # numba writes the index first: until the data are there, it names those of another state of the sources or, with
    # two processes at work, of other types.

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (self._source_stamp, key, data))

    def load(self, key: Any) -> Any:
        *of, data = super().load(key) or (None, None, None)
        return data if of == [self._source_stamp, key] else None


def _check_seal(file: str) -> None:
    content = Path(file).read_bytes()
    if hashlib.sha256(content[:-32]).digest() != content[-32:]:
        raise ValueError(f"{file} is not as it was written")


@functools.cache
def shared_place(folder: Path) -> Path | None:
    """Return what others can write to of a folder, the compiled code in it and the folders above it; None if nothing.

    The cache is made of pickles: whoever can put a file there runs code as the user. Trusted are the user, root, and
    the owner of the package, whose code is run anyway, as is that of all who can write above the package.
    """
    folder = folder.resolve()
    trusted = {0, os.geteuid(), _ROOT.stat().st_uid}
    above = [place for place in folder.parents if place not in _ROOT.parents]
    for place in (folder, *folder.glob("*.nb[ci]"), *above):
        status = place.stat()
        by_others = status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and _is_shared(status.st_gid))
        # In a folder with the sticky bit, others can make something new, but not replace what is there.
        is_sticky = place in above and status.st_mode & stat.S_ISVTX
        if status.st_uid not in trusted or (by_others and not is_sticky):
            return place
    return None


def _is_shared(gid: int) -> bool:
    """Return whether a group is neither root's nor the one that many systems make for every user."""
    try:
        group, mine = grp.getgrgid(gid), {"root", pwd.getpwuid(os.geteuid()).pw_name}
    except KeyError:
        return True
    return group.gr_name not in mine or not mine.issuperset(group.gr_mem)


class _Private:
    """A place for a cache that numba passes over where others can write to it."""

    def ensure_cache_path(self) -> None:
        folder = Path(self.get_cache_path())  # type: ignore[attr-defined]
        if not isinstance(self, InTreeCacheLocator):
            folder.mkdir(0o700, parents=True, exist_ok=True)
        super().ensure_cache_path()  # type: ignore[misc]
        if place := shared_place(folder):
            say_shared_cache(place)
            raise PermissionError(place)


class _PrivatePlaces(CompileResultCacheImpl):  # type: ignore[misc]
    """Where numba looks for a cache: in ``NUMBA_CACHE_DIR``, beside the sources, in the user's folder of caches."""

    _locator_classes = tuple(
        type(locator.__name__, (_Private, locator), {})
        for locator in (UserProvidedCacheLocator, InTreeCacheLocator, UserWideCacheLocator)
    )


class _StampedCache(FunctionCache):  # type: ignore[misc]
    """numba's on-disk cache, valid for one state of the sources that a kernel is compiled from."""

    _impl_class = _PrivatePlaces

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._module = function.__module__
        stamp = stamp_of(Path(function.__code__.co_filename))
        self._cache_file = _SealedFiles(self._cache_path, self._impl.filename_base, stamp)

    def save_overload(self, sig: Any, data: Any) -> None:
        # Another process may not know the types of others, or know them by other functions.
        if not _is_foreign(sig, {_ROOT.name, self._module}):
            try:
                super().save_overload(sig, data)
            except OSError as error:  # a full disk, say
                say_damaged_cache(self._cache_path, error)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        loaded = None
        try:
            loaded = super().load_overload(sig, target_context)
        except Exception as error:  # whatever it is, compiling goes without the cache
            say_damaged_cache(self._cache_path, error)
        if loaded is None:
            say_compiling(cached=True)
        return loaded


def _is_foreign(kind: Any, ours: set[str]) -> bool:
    """Tell whether numba's types of arguments name a class from neither the package nor the kernel's own module."""
    if isinstance(kind, tuple):
        return any(_is_foreign(each, ours) for each in kind)
    module = getattr(kind, "instance_class", int).__module__
    is_ours = module == "builtins" or not ours.isdisjoint((module, module.partition(".")[0]))
    return not is_ours or _is_foreign(tuple(getattr(kind, "types", ())), ours)


class _NoCache(NullCache):  # type: ignore[misc]
    """No cache, but the user is told so."""

    def load_overload(self, sig: Any, target_context: Any) -> None:
        say_compiling(cached=False)


def kernel(function: F, **options: Any) -> F:
    """Compile `function`: no Python objects, no GIL, cached on disk if a cache can be written.

    For kernels that call it, it is compiled without a way in from Python, with arrays to unpack and count: that is half
    of what many take to compile.
    """
    if numba.config.DISABLE_JIT:
        # Compiled numbers overflow, wrap around and become NaN silently; numpy's scalars do so with a warning.
        return np.errstate(all="ignore")(function)  # type: ignore[return-value]
    dispatcher = numba.njit(**(_VECTORISED | options))(function)
    try:
        dispatcher._cache = _StampedCache(function)
    except RuntimeError:  # no writable place for a cache: compile in every process
        dispatcher._cache = _NoCache()
    inner = numba.njit(**(_VECTORISED | options | {"no_cpython_wrapper": True}))(function)
    dispatcher.get_call_template, dispatcher.get_overload = inner.get_call_template, inner.get_overload
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

    def chosen(kind: type) -> type | None:
        if kind in implementations or None in implementations:
            return kind if kind in implementations else None
        known = ", ".join(sorted(each.__name__ for each in implementations if each))
        raise TypeError(f"{function.__name__}: {kind.__name__} is none of the types it is registered for: {known}")

    @functools.wraps(function)
    def dispatch(first: Any, *rest: Any) -> Any:
        found = implementations.get(type(first)) or implementations[chosen(type(first))]
        return found(first, *rest)

    def register(kind: type | None, options: dict[str, Any] = _VECTORISED) -> Callable[[F], F]:
        def add(implementation: F) -> F:
            implementations[kind] = implementation

            @overload(dispatch, strict=False, jit_options=options)  # type: ignore[untyped-decorator]
            def choose(first: Any, *_rest: Any) -> Callable[..., Any] | None:
                return implementation if chosen(getattr(first, "instance_class", type(first))) is kind else None

            return implementation

        return add

    dispatch.register, dispatch.otherwise = register, register(None)  # type: ignore[attr-defined]
    return dispatch
