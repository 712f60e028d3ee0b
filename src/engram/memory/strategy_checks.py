"""Checks of a strategy before a memory uses it: what it asks for, keeps and is set to must fit its rules."""

import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType

from engram import checks
from engram.errors import InvalidInputError
from engram.memory.saving import RESERVED
from engram.memory.strategies import CompiledStrategy, Strategy
from engram.memory.strategies.compiled import ASKED, FIXED, FLAGS, RULES
from engram.memory.strategy_types import notice_changes

ASKED_FOR = {  # what must be asked for before a rule may use these fields of `write`
    "nearest": "needs_nearest",
    "distance": "needs_nearest",
    "nearest_value": "needs_nearest",
    "neighbours": "needs_neighbours",
    "estimate": "needs_estimate",
    "lowest": "order",
}


def check_strategy(strategy: Strategy) -> Strategy:
    """The strategy, if its rules can be carried out as they are written."""
    cls = type(strategy)
    if cls.decide is Strategy.decide and cls.when_full is Strategy.when_full:
        raise InvalidInputError(f"{strategy.name} must define when_full(write, numbers)")
    _check_names(strategy)
    _check_needs(strategy)
    if isinstance(strategy, CompiledStrategy):
        _check_fixed(strategy)
        _check_options(strategy)
        notice_changes(type(strategy))
    return strategy


def _check_names(strategy: Strategy) -> None:
    """Raise InvalidInputError unless the names of a strategy's numbers differ from each other and from the memory's."""
    if not all(isinstance(given, tuple | list) for given in (strategy.numbers, strategy.table_numbers)):
        raise InvalidInputError(f'{strategy.name}: numbers and table_numbers must be tuples of names, as ("age",)')
    names = [*strategy.numbers, *strategy.table_numbers]
    if not all(isinstance(name, str) for name in names) or RESERVED & set(names) or len(set(names)) < len(names):
        raise InvalidInputError(
            f"{strategy.name}: numbers and table_numbers must have different names, and none of {sorted(RESERVED)}; "
            f"got {names}"
        )


def _check_needs(strategy: Strategy) -> None:
    """Raise InvalidInputError unless a strategy asks for everything that its rules use."""
    for name in FLAGS:
        checks.flag(f"{strategy.name}.{name}", getattr(strategy, name))
    for name in ASKED:
        if getattr(strategy, name) not in (False, True, "full"):
            raise InvalidInputError(
                f'{strategy.name}.{name} must be True, False or "full", got {getattr(strategy, name)!r}'
            )
    if strategy.order and strategy.order not in strategy.numbers:
        raise InvalidInputError(
            f"{strategy.name}.order must be one of its numbers {strategy.numbers}, got {strategy.order!r}"
        )
    for name in _names_in_rules(type(strategy)):
        need = ASKED_FOR.get(name)
        if need and not getattr(strategy, need) and not hasattr(strategy, name):
            raise InvalidInputError(
                f"{strategy.name} uses write.{name}, which is not known unless it is asked for; set {need} in the class"
            )


def _names_in_rules(cls: type[Strategy]) -> Iterator[str]:
    """The names that the rules of a class use, and the methods that they call."""
    todo, seen = list(RULES), set(RULES)
    while todo:
        rule = inspect.getattr_static(cls, todo.pop(), None)
        if isinstance(rule, FunctionType):
            for name in _names_in(rule.__code__):
                yield name
                if name not in seen:
                    seen.add(name)
                    todo.append(name)


def _names_in(code: CodeType) -> Iterator[str]:
    """The names in a function's code and in that of the functions inside it."""
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _names_in(const)


def _check_fixed(strategy: CompiledStrategy) -> None:
    """Raise InvalidInputError unless an instance has what its class says: kernels are compiled for the class."""
    for name in FIXED:
        mine, theirs = getattr(strategy, name), getattr(type(strategy), name)
        if mine != theirs:
            raise InvalidInputError(
                f"{strategy.name}.{name} must be the same for all instances of a compiled strategy ({theirs!r}), got "
                f"{mine!r}; make it an attribute of a class of its own"
            )


def _check_options(strategy: CompiledStrategy) -> None:
    """Raise InvalidInputError unless the options that rules read are numbers of the types that they are declared as."""
    for name, kind in strategy.fields_for_rules():
        value, what = getattr(strategy, name), f"{strategy.name}: {name}"
        if kind == "boolean":
            checks.flag(what, value)
        elif kind == "int64":
            checks.at_least(what, value, -(2**63), 2**63 - 1)
        elif not (checks.is_number(value) and checks.is_float(value)):
            raise InvalidInputError(f"{what} must be a number, got {checks.shown(value)}")
