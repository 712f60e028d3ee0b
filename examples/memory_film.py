"""What four memories hold while their agents learn to cross a room: a film, made of runs with a trace.

Trains MFEC in OpenRoom with each of four strategies, or takes the finished runs as they are, and writes
`docs/memory.gif`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from rich.console import Console

from engram.agents.mfec import MFEC, MFECConfig
from engram.errors import RunFolderError
from engram.lab.labels import strategy_label
from engram.lab.pages.style import COLOURS
from engram.lab.pages.wording import listed
from engram.pictures.canvas import STYLE, Figure, mpl, png_of
from engram.pictures.colours import INK, VALUES
from engram.pictures.entry_map import Scales, scales_of
from engram.pictures.memory_film import as_pixels
from engram.pictures.plane import Plane, choose_plane
from engram.pictures.room_map import draw_arrows
from engram.pictures.scene import Scene, scene_of
from engram.pictures.video import write_video
from engram.runs.finished import LAST_EVALUATIONS
from engram.runs.folder import RunFolder
from engram.runs.run import Run
from engram.runs.traced import Traced, read_trace
from engram.training.events import mean_of
from engram.typing import Array

ENV = "engram/OpenRoom-v0"
STRATEGIES = ("lru", "rew", "kmeans", "dkm")
RULES = ("forgets what is unused", "forgets what paid least", "merges states", "merges, and lets go")
ROOM, GAP, HEAD, BELOW = 2.45, 0.1, 0.55, 1.65  # inches: a room, beside it, above it, and the strip below all
WIDTH, HEIGHT = 2 * ROOM + 3 * GAP, 2 * (ROOM + HEAD) + BELOW  # as narrow as a phone can show
DPI = 100
EVERY, FPS = 2, 5  # snapshots to a frame, frames to a second
FOUND = 0.5  # share of goals from which on an agent finds the way


@dataclass(frozen=True)
class FilmOptions:
    """Film the memories of four strategies side by side."""

    out: Path = Path("docs/memory.gif")  # the film: a .gif or an .mp4
    runs: Path = Path("runs/memory-film")  # folder of the runs
    steps: int = 20_000  # of training in each run
    capacity: int = 50  # entries per action
    seed: int = 0

    def run(self, strategy: str) -> Run:
        """The run of one strategy."""
        settings = MFECConfig(strategy=strategy, capacity=self.capacity, seed=self.seed)
        return Run(MFEC, ENV, settings, self.steps)


@dataclass(frozen=True)
class Filmed:
    """One of the four: its trace, and its evaluations as (step, mean return)."""

    strategy: str
    rule: str
    traced: Traced
    evaluations: list[tuple[int, float]]

    def score(self, step: int) -> float:
        """The mean of the last evaluations up to a step, as the score of a run that ended there."""
        past = [mean for at, mean in self.evaluations if at <= step]
        return mean_of(past[-LAST_EVALUATIONS:]) if past else 0.0


def main() -> None:
    """Train what is not trained yet, and write the film."""
    options, console = tyro.cli(FilmOptions), Console()
    filmed = []
    for strategy, rule in zip(STRATEGIES, RULES, strict=True):
        run = options.run(strategy)
        folder, agent = RunFolder(options.runs / run.id), run.make_agent()
        result = folder.record(run, agent, trace=True, tell=console.print)
        console.print(f"{run.id}: score {(result or {}).get('score')}")
        traced = read_trace(folder.path)
        if traced is None:
            raise RunFolderError(f"{folder.path} has no trace; delete it, and run this again")
        evaluations = [(each["step"], mean_of(each["returns"])) for each in folder.evaluations()]
        filmed.append(Filmed(strategy, rule, traced, evaluations))
    scene = scene_of(agent)
    plane = choose_plane(agent, scene, filmed[-1].traced.last)
    told = caption(filmed, plane)
    count = write_video(options.out, frames(filmed, scene, plane), fps=FPS, caption=told)
    console.print(f"{options.out}: {count} pictures, {options.out.stat().st_size / 1e6:.1f} MB")
    console.print(told)


def frames(filmed: list[Filmed], scene: Scene, plane: Plane) -> Iterator[Array]:
    """A frame for every second snapshot; the last one stays for three seconds."""
    scales = scales_of([snapshot for each in filmed for snapshot in each.traced.snapshots], plane)
    last = len(filmed[0].traced.snapshots) - 1
    for number in range(last % EVERY, last + 1, EVERY):
        pixels = as_pixels(png_of(frame(filmed, number, scene, plane, scales), dpi=DPI))
        for _ in range(1 if number < last else 3 * FPS):
            yield pixels


def frame(filmed: list[Filmed], number: int, scene: Scene, plane: Plane, scales: Scales) -> Figure:
    """Two rows of two rooms, and below them how far training is, the scores, and what is to be seen."""
    step, plan = filmed[0].traced.snapshots[number].step or 0, scene.plan or ()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, HEIGHT))
        for place, each in enumerate(filmed):
            left, top = GAP + (ROOM + GAP) * (place % 2), HEIGHT - (HEAD + ROOM) * (place // 2)
            room = figure.add_axes(_inches(left, top - HEAD - ROOM, ROOM, ROOM))
            draw_arrows(room, plan, each.traced.snapshots[number], plane, scales, size=19)
            strong = {"color": COLOURS[each.strategy], "weight": "bold"}
            _say(figure, left, top - 0.27, strategy_label(each.strategy), fontsize=13, **strong)
            _say(figure, left + ROOM, top - 0.27, f"score {each.score(step):.1f}", fontsize=11, ha="right", **strong)
            _say(figure, left, top - 0.47, each.rule, fontsize=10)
        _explain(figure, filmed, step, scales)
    return figure


def _explain(figure: Figure, filmed: list[Filmed], step: int, scales: Scales) -> None:
    """The strip below: the step and what colours mean on the left, scores over time on the right."""
    last, right = filmed[0].traced.last, 2 * GAP + ROOM + 0.32
    _say(figure, GAP, 1.32, f"step {step:,}", fontsize=15, weight="bold")
    _say(figure, GAP, 1.06, "an arrow: a state and an action", fontsize=9.5)
    bar = figure.add_axes(_inches(GAP + 0.12, 0.42, ROOM - 0.3, 0.13))
    mapped = mpl.cm.ScalarMappable(mpl.colors.Normalize(*scales.values), VALUES)
    figure.colorbar(mapped, cax=bar, orientation="horizontal", ticks=mpl.ticker.MaxNLocator(2))
    bar.tick_params(labelsize=9.5, length=2)
    _say(figure, GAP, 0.66, "its remembered return", fontsize=9.5)
    curve = figure.add_axes(_inches(right, 0.42, ROOM - 0.55, 0.78))
    for each in filmed:
        past = [at for at, _ in each.evaluations if at <= step]
        curve.plot(past, [each.score(at) for at in past], color=COLOURS[each.strategy], linewidth=1.8, clip_on=False)
    curve.set_xlim(0, last.step)
    curve.set_ylim(0, 1)
    curve.set_yticks([0, 1])
    curve.set_xticks([0, last.step or 1], ["0", f"{last.step:,}"])
    curve.tick_params(labelsize=9.5, length=2)
    _say(figure, right, 1.34, "score: goals reached, by step", fontsize=9.5)


def caption(filmed: list[Filmed], plane: Plane) -> str:
    """What was filmed, what each memory holds in the end, and which agents find the goal."""
    last = filmed[0].traced.last
    parts = []
    for each in filmed:
        places = np.concatenate([plane.place(table) for table in each.traced.last.tables])
        squares = len(set(map(tuple, places.round().astype(int).tolist())))
        middle = float(np.median(each.traced.last.values))
        parts.append(f"{strategy_label(each.strategy)} ({each.rule}) in {squares} squares, with {middle:.2f}")
    there = [strategy_label(each.strategy) for each in filmed if each.score(last.step or 0) >= FOUND]
    others = [name for each in filmed if (name := strategy_label(each.strategy)) not in there]
    found = [
        *([f"{listed(there)} {'finds' if len(there) == 1 else 'find'} the goal"] if there else []),
        *([f"{listed(others)} {'does' if len(others) == 1 else 'do'} not find it"] if others else []),
    ]
    return (
        f"Four memories of {last.capacity} entries per action while their agents learn to cross a room from S to G. "
        f"{'; '.join(found)}. After {last.step:,} steps they hold entries, with a median remembered return: "
        f"{'; '.join(parts)}. An arrow is an entry, faint if not written lately. MFEC in OpenRoom, one run each (n = "
        "1): an illustration."
    )


def _inches(left: float, bottom: float, width: float, height: float) -> tuple[float, float, float, float]:
    return left / WIDTH, bottom / HEIGHT, width / WIDTH, height / HEIGHT


def _say(figure: Figure, left: float, bottom: float, text: str, **how: Any) -> None:
    figure.text(left / WIDTH, bottom / HEIGHT, text, **{"color": INK, **how})


if __name__ == "__main__":
    main()
