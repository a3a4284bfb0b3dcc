"""Kernels within kernels: their code is linked into that of their callers, and becomes machine code there alone.

numba makes machine code of every function, and again of each that calls it. Leaving the former out changes no result.
To leave out optimising a part before it is linked would save as much again, but change what is inlined, and so the last
bits.
"""

from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import NativeLowering


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """Code that is optimised and linked into that of callers, and is no machine code by itself."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, _name: str) -> int:
        self._ensure_finalized()
        return 0


class _Pass(LoweringPass):  # type: ignore[misc]
    def __init__(self) -> None:
        LoweringPass.__init__(self)


@register_pass(mutates_CFG=False, analysis_only=True)
class _Begin(_Pass):
    _name = "begin_part"

    def run_pass(self, state: Any) -> bool:
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.flags.no_compile = True
        return True


@register_pass(mutates_CFG=False, analysis_only=True)
class _End(_Pass):
    _name = "end_part"

    def run_pass(self, state: Any) -> bool:
        lowered = state["cr"]
        name = lowered.fndesc.qualname.split(".")[-1]
        cfunc = _dynfunc.make_function(lowered.fndesc.lookup_module(), name, "", 0, lowered.env, (state.library,))
        state.targetctx.insert_user_function(cfunc, lowered.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = lowered._replace(cfunc=cfunc)
        return True


class Parts(CompilerBase):  # type: ignore[misc]
    """numba's pipeline, for functions that only kernels call."""

    def define_pipelines(self) -> list[Any]:
        """Return it: native lowering goes to a part."""
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        place = [each for each, _ in steps.passes].index(NativeLowering)
        steps.passes.insert(place, (_Begin, "a part begins"))
        steps.passes.insert(place + 2, (_End, "a part ends"))
        steps.finalize()
        return [steps]
