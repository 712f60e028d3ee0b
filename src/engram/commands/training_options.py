"""The options of `engram train AGENT`: those of any training, and the settings of the agent."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from tyro.conf import UseAppendAction

from engram import checks
from engram.agents import Agent, find_agent
from engram.agents.common.config import FAMILIES, EnvFamily, part_settings
from engram.callbacks.chosen_logs import LogName
from engram.commands.env_options import EnvOptions
from engram.commands.options import Groups, parse
from engram.commands.part_options import PART_OPTIONS
from engram.runs.cadence import Cadence
from engram.runs.run import Run
from engram.training.evaluation import default_max_steps

GROUPS: Groups = {
    "what is trained": ("env", "env_kwargs", "wrapper", "steps", "strategy", "capacity", "seed", "preset", "out"),
    "how it learns": (
        *("neighbours", "encoder", "network", "discount", "learning_rate", "batch_size", "replay_size"),
        *("learning_start_steps", "exploration", "epsilon_initial", "epsilon_final"),
        *("epsilon_anneal_start_steps", "epsilon_anneal_end_steps", "device"),
    ),
    "how it is evaluated": ("evaluation_interval_steps", "evaluation_episodes", "evaluation_max_steps"),
    "what is seen and kept of it": (
        *("progress", "log", "trace", "checkpoint_interval_seconds", "checkpoint_interval_steps", "start_over"),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Watching:
    """What a user sees of a run, and how often it is saved."""

    checkpoint_interval_seconds: float | None = None  # between checkpoints; by default 60, with a replay of frames 300
    checkpoint_interval_steps: int | None = None  # instead, a checkpoint after every so many steps
    progress: bool = True  # do not show how far it is
    log: UseAppendAction[tuple[LogName, ...]] = ()  # log for other programs too, in the run's folder
    trace: bool = False  # also keep where the memory's entries come from, and what it held every so often
    start_over: bool = False  # begin with the first step; what the folder holds of the run is moved aside

    def cadence(self) -> Cadence | None:
        """How often to write a checkpoint, if that was said."""
        if self.checkpoint_interval_steps is not None:
            return Cadence(steps=checks.at_least("checkpoint_interval_steps", self.checkpoint_interval_steps, 1))
        if self.checkpoint_interval_seconds is not None:
            return Cadence(checks.within("checkpoint_interval_seconds", self.checkpoint_interval_seconds, 0, 1e9))
        return None


@dataclass(frozen=True, kw_only=True)
class Training(Watching, EnvOptions):
    """What is trained, for how long, and where it is written down."""

    agent: ClassVar[type[Agent]]

    env: str = "CartPole-v1"  # id of a Gymnasium environment, e.g. Acrobot-v1, pong, my_module:MyEnv-v0
    steps: int = 15_000  # steps of training
    out: Path | None = None  # the run's folder; by default runs/ and the run's id
    preset: EnvFamily = "classic"  # the paper's settings for this family of environments; other options override them
    evaluation_interval_steps: int = 500  # between two evaluations
    evaluation_episodes: int = 10  # greedy episodes per evaluation, always from the same starts
    evaluation_max_steps: int | None = None  # after which one is cut off; by default 10,000 where the env has no limit

    def run(self) -> Run:
        """The run that these options describe."""
        config, env = self.agent.Config, self.whole_env(self.env)
        return Run(
            self.agent,
            env,
            config(**{each.name: getattr(self, each.name) for each in fields(config)}),
            self.steps,
            self.evaluation_interval_steps,
            self.evaluation_episodes,
            evaluation_max_steps=self.evaluation_max_steps or default_max_steps(env),
        )


class AgentOptions(NamedTuple):
    """The options of one agent."""

    kind: type[Training]
    default: Training


def options_for(agent: type[Agent], family: EnvFamily = "classic") -> AgentOptions:
    """The options of an agent, with the paper's settings for a family of environments as defaults."""
    parts = part_settings(agent.Config)
    bases: tuple[Any, ...] = (*(PART_OPTIONS[part] for part in parts), agent.Config, Training)

    @dataclass(frozen=True, kw_only=True)
    class Options(*bases):  # type: ignore[misc]
        """Train an agent and write everything about the run to a folder."""

        def __post_init__(self) -> None:
            """Leave checking to `run`, whose messages are not framed as errors of parsing."""

    Options.agent = agent
    usual = {part: getattr(agent.Config(), part) for part in parts}
    presets = {"preset": family, "steps": agent.default_steps, **agent.Config.preset_for(family)}
    return AgentOptions(Options, Options(**{**usual, **presets}))


def training_options(name: str, words: Sequence[str]) -> Training:
    """The options among the words after `engram train AGENT`."""
    agent = find_agent(name)
    kind, default = options_for(agent, find_preset(words))
    about = f"Train {agent.label} and write everything about the run to a folder."
    return parse(kind, prog=f"engram train {name}", words=words, groups=GROUPS, default=default, about=about)


def find_preset(words: Sequence[str]) -> Any:
    """The preset among the words, which decides the defaults of all other options."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "--preset":
            return checks.one_of("preset", following, FAMILIES)
        if word.startswith("--preset="):
            return checks.one_of("preset", word.partition("=")[2], FAMILIES)
    return "classic"
