"""`engram train`: train an agent into a folder, or go on with it."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from tyro.conf import UseAppendAction

from engram import checks
from engram.agents import BUILT_IN, Agent, find_agent
from engram.agents.common.config import FAMILIES, EnvFamily, part_settings
from engram.callbacks.chosen_logs import LogName, make_logs
from engram.commands.env_options import EnvOptions
from engram.commands.failures import told_errors
from engram.commands.options import Groups, parse
from engram.commands.part_options import PART_OPTIONS, GivenAgain, whole_command
from engram.commands.screen import Console, Text, new_console
from engram.errors import InvalidInputError
from engram.lab.study_folder import StudyFolder
from engram.runs.advice import advice
from engram.runs.extending import extend
from engram.runs.finished import shown_score
from engram.runs.folder import LOGS, Cadence, RunFolder
from engram.runs.run import Run
from engram.training.compilation import CompileNotice
from engram.training.evaluation import default_max_steps
from engram.training.progress import ProgressBar

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
RESUME_GROUPS: Groups = {
    "how far it goes": ("steps",),
    "what is seen and kept of it": GROUPS["what is seen and kept of it"],
    "what the run was made with that is not Engram's own": (
        *("env", "env_kwargs", "wrapper", "agent", "strategy", "encoder", "network", "exploration"),
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


def training_options(name: str, words: Sequence[str]) -> Training:
    """The options of `engram train AGENT`: those of any training, and the fields of the agent's config."""
    kind = find_agent(name)
    bases: tuple[Any, ...] = (*(PART_OPTIONS[part] for part in part_settings(kind.Config)), kind.Config, Training)

    @dataclass(frozen=True, kw_only=True)
    class Options(*bases):  # type: ignore[misc]
        """Train an agent and write everything about the run to a folder."""

        agent = kind

        def __post_init__(self) -> None:
            """Leave checking to `run`, whose messages are not framed as errors of parsing."""

    family = find_preset(words)
    defaults: dict[str, Any] = {"preset": family, "steps": kind.default_steps, **kind.Config.preset_for(family)}
    parts = {part: getattr(kind.Config(), part) for part in part_settings(kind.Config)}
    description = f"Train {kind.label} and write everything about the run to a folder."
    default = Options(**{**parts, **defaults})
    return parse(Options, prog=f"engram train {name}", words=words, groups=GROUPS, default=default, about=description)


def find_preset(words: Sequence[str]) -> Any:
    """The preset among the words, which decides the defaults of all other options."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "--preset":
            return checks.one_of("preset", following, FAMILIES)
        if word.startswith("--preset="):
            return checks.one_of("preset", word.partition("=")[2], FAMILIES)
    return "classic"


@dataclass(frozen=True, kw_only=True)
class Resume(GivenAgain, Watching):
    """Go on with an interrupted run exactly where it was, or with a finished one to more steps."""

    steps: int | None = None  # go on to so many steps in all; by default as many as the run was begun with


def train(words: Sequence[str], console: Console) -> None:
    """Carry out `engram train`."""
    if not words or words[0].startswith("-"):
        if words and words[0] in ("--resume", "--resume="):
            return resume(words[1:], console)
        raise InvalidInputError(
            f"engram train needs an agent: {', '.join(BUILT_IN)} or module:Class; or --resume FOLDER"
        )
    if any(word.partition("=")[0] == "--resume" for word in words):
        raise InvalidInputError(
            "a run's folder knows its agent, so it is not named again: engram train --resume FOLDER"
        )
    options = training_options(words[0], words[1:])
    run = options.run()
    folder = RunFolder(options.out or Path("runs") / run.id)
    carry_out(run, folder, options, console)
    return None


def resume(words: Sequence[str], console: Console) -> None:
    """Carry out `engram train --resume`."""
    options = parse(Resume, prog="engram train --resume", words=words, groups=RESUME_GROUPS)
    folder = RunFolder(options.run)
    with whole_command("engram train --resume", folder, options.given()):
        run = folder.run(options.given())
    if options.steps is not None:
        if options.start_over:
            raise InvalidInputError("--steps goes on with a run, and --start-over begins it anew: give one of them")
        check_is_single(folder)
        with told_errors(folder.path):
            run = extend(folder, run, checks.at_least("steps", options.steps, 1), console.print)
    carry_out(run, folder, options, console)


def check_is_single(folder: RunFolder) -> None:
    """Raise an error for a run of a study, which is as long as the study says."""
    study = StudyFolder(folder.path.parent)
    if study.name != "none" and folder.path.name in study.read()["runs"]:
        raise InvalidInputError(
            f"{folder.path} belongs to the study {study.name!r}, whose runs are all as long as it says; for longer "
            "ones carry out the study with --steps into another folder, --out"
        )


def carry_out(run: Run, folder: RunFolder, options: Watching, console: Console) -> None:
    """Train to the end, from the latest checkpoint if there is one."""
    with told_errors(folder.path):
        agent = run.make_agent()
        finished = not options.start_over and folder.result is not None
        if not finished and run.evaluation_max_steps is not None:
            console.print(f"episodes of evaluations are cut off after {run.evaluation_max_steps:,} steps")
        logs = make_logs(options.log, folder.path, run.id)
        record = partial(
            folder.record, run, agent, cadence=options.cadence(), start_over=options.start_over, trace=options.trace
        )
        if options.progress and not finished:
            with ProgressBar(agent, run.steps) as bar:
                result = record([bar, *logs], tell=console.print)
        else:
            with CompileNotice(new_console(stderr=True).print, memory=getattr(agent, "memory", None)):
                result = record(logs, tell=console.print)
    assert result is not None  # none of these callbacks ends a run
    if finished and "wandb" in options.log:
        console.print(
            "Weights & Biases was told nothing: it hears of steps as they are taken, and this run has taken all of "
            "them; --log csv and --log tensorboard are made from the run's own log"
        )
    if set(options.log) - ({"wandb"} if finished else set()):
        console.print(f"logs for other programs are in {folder.path / LOGS}")
    if finished:
        more = folder.command("engram train --resume", run.foreign())
        console.print(f"{folder.path} is finished already; for more: {more} --steps {2 * run.steps}")
    if result["score"] is None:
        console.print(f"{run.id}: score none, as the run is shorter than the evaluation interval")
    else:
        mean = (f"{shown_score(result['score'])}", "bold")
        console.print(Text.assemble(f"{run.id}: score ", mean, ", the mean of the last evaluations"))
    if not finished:
        for line in advice(run, agent, list(folder.entries())):
            console.print(line)
    command = folder.command("engram eval", run.foreign())
    console.print(f"everything about it is in {folder.path}; try: {command}")
