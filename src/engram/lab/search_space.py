"""A space of settings to search: what stays the same, what is tried, and how much of it.

name = "pole"
agent = "mfec"
env = "CartPole-v1"
steps = 5_000
seeds = 3                      # runs of each trial, whose mean score counts
trials = 30
settings = { discount = 0.99 } # the same in all

[space]
strategy = ["lru", "dkm"]
capacity = { low = 20, high = 500, log = true }
neighbours = [3, 5, 11]
"""

import json
import re
import shlex
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from engram import checks
from engram.agents import find_agent
from engram.errors import InvalidInputError
from engram.files.disk import storage_errors
from engram.lab.grid import Grid
from engram.lab.study_file import as_text, study_of
from engram.runs.run import EVALUATION, Run

TRIALS, MOST_TRIALS = 30, 10_000
ROUNDING = 1e-5  # of values that are proposed, so that they can be typed
SPAN_KEYS = ("low", "high", "log")
SPAN = re.compile(r"(?P<low>[^.]+(?:\.\d+)?)\.\.(?P<high>.+?)(?P<log>:log)?")


@dataclass(frozen=True)
class Span:
    """Numbers from low to high, all equally likely at first, or all orders of magnitude."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        for name, value in (("low", self.low), ("high", self.high)):
            if not checks.is_number(value):
                raise InvalidInputError(f"{name} must be a number, got {value!r:.100}")
        if not self.low < self.high:
            raise InvalidInputError(f"low must be below high, got {self.low} and {self.high}")
        if self.log and self.low <= 0:
            raise InvalidInputError(f"low must be above 0 where orders of magnitude count, got {self.low}")

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are meant."""
        return type(self.low) is int and type(self.high) is int

    @property
    def samples(self) -> tuple[Any, ...]:
        """Values by which to check the whole span."""
        return self.low, self.high

    def has(self, value: Any) -> bool:
        """Whether a value is one of the span, whose ends may have been rounded."""
        low, high = self.low - ROUNDING * abs(self.low), self.high + ROUNDING * abs(self.high)
        return checks.is_number(value) and low <= value <= high

    def to_json(self) -> Any:
        """The span as a file has it."""
        return {"low": self.low, "high": self.high, "log": self.log}


@dataclass(frozen=True)
class Choice:
    """A few values."""

    samples: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.samples or not all(isinstance(each, str | int | float | bool) for each in self.samples):
            raise InvalidInputError(f"choose from one or more numbers, texts, true or false, got {self.samples!r:.100}")

    def has(self, value: Any) -> bool:
        """Whether a value is one of them."""
        return any(type(each) is type(value) and each == value for each in self.samples)

    def to_json(self) -> Any:
        """The values as a file has them."""
        return list(self.samples)


@dataclass(frozen=True)
class SearchSpace:
    """What is searched: runs like those of the grid, with other values of some settings."""

    name: str
    grid: Grid
    choices: Mapping[str, Span | Choice]
    trials: int = TRIALS
    seed: int = 0  # of the search itself

    def __post_init__(self) -> None:
        checks.at_least("trials", self.trials, 1, MOST_TRIALS)
        if not self.choices:
            raise InvalidInputError(
                "there is nothing to search; give settings to try: space, or --space capacity=20..500"
            )
        known = [field.name for field in fields(find_agent(self.grid.agent).Config)]
        for name, choice in self.choices.items():
            checks.one_of("a setting of the space", name, known)
            if name == "seed":
                raise InvalidInputError("seed cannot be searched: every trial has the same seeds")
            for value in choice.samples:
                self.runs({name: value})
        if self.grid.steps < self.grid.evaluation_interval_steps:
            raise InvalidInputError(
                f"trials are scored by evaluations, and with {self.grid.steps:,} steps and an evaluation every "
                f"{self.grid.evaluation_interval_steps:,} there is none; choose more steps or a smaller interval"
            )

    def runs(self, chosen: Mapping[str, Any]) -> list[Run]:
        """The runs of a trial, one for each seed."""
        return replace(self.grid, settings={**self.grid.settings, **chosen}).runs()

    def command(self, chosen: Mapping[str, Any]) -> str:
        """The command that trains with these settings."""
        words = ["engram", "train", str(self.grid.agent), "--env", self.grid.env, "--steps", str(self.grid.steps)]
        for name, value in {**self.grid.settings, **chosen}.items():
            option = name.replace("_", "-")
            words += [f"--{'' if value else 'no-'}{option}"] if isinstance(value, bool) else [f"--{option}", str(value)]
        for name in EVALUATION:
            value = getattr(self.grid, name)
            if name != "evaluation_epsilon" and value != getattr(Run, name):
                words += [f"--{name.replace('_', '-')}", str(value)]
        return shlex.join([*words, "--seed", str(self.grid.seeds[0])])

    def to_json(self) -> dict[str, Any]:
        """The space as plain data."""
        grid = {name: getattr(self.grid, name) for name in ("env", "steps", *EVALUATION)}
        return {
            "name": self.name,
            "agent": self.grid.agent_name,
            **grid,
            "seeds": list(self.grid.seeds),
            "settings": dict(self.grid.settings),
            "space": {name: choice.to_json() for name, choice in self.choices.items()},
            "seed": self.seed,
        }


def read_space(path: Path, **given: Any) -> SearchSpace:
    """The space that a TOML file describes; what is given counts instead of what it says."""
    with storage_errors("read", path):
        text = as_text(path.read_bytes(), path)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"{path} is not a TOML file: {error}") from error
    sys.path.insert(0, str(path.absolute().parent))  # where the modules of the user's own parts lie
    try:
        return _space(content, path.stem, given)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error


def _space(content: dict[str, Any], usual_name: str, given: Mapping[str, Any]) -> SearchSpace:
    own = {name: content.pop(name) for name in ("space", "trials") if name in content}
    for name in ("strategies", "sizes", "variant", "grids"):
        if name in content:
            raise InvalidInputError(f"{name} is a key of studies; what is tried stands under [space], by setting")
    study = study_of({"seeds": 3, **content, **given}, usual_name)
    if len(study.grids) > 1:
        raise InvalidInputError("a search has one agent and one environment; write a file for each")
    space = own.get("space", {})
    if not isinstance(space, dict):
        raise InvalidInputError(f"space must be a table of settings, got {space!r:.100}")
    choices = {name: choice_of(value) for name, value in space.items()}
    return SearchSpace(study.name, study.grids[0], choices, own.get("trials", TRIALS))


def choice_of(given: Any) -> Span | Choice:
    """What is tried of a setting, from a list of values or a table with low and high."""
    if isinstance(given, dict):
        for key in given:
            checks.one_of("a key of a span", key, SPAN_KEYS)
        if not {"low", "high"} <= given.keys():
            raise InvalidInputError(f"a span needs low and high, got {given!r:.100}")
        return Span(**given)
    if isinstance(given, list):
        return Choice(tuple(given))
    raise InvalidInputError(f"what is tried must be a list of values or {{ low = …, high = … }}, got {given!r:.100}")


def parse_choices(words: Sequence[str]) -> dict[str, Span | Choice]:
    """What is tried, from words such as `capacity=20..500:log` and `strategy=lru,dkm`."""
    found: dict[str, Span | Choice] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not text:
            raise InvalidInputError(f"expected setting=low..high[:log] or setting=value,value,…, got {word!r}")
        span = SPAN.fullmatch(text)
        found[name.replace("-", "_")] = (
            Span(_value(span["low"]), _value(span["high"]), span["log"] is not None)
            if span
            else Choice(tuple(_value(each) for each in text.split(",")))
        )
    return found


def parse_settings(words: Sequence[str]) -> dict[str, Any]:
    """Settings from words such as `discount=0.99`."""
    pairs = [word.partition("=") for word in words]
    for word, (_, equals, text) in zip(words, pairs, strict=True):
        if not equals or not text:
            raise InvalidInputError(f"expected setting=value, got {word!r}")
    return {name.replace("-", "_"): _value(text) for name, _, text in pairs}


def _value(text: str) -> Any:
    """A number, true or false where the text is one; otherwise the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
