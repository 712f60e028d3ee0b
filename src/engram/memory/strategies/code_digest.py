"""A digest of compiled code: functions with everything of the user's own that they use.

numba builds the values of globals into machine code. So the digest covers not only the bytecode of a function but also
the functions, constants and class attributes that it names, wherever they are defined. Modules that come with Python,
NumPy or numba count by name only: a change of those already discards all kernels. Where something of Engram is named,
all of its sources count.
"""

import enum
import hashlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from engram.compiling import source_digest

KNOWN = frozenset({"engram", "numba", "numpy", "llvmlite", "builtins"}) | sys.stdlib_module_names - {"__main__"}


def digest_of_class(cls: type, methods: Iterable[str], attributes: Iterable[str]) -> str:
    """A digest of some methods of a class with all that they use, and of some of its attributes."""
    walk = _Walk(cls)
    for name in methods:
        walk.add(name, inspect.getattr_static(cls, name))
    for name in attributes:
        walk.add(name, getattr(cls, name))
    sources = source_digest() if walk.names_engram else ""
    return hashlib.sha256("\n".join([*walk.lines, sources]).encode()).hexdigest()[:16]


class _Walk:
    """Collects one line for each thing that is reached, in the order in which it is reached."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.lines: list[str] = []
        self.names_engram = False
        self.seen: set[int] = set()

    def add(self, name: str, value: Any) -> None:
        value = getattr(value, "py_func", value)  # what a numba function was made of
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        self.names_engram |= str(home).partition(".")[0] == "engram" and not self._is_rule(value)
        if isinstance(value, FunctionType):
            if value.__module__ and _is_known(value.__module__) and not self._is_rule(value):
                self.lines.append(f"{name}: {value.__module__}.{value.__qualname__}")
            elif id(value) not in self.seen:
                self.seen.add(id(value))
                self.add_function(name, value)
        elif isinstance(value, ModuleType):
            self.lines.append(f"{name}: module {value.__name__}")
        else:
            self.lines.append(f"{name}: {_shown(value)}")

    def _is_rule(self, function: Any) -> bool:
        if not isinstance(function, FunctionType):
            return False
        return inspect.getattr_static(self.cls, function.__name__, None) is function

    def add_used(self, name: str, module: ModuleType, names: list[str]) -> None:
        """What a function may use of a module, and of modules in it."""
        if _is_known(module.__name__) or id(module) in self.seen:
            return
        self.seen.add(id(module))
        for attribute in names:
            if hasattr(module, attribute):
                value = getattr(module, attribute)
                self.add(f"{name}.{attribute}", value)
                if isinstance(value, ModuleType):
                    self.add_used(f"{name}.{attribute}", value, names)

    def add_function(self, name: str, function: FunctionType) -> None:
        codes = list(_codes(function.__code__))
        constants = [[_shown(const) for const in code.co_consts if not isinstance(const, CodeType)] for code in codes]
        names = sorted({each for code in codes for each in (*code.co_names, *code.co_freevars)})
        self.lines.append(f"{name}: {[code.co_code.hex() for code in codes]} {constants} {names}")
        self.lines.append(f"{name}: {[code.co_varnames for code in codes]} {_shown(function.__defaults__)}")
        closed = inspect.getclosurevars(function)
        for each, value in sorted({**closed.globals, **closed.nonlocals}.items()):
            self.add(each, value)
            if isinstance(value, ModuleType):
                self.add_used(each, value, names)
        for each in names:  # self.each
            if hasattr(self.cls, each):
                self.add(f"self.{each}", inspect.getattr_static(self.cls, each))


def _is_known(module: str) -> bool:
    return module.partition(".")[0] in KNOWN


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of the functions inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _shown(value: Any) -> str:
    """A text that is the same in every process, and another for another value."""
    match value:
        case np.ndarray():
            shown = f"array {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        case enum.Enum():
            shown = f"{type(value).__qualname__}.{value.name} = {_shown(value.value)}"
        case tuple() | list():
            shown = f"{type(value).__name__} [{', '.join(map(_shown, value))}]"
        case frozenset():
            shown = f"set [{', '.join(sorted(map(_shown, value)))}]"
        case None | bool() | int() | float() | complex() | str() | bytes() | np.generic():
            shown = repr(value)
        case enum.EnumType():
            shown = f"enum {value.__qualname__} {list(map(_shown, value.__members__.values()))}"
        case type():
            shown = f"class {value.__module__}.{value.__qualname__} {getattr(value, '_fields', '')}"
        case _:
            shown = f"{type(value).__module__}.{type(value).__qualname__} {getattr(value, '__name__', '')}"
    return shown
