"""What strategies hold at the size at which they differ most, drawn for the pages of the committed studies.

    python -m tools.draw_held          # trains MFEC with four strategies in three environments: a few minutes

Writes `held.svg`, `held.png` and `held.json` into the folders of the studies, whose pages show them from then on.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engram import MFEC, evaluate_policy
from engram.agents.common.config import EnvFamily
from engram.agents.mfec import MFECConfig
from engram.envs.names import short_name
from engram.files.disk import write_atomically
from engram.lab.labels import strategy_label
from engram.lab.pages.wording import listed
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl, png_of, svg_of
from engram.pictures.colours import VALUES
from engram.pictures.entry_map import Scales, scales_of
from engram.pictures.plane import Plane, choose_plane
from engram.pictures.room_map import draw_arrows
from engram.pictures.scene import Scene, scene_of
from engram.runs.snapshots import Snapshot, snapshot_of
from engram.typing import Doubles

RESULTS = Path(__file__).parents[1] / "results"
STRATEGIES = ("lru", "kmeans", "dkm", "fading")
HARDLY_A_CLUSTER = 2  # states that an entry counts, below which it averages hardly more than one
FAST = 1.0  # of a pole's velocity
ARROWS = "<>"  # CartPole's actions: push left, push right


@dataclass(frozen=True)
class Place:
    """One study, and where in it the strategies differ most."""

    study: str
    env: str
    family: EnvFamily
    capacity: int
    steps: int
    axes: str | None = None
    seed: int = 0


PLACES = (
    Place("openroom", "engram/OpenRoom-v0", "rooms", 50, 20_000),
    Place(
        "fourroom", "engram/FourRoom-v0", "rooms", 100, 20_000, seed=11
    ),  # the first of the study that finds the goal
    Place("cartpole", "CartPole-v1", "classic", 150, 15_000, "2,3"),
)


@dataclass(frozen=True)
class Held:
    """What one agent held when its training was over."""

    strategy: str
    score: float
    snapshot: Snapshot
    scene: Scene
    plane: Plane

    @property
    def label(self) -> str:
        """The strategy."""
        return strategy_label(self.strategy)

    @property
    def places(self) -> Doubles:
        """Where the entries of all tables lie, [entries, 2]."""
        return np.concatenate([self.plane.place(table) for table in self.snapshot.tables])

    @property
    def counts(self) -> Doubles | None:
        """How many states each entry stands for; None of a strategy that does not merge states."""
        found = [table.counts for table in self.snapshot.tables]
        return None if any(each is None for each in found) else np.concatenate([np.asarray(each) for each in found])

    @property
    def title(self) -> str:
        """The strategy, and the mean return of ten greedy episodes."""
        return f"{self.label}: return {self.score:.3g}"


def train(place: Place, strategy: str) -> Held:
    """Train an agent with the paper's settings, and look into its memory."""
    settings = {
        **MFECConfig.preset_for(place.family),
        "strategy": strategy,
        "capacity": place.capacity,
        "seed": place.seed,
    }
    agent = MFEC(place.env, **settings)
    agent.learn(place.steps)
    score, _ = evaluate_policy(agent, place.env, n_eval_episodes=10)
    snapshot, scene = snapshot_of(agent.memory, agent.steps), scene_of(agent)
    return Held(strategy, float(score), snapshot, scene, choose_plane(agent, scene, snapshot, place.axes))


def draw(held: Sequence[Held]) -> Figure:
    """A panel for each strategy, all with the same colours."""
    plane = held[0].plane
    scales = scales_of([each.snapshot for each in held], plane)
    with mpl.rc_context({**STYLE, "font.size": 9}):
        figure = Figure(figsize=(PAGE_WIDTH, 2.9), layout="constrained")
        grid = figure.subplots(1, len(held), sharex=True, sharey=True, squeeze=False)[0]
        for axes, each in zip(grid, held, strict=True):
            if each.scene.plan is not None:
                draw_arrows(axes, each.scene.plan, each.snapshot, each.plane, scales, size=26)
            else:
                _draw_states(axes, each, scales)
            axes.set_title(each.title, fontsize=9.5, fontweight="bold", loc="left")
        if held[0].scene.plan is None:
            grid[0].set_ylabel(plane.labels[1])
        colours = mpl.cm.ScalarMappable(mpl.colors.Normalize(*scales.values), VALUES)
        figure.colorbar(colours, ax=list(grid), label="stored value", fraction=0.03, aspect=25)
    return figure


def _draw_states(axes: Axes, held: Held, scales: Scales) -> None:
    for arrow, table in zip(ARROWS, held.snapshot.tables, strict=True):
        places = held.plane.place(table)
        norm = mpl.colors.Normalize(*scales.values)
        across, up = places.T
        axes.scatter(across, up, c=table.values, marker=arrow, s=14, cmap=VALUES, norm=norm, linewidths=0, alpha=0.8)
    axes.set_xlabel(held.plane.labels[0])


def caption(place: Place, held: Sequence[Held]) -> str:
    """What was drawn, and how what the strategies hold differs."""
    spreads = []
    for each in held:
        places = each.places
        if each.scene.plan is not None:
            where = f"{len({tuple(cell) for cell in places.round().astype(int).tolist()})} cells"
        else:
            low, high = np.percentile(places[:, 1], [2.5, 97.5])
            velocities = each.plane.labels[1].replace("velocity", "velocities")
            where = f"{velocities} from {low:.1f} to {high:.1f} (the middle 95 %)"
        middle = float(np.median(each.snapshot.values))
        spreads.append(f"{each.label} {where}, with a median stored value of {middle:.2g}")
    signs = "way of their action" if held[0].scene.plan else "way in which their action pushes"
    return (
        f"{explanation(held)} Held in the end: {'; '.join(spreads)}. MFEC in {short_name(place.env)} with "
        f"{place.capacity} entries per action after {place.steps:,} training steps, one run each (n = 1, seed "
        f"{place.seed}): an illustration, not evidence. Arrows are entries: they point the {signs}; colour is the "
        "stored value. Titles say the mean return "
        "of ten greedy episodes."
    )


def explanation(held: Sequence[Held]) -> str:
    """Why scores differ, as far as what is held tells it: what clusters average, and whether the goal is known."""
    sizes = {each.label: float(np.median(each.counts)) for each in held if each.counts is not None}
    largest = max(sizes, key=sizes.__getitem__)
    single = [label for label, size in sizes.items() if size < HARDLY_A_CLUSTER]
    text = f"In the median an entry counts {_told(sizes, '{:.2g}')} states: {largest} averages most, early returns too"
    text += f", and {listed(single)} hardly more than one. " if single else ". "
    if held[0].scene.plan is not None:
        known = {each.label: float((each.snapshot.values > 0).mean()) for each in held}
        between = {
            each.label: float((np.abs(each.places - each.places.round()) > 1e-3).any(axis=1).mean()) for each in held
        }
        text += f"Of entries {_told(between, '{:.0%}')} lie between cells, as means of several. "
        least = min(known, key=known.__getitem__)
        if known[least] < 0.5:
            text += (
                f"A return from the goal is known to {_told(known, '{:.0%}')}: {least} has forgotten most of the way."
            )
        return text.rstrip()
    fast = {each.label: float((np.abs(each.places[:, 1]) > FAST).mean()) for each in held}
    most = [label for label, share in fast.items() if share > max(fast.values()) / 2]
    return (
        f"{text}A pole that turns faster than {FAST:g}, which is soon too late to catch, is in "
        f"{_told(fast, '{:.0%}')} of entries: most such states are kept by {listed(most)}."
    )


def _told(numbers: Mapping[str, float], form: str) -> str:
    """Numbers with whose they are: `3 % (LRU), 20 % (kM) and 8 % (DkM)`."""
    return listed([f"{form.format(number).replace('%', ' %')} ({label})" for label, number in numbers.items()])


def main() -> None:
    """Train, draw and write, one study after the other."""
    for place in PLACES:
        held = [train(place, strategy) for strategy in STRATEGIES]
        figure, folder = draw(held), RESULTS / place.study
        write_atomically(folder / "held.svg", svg_of(figure))
        write_atomically(folder / "held.png", png_of(figure))
        about = {"caption": caption(place, held), "command": "python -m tools.draw_held"}
        write_atomically(folder / "held.json", (json.dumps(about, ensure_ascii=False, indent=1) + "\n").encode())
        print(f"{folder / 'held.svg'}: {about['caption']}", flush=True)


if __name__ == "__main__":
    main()
