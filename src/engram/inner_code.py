"""Kernels as other kernels call them: code to be taken in, which is never made machine code by itself.

numba makes machine code of every function that a kernel calls, and of all that those call, with wrappers for callers
in Python and in C, before it takes the code into the kernel, optimises it there and makes machine code of it again. Of
a hundred functions only a few are ever called from Python. Here the others are translated once, linked into each kernel
that calls them, and optimised there. Without fast-math that does not change a bit of what is computed.
"""

from collections.abc import Callable
from typing import Any

from numba.core import dispatcher, errors, sigutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher
from numba.core.typing.templates import make_concrete_template

from engram.garbage import uncollected

ENVIRONMENTS = "_ZN08NumbaEnv"  # how the names of variables begin that point to a function's environment
OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy"}
IN_WORK: dict[str, Callable[[], None]] = {}  # kernels that another process compiles now → a function that waits for it
NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _any_number(kind: Any) -> Any:
    """The type of whole numbers in the place of that of one, which would be compiled by itself; others as they are."""
    return types.unliteral(kind) if isinstance(kind, types.IntegerLiteral) else kind


class InnerLibrary(JITCodeLibrary):
    """The code of one function and of all that it calls, to be linked into others."""

    def finalize(self) -> None:
        """Link what the function calls, and leave it at that."""
        self._raise_if_finalized()  # type: ignore[no-untyped-call]
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class InnerCompiler(Compiler):
    """numba's compiler as far as code for LLVM."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *rest: Any) -> None:
        inner: Any = InnerLibrary
        super().__init__(typingctx, targetctx, inner(targetctx.codegen(), "inner"), *rest)  # type: ignore[no-untyped-call]
        self.state.flags.no_compile = True


class KernelDispatcher(CPUDispatcher):
    """A function that is compiled as a kernel when Python calls it, and as inner code when a kernel calls it.

    It is made of what numba pickles of a dispatcher, so that kernels of the user's own can be sent to other machines.
    """

    def __init__(self, py_func: Any, given: dict[str, Any], options: dict[str, Any]) -> None:
        super().__init__(py_func, given, options)
        compiler: Any = dispatcher._FunctionCompiler  # type: ignore[attr-defined]
        self._inside = compiler(py_func, self.targetdescr, options | NO_WRAPPERS, given, InnerCompiler)
        self._inner: dict[Any, Any] = {}  # argument types → what numba knows of the function for them

    def compile(self, sig: Any) -> Any:
        """The machine code for arguments of these types, from disk if it is there."""
        wait = IN_WORK.pop(self.py_func.__name__, None)
        if wait is not None:
            wait()
        with uncollected():  # there is little among the many objects that a compiler makes, and it is looked for often
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The function's type for a caller that is compiled now; one whole number is of the same type as another."""
        signature, exact = self._inside.fold_argument_types(args, kws)
        literal = tuple(exact)
        folded = tuple(_any_number(each) for each in literal)
        if folded not in self._inner and literal not in self._inner:
            try:
                self._translate(folded)
            except errors.NumbaError:
                if literal == folded:
                    raise
                self._translate(literal)  # it may need to know which number it is, as the place in a tuple
        folded = folded if folded in self._inner else literal
        found = self._inner[folded]
        name = self.py_func.__name__
        template = make_concrete_template(f"CallTemplate({name})", key=name, signatures=[found.signature])
        return template, signature, folded, {}

    def _translate(self, arguments: tuple[Any, ...]) -> None:
        """Make inner code for arguments of these types."""
        found = self._inner[arguments] = self._inside.compile(arguments, None)
        self.targetctx.insert_user_function(found.library, found.fndesc, [found.library])

    def get_overload(self, sig: Any) -> Any:
        """The key under which numba knows the code for a caller that is compiled now."""
        args, _ = sigutils.normalize_signature(sig)
        return self._inner[tuple(args)].library

    def add_overload(self, cres: Any) -> None:
        """Keep what was compiled, and let the code that it took in know its environments."""
        for variable in cres.library._final_module.global_variables:
            environment = lookup_environment(variable.name) if variable.name.startswith(ENVIRONMENTS) else None
            if environment is not None:
                cres.library.codegen.set_env(variable.name, environment)
        super().add_overload(cres)
