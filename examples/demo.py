"""Four ways to forget, side by side: MFEC balances CartPole with a memory of 50 states per action.

Trains every strategy from a few seeds on all cores, prints what came out, and writes a page with the learning
curves. Run again, it takes the finished runs as they are and makes the report anew.
"""

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.markup import escape

from engram import checks
from engram.agents.mfec import MFEC, MFECConfig
from engram.errors import EngramError, Interrupted
from engram.files.disk import write_atomically
from engram.lab.cell import strategy_name
from engram.lab.labels import strategy_label
from engram.lab.pages import page
from engram.lab.pages.curves import BAND, Curve, learning_curves
from engram.lab.pages.style import looks
from engram.lab.runner import run_all
from engram.lab.scores import Scores, in_words
from engram.lab.watch import Watch
from engram.pictures.canvas import save
from engram.runs.finished import LAST_EVALUATIONS
from engram.runs.folder import RunFolder
from engram.runs.run import Run

ENV = "CartPole-v1"
STRATEGIES = ("lru", "kmeans", "dkm", "fading")
BEST_RETURN = 500  # of CartPole-v1, which ends an episode after 500 steps
EVALUATION_INTERVAL_STEPS = 500
HEADER = ("strategy", "score", "lowest", "highest")


@dataclass(frozen=True)
class Demo:
    """Compare four storage strategies of MFEC on CartPole at a small memory."""

    out: Path = Path("runs/demo")  # folder of the runs and the report
    seeds: int = 5  # runs of each strategy, with the seeds 0, 1, …
    steps: int = 15_000  # of training in each run
    capacity: int = 50  # entries per action
    jobs: int = os.cpu_count() or 1  # runs at a time

    def __post_init__(self) -> None:
        checks.at_least("seeds", self.seeds, 1)
        checks.at_least("steps", self.steps, EVALUATION_INTERVAL_STEPS)

    def runs(self) -> dict[str, list[Run]]:
        """The runs of each strategy, by its label, in order of their seeds."""
        runs: dict[str, list[Run]] = {}
        for seed in range(self.seeds):
            for strategy in STRATEGIES:
                settings = MFECConfig(strategy=strategy, capacity=self.capacity, seed=seed)
                run = Run(MFEC, ENV, settings, self.steps, EVALUATION_INTERVAL_STEPS)
                runs.setdefault(strategy_label(strategy_of(run)), []).append(run)
        return runs

    def command(self) -> str:
        """What to type to get the same again."""
        options = ("out", "seeds", "steps", "capacity")
        words = [word for name in options for word in (f"--{name}", str(getattr(self, name)))]
        return shlex.join(["python", "examples/demo.py", *words])


def strategy_of(run: Run) -> str:
    """The name of a run's strategy."""
    return strategy_name(run.settings.to_json()["strategy"])


def row(scores: Scores) -> tuple[str, ...]:
    """A strategy's line of the table."""
    return scores.label, str(scores), f"{min(scores.values):.1f}", f"{max(scores.values):.1f}"


def how_it_was_made(demo: Demo, runs: Sequence[Run]) -> page.Facts:
    """The protocol, and the versions and machines that the runs' own files name."""
    metas = [json.loads((demo.out / run.id / "meta.json").read_text()) for run in runs]
    versions = {f"{name} {number}" for meta in metas for name, number in meta["versions"].items()}
    pythons = {f"Python {meta['python']}" for meta in metas}
    facts = {
        "Environment": ENV,
        "Agent": f"MFEC, {demo.capacity} entries per action; the rest: Agostinelli et al. (2019), Table 4",
        "Seeds": ", ".join(map(str, range(demo.seeds))),
        "Training": f"{demo.steps:,} steps per run, {len(runs)} runs",
        "Evaluation": f"{runs[0].evaluation_episodes} greedy episodes every {EVALUATION_INTERVAL_STEPS} steps",
        "Time": f"{sum(meta['seconds'] for meta in metas):.0f} s, summed over the runs",
        "Versions": ", ".join(sorted(versions) + sorted(pythons)),
        "Machine": ", ".join(sorted({meta["platform"] for meta in metas})),
    }
    return page.Facts({name: [text] for name, text in facts.items()}, [demo.command()])


def write_report(demo: Demo, runs: Mapping[str, Sequence[Run]], scores: Sequence[Scores]) -> Path:
    """Draw the curves and write the page; return its path."""
    look = looks(strategy_of(group[0]) for group in runs.values())
    curves = [Curve.read(name, [demo.out / run.id for run in group]) for name, group in runs.items()]
    episodes = next(iter(runs.values()))[0].evaluation_episodes
    figure = learning_curves(curves, look, y_label=f"Return (mean of {episodes} greedy episodes)")
    svg = save(figure, demo.out / "learning_curves").svg.read_text()
    caption = f"Return of evaluations during training; {BEST_RETURN} is the most that an episode can give. "
    lines = f"Lines: mean over {demo.seeds} seeds; bands: {BAND}." if demo.seeds > 1 else "One seed each."
    summary = page.Table(
        HEADER,
        [row(each) for each in scores],
        colours=[look[each.label].colour for each in scores],
        note=f"A run's score is the mean return of its last {LAST_EVALUATIONS} evaluations. "
        "Score: mean ± standard deviation (ddof 1) over seeds; lowest and highest: of a seed.",
    )
    by_seed = page.Table(
        ("seed", *(each.label for each in scores)),
        [(str(seed), *(f"{each.values[seed]:.1f}" for each in scores)) for seed in range(demo.seeds)],
    )
    written = page.Page(
        f"MFEC on CartPole with {demo.capacity} states per action: four ways to forget",
        [
            page.Text(" ".join(in_words(scores))),
            page.Drawing([svg], caption + lines),
            page.Section("Scores", [summary]),
            page.Section("Scores by seed", [by_seed]),
            page.Section("How it was made", [how_it_was_made(demo, [run for group in runs.values() for run in group])]),
        ],
    )
    path = demo.out / "index.html"
    write_atomically(path, written.html().encode())
    return path


def show(demo: Demo, runs: Mapping[str, Sequence[Run]], scores: Sequence[Scores], console: Console) -> None:
    """Print what the scores say, and what to do next."""
    console.print(f"score: mean return of a run's last {LAST_EVALUATIONS} evaluations", style="dim")
    console.print("\n" + "\n".join(in_words(scores)))
    best = max(scores, key=lambda each: each.mean)
    run = runs[best.label][best.values.index(max(best.values))]
    folder = RunFolder(demo.out / run.id)
    size = folder.model_file.stat().st_size / 1000
    console.print(f"The model of {best.label}, seed {run.settings.seed}, is a file of {size:.1f} kB.")
    program = os.path.relpath(Path(sys.executable).with_name("engram"))
    console.print("\nWhat to try next:", style="bold")
    for what, how in (
        ("evaluate the best run", f"{program} eval {folder.path}"),
        ("train another strategy", f"{program} train mfec --strategy sur --capacity {demo.capacity}"),
        ("read how they forget", "docs/strategies.md"),
        ("see the learning curves", f"open {demo.out / 'index.html'} in a browser"),
    ):
        console.print(f"  {what:26}{how}", soft_wrap=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, report and print; return the exit code."""
    console = Console(highlight=False)
    try:
        demo = tyro.cli(Demo, prog="demo.py", args=arguments)
        runs = demo.runs()
        every = [run for group in runs.values() for run in group]
        console.print(
            f"[bold]MFEC on {ENV}[/bold], {demo.capacity} entries per action: {len(every)} runs of {demo.steps:,} steps"
        )
        with Watch(every, console) as watch:
            results = run_all(every, demo.out, jobs=demo.jobs, callback=watch)
        scores = [Scores(name, tuple(results[run.id]["score"] for run in group)) for name, group in runs.items()]
        write_report(demo, runs, scores)
        show(demo, runs, scores, console)
    except Interrupted as stopped:
        console.print(escape(str(stopped)))
        return 128 + stopped.signal
    except EngramError as error:
        Console(stderr=True, highlight=False).print(f"[bold red]error:[/bold red] {escape(str(error))}", soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        console.print("interrupted; finished runs are kept, and the same command goes on from there")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
