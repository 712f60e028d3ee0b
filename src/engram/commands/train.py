"""`engram train`: train an agent into a folder, or go on with it."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import tyro
from rich.console import Console
from rich.markup import escape
from tyro.conf import Positional

from engram import checks
from engram.agents import find_agent, label_of
from engram.paper.presets import Family, preset
from engram.runs.folder import Cadence, RunFolder
from engram.runs.run import Run
from engram.training.progress import ProgressBar


@dataclass(frozen=True, kw_only=True)
class Watching:
    """What a user sees of a run, and how often it is saved."""

    checkpoint_interval_seconds: float | None = None  # between checkpoints; by default 60, with a replay of frames 300
    checkpoint_interval_steps: int | None = None  # instead, a checkpoint after every so many steps
    progress: bool = True  # show how far it is

    def cadence(self) -> Cadence | None:
        """How often to write a checkpoint, if that was said."""
        if self.checkpoint_interval_steps is not None:
            return Cadence(steps=checks.at_least("checkpoint_interval_steps", self.checkpoint_interval_steps, 1))
        if self.checkpoint_interval_seconds is not None:
            return Cadence(checks.within("checkpoint_interval_seconds", self.checkpoint_interval_seconds, 0, 1e9))
        return None


@dataclass(frozen=True, kw_only=True)
class Training(Watching):
    """What is trained, for how long, and where it is written down."""

    agent: ClassVar[str]

    env: str = "CartPole-v1"  # id of a Gymnasium environment, e.g. Acrobot-v1, engram/OpenRoom-v0
    steps: int = 15_000  # steps of training
    out: Path | None = None  # the run's folder; by default runs/ and the run's id
    preset: Family = "classic"  # the paper's settings for this family of environments; other options override them
    evaluation_interval_steps: int = 500  # between two evaluations
    evaluation_episodes: int = 10  # greedy episodes per evaluation, always from the same starts

    def run(self) -> Run:
        """The run that these options describe."""
        config = find_agent(self.agent).Config
        return Run(
            find_agent(self.agent),
            self.env,
            config(**{each.name: getattr(self, each.name) for each in fields(config)}),
            self.steps,
            self.evaluation_interval_steps,
            self.evaluation_episodes,
        )


def training_options(agent: str, words: Sequence[str]) -> Training:
    """The options of `engram train AGENT`: those of any training, and the fields of the agent's config."""
    config: Any = find_agent(agent).Config

    @dataclass(frozen=True, kw_only=True)
    class Options(config, Training):  # type: ignore[misc]
        """Train an agent and write everything about the run to a folder."""

        def __post_init__(self) -> None:
            """Leave checking to `run`, whose messages are not framed as errors of parsing."""

    @dataclass(frozen=True, kw_only=True)
    class OptionsWithStrategy(Options):
        """Train an agent and write everything about the run to a folder."""

        strategy: str = "lru"  # what is forgotten: lru, rew, sur, kmeans, dkm, fading; options: dkm:decay=0.3

    options = OptionsWithStrategy if hasattr(config, "strategy") else Options
    options.agent = agent
    family = find_preset(words)
    defaults = options(preset=family, steps=find_agent(agent).default_steps, **preset(agent, family))
    description = f"Train {label_of(agent)} and write everything about the run to a folder."
    return tyro.cli(options, prog=f"engram train {agent}", args=words, default=defaults, description=description)


def find_preset(words: Sequence[str]) -> Any:
    """The preset among the words, which decides the defaults of all other options."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "--preset":
            return following
        if word.startswith("--preset="):
            return word.partition("=")[2]
    return "classic"


@dataclass(frozen=True, kw_only=True)
class Resume(Watching):
    """Go on with an interrupted run, exactly where it was."""

    run: Positional[Path]  # the run's folder


def train(words: Sequence[str], console: Console) -> None:
    """Carry out `engram train AGENT`."""
    options = training_options(words[0], words[1:])
    run = options.run()
    folder = RunFolder(options.out or Path("runs") / run.id)
    carry_out(run, folder, progress=options.progress, cadence=options.cadence(), console=console)


def resume(words: Sequence[str], console: Console) -> None:
    """Carry out `engram train --resume`."""
    options = tyro.cli(Resume, prog="engram train --resume", args=words)
    folder = RunFolder(options.run)
    carry_out(folder.run(), folder, progress=options.progress, cadence=options.cadence(), console=console)


def carry_out(run: Run, folder: RunFolder, *, progress: bool, cadence: Cadence | None, console: Console) -> None:
    """Train, from where it was if it was interrupted."""
    agent = run.make_agent()
    finished = folder.result is not None

    def tell(text: str) -> None:
        console.print(escape(text))

    if progress and not finished:
        with ProgressBar(agent, run.steps) as bar:
            result = folder.record(run, agent, (bar,), cadence=cadence, tell=tell)
    else:
        result = folder.record(run, agent, cadence=cadence, tell=tell)
    if finished:
        console.print(f"{folder.path} is finished already")
    score = "none, as the run is shorter than the evaluation interval"
    if result["score"] is not None:
        score = f"[bold]{result['score']:.1f}[/bold], the mean of the last evaluations"
    console.print(f"{run.id}: score {score}")
    console.print(f"everything about it is in {folder.path}; try: engram eval {folder.path}")
