"""`engram train`: train an agent into a folder, or go on with it."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from engram import checks
from engram.agents import BUILT_IN
from engram.callbacks.chosen_logs import logs_there, make_logs
from engram.commands.failures import told_errors
from engram.commands.help_page import HELP
from engram.commands.options import Groups, as_typed, parse
from engram.commands.part_options import GivenAgain, whole_command
from engram.commands.screen import Console, Text, new_console
from engram.commands.train_help import train_page
from engram.commands.training_options import GROUPS, Watching, training_options
from engram.errors import InvalidInputError
from engram.lab.study_folder import StudyFolder
from engram.runs.advice import advice
from engram.runs.extending import extend
from engram.runs.finished import shown_score
from engram.runs.folder import RunFolder
from engram.runs.foresight import foresight
from engram.runs.run import Run
from engram.runs.run_files import LOGS
from engram.training.compilation import CompileNotice
from engram.training.progress import ProgressBar

RESUME_GROUPS: Groups = {
    "how far it goes": ("steps",),
    "what is seen and kept of it": GROUPS["what is seen and kept of it"],
    "what the run was made with that is not Engram's own": (
        *("env", "env_kwargs", "wrapper", "agent", "strategy", "encoder", "network", "exploration"),
    ),
}
KEPT = ("trace", "start_over")  # options of a run that it goes on with by itself, or that are done with


@dataclass(frozen=True, kw_only=True)
class Resume(GivenAgain, Watching):
    """Go on with an interrupted run exactly where it was, or with a finished one to more steps."""

    steps: int | None = None  # go on to so many steps in all; by default as many as the run was begun with


def train(words: Sequence[str], console: Console) -> None:
    """Carry out `engram train`."""
    if words and not words[0].startswith("-"):
        begin(words[0], words[1:], console)
    elif (rest := after_resume(words)) is not None:
        resume(rest, console)
    elif not words or any(word in HELP for word in words):
        print(train_page(), end="")
    else:
        raise InvalidInputError(
            f"engram train needs an agent: {', '.join(BUILT_IN)} or module:Class; or --resume FOLDER"
        )


def begin(agent: str, words: Sequence[str], console: Console) -> None:
    """Carry out `engram train AGENT`."""
    if after_resume(words) is not None:
        raise InvalidInputError(
            "a run's folder knows its agent, so it is not named again: engram train --resume FOLDER"
        )
    options = training_options(agent, words)
    run = options.run()
    carry_out(run, RunFolder(options.out or Path("runs") / run.id), options, console)


def after_resume(words: Sequence[str]) -> list[str] | None:
    """The folder after `--resume` and all other words, if it is among them, wherever it stands."""
    for number, word in enumerate(words):
        name, equals, folder = word.partition("=")
        if name == "--resume":
            return [*([folder] if equals else []), *words[number + 1 :], *words[:number]]
    return None


def resume(words: Sequence[str], console: Console) -> None:
    """Carry out `engram train --resume`."""
    options = parse(Resume, prog="engram train --resume", words=words, groups=RESUME_GROUPS)
    folder = RunFolder(options.run)
    with whole_command("engram train --resume", folder, options):
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
        if not finished:
            for line in foresight([run]):
                console.print(line)
            options = with_earlier_logs(options, folder, console)
        logs = make_logs(options.log, folder.path, run.id)
        record = partial(
            folder.record,
            run,
            agent,
            cadence=options.cadence(),
            start_over=options.start_over,
            trace=options.trace,
            tell=console.print,
            go_on=command_to_go_on(run, folder, options),
        )
        if options.progress and not finished:
            with ProgressBar(agent, run.steps) as bar:
                result = record([bar, *logs])
        else:
            with CompileNotice(new_console(stderr=True).print, memory=getattr(agent, "memory", None)):
                result = record(logs)
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


def with_earlier_logs(options: Watching, folder: RunFolder, console: Console) -> Watching:
    """The options with the logs that an earlier start of the run has begun; a service is only told if asked to."""
    earlier = [name for name in logs_there(folder.path) if name not in options.log]
    if "wandb" in earlier:
        console.print("Weights & Biases is told nothing of the steps from here on; to go on there too: --log wandb")
    return replace(options, log=(*options.log, *(name for name in earlier if name != "wandb")))


def command_to_go_on(run: Run, folder: RunFolder, options: Watching) -> str:
    """The command that goes on with an interrupted run, with the options that its folder does not keep."""
    unknown = [field.name for field in fields(Watching) if field.name not in KEPT]
    again: dict[str, Any] = {**run.foreign(), **{name: getattr(options, name) for name in unknown}}
    return as_typed("engram train --resume", Resume(run=folder.given, **again))
