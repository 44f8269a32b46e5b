"""Compiling inner functions lightly: once for their types, and optimised once, inside the kernel that uses them.

Numba optimises each function together with everything it calls, and turns the result into machine code, before it links
it into its caller, where all of that is done again. A function eight calls deep is optimised eight times, though only
the copy inside the kernel ever runs. Here an inner function stops at its unoptimised intermediate code. This cuts the
cold compile time of the package several times over, and changes nothing in the code of the kernels.

Type inference, too, is spared two detours. A variable that begins as a constant looks like that constant in the first
pass, and Numba would compile what it is handed to for the constant as well as for its type. And each `+` of two numbers
is tried as an operation on arrays, by the rules of NumPy's universal functions, before the answer is no.

It leans on private methods of Numba (0.60 to 0.68). Where one of them is missing, everything compiles in full.
"""

from typing import Any

from numba.core import codegen, dispatcher, types
from numba.core.typing import npydecl

_depth = 0  # how many inner functions are being compiled, one inside the other


class _LightCompiler(dispatcher._FunctionCompiler):
    def compile(self, args: Any, return_type: Any) -> Any:
        global _depth
        _depth += 1
        try:
            return super().compile(args, return_type)
        finally:
            _depth -= 1


class _Library(codegen.JITCodeLibrary):
    """What replaces three methods of Numba's code library while an inner function is compiled."""

    _full_optimize = codegen.JITCodeLibrary._optimize_final_module
    _full_finalize = codegen.JITCodeLibrary._finalize_final_module

    def _optimize_final_module(self) -> None:
        if _depth == 0:
            _Library._full_optimize(self)

    def _finalize_final_module(self) -> None:
        if _depth == 0:
            _Library._full_finalize(self)
            return
        self._finalize_dynamic_globals()
        self._finalized = True


class _Codegen(codegen.JITCPUCodegen):
    _full_set_env = codegen.JITCPUCodegen.set_env

    def set_env(self, env_name: str, env: Any) -> None:
        """Inner functions have no machine code yet, so that there is no place for their environment; none needs it."""
        if _depth == 0:
            _Codegen._full_set_env(self, env_name, env)


_NEEDED = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals")
_RULE = getattr(npydecl, "NumpyRulesArrayOperator", None)
AVAILABLE = hasattr(_RULE, "generic") and all(hasattr(codegen.JITCodeLibrary, name) for name in _NEEDED)


class _ArrayOperator:
    """What replaces the rule of array operators."""

    _full_generic = getattr(_RULE, "generic", None)

    def generic(self, args: Any, kws: Any) -> Any:
        if not any(isinstance(argument, types.ArrayCompatible) for argument in args):
            return None
        return _ArrayOperator._full_generic(self, args, kws)


if AVAILABLE:
    codegen.JITCodeLibrary._optimize_final_module = _Library._optimize_final_module
    codegen.JITCodeLibrary._finalize_final_module = _Library._finalize_final_module
    codegen.JITCPUCodegen.set_env = _Codegen.set_env
    _RULE.generic = _ArrayOperator.generic


def _compile_for_types(function: Any) -> None:
    """Make a dispatcher blind to constants among its arguments."""
    full = function.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        return full(tuple(map(types.unliteral, args)), {name: types.unliteral(kind) for name, kind in kws.items()})

    function.get_call_template = get_call_template


def use(function: Any) -> None:
    """Make a Numba dispatcher compile lightly; it can be called from compiled code only."""
    _compile_for_types(function)
    if AVAILABLE:
        old = function._compiler
        function._compiler = _LightCompiler(
            old.py_func, old.targetdescr, old.targetoptions, old.locals, old.pipeline_class
        )
