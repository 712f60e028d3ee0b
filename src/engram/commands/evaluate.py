"""`engram eval`: play with a trained agent."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import tyro

from engram.agents import Agent
from engram.agents.common.load import load
from engram.commands.part_options import GivenAgain, whole_command
from engram.commands.screen import Console, Text
from engram.errors import RunFolderError
from engram.files.disk import is_file, whole_path
from engram.runs.folder import RunFolder
from engram.training.evaluation import default_max_steps, evaluate_policy


@dataclass(frozen=True, kw_only=True)
class Eval(GivenAgain):
    """Play episodes with a trained agent and report its returns."""

    episodes: int = 10  # how many
    seed: int | None = None  # from which the starts are derived; by default the agent's own
    max_steps: int | None = None  # after which an episode is cut off; by default 10,000 where the env has no limit
    show: bool = False  # list every episode
    video: Path | None = None  # write the first episode as a film: a .gif or an .mp4
    explain: bool = False  # beside the film: Q of every action, and the values of its nearest memories


def load_agent(options: GivenAgain, words: str) -> Agent:
    """The agent, from a run's folder or from a model file; `words` are the command, for errors."""
    if not options.run.is_dir():
        return load(options.run, **options.given())
    folder = RunFolder(options.run)
    trained = is_file(folder.model_file)
    if folder.config is not None and folder.result is None and not trained:
        how = folder.command("engram train --resume", folder.foreign())
        raise RunFolderError(f"{options.run} is not finished; go on with: {how}")
    with whole_command(words, folder, options.given()):
        return load(folder.model_file, **options.given())


def evaluate(words: Sequence[str], console: Console) -> None:
    """Carry out `engram eval`."""
    options = tyro.cli(Eval, prog="engram eval", args=words)
    target = None if options.video is None else whole_path(options.video)  # before an environment goes elsewhere
    if target is not None:
        video = import_module("engram.pictures.video")  # needs an extra
        video.check_name(target)
    agent = load_agent(options, "engram eval")
    env = options.given().get("env") or str(agent.describe()["env"])
    limit = default_max_steps(env) if options.max_steps is None else options.max_steps
    returns, lengths = evaluate_policy(
        agent, env, options.episodes, seed=options.seed, max_steps=limit, return_episode_rewards=True
    )
    if options.show:
        for number, (total, length) in enumerate(zip(returns, lengths, strict=True)):
            console.print(f"episode {number}: return {total:g} in {length} steps")
    spread = f" over {options.episodes} episodes (lowest {min(returns):g}, highest {max(returns):g})"
    console.print(Text.assemble("return ", (f"{np.mean(returns):.1f} ± {np.std(returns):.1f}", "bold"), spread))
    if limit is not None and (cut := lengths.count(limit)):
        console.print(f"{cut} of them had not ended after {limit:,} steps, and were cut off: --max-steps")
    if target is not None:
        seed = agent.seed if options.seed is None else options.seed
        pictures = video.film(agent, env, seed=seed, explain=options.explain)
        count = video.write_video(target, pictures, fps=10 if options.explain else 30)  # slow enough to be read
        console.print(f"the first episode, {count} pictures, is {options.video}")
