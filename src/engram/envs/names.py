"""Environments as text, one string in files, tables and commands: `id?option=value&…|wrapper?option=value&…|…`.

The id is a registered one, the name of an Atari game, `module:id` or `module:Class`. Wrappers follow from the innermost
to the outermost: one of Gymnasium's by its bare name, or `module:Class`. Values are JSON, or else plain text.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import isfinite
from typing import Any, NamedTuple

from engram.envs.atari import is_game
from engram.errors import InvalidInputError

OURS = "engram/"  # ids of environments that check each of their options
SAFE_WRAPPERS = (  # of Gymnasium's: those that a file may name, as their options are plain data and they only wrap
    *("AddRenderObservation", "AtariPreprocessing", "ClipReward", "DelayObservation", "DiscretizeAction"),
    *("DiscretizeObservation", "FilterObservation", "FlattenObservation", "FrameStackObservation"),
    *("GrayscaleObservation", "MaxAndSkipObservation", "NormalizeObservation", "NormalizeReward"),
    *("RecordEpisodeStatistics", "RepeatAction", "RescaleObservation", "ReshapeObservation", "ResizeObservation"),
    *("StickyAction", "TimeAwareObservation", "TimeLimit"),
)
APART = {"&": "\\u0026", "|": "\\u007c", "?": "\\u003f"}  # signs of the grammar, and what stands for them in a value


class Named(NamedTuple):
    """An environment or a wrapper, by its name and options."""

    name: str
    options: dict[str, Any]


def parse(text: str) -> tuple[Named, ...]:
    """The environment, and its wrappers from the innermost to the outermost."""
    links = tuple(_link(part, text) for part in text.split("|"))
    for link in links[1:]:
        if not link.name:
            raise InvalidInputError(f"environment {text!r}: expected the name of a wrapper after every |")
    return links


def parse_id(text: str) -> tuple[str, dict[str, Any]]:
    """The environment's own id and options: `ALE/Pong-v5` and a dict for `ALE/Pong-v5?frameskip=4|ClipReward`."""
    return parse(text)[0]


def _link(part: str, text: str) -> Named:
    name, _, query = part.partition("?")
    return Named(name.strip(), dict(_option(each, text) for each in query.split("&") if each))


def _option(part: str, text: str) -> tuple[str, Any]:
    key, equals, value = part.partition("=")
    if not equals or not key.isidentifier():
        raise InvalidInputError(f"environment {text!r}: expected option=value after the question mark, got {part!r}")
    return key, from_text(value)


def from_text(value: str) -> Any:
    """A value from JSON, or the text itself where it is none."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def as_text(value: Any) -> str:
    """A value that `from_text` reads back, without a sign of the grammar in it."""
    if isinstance(value, str) and re.fullmatch(r"[\w./:-]*", value) and from_text(value) == value:
        return value
    try:
        text = json.dumps(value)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"options of an environment must be plain data, got {value!r:.100}") from error
    return "".join(APART.get(sign, sign) for sign in text)  # which in JSON occur in strings only


def compose(links: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """The string of an environment and its wrappers."""
    return "|".join(
        name + ("?" + "&".join(f"{key}={as_text(value)}" for key, value in options.items()) if options else "")
        for name, options in links
    )


def with_more(env: str, options: Sequence[str] = (), wrappers: Sequence[str] = ()) -> str:
    """An environment with more options, `key=value` or a JSON object, and more wrappers around it."""
    given: dict[str, Any] = {}
    for word in options:
        found = from_text(word)
        given |= found if isinstance(found, dict) else dict([_option(word, f"{env}?{word}")])
    first, *others = env.split("|")
    if given:
        name, before = _link(first, env)
        first = compose([(name, {**before, **given})])
    whole = "|".join([first, *others, *wrappers])
    parse(whole)
    return whole


def short_name(env: str) -> str:
    """Names without namespace, version and options: `Pong+ClipReward` for `ALE/Pong-v5?frameskip=4|ClipReward`."""
    return _name(env)


def _name(env: str, *, namespace: bool = False, version: bool = False) -> str:
    """Names without options; with their namespaces and modules, or with the version, if asked for."""
    first, *wrappers = (part.partition("?")[0] for part in env.split("|"))
    before, slash, own = first.rpartition("/")
    own = own if version else own.rsplit("-v", maxsplit=1)[0]
    if namespace:
        return "+".join([before + slash + own, *wrappers])
    return "+".join([own, *(wrapper.rpartition(":")[2] for wrapper in wrappers)])


def names_apart(envs: Iterable[str]) -> dict[str, str]:
    """Short names by environment; those that share one are told apart by what differs.

    That is the version, or the namespace, or both; and the options that not all of them have.
    """
    groups: dict[str, list[str]] = {}
    for env in dict.fromkeys(envs):
        groups.setdefault(short_name(env), []).append(env)
    return {env: name for alike in groups.values() for env, name in _apart(alike).items()}


def _apart(envs: Sequence[str]) -> dict[str, str]:
    """Names of environments that share a short one, each of its own."""
    named = [[_name(env, namespace=n, version=v) for env in envs] for n, v in product((False, True), repeat=2)]
    names = next(each for each in named if len(set(each)) == len(set(named[-1])))
    options = [re.findall(r"[^?&|]+=[^?&|]*", env) for env in envs]
    common = set.intersection(*map(set, options))
    own = [", ".join(option for option in each if option not in common) for each in options]
    told = [f"{name} ({some})" if some else name for name, some in zip(names, own, strict=True)]
    return dict(zip(envs, told if len(set(told)) == len(envs) else envs, strict=True))


def imports_nothing(text: Any) -> bool:
    """Whether an environment chooses no code to run, so that a file may name it.

    It may be an id of letters, digits, `_`, `-`, `.` and `/`, which only a registered environment has, with options
    that are, once decoded, numbers, true, false, null or plain words: no text that could be a module, a path or another
    id. Engram's own environments check each option, so theirs may be any text. Wrappers may be those of Gymnasium's
    that take plain data, of which they may take lists.
    """
    if not isinstance(text, str):
        return False
    try:
        (name, options), *wrappers = parse(text)
    except InvalidInputError:
        return False
    ours = name.startswith(OURS) or is_game(name)
    return (
        bool(re.fullmatch(r"[\w./-]+", name, re.ASCII))
        and all(is_plain(value, any_text=ours) for value in options.values())
        and all(
            wrapper.name in SAFE_WRAPPERS and all(_is_plain_list(value) for value in wrapper.options.values())
            for wrapper in wrappers
        )
    )


def is_plain(value: Any, *, any_text: bool) -> bool:
    """Whether an option is a finite number, true, false, null or a word, or where allowed any text."""
    if isinstance(value, str):
        return any_text or re.fullmatch(r"[\w-]*", value, re.ASCII) is not None
    return value is None or isinstance(value, bool | int) or (isinstance(value, float) and isfinite(value))


def _is_plain_list(value: Any) -> bool:
    return all(is_plain(each, any_text=False) for each in (value if isinstance(value, list) else [value]))
