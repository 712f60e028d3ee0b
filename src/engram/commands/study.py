"""`engram study`: carry out a study, or those of its runs that are not finished."""

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tyro.conf import Positional

from engram import checks
from engram.commands.env_options import EnvOptions
from engram.commands.options import Groups, parse
from engram.commands.screen import Console
from engram.envs import EnvSource
from engram.envs.faults import close
from engram.errors import InvalidInputError
from engram.files.disk import whole_path
from engram.lab.earlier_runs import Earlier
from engram.lab.grid import QUICK_SEEDS, Grid, Study, load, parse_seeds
from engram.lab.outcome import Executor
from engram.lab.runner import run_all
from engram.lab.study_file import SUFFIXES, read_study
from engram.lab.study_folder import StudyFolder, command_line
from engram.lab.watch import Watch
from engram.lab.workers import Workers
from engram.paper.registry import STUDIES
from engram.runs.foresight import foresight
from engram.runs.run import Run
from engram.training.evaluation import default_max_steps

SHOWN = 2  # of the names of many runs
GROUPS: Groups = {
    "how much of it": ("quick", "seeds", "sizes", "strategies", "agents", "games", "labels"),
    "where": ("out", "jobs", "ray", "reuse", "start_over"),
    "how each run is": ("env_kwargs", "wrapper", "steps", "encoder", "network", "exploration", "device"),
    "how it is evaluated": ("evaluation_interval_steps", "evaluation_episodes", "evaluation_max_steps"),
}


@dataclass(frozen=True)
class Options(EnvOptions):
    """Carry out every run of a study that has no result yet, and show the table as it fills in.

    Agents and parts of your own are given as module:Class[:option=value,…], the module being a file of the current
    folder or an installed package.
    """

    study: Positional[
        str
    ]  # cartpole, acrobot, openroom, fourroom, atari, atari100k, ideas, forgetting, remembering, open, stream or a file
    quick: bool = False  # a small part of it: as a rule two seeds, two memory sizes
    seeds: str | None = None  # how many (5: its first five), from-to (5-9) or which (1,3,8)
    sizes: tuple[int, ...] = ()  # entries per action, instead of the study's
    strategies: tuple[str, ...] = ()  # instead of the study's
    agents: tuple[str, ...] = ()  # only these; one of your own gets grids like those of the study's agents
    games: tuple[str, ...] = ()  # only these environments, such as pong, ms_pacman
    labels: tuple[str, ...] = ()  # only what has all these labels: plain or sticky, of atari100k
    env: tuple[str, ...] = ()  # other environments, each with the grids of the study's first one
    encoder: str | None = None  # from observations to keys, instead of each agent's usual one
    network: str | None = None  # from encoded observations to features; all agents must have one (--agents nec d3qn)
    exploration: str | None = None  # which action to take while learning, instead of each agent's usual one
    steps: int | None = None  # of training in each run, instead of the study's
    evaluation_interval_steps: int | None = None  # between two evaluations, instead of the study's
    evaluation_episodes: int | None = None  # in each evaluation, instead of the study's
    evaluation_max_steps: int | None = None  # after which one is cut off; by default 10,000 where the env has no limit
    device: str | None = None  # where memories and networks are: cpu, cuda or auto
    jobs: int = os.cpu_count() or 1  # runs at a time
    out: Path | None = None  # the study's folder; by default runs/ and the study's name
    reuse: tuple[Path, ...] = ()  # folders of other studies, whose finished runs are copied instead of run again
    start_over: bool = False  # runs whose files cannot be used begin with the first step; their files are moved aside
    ray: str | None = None  # run on a Ray cluster: its address, or `auto`, or `local` for one on this machine


def study(words: Sequence[str], console: Console) -> None:
    """Carry out `engram study`."""
    started = time.time()
    options = parse(Options, prog="engram study", words=words, groups=GROUPS)
    whole = find_study(options.study)
    out = whole_path(options.out or Path("runs") / whole.name)
    if whole.experiment:
        seeds = options.seeds or (str(QUICK_SEEDS) if options.quick else None)
        load(whole.experiment)(out, **({} if seeds is None else {"seeds": parse_seeds(seeds)}))
    else:
        carry_out(whole, options, out, started, console)
    given = options.out or Path("runs") / whole.name
    console.print(f"everything is in {given}; try: {shlex.join(['engram', 'report', str(given)])}")


def carry_out(study: Study, options: Options, out: Path, started: float, console: Console) -> None:
    """Carry out the chosen runs of a study that are not finished."""
    chosen = choose(study, options)
    where, folder, runs = executor(options.jobs, options.ray), StudyFolder(out), chosen.runs()
    check_environments([run for run in runs if not (out / run.id / "result.json").exists()])
    for line in earlier_in_words(folder.declare(chosen, runs, also=whole_study(study, options)), options.study, out):
        console.print(line)
    for line in foresight(runs):
        console.print(line)
    folder.take_from(options.reuse, runs)
    watch = Watch(runs, console, chosen.variants())
    try:
        with watch:
            run_all(runs, out, executor=where, callback=watch, start_over=options.start_over)
    finally:
        place = f"{options.jobs} process{'es' * (options.jobs > 1)}" if options.ray is None else "a Ray cluster"
        folder.log_call(command_line(), started, watch.counts, place)


def whole_study(study: Study, options: Options) -> Iterator[Run]:
    """The runs of the study as it is, and with what was chosen of how each run is, for any part of the study."""
    yield from choose(study, Options(options.study)).runs()
    as_chosen = replace(options, quick=False, seeds=None, games=(), labels=())
    agents = dict.fromkeys(grid.agent_name for grid in study.grids) if options.agents else ()
    for every in (as_chosen, replace(as_chosen, sizes=(), strategies=())):
        yield from choose(study, every).runs()
        for agent in agents:
            with suppress(InvalidInputError):  # what was chosen may not suit every agent of the study
                yield from choose(study, replace(every, agents=(agent,))).runs()


def earlier_in_words(earlier: Earlier, study: str, out: Path) -> Iterator[str]:
    """What to tell of runs in a study's folder that are not the study's any more."""
    if earlier.replaced or earlier.kept:
        count = len(earlier.replaced) + len(earlier.kept)
        whose = f"{study}, its options" if study.endswith(SUFFIXES) else "its options"
        yield (
            f"{out} also holds runs that are not of the study as it is now ({count:,}); {whose} or classes of your own "
            "were changed:"
        )
        if earlier.replaced:
            yield f"  {_some(earlier.replaced)}: the report leaves them out, as their cells have other runs now"
        if earlier.kept:
            yield f"  {_some(earlier.kept)}: the report shows them too"
        yield "  to keep both apart, give the study another name or another folder (--out)"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else "")


def check_environments(runs: Sequence[Run]) -> None:
    """Raise an error unless every environment of these runs can be made: rather than in every run."""
    for env in dict.fromkeys(run.env for run in runs):
        close(EnvSource(env).make())


def find_study(name: str) -> Study:
    """A study of Engram's by its name, or one of the user's own from a TOML or Python file."""
    if not name.endswith(SUFFIXES):
        return STUDIES[checks.one_of("study", name, STUDIES)]
    found = read_study(Path(name))
    if found.name in STUDIES:
        raise InvalidInputError(f"{name}: the name {found.name!r} is that of a study of Engram's; choose another")
    return found


def choose(study: Study, options: Options) -> Study:
    """The study with the choices that the options make."""
    if options.device not in (None, "cpu"):
        from engram.devices import find_device  # noqa: PLC0415 (needs torch)

        find_device(options.device)  # rather than in every run
    settings = {name: getattr(options, name) for name in ("encoder", "network", "exploration", "device")}
    chosen = (study.quick() if options.quick else study).only(
        agents=options.agents or None,
        games=options.games or None,
        labels=options.labels,
        settings={name: value for name, value in settings.items() if value is not None},
        strategies=options.strategies or None,
        sizes=options.sizes or None,
        steps=options.steps,
        evaluation_interval_steps=options.evaluation_interval_steps,
        evaluation_episodes=options.evaluation_episodes,
        evaluation_max_steps=options.evaluation_max_steps,
    )
    grids = in_environments(chosen, options.env) if options.env else chosen.grids
    seeded = grids if options.seeds is None else [grid.with_seeds(options.seeds) for grid in grids]
    whole = [replace(grid, env=options.whole_env(grid.env)) for grid in seeded]
    return replace(chosen, grids=tuple(with_limit(grid) for grid in whole))


def in_environments(study: Study, envs: Sequence[str]) -> tuple[Grid, ...]:
    """The grids of the study's first environment, in each of these instead."""
    first = study.envs[0]
    return tuple(replace(grid, env=env) for env in envs for grid in study.grids if grid.env == first)


def with_limit(grid: Grid) -> Grid:
    """A grid whose evaluations end, also where neither the study nor the environment sets a limit."""
    return replace(grid, evaluation_max_steps=grid.evaluation_max_steps or default_max_steps(grid.env))


def executor(jobs: int, ray: str | None) -> Executor:
    """Where runs take place: so many at a time on this machine, or on a Ray cluster."""
    if ray is None:
        return Workers(checks.at_least("jobs", jobs, 1))
    from engram.lab.cluster import Cluster  # noqa: PLC0415 (an extra)

    return Cluster(ray)
