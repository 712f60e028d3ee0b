"""The frames behind entries: what was on the screen when they were stored, from games that are played again."""

import numpy as np

from engram.agents import Agent
from engram.envs.faults import close
from engram.envs.make import make_by_id
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Figure, mpl
from engram.pictures.picture import Picture
from engram.pictures.scene import Scene
from engram.runs.snapshots import Entries
from engram.runs.traced import Traced, replay
from engram.training.environment import render
from engram.typing import Array, Longs

SHOWN = 5  # entries of each action, from the highest value to the lowest
MOST_ACTIONS = 8


def frames_picture(agent: Agent, traced: Traced, scene: Scene) -> Picture | None:
    """A row of frames per action; None for observations that are not images, or whose environment has no id."""
    if len(agent.spaces.observation_shape) == 1 or agent.source.name is None:
        return None
    tables = [_chosen(table) for table in traced.last.tables[:MOST_ACTIONS]]
    wanted = {(int(game), int(step)) for table in tables for game, step in zip(*_origins(table), strict=True)}
    frames = _replayed(agent, traced, wanted)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(PAGE_WIDTH, 1.95 * len(tables)), layout="constrained")
        grid = figure.subplots(len(tables), SHOWN, squeeze=False)
        for axes in grid.flat:
            axes.set_axis_off()
        for action, table in enumerate(tables):
            grid[action, 0].text(
                *(-0.12, 0.5, scene.actions[action]), rotation=90, va="center", transform=grid[action, 0].transAxes
            )
            for place, (game, step) in enumerate(zip(*_origins(table), strict=True)):
                grid[action, place].imshow(frames[int(game), int(step)])
                words = f"{table.values[place]:.4g}\ngame {game:,}, step {step:,}"
                grid[action, place].set_title(words, fontsize=8)
    caption = (
        "What was on the screen when an entry was stored: for each action five entries from the highest value to the "
        "lowest, with value, game and step. The games were played again from their seeds and actions."
    )
    return Picture("frames", "The frames behind entries", caption, figure)


def _chosen(table: Entries) -> Entries:
    """A few entries from the highest value to the lowest, of those whose origin is known."""
    games = table.games if table.games is not None else np.zeros(0, np.int64)
    known = np.flatnonzero(games >= 0)
    order = known[np.argsort(-table.values[known], kind="stable")]
    places: Longs = np.unique(np.linspace(0, len(order) - 1, min(SHOWN, len(order))).astype(np.int64))
    return table.at(order[places])


def _origins(table: Entries) -> tuple[Longs, Longs]:
    assert table.games is not None
    assert table.steps is not None
    return table.games, table.steps


def _replayed(agent: Agent, traced: Traced, wanted: set[tuple[int, int]]) -> dict[tuple[int, int], Array]:
    """The frames at these steps of these games."""
    assert agent.source.name is not None
    env, frames = make_by_id(agent.source.name, render_mode="rgb_array"), {}
    try:
        for game in sorted({game for game, _ in wanted}):
            last = max(step for each, step in wanted if each == game)
            for step, _ in enumerate(replay(agent, env, game, traced.games[game][: last + 1])):
                if (game, step) in wanted:
                    frames[game, step] = np.array(render(env))
    finally:
        close(env)
    return frames
