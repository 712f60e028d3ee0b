"""What four memories hold while their agents learn to cross a room: a film, made of runs with a trace.

Trains MFEC in OpenRoom with each of four strategies, or takes the finished runs as they are, and writes
`docs/memory.gif`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console

from engram.agents.mfec import MFEC, MFECConfig
from engram.errors import RunFolderError
from engram.lab.labels import strategy_label
from engram.lab.pages.style import COLOURS
from engram.pictures.canvas import STYLE, Figure, mpl, png_of
from engram.pictures.colours import INK, SOFT, VALUES
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
WIDTH, HEIGHT = 8.0, 6.6  # inches
DPI = 100
FPS = 8


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
    count = write_video(options.out, frames(filmed, scene, plane), fps=FPS)
    console.print(f"{options.out}: {count} pictures, {options.out.stat().st_size / 1e6:.1f} MB")


def frames(filmed: list[Filmed], scene: Scene, plane: Plane) -> Iterator[Array]:
    """A frame for each snapshot; the last one stays for two seconds."""
    scales = scales_of([snapshot for each in filmed for snapshot in each.traced.snapshots], plane)
    count = len(filmed[0].traced.snapshots)
    for number in range(count):
        pixels = as_pixels(png_of(frame(filmed, number, scene, plane, scales), dpi=DPI))
        for _ in range(1 if number < count - 1 else 2 * FPS):
            yield pixels


def frame(filmed: list[Filmed], number: int, scene: Scene, plane: Plane, scales: Scales) -> Figure:
    """Two rows of two rooms, and on the right what is to be seen."""
    step, plan = filmed[0].traced.snapshots[number].step or 0, scene.plan or ()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, HEIGHT))
        for place, each in enumerate(filmed):
            left, bottom = 0.015 + 0.375 * (place % 2), 0.505 - 0.49 * (place // 2)
            axes = figure.add_axes((left, bottom, 0.36, 0.36 * WIDTH / HEIGHT))
            draw_arrows(axes, plan, each.traced.snapshots[number], plane, scales, size=28)
            colour, top = COLOURS[each.strategy], bottom + 0.36 * WIDTH / HEIGHT + 0.014
            figure.text(left + 0.01, top, strategy_label(each.strategy), weight="bold", fontsize=11, color=colour)
            figure.text(left + 0.07, top, each.rule, fontsize=8, color=INK)
            score = f"score {each.score(step):.1f}"
            figure.text(left + 0.35, top, score, fontsize=10, weight="bold", ha="right", color=colour)
        _explain(figure, filmed, step, scales)
    return figure


def _explain(figure: Figure, filmed: list[Filmed], step: int, scales: Scales) -> None:
    """The column on the right: step, scores over time, and what colours mean."""
    last, left = filmed[0].traced.last, 0.775
    figure.text(left, 0.935, f"step {step:,}", fontsize=15, weight="bold", color=INK)
    curve = figure.add_axes((left + 0.025, 0.53, 0.165, 0.22))
    for each in filmed:
        past = [at for at, _ in each.evaluations if at <= step]
        curve.plot(past, [each.score(at) for at in past], color=COLOURS[each.strategy], linewidth=1.6, clip_on=False)
    curve.set_xlim(0, last.step)
    curve.set_ylim(0, 1)
    curve.set_yticks([0, 0.5, 1])
    curve.set_xticks([0, last.step or 1], ["0", f"{last.step:,}"])
    curve.set_xlabel("training steps", fontsize=8, labelpad=-6)
    curve.tick_params(labelsize=8, length=2)
    bar = figure.add_axes((left + 0.005, 0.2, 0.19, 0.022))
    mapped = mpl.cm.ScalarMappable(mpl.colors.Normalize(*scales.values), VALUES)
    figure.colorbar(mapped, cax=bar, orientation="horizontal")
    bar.tick_params(labelsize=8, length=2)
    words = {
        0.895: f"MFEC, {last.capacity} entries per action",
        0.775: "score: share of goals in\nthe last ten evaluations",
        0.33: "Each arrow is an entry:\na state, an action and\nthe return that followed.",
        0.24: "remembered return",
        0.1: "Faint: not written lately.\nS start   G goal",
    }
    for height, text in words.items():
        figure.text(left, height, text, fontsize=8.5, color=INK if height > 0.2 else SOFT, linespacing=1.35)


if __name__ == "__main__":
    main()
