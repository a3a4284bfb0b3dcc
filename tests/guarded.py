"""Arrays at the ends of guarded pages: the system ends a process that reads or writes beyond them.

Checks of bounds would not see it: an index of -1 is legal in numba, and hand-written instructions are not checked.
"""

import contextlib
import ctypes
import mmap
import weakref
from collections.abc import Iterator
from unittest import mock

import numpy as np
import scipy.sparse as sp

from fwlasso.bed import Genotypes

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_NO_ACCESS = 0
_empty, _concatenate = np.empty, np.concatenate


def guarded(values: np.ndarray, *, at_end: bool = True) -> np.ndarray:
    """Return a copy that ends where a guarded page begins, or begins where one ends; there is one on both sides."""
    order = "F" if values.flags.f_contiguous else "C"
    room = _room(values.shape, values.dtype, order, at_end)
    room[...] = values
    return room


def _room(shape: tuple[int, ...], dtype: np.dtype, order: str, at_end: bool) -> np.ndarray:
    n_bytes = int(np.prod(shape)) * dtype.itemsize
    size = max(1, -(-n_bytes // mmap.PAGESIZE)) * mmap.PAGESIZE
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    base = _libc.mmap(None, size + 2 * mmap.PAGESIZE, _NO_ACCESS, flags, -1, 0)
    assert base not in (None, ctypes.c_void_p(-1).value)
    inside = base + mmap.PAGESIZE
    assert _libc.mprotect(inside, size, mmap.PROT_READ | mmap.PROT_WRITE) == 0
    buffer = (ctypes.c_char * n_bytes).from_address(inside + (size - n_bytes if at_end else 0))
    weakref.finalize(buffer, _libc.munmap, base, size + 2 * mmap.PAGESIZE)
    return np.frombuffer(buffer, dtype).reshape(shape, order=order)


def guarded_storage(X: object, *, at_end: bool) -> object:
    """Return an array, a CSC matrix or genotypes whose numbers and indices are guarded."""
    if isinstance(X, np.ndarray):
        return guarded(X, at_end=at_end)
    if isinstance(X, Genotypes):
        return Genotypes(guarded(X.packed, at_end=at_end), X.shape[0])
    copy = sp.csc_array(X.shape, dtype=X.dtype)
    copy.data, copy.indices, copy.indptr = (guarded(part, at_end=at_end) for part in (X.data, X.indices, X.indptr))
    return copy


@contextlib.contextmanager
def guarded_results(*, at_end: bool) -> Iterator[None]:
    """A context in which numpy makes arrays of numbers on guarded pages. Kernels must be compiled before."""

    def empty(shape: object, dtype: object = float, order: str = "C", **_: object) -> np.ndarray:
        dtype = np.dtype(dtype)
        shape = (shape,) if np.ndim(shape) == 0 else tuple(shape)  # type: ignore[arg-type]
        if dtype.kind not in "biuf" or 0 in shape:
            return _empty(shape, dtype, order)
        return _room(shape, dtype, order, at_end)

    def zeros(shape: object, dtype: object = float, order: str = "C", **_: object) -> np.ndarray:
        room = empty(shape, dtype, order)
        room[...] = 0
        return room

    def concatenate(parts: object, *args: object, **settings: object) -> np.ndarray:
        whole = _concatenate(parts, *args, **settings)
        return guarded(whole, at_end=at_end) if whole.dtype.kind in "biuf" and whole.size else whole

    patches = {"empty": empty, "zeros": zeros, "concatenate": concatenate}
    with contextlib.ExitStack() as stack:
        for name, function in patches.items():
            stack.enter_context(mock.patch.object(np, name, function))
        yield
