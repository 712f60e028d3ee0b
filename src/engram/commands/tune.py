"""`engram tune`: search for good settings of an agent in an environment."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from engram.agents import find_agent
from engram.commands.env_options import EnvOptions
from engram.commands.options import parse
from engram.commands.screen import Console, Text
from engram.commands.study import check_environments, executor, with_limit
from engram.envs.names import short_name
from engram.errors import InvalidInputError
from engram.files.disk import whole_path
from engram.files.file_names import as_file_name
from engram.lab.grid import Grid, parse_seeds
from engram.lab.outcome import News, Outcome
from engram.lab.search_file import Trial, best_of
from engram.lab.search_space import TRIALS, SearchSpace, parse_choices, parse_settings, read_space
from engram.lab.tuning import tune
from engram.runs.finished import shown_score

SHOWN = 5  # of the best trials


@dataclass(frozen=True)
class Options(EnvOptions):
    """Search for the settings with the highest score. The same command goes on with a search that was interrupted."""

    what: Positional[str]  # an agent, mfec, nec, d3qn or module:Class; or a file that describes the search, my.toml
    env: str = "CartPole-v1"  # id of a Gymnasium environment
    space: tuple[str, ...] = ()  # what is tried: capacity=20..500:log neighbours=3,5,11 strategy=lru,dkm
    set: tuple[str, ...] = ()  # settings that are the same in all trials: discount=0.99
    steps: int | None = None  # of training in each run; by default the agent's own
    seeds: str = "3"  # of each trial, whose mean score counts: how many (3), from-to (5-9) or which (1,3,8)
    trials: int | None = None  # how many settings are tried; by default 30
    seed: int = 0  # of the search itself
    evaluation_interval_steps: int = 500  # between two evaluations
    evaluation_episodes: int = 10  # in each evaluation
    jobs: int = os.cpu_count() or 1  # runs at a time
    out: Path | None = None  # the search's folder; by default runs/tune- and its name
    ray: str | None = None  # run on a Ray cluster: its address, or `auto`, or `local` for one on this machine

    def search(self) -> SearchSpace:
        """What is searched, from the file or from the options."""
        if self.what.endswith(".toml"):
            if self.space or self.set or self.env_kwargs or self.wrapper:
                raise InvalidInputError(
                    f"{self.what} says what is tried, and where; leave out --space, --set, --env-kwargs and --wrapper"
                )
            found = read_space(Path(self.what))
            return replace(found, trials=self.trials or found.trials, seed=self.seed, grid=with_limit(found.grid))
        agent, env = find_agent(self.what), self.whole_env(self.env)
        grid = Grid(
            self.what,
            env,
            self.steps or agent.default_steps,
            parse_seeds(self.seeds),
            settings=parse_settings(self.set),
            evaluation_interval_steps=self.evaluation_interval_steps,
            evaluation_episodes=self.evaluation_episodes,
        )
        name = as_file_name(f"{short_name(env)}-{agent.name}".lower(), 60)
        return SearchSpace(name, with_limit(grid), parse_choices(self.space), self.trials or TRIALS, self.seed)


def tune_settings(words: Sequence[str], console: Console) -> None:
    """Carry out `engram tune`."""
    options = parse(Options, prog="engram tune", words=words)
    search = options.search()
    check_environments(search.runs({}))
    out = whole_path(options.out or Path("runs") / f"tune-{search.name}")
    best: Trial | None = None

    def tell(trial: Trial) -> None:
        nonlocal best
        best = best_of([each for each in (best, trial) if each is not None])
        console.print(line_of(trial, search.trials, best))

    def complain(news: News) -> None:
        if isinstance(news, Outcome) and news.error is not None and not news.again:
            console.print(f"{news.run.id} failed: {news.error}")

    trials = tune(search, out, executor=executor(options.jobs, options.ray), tell=tell, news=complain)
    scored = sorted((trial for trial in trials if trial.score is not None), key=lambda each: -(each.score or 0.0))
    if not scored:
        raise InvalidInputError(f"every trial failed; the tracebacks are in {out / 'failures'}")
    console.print(Text("the best:", "bold"))
    for trial in scored[:SHOWN]:
        console.print(f"  {shown_score(trial.score)}  {settings_text(trial.settings)}")
    console.print(f"everything is in {out}; its page: {shlex.join(['engram', 'report', str(options.out or out)])}")
    console.print("to train with the best:")
    console.print(search.command(scored[0].settings))


def line_of(trial: Trial, trials: int, best: Trial | None) -> str:
    """What came of a trial, in a line."""
    score = "failed" if trial.score is None else f"score {shown_score(trial.score)}"
    beside = (
        ""
        if best is None or best.score is None or best.number == trial.number
        else f" (best {shown_score(best.score)})"
    )
    return f"trial {trial.number + 1} of {trials}: {score}{beside}, {settings_text(trial.settings)}"


def settings_text(settings: dict[str, Any]) -> str:
    """Settings as `capacity 137, strategy dkm`."""
    return ", ".join(f"{name} {value}" for name, value in settings.items())
