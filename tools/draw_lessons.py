"""The figures of docs/episodic-control.md: `python -m tools.draw_lessons docs/figures`.

Everything in them is a real agent's: its episode, its memory, and what the strategies keep of one stream of points.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engram import MFEC, EpisodicMemory
from engram.envs.rooms import OPEN_ROOM, Room
from engram.lab.labels import strategy_label
from engram.lab.pages.style import COLOURS
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl
from engram.pictures.colours import INK
from engram.typing import Floats

ACTIONS = ("north", "east", "south", "west")
MOVES = np.array(((0, -1), (1, 0), (0, 1), (-1, 0)), np.float32)
VALUES = "viridis"  # of returns, from 0 to 1
QUERY = "#D55E00"
SIDE = OPEN_ROOM.strip().count("\n") - 1  # cells along the room's side


def trained() -> MFEC:
    """A small memory of the open room, trained until it finds the goal."""
    return MFEC(
        "engram/OpenRoom-v0",
        strategy="lru",
        capacity=30,
        neighbours=3,
        seed=2,
        epsilon_anneal_start_steps=0,
        epsilon_anneal_end_steps=4_000,
    ).learn(6_000)


def draw_floor(axes: Axes) -> None:
    """The room's cells and its goal."""
    axes.set(xlim=(0.4, SIDE + 0.6), ylim=(SIDE + 0.6, 0.4), aspect="equal", xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(visible=True, linewidth=2)
    lines = np.arange(1.5, SIDE)
    axes.hlines(lines, 0.4, SIDE + 0.6, color="#E8E6E1", linewidth=0.8, zorder=0)
    axes.vlines(lines, 0.4, SIDE + 0.6, color="#E8E6E1", linewidth=0.8, zorder=0)
    axes.text(SIDE, SIDE, "goal", ha="center", va="center", fontsize=7, zorder=1)


def scale_beside(figure: Figure, axes: Sequence[Axes], label: str) -> None:
    """A scale of values from 0 to 1."""
    scale = mpl.cm.ScalarMappable(mpl.colors.Normalize(0, 1), VALUES)
    figure.colorbar(scale, ax=list(axes), label=label, shrink=0.5, pad=0.02)


def draw_episode(agent: MFEC) -> Figure:
    """One greedy episode, each state with the return that followed it."""
    room = Room()
    seen, _ = room.reset(seed=0)
    states, done = [seen], False
    taken: list[int] = []
    while not done and len(taken) < 100:
        action = int(agent.predict(states[-1])[0])
        seen, _, done, _, _ = room.step(action)
        states.append(seen)
        taken.append(action)
    returns = agent.config.discount ** np.arange(len(taken) - 1, -1, -1)
    figure = Figure((PAGE_WIDTH / 2, 3.3), layout="constrained")
    axes = figure.subplots()
    draw_floor(axes)
    places = np.array(states[:-1])
    (x, y), (right, down) = places.T, 0.7 * MOVES[taken].T
    axes.quiver(x, y, right, down, angles="xy", scale_units="xy", scale=1, width=0.009, color="#9A9A9A")
    axes.scatter(x, y, c=returns, cmap=VALUES, vmin=0.8, vmax=1, s=70, zorder=2, edgecolors="white")
    for i, offset in ((0, (-9, -15)), (len(returns) // 2, (-30, -9)), (-1, (-30, -13))):
        axes.annotate(f"{returns[i]:.2f}", places[i], offset, textcoords="offset points", fontsize=9)
    return figure


def draw_lookup(agent: MFEC) -> Figure:
    """One state looked up in the table of each action."""
    query = unknown_state(agent)
    values = agent.q_values(query[None])[0]
    figure = Figure((0.7 * PAGE_WIDTH, 5.6), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    for action, (axes, name) in enumerate(zip(panels, ACTIONS, strict=True)):
        draw_floor(axes)
        entries = agent.memory.entries(action)
        keys, stored = np.asarray(entries["keys"]), np.asarray(entries["values"])
        slots, distances = agent.memory.find_neighbours(action, query[None])
        weights = 1 / (distances[0] + agent.config.delta)
        weights /= weights.sum()
        axes.scatter(*keys.T, c=stored, cmap=VALUES, vmin=0, vmax=1, s=42, zorder=2, edgecolors="white", linewidths=0.6)
        for slot, weight in zip(slots[0], weights, strict=True):
            axes.plot(*zip(query, keys[slot], strict=True), color=QUERY, linewidth=1 + 4 * weight, zorder=1.5)
        axes.plot(*query, marker="*", color=QUERY, markersize=13, markeredgecolor="white", zorder=3)
        best = action == values.argmax()
        axes.set_title(
            f"{name}: Q = {values[action]:.3f}", fontsize=10, fontweight="bold" if best else "normal", color=INK
        )
    scale_beside(figure, panels, "stored return")
    return figure


def unknown_state(agent: MFEC) -> Floats:
    """The state nearest to the middle that no table holds."""
    known = {tuple(key) for action in range(len(ACTIONS)) for key in agent.memory.entries(action)["keys"]}
    cells = [(x, y) for x in range(2, SIDE) for y in range(2, SIDE) if (x, y) not in known]
    return np.array(min(cells, key=lambda cell: np.hypot(*(np.array(cell) - 5.5))), np.float32)


def draw_forgetting() -> Figure:
    """What four strategies keep of one stream of points, whose centre moves."""
    rng = np.random.default_rng(3)
    angles = np.linspace(0, 1.6 * np.pi, 900)
    points = np.stack([np.cos(angles), np.sin(angles)], 1) + 0.22 * rng.standard_normal((900, 2))
    points = points.astype(np.float32)
    figure = Figure((0.7 * PAGE_WIDTH, 6.0), layout="constrained")
    for axes, strategy in zip(figure.subplots(2, 2).ravel(), ("lru", "kmeans", "dkm", "fading"), strict=True):
        memory = EpisodicMemory(actions=1, key_size=2, capacity=25, strategy=strategy)
        memory.write(0, points, np.zeros(len(points)))
        entries = memory.entries(0)
        counts = np.asarray(entries.get("n", np.ones(25)))
        axes.scatter(*points.T, c=np.arange(900), cmap="Greys", vmin=-500, vmax=1500, s=3, zorder=0)
        sizes = 14 + 130 * np.sqrt(np.clip(counts, 0, None) / 60)
        axes.scatter(*entries["keys"].T, s=sizes, color=COLOURS[strategy], edgecolors="white", linewidths=0.7)
        axes.set(aspect="equal", xticks=[], yticks=[], xlim=(-1.8, 1.8), ylim=(-1.8, 1.7))
        axes.spines[:].set_visible(False)
        axes.set_title(strategy_label(strategy), fontsize=10)
        axes.text(1.5, -0.55, "first", fontsize=8, color="#777777", ha="center")
        axes.text(0.85, -1.55, "last", fontsize=8, color="#777777", ha="center")
    return figure


def main() -> None:
    """Draw all of them into a folder."""
    folder = Path(sys.argv[1])
    with mpl.rc_context(STYLE):
        agent = trained()
        figures = {
            "episode": draw_episode(agent),
            "lookup": draw_lookup(agent),
            "forgetting": draw_forgetting(),
        }
        for name, figure in figures.items():
            figure.savefig(folder / f"{name}.png", dpi=130)


if __name__ == "__main__":
    main()
