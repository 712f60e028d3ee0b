"""Strategies whose methods are compiled together with the memory's kernels."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

from engram.errors import InvalidInputError
from engram.memory.strategies.base import Strategy

RULES = ("decide", "when_full", "stored", "met_again", "blended", "touched", "adjusted")
FLAGS = ("clusters", "touches")
ASKED = ("needs_nearest", "needs_neighbours", "needs_estimate")
LAYOUT = ("numbers", "table_numbers", "order", "constants")
FIXED = (*LAYOUT, *FLAGS, *ASKED)  # attributes of a class, on which its kernels depend
KINDS: dict[Any, str] = {
    float: "float64",
    int: "int64",
    bool: "boolean",
    "float": "float64",
    "int": "int64",
    "bool": "boolean",
}


class CompiledStrategy(Strategy):
    """A strategy whose rules numba compiles to machine code: as `Strategy`, in the part of Python that numba knows.

    In the rules (`decide`, `when_full`, `stored`, `met_again`, `blended`, `touched`, `adjusted`), `self` has the
    dataclass's fields of type float, int and bool, the attributes named in `constants`, the class's own numbers, and
    methods that are rules too. `numbers["name"]` must be written with a literal name. The number that is the `order`
    is kept in a heap, so it is read and set entry by entry.
    """

    constants: ClassVar[tuple[str, ...]] = ()  # further attributes for the rules to read, as float64

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in RULES:
            _check_rule(cls, name)

    @classmethod
    def fields_for_rules(cls) -> tuple[tuple[str, str], ...]:
        """Names and types of the attributes that each instance has and that rules may read."""
        whole: Any = cls
        named = fields(whole) if is_dataclass(whole) else ()
        options = [field for field in named if field.type in KINDS and field.name not in FIXED]
        return *((field.name, KINDS[field.type]) for field in options), *((name, "float64") for name in cls.constants)

    @classmethod
    def rank_name(cls) -> str:
        """The number that lies in the table of ranks: the `order`, otherwise the first."""
        return cls.order or (cls.numbers[0] if cls.numbers else "")

    @classmethod
    def column_names(cls) -> tuple[str, ...]:
        """The numbers that do not lie in the table of ranks."""
        return tuple(name for name in cls.numbers if name != cls.rank_name())


def _check_rule(cls: type[CompiledStrategy], name: str) -> None:
    """Raise InvalidInputError unless a rule is a plain method with the parameters of `Strategy`'s."""
    rule: Any = inspect.getattr_static(cls, name)
    original: Callable[..., Any] = getattr(Strategy, name)
    expected = list(inspect.signature(original).parameters)
    if not inspect.isfunction(rule):
        raise InvalidInputError(
            f"{cls.__name__}.{name} must be a plain method to be compiled, got {rule!r}; "
            "derive from Strategy to run it in plain Python"
        )
    given = list(inspect.signature(rule).parameters)
    if len(given) != len(expected):
        raise InvalidInputError(f"{cls.__name__}.{name} must have the parameters {expected}, got {given}")
