"""Kernels within kernels: their code is linked into that of their callers, and becomes machine code there alone.

numba makes machine code of every function, and again of each that calls it. Leaving the former out changes no result.
To leave out optimising a part before it is linked would save as much again, but change what is inlined, and so the last
bits.

Every kernel runs its own machine code of its parts. numba would leave their names open to all kernels of a process, and
the first code that is loaded serves every kernel that calls its name. But the same part has other last bits where it
was optimised within another kernel; and names count the functions that a process has compiled, so that those of two
processes in one cache may be equal, and the functions not.
"""

from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import NativeLowering


class _Whole(JITCodeLibrary):  # type: ignore[misc]
    """A kernel and its parts, which no other kernel sees."""

    def _finalize_final_module(self) -> None:
        for function in self._final_module.functions:  # they are optimised: this changes no instruction
            if function.linkage.name == "linkonce_odr":
                function.linkage = "internal"
        super()._finalize_final_module()


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """Code that is optimised and linked into that of callers, and is no machine code by itself."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, _name: str) -> int:
        self._ensure_finalized()
        return 0


@register_pass(mutates_CFG=False, analysis_only=True)
class _End(LoweringPass):  # type: ignore[misc]
    _name = "end_part"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        lowered = state["cr"]
        name = lowered.fndesc.qualname.split(".")[-1]
        cfunc = _dynfunc.make_function(lowered.fndesc.lookup_module(), name, "", 0, lowered.env, (state.library,))
        state.targetctx.insert_user_function(cfunc, lowered.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = lowered._replace(cfunc=cfunc)
        return True


class Wholes(CompilerBase):  # type: ignore[misc]
    """numba's pipeline, for kernels that Python calls."""

    _library = _Whole

    def define_pipelines(self) -> list[Any]:
        """Return it: code goes to a library of ours."""
        state = self.state
        state.library = self._library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


class Parts(Wholes):
    """numba's pipeline, for functions that only kernels call."""

    _library = _Part

    def define_pipelines(self) -> list[Any]:
        """Return it: code goes to a part."""
        (steps,) = super().define_pipelines()
        self.state.flags.no_compile = True
        place = [each for each, _ in steps.passes].index(NativeLowering)
        steps.passes.insert(place + 1, (_End, "a part ends"))
        steps.finalize()
        return [steps]
