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
from llvmlite import ir
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from .notices import say_compiling

F = TypeVar("F", bound=Callable[..., Any])

# reassoc and contract are what vectorised sums need; NaN and inf keep their meaning.
_VECTORISED: dict[str, Any] = {"nogil": True, "fastmath": {"reassoc", "contract"}, "error_model": "numpy"}
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
    """Compile `function` into every kernel that calls it: calls of a few nanoseconds are too dear in inner loops.

    So is counting references to its arrays, an atomic operation each: it must neither make nor return any.
    """
    return kernel(function, forceinline=True, _nrt=False)


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


# Machine instructions that numba has no name for, each with its meaning in Python ------------------------------

_WORD = ir.IntType(64)


def _instruction(build: Callable[..., Any]) -> Callable[[F], F]:
    """Let compiled code run the instructions that `build` emits instead of a function of two arguments."""

    @intrinsic  # type: ignore[untyped-decorator]
    def emit(_typing: Any, first: Any, second: Any) -> Any:
        return numba.uint64(first, second), build

    def add(function: F) -> F:
        @overload(function, strict=False)  # type: ignore[untyped-decorator]
        def choose(first: Any, second: Any) -> Callable[..., Any]:
            def run(first: Any, second: Any) -> Any:
                return emit(first, second)

            return run

        return function

    return add


def _build_eight_bytes(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.load(builder.bitcast(builder.gep(array.data, [arguments[1]]), _WORD.as_pointer()), align=1)


@_instruction(_build_eight_bytes)
def eight_bytes(text: NDArray[np.uint8], at: int) -> Any:
    """Return eight bytes of a text as one little-endian word. Nobody checks that they are there."""
    return np.uint64(int.from_bytes(text[at : at + 8].tobytes(), "little"))


WINDOW = 64  # bytes that are looked at side by side, in vectors of the machine: one bit each is a word


def _build_window(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    place = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.VectorType(ir.IntType(8), WINDOW).as_pointer())
    return builder.load(place, align=1)


def _each_byte(value: int) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(8), WINDOW), [value] * WINDOW)


def _build_non_digits(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    digits = builder.sub(_build_window(context, builder, signature, arguments), _each_byte(ord("0")))
    return builder.bitcast(builder.icmp_unsigned(">", digits, _each_byte(9)), _WORD)


@_instruction(_build_non_digits)
def non_digits(text: NDArray[np.uint8], at: int) -> Any:
    """Return which of the `WINDOW` bytes from `at` on are no digits, the first in the lowest bit. Nobody checks."""
    window = text[at : at + WINDOW]
    return _bits((window < ord("0")) | (window > ord("9")))


def _build_word_ends(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    window = _build_window(context, builder, signature, arguments)
    is_blank = builder.icmp_unsigned("<=", window, _each_byte(ord(" ")))
    return builder.bitcast(builder.or_(is_blank, builder.icmp_unsigned("==", window, _each_byte(ord("#")))), _WORD)


@_instruction(_build_word_ends)
def word_ends(text: NDArray[np.uint8], at: int) -> Any:
    """Return which of the `WINDOW` bytes from `at` on are blank, control or ``#``, the first in the lowest bit."""
    window = text[at : at + WINDOW]
    return _bits((window <= ord(" ")) | (window == ord("#")))


def _bits(flags: NDArray[np.bool_]) -> Any:
    return np.uint64(int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little"))


def _build_upper_product(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    first, second = (builder.zext(argument, ir.IntType(128)) for argument in arguments)
    return builder.trunc(builder.lshr(builder.mul(first, second), ir.Constant(ir.IntType(128), 64)), _WORD)


@_instruction(_build_upper_product)
def upper_product(first: Any, second: Any) -> Any:
    """Return the upper 64 bits of the product of two uint64."""
    return np.uint64(int(first) * int(second) >> 64)


def _build_bits_below(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.cttz(builder.or_(*arguments), ir.Constant(ir.IntType(1), 0))


@_instruction(_build_bits_below)
def bits_below(word: Any, also: Any) -> Any:
    """Return the number of zeros below the lowest bit that one of two uint64 has; 64 if there is none."""
    both = int(word) | int(also)
    return np.uint64((both & -both).bit_length() - 1 if both else 64)


def _build_bits_above(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.ctlz(builder.and_(*arguments), ir.Constant(ir.IntType(1), 0))


@_instruction(_build_bits_above)
def bits_above(word: Any, mask: Any) -> Any:
    """Return the number of zeros above the highest bit that both of two uint64 have; 64 if there is none."""
    return np.uint64(64 - (int(word) & int(mask)).bit_length())
