"""`engram study`: carry out a study, or what is left of it."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from tyro.conf import Positional

from engram import checks
from engram.lab.grid import QUICK_SEEDS, Study, parse_seeds
from engram.lab.outcome import Executor
from engram.lab.runner import run_all
from engram.lab.study_folder import StudyFolder, command_line
from engram.lab.watch import Watch
from engram.lab.workers import Workers
from engram.memory.strategies import Strategy, get_strategy
from engram.paper.studies import STUDIES


@dataclass(frozen=True)
class Options:
    """Carry out every run of a study that has no result yet, and show the table as it fills in."""

    study: Positional[str]  # cartpole, acrobot, openroom, fourroom, atari, forgetting, open or stream
    quick: bool = False  # a taste: two seeds, two memory sizes
    seeds: str | None = None  # how many (5: 0 to 4), from-to (5-9) or which (1,3,8)
    sizes: tuple[int, ...] = ()  # entries per action, instead of the study's
    strategies: tuple[str, ...] = ()  # instead of the study's; your own as module:Class
    agents: tuple[str, ...] = ()  # only these
    games: tuple[str, ...] = ()  # only these environments, such as pong, ms_pacman
    steps: int | None = None  # of training in each run, instead of the study's
    evaluation_interval_steps: int | None = None  # between two evaluations, instead of the study's
    evaluation_episodes: int | None = None  # in each evaluation, instead of the study's
    evaluation_max_steps: int | None = None  # after which an evaluation's episode is cut off
    device: str | None = None  # where memories and networks are: cpu, cuda or auto
    jobs: int = os.cpu_count() or 1  # runs at a time
    out: Path | None = None  # the study's folder; by default runs/ and the study's name
    reuse: tuple[Path, ...] = ()  # folders of other studies, whose finished runs are copied instead of run again
    ray: str | None = None  # run on a Ray cluster: its address, or `auto`, or `local` for one on this machine


def study(words: Sequence[str], console: Console) -> None:
    """Carry out `engram study`."""
    started = time.time()
    options = tyro.cli(Options, prog="engram study", args=words)
    checks.one_of("study", options.study, (*STUDIES, "stream"))
    if options.study == "stream":
        return stream(options, console)
    chosen, where = choose(STUDIES[options.study], options), executor(options)
    folder = StudyFolder(options.out or Path("runs") / options.study)
    runs = chosen.runs()
    folder.declare(chosen, runs)
    folder.take_from(options.reuse, runs)
    watch = Watch(runs, console)
    try:
        with watch:
            run_all(runs, folder.path, executor=where, callback=watch)
    finally:
        place = f"{options.jobs} processes" if options.ray is None else "a Ray cluster"
        folder.log_call(command_line(), started, watch.counts, place)
    console.print(f"everything is in {folder.path}; try: engram report {folder.path}")
    return None


def stream(options: Options, console: Console) -> None:
    """The study without runs: a stream of points."""
    from engram.paper.stream.experiment import SEEDS, run_stream  # noqa: PLC0415 (scikit-learn takes seconds to import)

    out = options.out or Path("runs") / "stream"
    seeds = parse_seeds(options.seeds) if options.seeds is not None else QUICK_SEEDS if options.quick else SEEDS
    run_stream(out, seeds=seeds)
    console.print(f"everything is in {out}; try: engram report {out}")


def choose(study: Study, options: Options) -> Study:
    """The study with the choices that the options make."""
    if options.device not in (None, "cpu"):
        from engram.devices import find_device  # noqa: PLC0415 (needs torch)

        find_device(options.device)  # rather than in every run
    return (study.quick() if options.quick else study).only(
        agents=options.agents or None,
        games=options.games or None,
        device=options.device,
        strategies=tuple(map(chosen_strategy, options.strategies)) or None,
        sizes=options.sizes or None,
        seeds=None if options.seeds is None else parse_seeds(options.seeds),
        steps=options.steps,
        evaluation_interval_steps=options.evaluation_interval_steps,
        evaluation_episodes=options.evaluation_episodes,
        evaluation_max_steps=options.evaluation_max_steps,
    )


def executor(options: Options) -> Executor:
    """Where the runs take place."""
    if options.ray is None:
        return Workers(checks.at_least("jobs", options.jobs, 1))
    from engram.lab.cluster import Cluster  # noqa: PLC0415 (an extra)

    return Cluster(options.ray)


def chosen_strategy(spec: str) -> str | Strategy:
    """A built-in strategy's name and options as they are, or an instance of the user's own."""
    found = get_strategy(spec)
    return spec if found.is_built_in else found
