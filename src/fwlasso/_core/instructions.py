"""Sums over gathered numbers, and a hint, in machine instructions that numba has no name for.

Each has its meaning in Python. Nobody checks that what they read is there.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from .jit import INLINE

F = TypeVar("F", bound=Callable[..., Any])

_WORD = ir.IntType(64)

#: So many vectors side by side are multiplied at once: what the machine adds up in one instruction.
LANES = 4
# Running sums: an addition takes as long as several loads, and must not wait for the one before it.
_SUMS = 4


def _gather(n_lanes: int, returns: Any) -> Callable[[F], F]:
    """Let compiled code run vector instructions instead of a function that is called as `gathered_sum` is.

    Written in numba, several sums or lanes are not inlined, and references are counted with every call.
    """
    double = ir.DoubleType()
    kind = double if n_lanes == 1 else ir.VectorType(double, n_lanes)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, indices, v = (
            context.make_array(array)(context, builder, argument).data
            for array, argument in zip(signature.args[:3], arguments[:3], strict=True)
        )
        first, stride, start, stop = arguments[3:]
        sums = [cgutils.alloca_once_value(builder, ir.Constant(kind, None)) for _ in range(_SUMS)]

        def add(k: Any, total: Any) -> None:
            x = context.cast(builder, builder.load(builder.gep(data, [k])), signature.args[0].dtype, numba.float64)
            row = context.cast(builder, builder.load(builder.gep(indices, [k])), signature.args[1].dtype, numba.uint64)
            place = builder.gep(v, [builder.add(builder.mul(row, stride), first)])
            if n_lanes > 1:
                lane = builder.insert_element(ir.Constant(kind, ir.Undefined), x, _WORD(0))
                x = builder.shuffle_vector(lane, lane, ir.Constant(ir.VectorType(ir.IntType(32), n_lanes), None))
                place = builder.bitcast(place, kind.as_pointer())
            product = builder.fmul(x, builder.load(place, align=8), flags=["contract"])
            builder.store(builder.fadd(builder.load(total), product, flags=["contract"]), total)

        in_steps = builder.add(start, builder.and_(builder.sub(stop, start), _WORD(-_SUMS)))
        with cgutils.for_range_slice(builder, start, in_steps, _WORD(_SUMS), _WORD) as (k, _):
            for i, total in enumerate(sums):
                add(builder.add(k, _WORD(i)), total)
        with cgutils.for_range_slice(builder, in_steps, stop, _WORD(1), _WORD) as (k, _):
            add(k, sums[0])
        a, b, c, d = map(builder.load, sums)
        total = builder.fadd(builder.fadd(a, b), builder.fadd(c, d))
        if n_lanes == 1:
            return total
        return cgutils.pack_array(builder, [builder.extract_element(total, _WORD(i)) for i in range(n_lanes)])

    @intrinsic  # type: ignore[untyped-decorator]
    def emit(_typing: Any, data: Any, indices: Any, v: Any, _first: Any, _stride: Any, _start: Any, _stop: Any) -> Any:
        return returns(data, indices, v, *[numba.int64] * 4), build

    def add(function: F) -> F:
        @overload(function, strict=False, jit_options=INLINE)  # type: ignore[untyped-decorator]
        def choose(
            data: Any, indices: Any, v: Any, first: Any, stride: Any, start: Any, stop: Any
        ) -> Callable[..., Any]:
            def run(data: Any, indices: Any, v: Any, first: Any, stride: Any, start: Any, stop: Any) -> Any:
                return emit(data, indices, v, first, stride, start, stop)

            return run

        return function

    return add


@_gather(1, numba.float64)
def gathered_sum(
    data: NDArray[Any], indices: NDArray[Any], v: NDArray[Any], first: int, stride: int, start: int, stop: int
) -> Any:
    """Return the sum of data[k] v[stride indices[k] + first] for k from `start` to `stop`, v as it lies in memory."""
    return np.dot(data[start:stop].astype(np.float64), v.reshape(-1)[stride * indices[start:stop] + first])


@_gather(2, numba.types.UniTuple(numba.float64, 2))
def gathered_two_sums(
    data: NDArray[Any], indices: NDArray[Any], v: NDArray[Any], first: int, stride: int, start: int, stop: int
) -> Any:
    """Return what `gathered_sum` does for `first` and the place behind it: half as much memory to gather from."""
    return tuple(gathered_sum(data, indices, v, first + lane, stride, start, stop) for lane in range(2))


@_gather(LANES, numba.types.UniTuple(numba.float64, LANES))
def gathered_sums(
    data: NDArray[Any], indices: NDArray[Any], v: NDArray[Any], first: int, stride: int, start: int, stop: int
) -> Any:
    """Return what `gathered_sum` does for `first` and the places behind it, `LANES` of them."""
    return tuple(gathered_sum(data, indices, v, first + lane, stride, start, stop) for lane in range(LANES))


@intrinsic  # type: ignore[untyped-decorator]
def _emit_fetch(_typing: Any, values: Any, _at: Any) -> Any:
    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place = builder.gep(context.make_array(values)(context, builder, arguments[0]).data, [arguments[1]])
        address, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address, number, number, number])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [address], kind)
        builder.call(hint, [builder.bitcast(place, address), number(0), number(3), number(1)])  # to read, to keep, data
        return context.get_dummy_value()

    return numba.void(values, numba.int64), build


def fetch(values: NDArray[Any], at: int) -> None:
    """Have the memory send the numbers about the one at a place of an array: a hint, that place need not exist."""


@overload(fetch, strict=False, jit_options=INLINE)  # type: ignore[untyped-decorator]
def _(values: Any, at: Any) -> Callable[..., Any]:
    def run(values: Any, at: Any) -> None:
        _emit_fetch(values, at)

    return run
