"""Hyperparameters as frozen, checked dataclasses that can be written down and read back."""

import difflib
import hashlib
import inspect
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, cast

from engram import checks
from engram.errors import InvalidInputError
from engram.memory.strategies import STRATEGIES, Strategy, get_strategy


@dataclass(frozen=True, kw_only=True)
class AgentConfig:
    """What all agents have. The defaults are the paper's for MFEC and NEC in classic control (Tables 4 and 5)."""

    seed: int = 0  # one seed determines everything that is random
    discount: float = 0.99  # λ, what a reward is worth one step later
    epsilon_initial: float = 1.0  # probability of a random action at the start
    epsilon_final: float = 5e-3  # probability of a random action at the end
    epsilon_anneal_start_steps: int = 5_000  # step from which that probability falls in a straight line
    epsilon_anneal_end_steps: int = 25_000  # step at which it has reached its final value
    ties: Literal["random", "first"] = "random"  # between actions of equal value: one at random, or the first

    def __post_init__(self) -> None:
        checks.at_least("seed", self.seed, 0)
        for name in ("discount", "epsilon_initial", "epsilon_final"):
            checks.within(name, getattr(self, name), 0, 1)
        checks.one_of("ties", self.ties, ("random", "first"))
        checks.at_least("epsilon_anneal_start_steps", self.epsilon_anneal_start_steps, 0)
        checks.at_least("epsilon_anneal_end_steps", self.epsilon_anneal_end_steps, self.epsilon_anneal_start_steps)

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> Self:
        """A config from keyword arguments; an unknown one is answered with the nearest name."""
        known = [field.name for field in fields(cls)]
        for name in settings:
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {close[0]!r}? " if close else ""
                raise InvalidInputError(f"unknown setting {name!r}; {hint}settings: {', '.join(known)}")
        return cls(**settings)

    def to_json(self) -> dict[str, Any]:
        """Every setting, as plain data."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if isinstance(values.get("strategy"), Strategy | str):
            values["strategy"] = strategy_to_json(get_strategy(values["strategy"]))
        return values


def strategy_to_json(strategy: Strategy) -> dict[str, Any]:
    """A strategy's name and options; for a user's own, also a digest of its source."""
    described = {"name": strategy.name, **strategy.options}
    if STRATEGIES.get(strategy.name) is not type(strategy):
        described["source"] = source_digest(type(strategy))
    return described


def strategy_from_json(described: dict[str, Any], given: Strategy | None) -> Strategy:
    """The strategy that a file names. One of the user's own is never loaded from a file: it must be given."""
    if "source" not in described:
        if given is not None:
            raise InvalidInputError(
                f"this model was trained with the built-in strategy {described['name']!r}; load it without strategy="
            )
        options = {name: value for name, value in described.items() if name != "name"}
        return STRATEGIES[described["name"]](**options)
    if given is None or given.name != described["name"]:
        raise InvalidInputError(
            f"this model was trained with the strategy {described['name']!r}, which is not part of Engram; "
            f"pass it: load(path, strategy={described['name']}())"
        )
    if strategy_to_json(given) != described:
        raise InvalidInputError(
            f"the strategy {given.name!r} that was passed is not the one that the model was trained with: its source "
            f"or its options differ ({strategy_to_json(given)} instead of {described})"
        )
    return given


def source_digest(strategy: type[Strategy]) -> str:
    """A short digest of the source of a class, so that an edited strategy counts as another one.

    The class keeps it, and so has it where it is sent without its file: on a node of a cluster.
    """
    if "_source_digest" not in vars(strategy):
        try:
            source = inspect.getsource(cast(type, strategy))
        except (OSError, TypeError):  # typed into an interactive session
            source = strategy.__qualname__
        strategy._source_digest = hashlib.sha256(source.encode()).hexdigest()[:12]  # type: ignore[attr-defined]
    return str(vars(strategy)["_source_digest"])
