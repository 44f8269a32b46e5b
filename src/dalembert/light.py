"""The pipeline that Numba compiles this package with: fewer passes, and everything linked once, at the entry.

Numba's own pipeline serves all of Python. It optimises each function together with everything that it calls, turns it into
machine code, links the result into each caller, and begins anew there; it looks for closures, `with` blocks, object mode,
reflected lists, array expressions and generators; and it keeps time of all that. Kernels here have none of these. Here

- an inner function stops at its unoptimised intermediate code (`InnerLibrary`), which is linked into the kernels that need
  it, directly or not, once (`EntryLibrary`), and optimised there;
- only those passes run which the language of the kernels needs (`Compiler`);
- type inference is spared two detours: a variable that begins as a constant looks like that constant in the first pass, and
  Numba would compile what it is handed to for the constant as well as for its type; and each `+` of two numbers would be
  tried as an operation on arrays, by the rules of NumPy's universal functions, before the answer is no.

The code of the kernels is the same. It leans on parts of Numba that are not documented; tests/jit/test_numba.py holds each of
them, for each version that pyproject.toml allows.
"""

import functools
import gc
from typing import Any

import llvmlite.binding as llvm
from numba.core import cgutils, codegen, compiler, compiler_machinery, funcdesc, lowering, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.typed_passes import NoPythonBackend, NopythonTypeInference, PreLowerStripPhis
from numba.core.untyped_passes import (
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    TranslateByteCode,
)

# Libraries --------------------------------------------------------------------------------------------------------------


class InnerLibrary(codegen.JITCodeLibrary):
    """The intermediate code of one inner function, simplified but neither optimised nor made into machine code."""

    def add_ir_module(self, ir_module: Any) -> None:
        module = llvm.parse_assembly(cgutils.normalize_ir_text(str(ir_module)))
        module.name, module.data_layout = ir_module.name, self._codegen._data_layout
        passes, builder = _simplification(self._codegen)
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)
                if function.linkage == llvm.Linkage.external:
                    function.linkage = "linkonce_odr"  # dropped from a kernel in which every call of it is inlined
        self._final_module = module

    def finalize(self) -> None:
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        self._ensure_finalized()
        return self._final_module


@functools.cache
def _simplification(target: Any) -> tuple[Any, Any]:
    """LLVM's passes for one function."""
    builder = target._pass_builder()
    return builder.getFunctionPassManager(), builder


class EntryLibrary(codegen.JITCodeLibrary):
    """The code of a kernel: its own, and that of all that it calls."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in self.inner_libraries():
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._optimize_final_module()
        self._finalize_final_module()

    def inner_libraries(self) -> list[Any]:
        """What is linked into this one, in the order in which it is first needed."""
        found: dict[Any, None] = {}
        left = list(reversed(self._linking_libraries))
        while left:
            library = left.pop()
            if library not in found:
                found[library] = None
                if isinstance(library, InnerLibrary):
                    left.extend(reversed(library._linking_libraries))
        return list(found)

# Passes -----------------------------------------------------------------------------------------------------------------


class Lowering(compiler_machinery.LoweringPass):  # type: ignore[misc]
    """From typed Numba code to LLVM's intermediate code, in a library of the kind that it is for."""

    _name = "dalembert_lowering"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        context, flags = state.targetctx, state.flags
        inner = flags.no_cfunc_wrapper and flags.no_cpython_wrapper
        kind = InnerLibrary if inner else EntryLibrary
        library = kind(context.codegen(), state.func_id.func_qualname)
        if not inner:
            library.enable_object_caching()  # so that its machine code can be kept
        descriptor = funcdesc.PythonFunctionDescriptor.from_specialized_function(
            state.func_ir, state.typemap, state.return_type, state.calltypes, mangler=context.mangler,
            inline=flags.forceinline, noalias=flags.noalias, abi_tags=[flags.get_mangle_string()],
        )  # fmt: skip
        with context.push_code_library(library):
            lower = lowering.Lower(context, library, descriptor, state.func_ir, metadata=state.metadata)
            lower.lower()
            if not flags.no_cpython_wrapper:
                lower.create_cpython_wrapper(flags.release_gil)
            if not flags.no_cfunc_wrapper:
                lower.create_cfunc_wrapper()
        function = None
        if not flags.no_compile:
            function = library if inner else context.get_executable(library, descriptor, lower.env)
            context.insert_user_function(function, descriptor, [library])
        state.library = library
        state["cr"] = compiler._LowerResult(descriptor, lower.call_helper, cfunc=function, env=lower.env)
        return True


compiler_machinery.register_pass(mutates_CFG=True, analysis_only=False)(Lowering)

PASSES = (
    TranslateByteCode, FixupArgs, IRProcessing, GenericRewrites, ReconstructSSA, NopythonTypeInference, PreLowerStripPhis,
    Lowering, NoPythonBackend,
)  # fmt: skip


class Passes(compiler_machinery.PassManager):  # type: ignore[misc]
    """These passes in their order, without the records that Numba keeps of each."""

    def run(self, state: Any) -> None:
        for kind, _ in self.passes:
            instance = compiler_machinery._pass_registry.get(kind).pass_inst
            instance.analysis = self._analysis
            instance.run_pass(state)


class Compiler(compiler.CompilerBase):  # type: ignore[misc]
    """What compiles every function of this package."""

    running = 0  # how many of them are, one inside the other

    def compile_extra(self, function: Any) -> Any:
        collecting = gc.isenabled()
        gc.disable()  # the compiler's objects are many, and are needed to the end
        Compiler.running += 1
        try:
            return super().compile_extra(function)
        finally:
            Compiler.running -= 1
            if collecting:
                gc.enable()

    def define_pipelines(self) -> list[Any]:
        passes = Passes("dalembert")
        for kind in PASSES:
            passes.add_pass(kind, kind.__name__)
        passes.finalize()
        return [passes]


# Inner functions --------------------------------------------------------------------------------------------------------


def use(function: Any) -> None:
    """Make a Numba dispatcher compile lightly; it can be called from compiled code only."""
    full = function.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:  # blind to constants among its arguments
        return full(tuple(map(types.unliteral, args)), {name: types.unliteral(kind) for name, kind in kws.items()})

    def compile_for(args: Any) -> Any:  # without the clocks, and without a place for callers in Python
        with global_compiler_lock, function._compiling_counter:
            if args not in function.overloads:
                function.overloads[args] = function._compiler.compile(args, None)

    function.get_call_template, function.compile = get_call_template, compile_for


_signatures: dict[tuple[Any, ...], Any] = {}
_full_call_type = types.BaseFunction.get_call_type


def _call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of a call of a function of Numba's, remembered: each `+` of two numbers is tried as an operation on
    strings, sets and arrays, among others, before the answer is found."""
    if Compiler.running == 0 or kws or any(isinstance(kind, types.Callable) for kind in args):
        return _full_call_type(function, context, args, kws)
    key = (function, args)
    if key not in _signatures:
        _signatures[key] = _full_call_type(function, context, args, kws)
    return _signatures[key]


types.BaseFunction.get_call_type = _call_type
