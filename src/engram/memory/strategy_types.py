"""Compiled strategies as numba sees them: every class is a type, and a kernel that is called with one uses its rules.

A kernel takes a strategy as an argument like any other and calls its rules as methods. numba compiles the kernel once
for each type of strategy and keeps it on disk under the types of its arguments. The type of a strategy is a class of
Engram's with two strings: the name of the strategy's class, and a digest of its rules. So any process finds a kernel on
disk, none finds one whose rules were edited since, and numba can read its index of kernels where the module of a user's
strategy is unknown.
"""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numba
from numba.core import cgutils, errors, types
from numba.core.imputils import impl_ret_new_ref, lower_builtin, lower_getattr_generic
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from engram.errors import InvalidInputError
from engram.inner_code import OPTIONS, KernelDispatcher
from engram.memory.strategies.code_digest import digest_of_class
from engram.memory.strategies.compiled import ASKED, FIXED, RULES, CompiledStrategy
from engram.memory.strategies.decisions import RefusedError

NEEDS: dict[Any, int] = {False: 0, "full": 1, True: 2}  # what kernels see of a need


class StrategyType(types.Type):
    """The type of a compiled strategy: the name of its class, a digest of its rules, and the fields of an instance."""

    def __init__(self, identity: str, members: tuple[tuple[str, str], ...]) -> None:
        self.identity, self.members = identity, members
        super().__init__(name=f"strategy {identity} {members}")


_types: WeakKeyDictionary[type[CompiledStrategy], StrategyType] = WeakKeyDictionary()
_classes: dict[str, type[CompiledStrategy]] = {}  # by identity: name and digest
_methods: set[str] = set()  # names that kernels can call
_rules: dict[tuple[str, str], Any] = {}  # by identity and name


def type_of_class(cls: type[CompiledStrategy]) -> StrategyType:
    """The type of a strategy's instances."""
    if cls in _types:
        return _types[cls]
    members = cls.fields_for_rules()
    digest = digest_of_class(cls, RULES, FIXED)
    found = StrategyType(f"{cls.__module__}.{cls.__qualname__}:{digest}", members)
    _classes[found.identity] = cls
    for name in dir(cls):
        if not name.startswith("__") and inspect.isfunction(inspect.getattr_static(cls, name)):
            _let_kernels_call(name)
    _types[cls] = found
    return found


def notice_changes(cls: type[CompiledStrategy]) -> None:
    """Forget the type of a class that was changed since, so that the next kernels are compiled for what it is now."""
    if cls in _types and not _types[cls].identity.endswith(digest_of_class(cls, RULES, FIXED)):
        del _types[cls]


def class_of(strategy: StrategyType) -> type[CompiledStrategy]:
    """The class of which a type is; it is known before anything is compiled for it."""
    return _classes[strategy.identity]


def _let_kernels_call(name: str) -> None:
    """Let kernels call methods of this name: each strategy's own."""
    if name in _methods:
        return
    _methods.add(name)

    @lower_builtin((StrategyType, name), StrategyType, types.VarArg(types.Any))  # type: ignore[untyped-decorator]
    def call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rule = context.get_function(_rule_type(signature.args[0], name), signature)
        context.add_linking_libs(getattr(rule, "libs", ()))
        return impl_ret_new_ref(context, builder, signature.return_type, rule(builder, args))


def _rule_type(strategy: StrategyType, name: str) -> types.Dispatcher:
    """A rule of a strategy as a function that kernels can call.

    numba takes it to be a function of this file, so that a kernel on disk names no other module.
    """
    if (strategy.identity, name) not in _rules:
        rule = inspect.getattr_static(class_of(strategy), name)
        ours = FunctionType(rule.__code__, rule.__globals__, name, rule.__defaults__, rule.__closure__)
        ours.__module__, ours.__qualname__ = __name__, rule.__qualname__
        _rules[strategy.identity, name] = KernelDispatcher(ours, {}, {**OPTIONS, "boundscheck": True})
    return types.Dispatcher(_rules[strategy.identity, name])


@typeof_impl.register(CompiledStrategy)
def _typeof(strategy: CompiledStrategy, context: Any) -> StrategyType:
    return type_of_class(type(strategy))


@register_model(StrategyType)
class _StrategyModel(models.StructModel):
    def __init__(self, manager: Any, strategy: StrategyType) -> None:
        members = [(name, getattr(types, kind)) for name, kind in strategy.members]
        super().__init__(manager, strategy, members)  # type: ignore[no-untyped-call]


@unbox(StrategyType)  # type: ignore[untyped-decorator]
def _unbox(strategy: StrategyType, instance: Any, c: Any) -> NativeValue:
    """Copy the fields of an instance."""
    struct = cgutils.create_struct_proxy(strategy)(c.context, c.builder)
    failed = cgutils.false_bit
    for name, kind in strategy.members:
        attribute = c.pyapi.object_getattr_string(instance, name)
        native = c.unbox(getattr(types, kind), attribute)
        setattr(struct, name, native.value)
        failed = c.builder.or_(failed, native.is_error)
        c.pyapi.decref(attribute)
    return NativeValue(struct._getvalue(), is_error=failed)


@infer_getattr
class _Attributes(AttributeTemplate):
    """What rules and kernels may use of a strategy: the fields of an instance, numbers of its class, and methods."""

    key = StrategyType

    def generic_resolve(self, strategy: StrategyType, name: str) -> Any:  # type: ignore[override]
        kind = dict(strategy.members).get(name)
        if kind is not None:
            return getattr(types, kind)
        if inspect.isfunction(inspect.getattr_static(class_of(strategy), name, None)):
            return _method(strategy, name)
        value = _class_number(strategy, name)
        return None if value is None else numba.typeof(value)


def _method(strategy: StrategyType, name: str) -> types.BoundFunction:
    """A method of a strategy, as an attribute to be called."""

    class Method(AbstractTemplate):
        key = (StrategyType, name)

        def generic(self, args: Any, kws: Any) -> Any:
            rule: Any = _rule_type(strategy, name)
            return rule.get_call_type(self.context, (strategy, *args), kws).as_method()

    return types.BoundFunction(Method, strategy)


@lower_getattr_generic(StrategyType)  # type: ignore[untyped-decorator]
def _get_attribute(context: Any, builder: Any, strategy: StrategyType, value: Any, name: str) -> Any:
    if name in dict(strategy.members):
        return getattr(cgutils.create_struct_proxy(strategy)(context, builder, value=value), name)
    number = _class_number(strategy, name)
    return context.get_constant(numba.typeof(number), number)


def _class_number(strategy: StrategyType, name: str) -> float | None:
    """A number that is an attribute of a strategy's class; None if it has no such number."""
    value = getattr(class_of(strategy), name, None)
    if name in ASKED:
        return NEEDS[value]
    return value if isinstance(value, bool | int | float) else None


class Kernel:
    """A kernel for arguments of fixed types, those of its first call: numba need not look at them again.

    The first argument is the strategy, in kernels that can fail because of one.
    """

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self.kernel: Any = kernel
        self.entry: Callable[..., Any] | None = None

    def __reduce__(self) -> Any:
        """A copy elsewhere compiles anew: machine code is no part of it."""
        return Kernel, (self.kernel,)

    def __call__(self, *args: Any) -> Any:
        """What the kernel returns."""
        if self.entry is None:
            self.entry = self.compile(args)
        try:
            return self.entry(*args)
        except (RefusedError, IndexError) as error:
            if isinstance(error, IndexError) and not _may_be_wrong(args[0]):
                raise
            raise InvalidInputError(f"{args[0].name}: {error}") from None

    def compile(self, args: tuple[Any, ...]) -> Callable[..., Any]:
        """The machine code for arguments of these types."""
        try:
            entry: Callable[..., Any] = self.kernel.compile(tuple(numba.typeof(arg) for arg in args))
        except errors.NumbaError as error:
            names = [type(arg).__name__ for arg in args if isinstance(arg, CompiledStrategy)]
            if not names:
                raise
            raise InvalidInputError(
                f"the rules of {names[0]} cannot be compiled; use numbers, arrays, loops and the functions of math and "
                "NumPy that numba knows, or derive from Strategy to run them in plain Python. numba says:\n"
                f"{_reason(error)}"
            ) from error
        return entry


def _may_be_wrong(first: Any) -> bool:
    """Whether a kernel that was called with this has the rules of a user, which may use slots that do not exist."""
    return isinstance(first, CompiledStrategy) and not first.is_built_in


def _reason(error: errors.NumbaError) -> str:
    """What numba says about the rule itself and where, without candidates and the calls that lead to it."""
    said, _, where = str(error).partition('\nFile "')
    noise = ("Failed in nopython mode", "- Resolution failure", "During: ")
    lines = [line for line in said.partition("There are ")[0].splitlines() if not line.startswith(noise)]
    return "\n".join(lines).strip() + '\nFile "' + where.partition("During: ")[0].strip()
