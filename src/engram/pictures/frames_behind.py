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
WIDEST = 1.5  # inches, of a frame
WORDS = 0.36  # inches above each frame


def frames_picture(agent: Agent, traced: Traced, scene: Scene) -> Picture | None:
    """A column of frames per action; None for observations that are not images, or whose environment has no id."""
    if len(agent.spaces.observation_shape) == 1 or agent.source.name is None:
        return None
    tables = [_chosen(table) for table in traced.last.tables[:MOST_ACTIONS]]
    wanted = {(int(game), int(step)) for table in tables for game, step in zip(*_origins(table), strict=True)}
    frames = _replayed(agent, traced, wanted)
    with mpl.rc_context(STYLE):
        figure = _drawn(tables, frames, scene.actions)
    some = (
        ""
        if len(tables) == len(scene.actions)
        else f" Shown are the first {len(tables)} of {len(scene.actions)} actions."
    )
    caption = (
        f"What was on the screen when an entry was stored: for each action a column of up to {SHOWN} entries, from the "
        "highest value (bold) to the lowest, with game and step. The games were played again from their seeds and "
        f"actions.{some}"
    )
    return Picture("frames", "The frames behind entries", caption, figure)


def _drawn(tables: list[Entries], frames: dict[tuple[int, int], Array], names: tuple[str, ...]) -> Figure:
    """A column for each action, with its name above."""
    height, width = next(iter(frames.values())).shape[:2] if frames else (1, 1)
    across = min(WIDEST, (PAGE_WIDTH - 0.1) / len(tables))
    down = 0.92 * across * height / width + WORDS
    rows = max(len(table.values) for table in tables)
    figure = Figure(figsize=(across * len(tables), rows * down + 0.3))
    for column, (table, name) in enumerate(zip(tables, names, strict=False)):
        figure.text((column + 0.5) / len(tables), 1 - 0.15 / figure.get_figheight(), name, ha="center", va="center")
        for row, (game, step) in enumerate(zip(*_origins(table), strict=True)):
            bottom = 1 - (0.3 + (row + 1) * down) / figure.get_figheight()
            place = (column + 0.04) / len(tables), bottom, 0.92 / len(tables), (down - WORDS) / figure.get_figheight()
            axes, origin = figure.add_axes(place), f"game {game:,}, step {step:,}"
            axes.imshow(frames[int(game), int(step)], aspect="auto")
            axes.set_axis_off()
            value = f"{table.values[row]:.4g}".replace("-", "−")
            for height, text, font in (
                (11, value, {"fontsize": 8, "weight": "bold"}),
                (2.5, origin, {"fontsize": 6.5}),
            ):
                axes.annotate(text, (0, 1), (0, height), xycoords="axes fraction", textcoords="offset points", **font)
    return figure


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
