"""Compilation by Numba, reduced to the passes that the kernels of this package need: function → LLVM code → machine
code.

Numba's own pipeline supports all of Python. It optimises each function together with everything that it calls, compiles
it to machine code, links the result into each caller, and starts again there. It looks for closures, `with` blocks,
object mode, array expressions and generators, and measures the time of its passes. Kernels here use none of these. So

- an inner function stops at its intermediate code, simplified (`InnerLibrary`), which is linked once into each C
  function that needs it, directly or not (`intermediate_code`), and optimised there (`optimise`);
- only the passes that kernels need are run (`Compiler`);
- type inference skips two unnecessary steps: Numba would compile functions whose argument starts as a constant both for
  the constant and for its type; and it would try each `+` of two numbers as an operation on strings, sets and arrays
  first.

The resulting machine code is the same. This depends on undocumented parts of Numba; tests/jit/test_numba.py tests each
of them, for the versions that pyproject.toml allows.
"""

import functools
import gc
import time
from collections.abc import Callable, Collection
from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba.core import cgutils, codegen, compiler, compiler_machinery, funcdesc, lowering, sigutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.typed_passes import NoPythonBackend, NopythonTypeInference, PreLowerStripPhis
from numba.core.untyped_passes import FixupArgs, GenericRewrites, IRProcessing, ReconstructSSA, TranslateByteCode

from . import interrupt
from .object_cache import ObjectFile
from .status import ENDS_RUN

from . import numba_import  # noqa: F401  # isort: skip - before Numba imports the rest of itself

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise RuntimeError(
        "numba.config.DISABLE_JIT was set after dalembert was imported; set the environment variable NUMBA_DISABLE_JIT=1 "
        "before that to run everything in plain Python"
    )

# Inner functions --------------------------------------------------------------------------------------------------------


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
        """What a function links that Numba compiles by itself, one of a user's, say: with everything that this one calls."""
        linked = self._final_module.clone()
        for library in _libraries(self)[1:]:
            linked.link_in(_own_module(library), preserve=True)
        return linked


@functools.cache
def _simplification(target: Any) -> tuple[Any, Any]:
    """LLVM's passes for one function."""
    builder = target._pass_builder()
    return builder.getFunctionPassManager(), builder


# Passes -----------------------------------------------------------------------------------------------------------------


class Lowering(compiler_machinery.LoweringPass):  # type: ignore[misc]
    """From typed Numba code to LLVM's intermediate code, in a library of the kind that it is for."""

    _name = "dalembert_lowering"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        context, flags = state.targetctx, state.flags
        library = InnerLibrary(context.codegen(), state.func_id.func_qualname)
        descriptor = funcdesc.PythonFunctionDescriptor.from_specialized_function(
            state.func_ir, state.typemap, state.return_type, state.calltypes, mangler=context.mangler,
            inline=flags.forceinline, noalias=flags.noalias, abi_tags=[flags.get_mangle_string()],
        )  # fmt: skip
        with context.push_code_library(library):
            lower = lowering.Lower(context, library, descriptor, state.func_ir, metadata=state.metadata)
            lower.lower()
        context.insert_user_function(library, descriptor, [library])
        state.library = library
        state["cr"] = compiler._LowerResult(descriptor, lower.call_helper, cfunc=library, env=lower.env)
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
        interrupt.poll_compilation()
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


# What `jit` asks for ----------------------------------------------------------------------------------------------------


def dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """What Numba compiles of a function that is called from compiled code only."""
    found = numba.njit(**options, pipeline_class=Compiler)(function)
    full = found.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:  # blind to constants among its arguments
        return full(tuple(map(types.unliteral, args)), {name: types.unliteral(kind) for name, kind in kws.items()})

    def compile_for(args: Any) -> None:  # without the clocks, and without an entry for callers in Python
        with global_compiler_lock, found._compiling_counter:
            if args not in found.overloads:
                found.overloads[args] = found._compiler.compile(args, None)

    found.get_call_template, found.compile = get_call_template, compile_for
    return found


def type_of(intrinsic: Any) -> Any:
    """The type of a function that `numba.extending.intrinsic` has just registered."""
    context = cpu_target.typing_context
    context.refresh()
    return context.resolve_value_type(intrinsic)


def intermediate_code(function: Callable[..., Any], signature: str, symbol: str, options: dict[str, Any]) -> Any:
    """An LLVM module with a C function of this name and everything that it calls, linked and not yet optimised.

    Where a kernel raises, which none should, the C function returns ENDS_RUN, or NaN: nothing here needs Python.
    Raises TypeError for one that holds on to a Python object.
    """
    arguments, result = sigutils.normalize_signature(signature)
    with global_compiler_lock:
        compiled = dispatcher(function, options)._compiler.compile(arguments, result)
        linked = llvm.parse_assembly(str(_c_function(compiled.fndesc, symbol)))
        for library in _libraries(compiled.library):
            linked.link_in(_own_module(library), preserve=True)
    if any(value.name.startswith("numba.dynamic.globals") for value in linked.global_variables):
        raise TypeError(f"{symbol} refers to an object of this process, and cannot be written to disk")
    return linked


def _c_function(descriptor: Any, symbol: str) -> Any:
    """A module with a C function around one that was compiled by Numba."""
    context = cpu_target.target_context
    convention, result = context.call_conv, context.get_value_type(descriptor.restype)
    module = context.create_module(symbol)
    inner = ir.Function(
        module, convention.get_function_type(descriptor.restype, descriptor.argtypes), descriptor.llvm_func_name
    )
    kind = ir.FunctionType(result, [context.get_value_type(argument) for argument in descriptor.argtypes])
    function = ir.Function(module, kind, symbol)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    status, found = convention.call_function(
        builder, inner, descriptor.restype, descriptor.argtypes, function.args, attrs=("noinline",)
    )
    raised = ENDS_RUN if isinstance(result, ir.IntType) else float("nan")
    builder.ret(builder.select(status.is_error, result(raised), found))
    return module


def _own_module(library: Any) -> Any:
    """The code of a library, without that of what it calls where that is in libraries of their own."""
    return library._final_module if isinstance(library, InnerLibrary) else library._get_module_for_linking()


def _libraries(first: Any) -> list[Any]:
    """A library and all that it calls, in the order in which they are first needed."""
    found: dict[Any, None] = {}
    left = [first]
    while left:
        library = left.pop()
        if library not in found:
            found[library] = None
            left.extend(reversed(library._linking_libraries))
    return list(found)


def optimise(module: Any, machine: Any, symbols: Collection[str]) -> None:
    """Optimise a module in place for a target machine, as Numba does, and keep only these symbols and what they need."""
    inline = codegen.create_pass_builder(machine, opt=0, loop_vectorize=False, slp_vectorize=False)
    passes = inline.getModulePassManager()
    passes.add_loop_rotate_pass()
    passes.add_instruction_combine_pass()
    passes.add_jump_threading_pass()
    passes.run(module, inline)
    interrupt.poll_compilation()
    full = codegen.create_pass_builder(machine, opt=3, loop_vectorize=True, slp_vectorize=False)
    full.getModulePassManager().run(module, full)
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name not in symbols:
            value.linkage = "internal"
    drop = llvm.create_new_module_pass_manager()
    drop.add_global_dead_code_eliminate_pass()
    drop.run(module, full)


def compile_for_host(function: Callable[..., Any], signature: str, symbol: str, options: dict[str, Any]) -> ObjectFile:
    """An object file for this machine with a C function of this name."""
    begun = time.process_time()
    module = intermediate_code(function, signature, symbol, options)
    functions = sum(not found.is_declaration for found in module.functions)
    size = len(module.as_bitcode())
    machine = cpu_target.target_context.codegen()._tm
    interrupt.poll_compilation()
    optimise(module, machine, {symbol})
    interrupt.poll_compilation()
    code = bytes(machine.emit_object(module))
    return ObjectFile(code, functions, size, time.process_time() - begun)


# Type inference ----------------------------------------------------------------------------------------------------------

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


types.BaseFunction.get_call_type = _call_type  # type: ignore[method-assign, assignment]
