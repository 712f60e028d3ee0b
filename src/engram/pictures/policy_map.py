"""What the memory makes the agent do: greedy action and value over a room's floor, or over a plane of observations."""

from dataclasses import dataclass

import numpy as np

from engram.agents import Agent
from engram.encoders.identity import Identity
from engram.envs.faults import close
from engram.envs.rooms import GOAL, MOVES, START
from engram.envs.wrapper_state import frozen
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl
from engram.pictures.colours import INK, LETTER, LINE, PAPER, VALUES, action_colours
from engram.pictures.entry_map import MARKS, bound, draw_room, draw_start
from engram.pictures.picture import Picture
from engram.pictures.plane import Plane, key_maker, parse_pair, telling_pair, varied_numbers
from engram.pictures.room_map import ARROWS, ASIDE
from engram.pictures.scene import Scene
from engram.randomness import generator, reset_seed
from engram.runs.snapshots import Snapshot
from engram.training.environment import CheckedEnv
from engram.typing import Array, Floats

CELLS = 120  # along each side of a plane
PLAYED_STEPS = 1_000  # of games, where nothing else tells which observations there are
SAME = 1e-9  # actions whose values differ by less than this share of the range are equally good


@dataclass(frozen=True)
class Known:
    """Observations that the agent has met, with values, and in words what they are."""

    observations: Array
    values: Array
    words: str


def policy_picture(
    agent: Agent, snapshot: Snapshot, scene: Scene, plane: Plane, wanted: str | None = None
) -> Picture | None:
    """Greedy actions and values; None for images, and for numbers of few values, which have no plane."""
    if scene.plan is not None:
        return _of_room(agent, scene, scene.plan, bound(snapshot.values))
    if len(scene.numbers) < 2:
        return None
    known = _known(agent, snapshot)
    if not len(known.observations):
        return None
    varied = varied_numbers(known.observations)
    pair = plane.dimensions or (parse_pair(wanted, scene.numbers) if wanted else None)
    if pair is None and len(varied) > 1:
        first, second = telling_pair(known.observations[:, varied], known.values)
        pair = varied[first], varied[second]
    if pair is None or not set(pair) <= set(varied):
        return None
    return _of_plane(agent, scene, known, pair, bound(snapshot.values))


def _of_room(agent: Agent, scene: Scene, plan: tuple[str, ...], values: tuple[float, float]) -> Picture:
    q = agent.q_values(scene.floor)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(0.62 * PAGE_WIDTH, 0.5 * PAGE_WIDTH), layout="constrained")
        axes = figure.subplots()
        cells = draw_policy(axes, plan, scene.floor, q, values)
        figure.colorbar(cells, ax=axes, label="highest value of an action", aspect=30, pad=0.02)
    words = (
        "Every cell of the floor with the greedy action there, or with several that are equally good, of which one is "
        f"taken at random; a dot: all of them. Its colour is the highest value of an action there. {MARKS}"
    )
    return Picture("policy", "What it makes the agent do", words, figure)


def draw_policy(
    axes: Axes, plan: tuple[str, ...], floor: Floats, q: Floats, values: tuple[float, float]
) -> "mpl.collections.PatchCollection":
    """Cells coloured by the highest value, each with the arrow of its greedy action."""
    draw_room(axes, plan, marks=False)
    low, high = values
    squares = [mpl.patches.Rectangle((x - 0.5, y - 0.5), 1, 1) for x, y in floor]
    cells = mpl.collections.PatchCollection(squares, cmap=VALUES, edgecolor=LINE, linewidth=0.4)
    cells.set_array(q.max(axis=1))
    cells.set_clim(low, high if high > low else low + 1)
    axes.add_collection(cells)
    goal = np.array([plan[int(y)][int(x)] == GOAL for x, y in floor])
    best = q >= q.max(axis=1, keepdims=True) - SAME * max(high - low, 1e-12)  # [cells, actions]
    choices = np.where(goal, 0, best.sum(axis=1))
    dark = (q.max(axis=1) - low) / (high - low if high > low else 1) < 0.6
    for number, move in enumerate(MOVES):
        for shade, colour in ((dark, "white"), (~dark, LETTER)):
            for few, aside, area in ((choices == 1, 0.0, 52), ((choices > 1) & (choices < len(MOVES)), ASIDE, 24)):
                here = best[:, number] & shade & few
                places = floor[here] + aside * np.array(move)
                axes.scatter(
                    places[:, 0], places[:, 1], marker=ARROWS[move], s=area, color=colour, linewidths=0, zorder=3
                )
    undecided = floor[choices == len(MOVES)]
    axes.scatter(undecided[:, 0], undecided[:, 1], marker="o", s=10, color="#B9C0C7", linewidths=0, zorder=3)
    for y, row in enumerate(plan):
        for x, mark in enumerate(row):
            if mark == START:
                draw_start(axes, x, y)
            if mark == GOAL:  # where nothing is done any more
                axes.add_patch(mpl.patches.Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=PAPER, edgecolor=LINE))
                axes.text(x, y, mark, ha="center", va="center", fontsize=11, color=LETTER, weight="bold")
    return cells


def _of_plane(agent: Agent, scene: Scene, known: Known, pair: tuple[int, int], values: tuple[float, float]) -> Picture:
    """Over two numbers, in the colours of the stored values from the lowest to the highest."""
    observations = known.observations.astype(np.float64)
    (left, bottom), (right, top) = np.percentile(observations[:, pair], [1, 99], axis=0)
    right, top = (right if right > left else left + 1), (top if top > bottom else bottom + 1)
    xs, ys = np.linspace(left, right, CELLS), np.linspace(bottom, top, CELLS)
    grid = np.tile(np.median(observations, axis=0), (CELLS * CELLS, 1))
    grid[:, pair[0]], grid[:, pair[1]] = np.tile(xs, CELLS), np.repeat(ys, CELLS)
    q = agent.q_values(grid.astype(agent.spaces.observation_dtype)).reshape(CELLS, CELLS, -1)
    edges = (left, right, bottom, top)
    colours = action_colours(q.shape[2])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(PAGE_WIDTH, 0.42 * PAGE_WIDTH), layout="constrained")
        first, second = figure.subplots(1, 2, sharey=True)
        palette = mpl.colors.ListedColormap(colours)
        first.imshow(
            q.argmax(axis=2), cmap=palette, vmin=-0.5, vmax=len(colours) - 0.5, origin="lower", extent=edges,
            aspect="auto", interpolation="nearest", alpha=0.85,
        )  # fmt: skip
        best = second.imshow(
            q.max(axis=2), cmap=VALUES, vmin=values[0], vmax=values[1], origin="lower", extent=edges, aspect="auto",
            interpolation="nearest",
        )  # fmt: skip
        figure.colorbar(best, ax=second, label="highest value of an action", aspect=30, pad=0.02)
        used = np.unique(q.argmax(axis=2)).tolist()
        handles = [mpl.patches.Patch(color=colours[i], alpha=0.85, label=scene.actions[i]) for i in used]
        figure.legend(handles=handles, loc="outside upper left", ncols=6, frameon=False, labelcolor=INK)
        for axes in (first, second):
            axes.set_xlabel(scene.numbers[pair[0]])
            axes.tick_params(labelsize=8, length=2)
        first.set_ylabel(scene.numbers[pair[1]])
    others = [name for number, name in enumerate(scene.numbers) if number not in pair]
    held = f" {_listed(others)} {'is' if len(others) == 1 else 'are'} held at the median of {known.words}." * bool(
        others
    )
    words = (
        f"Greedy action (left) and its value (right) over {scene.numbers[pair[0]]} and {scene.numbers[pair[1]]}.{held}"
    )
    return Picture("policy", "What it makes the agent do", words, figure)


def _listed(names: list[str]) -> str:
    """Names as in a sentence."""
    text = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return text[:1].upper() + text[1:]


def _known(agent: Agent, snapshot: Snapshot) -> Known:
    """Observations that the agent has met: its keys, its replay, or what it sees when it plays."""
    if type(key_maker(agent)) is Identity:
        return Known(snapshot.keys, snapshot.values, "the stored keys")
    if agent.has_replay and len(agent.replay):  # type: ignore[attr-defined]
        batch = agent.replay.sample(generator(0, "replay"), 1_000)  # type: ignore[attr-defined]
        return Known(np.asarray(batch.observations), batch.returns, "1,000 states of the replay")
    seen = _played(agent)
    return Known(seen, agent.q_values(seen).max(axis=1), f"{len(seen):,} states of greedy games")


def _played(agent: Agent) -> Array:
    """Observations of greedy games."""
    env, seen = agent.source.make(), []
    checked, game, observation = CheckedEnv(env), 0, None
    try:
        with frozen([env], agent.wrapper_states()):
            for step in range(PLAYED_STEPS):
                if observation is None:
                    observation, game = checked.reset(reset_seed(agent.seed, "evaluation", game)), game + 1
                seen.append(observation)
                mask = None if checked.allowed is None else np.isin(np.arange(agent.spaces.actions), checked.allowed)
                action = int(agent.predict(observation, action_masks=mask)[0])
                observation, _, terminated, truncated, _ = checked.step(action, step + 1)
                observation = None if terminated or truncated else observation
    finally:
        if not agent.source.shared:
            close(env)
    return np.stack(seen)
