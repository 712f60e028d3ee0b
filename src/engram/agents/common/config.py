"""Hyperparameters as frozen, checked dataclasses that can be written down and read back."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin

from engram import checks
from engram.checked_fields import CheckedFields
from engram.checks import MOST_STEPS
from engram.encoders import ENCODERS, Encoder
from engram.errors import InvalidInputError
from engram.exploration import EXPLORATIONS, Exploration
from engram.exploration.epsilon_greedy import EpsilonGreedy
from engram.memory.strategies import STRATEGIES
from engram.networks import NETWORKS
from engram.parts import Family, Part, check_options

LARGEST_SEED = 2**63 - 1
EnvFamily = Literal["classic", "rooms", "atari"]  # of environments, for which the paper gives settings
FAMILIES: tuple[EnvFamily, ...] = get_args(EnvFamily)
Chosen = TypeVar("Chosen", bound=tuple[Any, ...])
PARTS: dict[str, Family[Any]] = {  # settings that are parts, wherever a config has them
    family.word: family for family in (ENCODERS, NETWORKS, STRATEGIES, EXPLORATIONS)
}


@dataclass(frozen=True, kw_only=True)
class AgentConfig(CheckedFields):
    """What all agents have. The defaults are the paper's for MFEC and NEC in classic control (Tables 4 and 5).

    `preset=` takes the paper's settings for a family of environments; settings that are given besides override them.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}  # by family, what differs from the defaults

    if TYPE_CHECKING:  # it is no setting, but stands among the arguments of constructors
        preset: EnvFamily | None = None

    seed: int = 0  # one seed determines everything that is random
    discount: float = 0.99  # λ, what a reward is worth one step later
    exploration: str | Exploration | None = None  # a name such as novelty, or module:Class; None: ε-greedy, as below
    epsilon_initial: float = 1.0  # probability of a random action at the start
    epsilon_final: float = 5e-3  # probability of a random action at the end
    epsilon_anneal_start_steps: int = 5_000  # step from which that probability falls in a straight line
    epsilon_anneal_end_steps: int = 25_000  # step at which it has reached its final value
    ties: Literal["random", "first"] = "random"  # between actions of equal value: one at random, or the first

    def __post_init__(self) -> None:
        self.check_choices()
        self.check_whole({"seed": (0, LARGEST_SEED), "epsilon_anneal_start_steps": (0, MOST_STEPS)})
        self.check_whole({"epsilon_anneal_end_steps": (self.epsilon_anneal_start_steps, MOST_STEPS)})
        self.check_numbers({"discount": (0, 1), "epsilon_initial": (0, 1), "epsilon_final": (0, 1)})
        self.parts()

    def check_choices(self) -> None:
        """Raise InvalidInputError unless what is True or False, or one of a few words, is that."""
        for setting in fields(self):
            value = getattr(self, setting.name)
            if setting.type is bool:
                checks.flag(setting.name, value)
            elif setting.name == "device":
                check_device(value)
            elif get_origin(setting.type) is Literal:
                checks.one_of(setting.name, value, get_args(setting.type))

    @classmethod
    def preset_for(cls, family: str) -> dict[str, Any]:
        """The settings that the paper gives in a family of environments, if they are not the defaults."""
        checks.one_of("preset", family, FAMILIES)
        return dict(cls.presets.get(family, {}))

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """A config from keyword arguments; an unknown one is answered with the nearest name."""
        given = dict(settings)
        family = given.pop("preset", None)
        return cls._from_known(given if family is None else cls.preset_for(family) | given)

    @classmethod
    def _from_known(cls, settings: Mapping[str, Any]) -> Self:
        known = [field.name for field in fields(cls)]
        for name in settings:
            if name not in known:
                raise InvalidInputError(
                    f"unknown setting {name!r}; {checks.nearest(name, known)}settings: {', '.join(known)}"
                )
        return cls(**settings)

    @classmethod
    def from_json(cls, described: Mapping[str, Any], given: Mapping[str, Any]) -> Self:
        """The config that `to_json` described; parts of the user's own must be given again, by their setting."""
        settings = dict(described)
        for name, part in given.items():
            if name not in PARTS:
                raise InvalidInputError(
                    f"load takes parts of your own ({', '.join(PARTS)}), not settings; leave out {name}="
                )
            if part is not None and name not in part_settings(cls):
                raise InvalidInputError(f"this agent has no {name}; leave out {name}=")
        for name in part_settings(cls):
            if settings.get(name) is not None:
                settings[name] = PARTS[name].restore(settings[name], given.get(name))
            elif given.get(name) is not None:
                raise InvalidInputError(f"the agent was trained with the usual {name}; leave out {name}=")
        return cls._from_known(settings)

    def parts(self) -> dict[str, Part]:
        """The parts that were chosen, by their setting; those left at None are the agent's to choose."""
        chosen = {name: getattr(self, name) for name in part_settings(type(self))}
        found = {name: PARTS[name].find(part) for name, part in chosen.items() if part is not None}
        for name, part in found.items():
            check_options(part, name)
        return found

    def those_of(self, kind: type[Chosen]) -> Chosen:
        """Those of the settings that a named tuple has fields for, each of the field's type."""
        return kind(**{name: each(getattr(self, name)) for name, each in kind.__annotations__.items()})

    def chosen_exploration(self) -> Exploration:
        """The exploration: the one that was chosen, or ε-greedy by the epsilon settings."""
        if self.exploration is not None:
            return EXPLORATIONS.find(self.exploration)
        return EpsilonGreedy(
            self.epsilon_initial, self.epsilon_final, self.epsilon_anneal_start_steps, self.epsilon_anneal_end_steps
        )

    def to_json(self) -> dict[str, Any]:
        """Every setting, as plain data."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {name: part.describe() for name, part in self.parts().items()}

    def foreign_parts(self) -> dict[str, str]:
        """The parts that are not Engram's own, as they are named on a command line."""
        return {name: part.spec() for name, part in self.parts().items() if "source" in part.describe()}


@dataclass(frozen=True, kw_only=True)
class EncoderConfig(AgentConfig):
    """What agents have that encode their observations."""

    encoder: str | Encoder | None = None  # a name such as scaled, or module:Class; None: the usual one


def check_device(name: Any) -> None:
    """Raise InvalidInputError unless this can be the name of a device."""
    if not isinstance(name, str) or not re.fullmatch(r"auto|cpu|cuda(:\d{1,3})?", name):
        raise InvalidInputError(f"device must be one of 'cpu', 'cuda', 'auto', got {name!r:.100}")


def has_torch() -> bool:
    """Whether PyTorch is installed."""
    try:
        return find_spec("torch") is not None
    except ValueError:  # it was ruled out by setting sys.modules["torch"] to None
        return False


def chosen_device(name: str) -> str:
    """The device of that name; "auto" is the GPU where PyTorch sees one. The CPU needs no PyTorch."""
    if name == "cpu" or (name == "auto" and not has_torch()):
        return "cpu"
    from engram.devices import find_device  # noqa: PLC0415 (an extra)

    return str(find_device(name))


def part_settings(config: type[AgentConfig]) -> list[str]:
    """The settings of a config that are parts."""
    return [field.name for field in fields(config) if field.name in PARTS]
