"""What strategies hold at the size at which they differ most, drawn for the pages of the committed studies.

    python -m tools.draw_held          # trains MFEC with four strategies in three environments: a few minutes

Writes `held.svg`, `held.png` and `held.json` into the folders of the studies, whose pages show them from then on. The
runs are those of `forgetting-confirmed` with the seed that is typical there, trained again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from engram import MFEC
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
from engram.runs.run import Run
from engram.runs.snapshots import Snapshot, snapshot_of
from engram.typing import Doubles

RESULTS = Path(__file__).parents[1] / "results"
SOURCE, SEEDS = "forgetting-confirmed", range(10, 30)  # the study that has all four strategies, and its seeds
STRATEGIES = ("lru", "kmeans", "dkm", "fading")
HARDLY_A_CLUSTER = 2  # states that an entry counts, below which it hardly averages
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

    def run(self, strategy: str, seed: int) -> Run:
        """The run of a strategy, with the paper's settings."""
        preset = MFECConfig.preset_for(self.family)
        settings = MFECConfig(**{**preset, "strategy": strategy, "capacity": self.capacity, "seed": seed})
        return Run(MFEC, self.env, settings, self.steps)


PLACES = (
    Place("openroom", "engram/OpenRoom-v0", "rooms", 50, 20_000),
    Place("fourroom", "engram/FourRoom-v0", "rooms", 100, 20_000),
    Place("cartpole", "CartPole-v1", "classic", 150, 15_000, "2,3"),
)


@dataclass(frozen=True)
class Held:
    """What one agent held when its training was over."""

    strategy: str
    score: float
    mean: float  # of the scores of all seeds
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
        """The strategy, the run's score, and the mean over all seeds."""
        return f"{self.label}: {self.score:.3g} (mean {self.mean:.3g})"


def scores_of(place: Place) -> dict[str, dict[int, float]]:
    """The scores of the cells that are drawn: strategy → seed → score."""
    table = pl.read_parquet(RESULTS / SOURCE / "evaluations.parquet").unique("run")
    found: dict[str, dict[int, float]] = {}
    for strategy in STRATEGIES:
        runs = {row["run"]: row for row in table.filter(pl.col("strategy") == strategy).iter_rows(named=True)}
        mine = {seed: runs[run_id] for seed in SEEDS if (run_id := place.run(strategy, seed).id) in runs}
        found[strategy] = {seed: float(row["score"]) for seed, row in mine.items()}
    return found


def typical_seed(scores: Mapping[str, Mapping[int, float]]) -> int:
    """The seed whose scores lie nearest to the means of their cells: the sum of distances, in standard deviations."""
    far: dict[int, float] = {}
    for by_seed in scores.values():
        values = np.array(list(by_seed.values()))
        spread = float(values.std()) or 1.0
        for seed, score in by_seed.items():
            far[seed] = far.get(seed, 0.0) + abs(score - float(values.mean())) / spread
    return min(far, key=lambda seed: (far[seed], seed))


def train(place: Place, strategy: str, seed: int, scores: Mapping[int, float]) -> Held:
    """Train an agent as in the study, and look into its memory."""
    run = place.run(strategy, seed)
    agent = run.make_agent()
    if not isinstance(agent, MFEC):
        raise TypeError(f"an agent with a memory is expected, got {agent}")
    agent.learn(run.steps)
    snapshot, scene = snapshot_of(agent.memory, agent.steps), scene_of(agent)
    mean = float(np.mean(list(scores.values())))
    return Held(strategy, scores[seed], mean, snapshot, scene, choose_plane(agent, scene, snapshot, place.axes))


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


def caption(place: Place, held: Sequence[Held], seed: int, seeds: int) -> str:
    """What was drawn, and how what the strategies hold differs."""
    spreads = []
    for each in held:
        places = each.places
        if each.scene.plan is not None:
            where = f"{len({tuple(cell) for cell in places.round().astype(int).tolist()})} squares of the grid"
        else:
            low, high = np.percentile(places[:, 1], [2.5, 97.5])
            velocities = each.plane.labels[1].replace("velocity", "velocities")
            where = f"{velocities} from {low:.1f} to {high:.1f} (the middle 95 %)"
        middle = float(np.median(each.snapshot.values))
        spreads.append(f"{each.label} {where}, with a median stored value of {middle:.2g}")
    signs = "way of their action" if held[0].scene.plan else "way in which their action pushes"
    return (
        f"{explanation(held)} Held in the end: {'; '.join(spreads)}. MFEC in {short_name(place.env)} with "
        f"{place.capacity} entries per action after {place.steps:,} training steps, one run each (n = 1): an "
        f"illustration, not evidence. It is seed {seed}, of {seeds} the one whose scores lie nearest to the means of "
        "all (the sum of the distances of the strategies drawn, in standard deviations). Titles: its score, and the "
        f"mean over all {seeds} seeds. Arrows are entries: they point the {signs}; colour is the stored value."
    )


def explanation(held: Sequence[Held]) -> str:
    """Why scores differ, as far as what is held tells it: what clusters average, and whether the goal is known."""
    sizes = {each.label: float(np.median(each.counts)) for each in held if each.counts is not None}
    largest = max(sizes, key=sizes.__getitem__)
    single = [label for label, size in sizes.items() if size < HARDLY_A_CLUSTER]
    text = f"In the median an entry counts {_told(sizes, '{:.2g}')} states: {largest} averages most, early returns too"
    text += f", and {listed(single)} two at most. " if single else ". "
    if held[0].scene.plan is not None:
        known = {each.label: float((each.snapshot.values > 0).mean()) for each in held}
        between = {
            each.label: float((np.abs(each.places - each.places.round()) > 1e-3).any(axis=1).mean()) for each in held
        }
        text += f"Of entries {_told(between, '{:.0%}')} lie between squares, as means of several. "
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
        scores = scores_of(place)
        seed = typical_seed(scores)
        held = [train(place, strategy, seed, scores[strategy]) for strategy in STRATEGIES]
        figure, folder = draw(held), RESULTS / place.study
        write_atomically(folder / "held.svg", svg_of(figure))
        write_atomically(folder / "held.png", png_of(figure))
        about = {
            "caption": caption(place, held, seed, len(scores[STRATEGIES[0]])),
            "command": "python -m tools.draw_held",
        }
        write_atomically(folder / "held.json", (json.dumps(about, ensure_ascii=False, indent=1) + "\n").encode())
        print(f"{folder / 'held.svg'}: {about['caption']}", flush=True)


if __name__ == "__main__":
    main()
