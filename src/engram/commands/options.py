"""The options of a command: a dataclass with a comment for each field, parsed by tyro and shown in groups."""

import inspect
import io
import shlex
import sys
import tokenize
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from contextvars import ContextVar
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import tyro
from tyro.conf import Positional, UseAppendAction

from engram.commands.help_page import HELP, Groups, Option, help_page, usage_of

__all__ = ["Groups", "Option", "as_typed", "options_of", "parse", "seen_options"]

Options = TypeVar("Options")
_described: ContextVar[bool] = ContextVar("described", default=False)  # set while only options are asked for
METAVARS: dict[Any, str] = {int: "N", float: "X", Path: "PATH", str: "NAME"}


def parse(
    kind: type[Options],
    *,
    prog: str,
    words: Sequence[str],
    groups: Groups | None = None,
    default: Options | None = None,
    about: str | None = None,
) -> Options:
    """The options among the words of a command; `--help` shows them and ends it."""
    description = about if about is not None else inspect.cleandoc(kind.__doc__ or "")
    if any(word in HELP for word in words):
        options = list(options_of(kind, default))
        if _described.get():
            raise _Described(options)
        print(help_page([usage_of(prog, options)], description, options, groups or {}), end="")
        sys.exit(0)
    extra: dict[str, Any] = {} if default is None else {"default": default}
    found: Options = tyro.cli(kind, prog=prog, args=words, description=description, **extra)
    return found


def as_typed(prog: str, options: Any) -> str:
    """The command that stands for these options, without those at their defaults."""
    usual = {field.name: field.default for field in fields(options)}
    words, named = list[str](), list[str]()
    for option in options_of(type(options)):
        value = getattr(options, option.field)
        values = [str(each) for each in value] if isinstance(value, tuple) else [str(value)]
        if option.is_positional:
            words += values
        elif value == usual[option.field]:
            continue
        elif option.kind is bool:
            named.append(option.name)
        elif option.repeated:
            named += [word for each in values for word in (option.name, each)]
        else:
            named += [option.name, *values]
    return shlex.join([*prog.split(), *words, *named])


class _Described(Exception):  # noqa: N818 (not an error)
    """Carries the options of a command out of it."""

    def __init__(self, options: list[Option]) -> None:
        super().__init__()
        self.options = options


def seen_options(command: Callable[..., object], words: Sequence[str]) -> list[Option]:
    """The options that a command shows with `--help` after these words."""
    token = _described.set(True)
    try:
        with redirect_stdout(io.StringIO()):
            command([*words, "--help"], None)
    except _Described as described:
        return described.options
    except SystemExit:  # a command that parses its words in another way
        return []
    finally:
        _described.reset(token)
    return []


def options_of(kind: Any, default: Any = None) -> Iterator[Option]:
    """The options that a dataclass stands for, in the order of its fields."""
    hints, comments = get_type_hints(kind, include_extras=True), comments_of(kind)
    for field in fields(kind):
        if not field.init:
            continue
        plain = getattr(default, field.name) if default is not None else field.default
        yield _option(field.name, hints[field.name], plain, comments.get(field.name, ""))


def _option(field: str, hint: Any, default: Any, about: str) -> Option:
    positional, repeated = _is_marked(hint, Positional[int]), _is_marked(hint, UseAppendAction[int])
    kind, choices, many = _taken(hint)
    shown = _shown(default)
    name = f"--{field.replace('_', '-')}"
    if positional:
        return Option(f"{field.upper()}{' …' if many else ''}", field, "", about, shown, choices, kind)
    if kind is bool:
        name = f"--no-{field.replace('_', '-')}" if default is True else name
        return Option(name, field, "", about, "", (), bool)
    takes = "|".join(choices) if choices else METAVARS.get(kind, "NAME")
    return Option(name, field, f"{takes} …" if many else takes, about, shown, choices, kind, repeated)


def _is_marked(hint: Any, example: Any) -> bool:
    """Whether a type has the mark of tyro's that an example has."""
    return get_origin(hint) is Annotated and example.__metadata__[0] in hint.__metadata__


def _taken(hint: Any) -> tuple[Any, tuple[str, ...], bool]:
    """The type of a value, the words to choose from, and whether there may be several."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _taken(args[0])
    if origin in (Union, UnionType):
        rest = [each for each in args if each is not NoneType]
        return _taken(next((each for each in rest if each in METAVARS), rest[0]))
    if origin is tuple:
        kind, choices, _ = _taken(args[0])
        return kind, choices, True
    if origin is Literal:
        return str, tuple(map(str, args)), False
    return hint, (), False


def _shown(default: Any) -> str:
    if default is MISSING or default is None or isinstance(default, bool) or default == ():
        return ""
    return " ".join(map(str, default)) if isinstance(default, tuple) else str(default)


@cache
def comments_of(kind: type) -> dict[str, str]:
    """The comment behind each field of a dataclass and of those that it derives from."""
    found: dict[str, str] = {}
    for cls in reversed(kind.__mro__):
        try:
            source = inspect.getsource(cls)
        except (OSError, TypeError):  # no file, as of classes that are made while the program runs
            continue
        found |= dict(_comments(source)) if cls is not object else {}
    return found


def _comments(source: str) -> Iterator[tuple[str, str]]:
    """The first name of each statement, with the comment within it or at its end."""
    first: str | None = None
    for token in tokenize.generate_tokens(io.StringIO(inspect.cleandoc(source)).readline):
        if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            first = None
        elif token.type == tokenize.NAME and first is None:
            first = token.string
        elif token.type == tokenize.COMMENT and first is not None:
            yield first, token.string.removeprefix("#").strip()
