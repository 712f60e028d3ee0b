"""Parts: the exchangeable pieces of an agent, named in one grammar and described as plain data.

A part is given as an object, as the name of a built-in one with options (`"fading:lifetime=20"`), or as a class in a
module of the user's own (`"my_parts:Reservoir:seed=3"`). What is given is a recipe: `build` makes each agent its own.

A part describes itself as plain data, for files, run ids and reports. A built-in part can be made again from its
description. One of the user's own cannot: reading a file never imports a module, so the user has to give it again.
"""

import inspect
import sys
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import MISSING, Field, asdict, dataclass, field, fields, is_dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import NoneType, UnionType
from typing import (
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from engram import checks
from engram.checked_fields import CheckedFields
from engram.errors import InvalidInputError, MissingExtraError
from engram.plain_data import as_plain, comes_back
from engram.sources import source_digest

PartType = TypeVar("PartType", bound="Part")


class Spaces(NamedTuple):
    """What an environment shows and takes."""

    observation_shape: tuple[int, ...]
    observation_dtype: np.dtype[Any]
    actions: int


class Part(CheckedFields):
    """A piece of an agent that can be exchanged. Its options are the fields of its dataclass."""

    name: ClassVar[str]  # in files, tables and figures; the class's name if not given
    restorable: ClassVar[bool] = True  # a built-in part that can be made again from its description alone

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"

    @property
    def options(self) -> dict[str, Any]:
        """The settings of this part, by name."""
        return asdict(cast(Any, self)) if is_dataclass(self) else {}

    @property
    def is_built_in(self) -> bool:
        """Whether the part's class is one of Engram's own."""
        return type(self).__module__.partition(".")[0] == "engram"

    def describe(self) -> dict[str, Any]:
        """The part as plain data: its name, its options and, for a part of the user's own, a digest of its source."""
        described = {"name": self.name, **as_plain(self.options)}
        return described if self.is_built_in else {**described, "source": source_digest(type(self))}

    def spec(self) -> str:
        """The part as it is named on a command line."""
        kind = type(self)
        mine: tuple[Field[Any], ...] = fields(cast(Any, self)) if is_dataclass(self) else ()
        values = {each.name: getattr(self, each.name) for each in mine}
        chosen = [
            f"{each.name}={'none' if values[each.name] is None else values[each.name]}"
            for each in mine
            if values[each.name] != default_of(each)
        ]
        head = self.name if self.is_built_in else f"{kind.__module__}:{kind.__qualname__}"
        return f"{head}:{','.join(chosen)}" if chosen else head

    def build(self, spaces: Spaces, generator: np.random.Generator) -> Self:
        """A part of the same kind for one agent, which may draw from the generator; by default a copy."""
        return deepcopy(self)

    def state_dict(self) -> dict[str, Any]:
        """What the part must remember beyond its options, as plain data and arrays."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""


@dataclass(frozen=True)
class Family(Generic[PartType]):
    """A kind of part: what it is called, its base class, and the package whose files are the built-in ones."""

    word: str  # "strategy"
    base: type[PartType]
    package: str  # every part that is defined in one of its files is built in: there is no list to keep
    aliases: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def built_in(self) -> dict[str, type[PartType]]:
        """The built-in parts by name."""
        found: dict[str, type[PartType]] = {}
        for file in iter_modules(import_module(self.package).__path__):
            with suppress(MissingExtraError):  # parts can always be imported; what they need to work may be missing
                module = import_module(f"{self.package}.{file.name}")
                found |= {kind.name: kind for kind in vars(module).values() if self._is_built_in(kind, module.__name__)}
        return found

    def _is_built_in(self, kind: Any, module: str) -> bool:
        """Whether a member of a module is a part with a name of its own that is defined there."""
        part = isinstance(kind, type) and issubclass(kind, self.base) and kind.__module__ == module
        return part and kind.name != kind.__name__

    def find(self, spec: Any) -> PartType:
        """A part from an object, from `name[:option=value,…]` or from `module:Class[:option=value,…]`."""
        if isinstance(spec, self.base):
            return spec
        if not isinstance(spec, str):
            raise InvalidInputError(
                f"{self.word} must be a name or an instance of {self.base.__name__}, got {checks.shown(spec)}; "
                f"{self._choices()}"
            )
        first, _, rest = spec.partition(":")
        name = self.aliases.get(first.lower(), first)
        if name in self.built_in:
            return make_from_options(self.built_in[name], rest, spec)
        second, _, options = rest.partition(":")
        if not second.isidentifier():
            raise InvalidInputError(
                f"unknown {self.word} {first!r}; {checks.nearest(first.lower(), self.built_in)}{self._choices()}"
            )
        return make_from_options(import_class(first, second, self.base, spec), options, spec)

    def restore(self, described: Any, given: Any = None) -> PartType:
        """The part that a file describes. One of the user's own is never loaded from a file: it must be given.

        A description is data. Text is refused, because a name may be that of a module to import.
        """
        if not isinstance(described, dict) or not isinstance(described.get("name"), str):
            raise InvalidInputError(f"a {self.word} must be described by its name and options, got {described!r:.100}")
        part = None if given is None else self.find(given)
        known = self.built_in.get(described["name"])
        if "source" in described or (known is not None and not known.restorable):
            if part is None or part.name != described["name"]:
                raise InvalidInputError(
                    f"the {self.word} {described['name']!r} is not part of Engram; give it again: in Python "
                    f"{self.word}=…, on the command line --{self.word} module:Class"
                )
        elif part is None:
            if described.get("name") not in self.built_in:
                raise InvalidInputError(f"unknown {self.word} {described.get('name')!r}; {self._choices()}")
            options = {name: value for name, value in described.items() if name != "name"}
            return make(self.built_in[described["name"]], options, str(described))
        if part.describe() != described:
            raise InvalidInputError(
                f"the {self.word} {part.name!r} that was given is not the one that was used before: its source or its "
                f"options differ ({part.describe()} instead of {described})"
            )
        return part

    def _choices(self) -> str:
        return f"built in: {', '.join(self.built_in)}; your own: an instance in Python, or module:Class"


def check_options(part: Part, word: str) -> None:
    """Raise InvalidInputError for arguments that are not told, or not as plain data: files and ids need all of them."""
    whole: Any = type(part)
    if not is_dataclass(whole) and len(inspect.signature(whole).parameters) > 0:
        raise InvalidInputError(
            f"the {word} {whole.__name__} takes arguments, so it must be a dataclass: its fields are the options that "
            "files, run ids and command lines know"
        )
    for name, value in part.describe().items():
        if not comes_back(value):
            raise InvalidInputError(
                f"the {word} {whole.__name__} has the option {name}={checks.shown(value, 100)}, which files and run "
                "ids cannot hold; options must be finite numbers, text, True, False, None, or lists and dicts of these"
            )


def import_class(module: str, name: str, base: type[PartType], spec: str) -> type[PartType]:
    """A class of the user's own, from an installed module or one in the current folder."""
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(import_module(module), name)
    except AttributeError as error:
        hint = checks.nearest(name, vars(sys.modules[module]))
        raise InvalidInputError(f"cannot import {spec!r}: {module} has no {name}; {hint}".rstrip("; ")) from error
    except (ImportError, ValueError, TypeError, SyntaxError) as error:
        raise InvalidInputError(
            f"cannot import {spec!r}: {error}; give module:Class, the module being a file of the current folder "
            "(without .py) or an installed package"
        ) from error
    if not (isinstance(found, type) and issubclass(found, base)):
        raise InvalidInputError(f"{spec!r} does not derive from {base.__module__}.{base.__name__}")
    return found


def make_from_options(kind: type[PartType], text: str, spec: str) -> PartType:
    """A part with options given as text, `name=value,…`."""
    known = option_types(kind)
    options: dict[str, Any] = {}
    for option in filter(None, text.split(",")):
        name, equals, value = option.partition("=")
        if not equals:
            raise InvalidInputError(f"{spec!r}: expected option=value, got {option!r}")
        if name not in known:
            raise InvalidInputError(f"{spec!r}: {unknown_option(kind, name)}")
        options[name] = parse_value(value, known[name], f"{spec!r}: {name}")
    return make(kind, options, spec)


def make(kind: type[PartType], options: dict[str, Any], spec: str) -> PartType:
    """A part with these options."""
    known = option_types(kind)
    for name, value in options.items():
        if name not in known:
            raise InvalidInputError(f"{spec}: {unknown_option(kind, name)}")
        if not may_be(value, known[name]):
            raise InvalidInputError(f"{spec}: {name} must be {words_for(known[name])}, got {value!r:.100}")
    try:
        return kind(**options)
    except TypeError as error:  # an option that must be given and was not
        raise InvalidInputError(f"cannot make {kind.__name__} from {spec!r}: {error}") from error


def unknown_option(kind: type[Part], name: str) -> str:
    """What is wrong with an option that a part does not have."""
    known = option_types(kind)
    return f"{kind.name} has no option {name!r}; {checks.nearest(name, known)}it has: {', '.join(known) or 'none'}"


def option_types(kind: type[Part]) -> dict[str, Any]:
    """The options of a part and their types."""
    return _option_types(cast(Any, kind))


@cache
def _option_types(whole: Any) -> dict[str, Any]:
    hints = get_type_hints(whole)
    return {each.name: hints[each.name] for each in fields(whole) if each.init} if is_dataclass(whole) else {}


def parse_value(text: str, hint: Any, what: str) -> Any:
    """A value of the type that an option asks for, from text."""
    choices = choices_of(hint)
    if NoneType in choices and text.lower() == "none":
        return None
    for kind in choices:
        if get_origin(kind) is Literal and text in get_args(kind):
            return text
        if kind is bool and text.lower() in ("true", "false"):
            return text.lower() == "true"
        if kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        if kind is str:
            return text
    raise InvalidInputError(f"{what} must be {words_for(hint)}, got {text!r}")


def choices_of(hint: Any) -> tuple[Any, ...]:
    """The types of which an option may be one."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def words_for(hint: Any) -> str:
    """What an option must be, in words."""
    return " or ".join(getattr(kind, "__name__", str(kind)) for kind in choices_of(hint))


def may_be(value: Any, hint: Any) -> bool:
    """Whether a value is of the type that an option asks for, as far as the type is a plain one."""
    for kind in choices_of(hint):
        if get_origin(kind) is Literal:
            right = isinstance(value, str) and value in get_args(kind)
        elif kind in (int, float):
            whole = isinstance(value, float) and value.is_integer()  # which a part makes an int of
            right = (isinstance(value, (int, kind)) or whole) and not isinstance(value, bool)
        elif kind in (bool, str, NoneType):
            right = isinstance(value, kind)
        else:
            right = True
        if right:
            return True
    return False


def default_of(option: Field[Any]) -> Any:
    """The default of a dataclass's field, or MISSING."""
    factory: Any = option.default_factory
    no_factory = isinstance(factory, type(MISSING))  # not `is`: a class that was sent to a cluster has a copy of it
    return option.default if no_factory else factory()
