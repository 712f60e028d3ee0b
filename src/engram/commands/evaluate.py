"""`engram eval`: play with a trained agent."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from engram.agents import Agent
from engram.agents.common.load import load
from engram.commands.options import Groups, parse
from engram.commands.part_options import GivenAgain, whole_command
from engram.commands.screen import Console, Text
from engram.errors import InvalidInputError, RunFolderError
from engram.files.disk import is_file, whole_path
from engram.runs.finished import LAST_EVALUATIONS, shown_score
from engram.runs.folder import RunFolder
from engram.training.evaluation import default_max_steps, evaluate_policy

GROUPS: Groups = {
    "what is played": ("episodes", "seed", "max_steps", "show", "json"),
    "as a film": ("video", "explain"),
    "what the agent was made with that is not Engram's own": (
        *("env", "env_kwargs", "wrapper", "agent", "strategy", "encoder", "network", "exploration"),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Eval(GivenAgain):
    """Play episodes with a trained agent and report its returns."""

    episodes: int = 10  # how many
    seed: int | None = None  # from which the starts are derived; by default the agent's own
    max_steps: int | None = None  # after which an episode is cut off; by default 10,000 where the env has no limit
    show: bool = False  # list every episode
    json: bool = False  # print everything as one JSON object
    video: Path | None = None  # write the first episode as a film: a .gif or an .mp4
    explain: bool = False  # beside the film: Q of every action, and the values of its nearest memories


def load_agent(options: GivenAgain, prog: str) -> Agent:
    """The agent, from a run's folder or from a model file; `prog` is the command, for errors."""
    if not options.run.is_dir():
        return load(options.run, **options.given())
    folder = RunFolder(options.run)
    trained = is_file(folder.model_file)
    if folder.config is not None and folder.result is None and not trained:
        how = folder.command("engram train --resume", folder.foreign())
        raise RunFolderError(f"{options.run} is not finished; go on with: {how}")
    with whole_command(prog, folder, options):
        return load(folder.model_file, **options.given())


def evaluate(words: Sequence[str], console: Console) -> None:
    """Carry out `engram eval`."""
    options = parse(Eval, prog="engram eval", words=words, groups=GROUPS)
    if options.explain and options.video is None:
        raise InvalidInputError("--explain draws beside a film, and none is asked for; name it too: --video play.gif")
    target = None if options.video is None else whole_path(options.video)  # before an environment goes elsewhere
    result = RunFolder(options.run).result if options.run.is_dir() else None
    if target is not None:
        video = import_module("engram.pictures.video")  # needs an extra
        about = f"{os.path.relpath(options.run, target.parent)} at play"
        video.check_film(target, about)
    agent = load_agent(options, "engram eval")
    env = options.given().get("env") or str(agent.describe()["env"])
    limit = default_max_steps(env) if options.max_steps is None else options.max_steps
    returns, lengths = evaluate_policy(
        agent, env, options.episodes, seed=options.seed, max_steps=limit, return_episode_rewards=True
    )
    seed = agent.seed if options.seed is None else options.seed
    count = None
    if target is not None:
        pictures = video.film(agent, env, seed=seed, explain=options.explain, max_steps=limit)
        fps = 10 if options.explain else 30  # slow enough to be read
        count = video.write_video(target, pictures, fps=fps, about=about)
    cut = 0 if limit is None else lengths.count(limit)
    if options.json:
        told = {"run": str(options.run), "env": env, "seed": seed, "episodes": options.episodes, "max_steps": limit}
        scores = {"mean": float(np.mean(returns)), "std": float(np.std(returns)), "cut_off": cut}
        film = {} if options.video is None else {"video": str(options.video)}
        console.print(json.dumps({**told, **scores, "returns": returns, "lengths": lengths, **film}))
        return
    if options.show:
        for number, (total, length) in enumerate(zip(returns, lengths, strict=True)):
            console.print(f"episode {number}: return {total:g} in {length} steps")
    count_in_words = f"{options.episodes} episode{'s' * (options.episodes > 1)}"
    spread = f" over {count_in_words} (lowest {min(returns):g}, highest {max(returns):g})"
    console.print(
        Text.assemble("return ", (f"{shown_score(np.mean(returns))} ± {shown_score(np.std(returns))}", "bold"), spread)
    )
    if cut:
        console.print(f"{cut} of them had not ended after {limit:,} steps, and were cut off: --max-steps")
    if count is not None:
        console.print(f"the first episode, {count} pictures, is {options.video}")
    if result is not None and result["score"] is not None:
        console.print(difference(result, str((RunFolder(options.run).config or {}).get("env")), env))


def difference(result: Mapping[str, Any], trained: str, played: str) -> str:
    """Why the score of a run in one environment is not the return of its agent, maybe in another."""
    if played != trained:
        score = shown_score(result["score"])
        return f"(the run's score, {score}, is that of another environment, {trained}; here it plays in {played})"
    count = min(result["evaluations"], LAST_EVALUATIONS)
    which = "the only evaluation" if count == 1 else f"the mean of the last {count} evaluations"
    return (
        f"(the run's score, {shown_score(result['score'])}, is {which} while the agent was still learning; here it "
        "plays as it was at the end)"
    )
