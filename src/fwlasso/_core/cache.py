"""The cache of compiled kernels: numba's files, sealed, in a folder of the user for each state of `_core`."""

import functools
import hashlib
import io
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.compiler import CompileResult
from numba.misc.appdirs import AppDirs

from . import shipped
from .notices import say_compiling, say_damaged_cache, say_shared_cache
from .threads import lazy

_ROOT = Path(__file__).parents[1]
_N_KEPT, _DAY = 3, 86400.0


@functools.cache
def _core_digest() -> Any:
    digest = hashlib.sha256(f"{numba.__version__} {sys.implementation.cache_tag}".encode())
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest


def stamp_of(file: Path) -> str:
    """Return a digest of what the kernels of a file are compiled from: the file itself, all of `_core`, numba, Python.

    numba looks only at the file that defines a kernel, and would go on running old code after an edit of a function
    that the kernel calls from another file. So kernels call kernels of their own file and of `_core`, no others.
    """
    digest = _core_digest().copy()
    digest.update(file.read_bytes())
    return str(digest.hexdigest())


class SealedFiles(IndexDataCacheFile):  # type: ignore[misc]
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
    if not hasattr(os, "geteuid"):  # Windows: a folder in the user's profile is the user's
        return None
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
    import grp
    import pwd

    try:
        group, mine = grp.getgrgid(gid), {"root", pwd.getpwuid(os.geteuid()).pw_name}
    except KeyError:
        return True
    return group.gr_name not in mine or not mine.issuperset(group.gr_mem)


def own_folder() -> Path | None:
    """Return the folder of the kernels of this state of `_core`; None if there is no place for one that is private.

    It is in ``NUMBA_CACHE_DIR``, else in the user's folder of caches, so that checkouts with equal sources share it.
    """
    asked, usual = numba.config.CACHE_DIR, AppDirs("fwlasso", appauthor=False).user_cache_dir
    bases = [Path(asked, "fwlasso")] if asked else []
    found = (_made(base / _core_digest().hexdigest()[:16]) for base in [*bases, Path(usual)])
    return next((folder for folder in found if folder is not None), None)


@functools.cache
def _made(folder: Path) -> Path | None:
    """Return a folder that is there, ours, and known to be in use; None if it cannot be had."""
    try:
        folder.parent.mkdir(0o700, parents=True, exist_ok=True)
        folder.mkdir(0o700, exist_ok=True)
        os.utime(folder)
        mark = folder / f".{os.getpid()}"
        mark.touch()
        mark.unlink()
    except OSError:
        return None
    if place := shared_place(folder):
        say_shared_cache(place)
        return None
    _remove_old(folder.parent)
    return folder


def _remove_old(base: Path) -> None:
    """Keep the kernels of the three states that were used last, and of all that were used within a day."""
    with suppress(OSError):
        used = sorted(((each.stat().st_mtime, each) for each in base.iterdir()), reverse=True)
        for since, folder in used[_N_KEPT:]:
            if since < time.time() - _DAY:
                shutil.rmtree(folder, ignore_errors=True)


class Kernels(NullCache):  # type: ignore[misc]
    """The compiled forms of a function: those that came with a wheel, then those that this user's machine has made."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._py_func = function

    @property
    def cache_path(self) -> str | None:
        """The folder, for numba's statistics."""
        return None if self._own is None else self._own._cache_path

    @lazy
    def _shipped(self) -> SealedFiles | None:
        return None if shipped.BUILT or shipped.why_not() else self._files(shipped.FOLDER)

    @lazy
    def _own(self) -> SealedFiles | None:
        return self._files(shipped.BUILT or own_folder())

    def _files(self, folder: Path | None) -> SealedFiles | None:
        code = self._py_func.__code__
        file = Path(code.co_filename)
        if folder is None or not file.is_file():  # it may have been typed into a notebook
            return None
        stamp = stamp_of(file)
        name = f"{self._py_func.__module__}.{self._py_func.__qualname__}-{code.co_firstlineno}.{stamp[:12]}"
        return SealedFiles(str(folder), name.replace("<", "").replace(">", ""), stamp)

    def _key(self, sig: Any, codegen: Any, files: SealedFiles | None) -> Any:
        """Return the types of the arguments and the bytecode; in one's own cache also the processor."""
        types, processor, code = FunctionCache._index_key(self, sig, codegen)
        return (types, code) if files is self._shipped or shipped.BUILT else (types, processor, code)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled form for these types of arguments; None if there is none."""
        for files in (self._shipped, self._own):
            if files is None:
                continue
            try:
                target_context.refresh()
                found = files.load(self._key(sig, target_context.codegen(), files))
                if found is not None:
                    return CompileResult._rebuild(target_context, *found)
            except Exception as error:  # whatever it is, compiling goes without the cache
                say_damaged_cache(files._cache_path, error)
        say_compiling(cached=self._own is not None)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled form, unless another process may not know its types, or know them by other functions."""
        files = self._own
        is_ours = not _is_foreign(sig, {_ROOT.name, self._py_func.__module__})
        if files is not None and is_ours and not data.library.has_dynamic_globals:
            try:
                files.save(self._key(sig, data.codegen, files), data._reduce())
            except OSError as error:  # a full disk, say
                say_damaged_cache(files._cache_path, error)


def _is_foreign(kind: Any, ours: set[str]) -> bool:
    """Tell whether numba's types of arguments name a class from neither the package nor the kernel's own module."""
    if isinstance(kind, tuple):
        return any(_is_foreign(each, ours) for each in kind)
    module = getattr(kind, "instance_class", int).__module__
    is_ours = module == "builtins" or not ours.isdisjoint((module, module.partition(".")[0]))
    return not is_ours or _is_foreign(tuple(getattr(kind, "types", ())), ours)
