"""The page of one run or of several: their curves, settings, metrics and memories, and what to do with them."""

import json
import os
import shlex
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from engram.agents import BUILT_IN, find_agent, label_of
from engram.agents.common.load import load
from engram.errors import EngramError
from engram.files.disk import read_file
from engram.files.file_names import as_file_name
from engram.lab.cell import strategy_name
from engram.lab.comparable import comparable
from engram.lab.labels import size_label, strategy_label
from engram.lab.pages import page
from engram.lab.pages.panels import Panels
from engram.lab.pages.report_folder import check_page_folder, write_figure, write_page
from engram.lab.pages.run_figures import returns_caption, returns_figure, run_looks
from engram.lab.pages.run_metrics import metrics_blocks
from engram.lab.pages.wording import evaluations_in_words, score_in_words
from engram.lab.run_record import RunRecord
from engram.pictures.gallery import of_memory
from engram.runs.finished import shown_score
from engram.runs.folder import RunFolder
from engram.runs.run_files import REPORT
from engram.runs.traced import read_trace

LARGEST_FILM = 16 * 2**20  # bytes, which become part of the page
NAME_BYTES = 100  # of the names of runs in that of a folder
FEW = 4  # runs that have a column each in the table of settings


@dataclass(frozen=True)
class RunReport:
    """The page of runs, each of any agent in any environment."""

    runs: Sequence[RunRecord]
    out: Path  # where files are written

    @classmethod
    def read(cls, folders: Sequence[Path], out: Path) -> Self:
        """The page of the runs in these folders; where two have one name, the folders above tell them apart."""
        runs = [RunRecord.read(path) for path in {path.resolve(): path for path in folders}.values()]
        names = telling_names([run.path.resolve() for run in runs])
        return cls([replace(run, name=name) for run, name in zip(runs, names, strict=True)], out)

    @cached_property
    def looks(self) -> dict[str, Any]:
        """How each run is drawn, by name."""
        return run_looks([run.name for run in self.runs])

    def write(self) -> Path:
        """Write the page and its figures; return the page's path. Another page is not replaced."""
        about = " ".join(sorted(os.path.relpath(run.path, self.out) for run in self.runs))
        if about != os.pardir:  # in a run's own folder
            check_page_folder(self.out, about)
        return write_page(page.Page(self.title, self.content(), about), self.out)

    @property
    def title(self) -> str:
        """What was run, and what came of it."""
        if len(self.runs) == 1:
            (run,) = self.runs
            score, glance = run.glance.score, run.glance
            done = f"{glance.taken:,} of {glance.steps:,} steps"
            came = (
                done if glance.state != "finished" else "no score" if score is None else f"score {shown_score(score)}"
            )
            return f"{label_of(glance.config['agent'])} in {glance.config['env']}: {came}"
        agents = dict.fromkeys(label_of(run.glance.config["agent"]) for run in self.runs)
        envs = dict.fromkeys(str(run.glance.config["env"]) for run in self.runs)
        return f"{len(self.runs)} runs: {_listed(agents)} in {_listed(envs)}"

    def content(self) -> list[page.Block]:
        """The page from top to bottom."""
        parts: dict[str, Sequence[page.Block]] = {
            "Learning": self.curves(),
            "Runs": self.table(),
            "Settings": self.settings(),
            **self.metrics(),
            **{title: blocks for run in self.runs for title, blocks in self.memory(run).items()},
            "What to do next": [page.Commands(self.commands())],
            "How it was made": [page.Facts(facts_of(self.runs))],
        }
        sections = [page.Section(title, blocks) for title, blocks in parts.items() if blocks]
        return [*self.warnings(), *(page.Text(text) for text in self.summary()), *sections]

    def warnings(self) -> list[page.Block]:
        """Runs that are not finished."""
        texts = [
            f"{run.name} is {run.glance.state}: {run.glance.taken:,} of {run.glance.steps:,} steps are saved, and its "
            "score is that of its evaluations so far."
            for run in self.runs
            if run.glance.state != "finished"
        ]
        return [page.Warnings(texts)] if texts else []

    def summary(self) -> list[str]:
        """What the runs are, in sentences."""
        counts = [len(run.evaluations.steps) for run in self.runs if len(run.evaluations.steps)]
        score = f"{score_in_words(counts)} " if counts else ""
        said = [f"{score}{evaluations_in_words([run.glance.config for run in self.runs])}".strip()]
        if len(self.runs) > 1:
            return said
        (run,) = self.runs
        sizes = run.result.get("memory_size")
        full = "" if not sizes else f" Its memory holds {' + '.join(f'{size:,}' for size in sizes)} entries."
        seed, taken = (
            run.glance.settings.get("seed"),
            f"{run.glance.taken:,} steps, {len(run.episodes.steps):,} episodes",
        )
        return [f"{described(run)}, seed {seed}, trained for {taken}.{full}", *said]

    def curves(self) -> list[page.Block]:
        """Returns over training."""
        groups = comparable([run for run in self.runs if self._has_curve(run)])
        if not groups:
            return [page.Text("There are no evaluations yet, so there is no curve.")]
        if len(groups) == 1:
            (runs,) = groups.values()
            return [write_figure(returns_figure(runs, self.looks), self.out, "returns", returns_caption(runs))]
        drawings = [
            write_figure(
                returns_figure(runs, self.looks, title=title, size=(5.0, 3.4)),
                self.out,
                f"returns-{number}",
                returns_caption(runs),
            )
            for number, (title, runs) in enumerate(groups.items())
        ]
        return [Panels(drawings, width="28rem")]

    def _has_curve(self, run: RunRecord) -> bool:
        return bool(len(run.evaluations.steps) or (len(self.runs) == 1 and len(run.episodes.steps)))

    def table(self) -> list[page.Block]:
        """The runs side by side where there are several: by environment, in each the best first."""
        if len(self.runs) == 1:
            return []
        envs = list(dict.fromkeys(run.glance.config["env"] for run in self.runs))
        ordered = sorted(
            self.runs,
            key=lambda run: (
                envs.index(run.glance.config["env"]),
                run.glance.score is None,
                -(run.glance.score or 0.0),
            ),
        )
        rows = [
            [
                run.name,
                described(run),
                str(run.glance.config["env"]),
                str(run.glance.settings.get("seed")),
                f"{run.glance.taken:,}",
                "–" if run.glance.score is None else f"{shown_score(run.glance.score)}",
            ]
            for run in ordered
        ]
        colours = [self.looks[run.name].colour for run in ordered]
        header = ["run", "agent", "environment", "seed", "steps", "score"]
        return [page.Table(header, rows, colours=colours, prose=True)]

    def settings(self) -> list[page.Block]:
        """What differs from the agents' defaults, or between the runs; everything else is folded away."""
        every = [{name: _text(name, value) for name, value in run.glance.settings.items()} for run in self.runs]
        names = [name for name in every[0] if all(name in settings for settings in every)]
        if len(self.runs) == 1:
            usual = usual_settings(self.runs[0].glance.config["agent"])
            here = every[0]
            changed = [[name, here[name], usual[name]] for name in names if usual.get(name, here[name]) != here[name]]
            all_of_them = page.Folded("All settings", [page.Facts({name: [here[name]] for name in names})])
            if not changed:
                return [page.Text("Everything is at the agent's defaults."), all_of_them]
            return [page.Table(["setting", "here", "by default"], changed), all_of_them]
        differing = [name for name in names if len({settings[name] for settings in every}) > 1]
        if not differing:
            return [page.Text("In the settings that all of them have the runs do not differ.")]
        note = "Settings in which the runs do not differ, or that not all of them have, are in each run's config.json."
        runs = [run.name for run in self.runs]
        columns = [[settings[name] for name in differing] for settings in every]
        if len(runs) > FEW:
            rows = [[run, *column] for run, column in zip(runs, columns, strict=True)]
            return [page.Table(["run", *differing], rows, note=note, prose=True)]
        by_setting = [[name, *values] for name, *values in zip(differing, *columns, strict=True)]
        return [page.Table(["setting", *runs], by_setting, note=note, prose=True)]

    def metrics(self) -> dict[str, Sequence[page.Block]]:
        """What explains learning, as far as the runs kept it: of those together that can be compared."""
        groups = comparable([run for run in self.runs if run.metrics])
        if len(groups) == 1:
            (runs,) = groups.values()
            return {"Inside": metrics_blocks(runs, self.looks, self.out, "")}
        return {
            f"Inside: {title}": metrics_blocks(runs, self.looks, self.out, f"{number}-")
            for number, (title, runs) in enumerate(groups.items())
        }

    def memory(self, run: RunRecord) -> dict[str, Sequence[page.Block]]:
        """Pictures of what a run's memory holds, and the films that lie beside it."""
        name = "it" if len(self.runs) == 1 else run.name
        pictures = self.pictures(run) if run.glance.state == "finished" and "memory_size" in run.result else []
        films = [_film(path, self.out) for path in run.films]
        return {f"What {name} remembers": pictures, f"How {name} plays": films}

    def pictures(self, run: RunRecord) -> list[page.Block]:
        """Pictures of a memory; of an agent with parts of the user's own, which no file imports, how to draw them."""
        folder = RunFolder(run.path)
        if foreign := folder.foreign():
            return [page.Commands({"pictures of its memory": folder.command("engram inspect", foreign)})]
        agent = load(run.path)
        drawn = of_memory(agent, traced=read_trace(run.path, agent))
        prefix = "" if len(self.runs) == 1 else f"{self.runs.index(run)}-"
        return [
            write_figure(each.figure, self.out, f"{prefix}{each.name}", f"{each.title}. {each.caption}")
            for each in drawn
        ]

    def commands(self) -> dict[str, str]:
        """Commands about the first run, by what they are for."""
        run = self.runs[0]
        folder = RunFolder(run.path)
        foreign, remembers = folder.foreign(), "memory_size" in run.result
        told = {
            "see it play": folder.command("engram eval", foreign) + " --video play.gif",
            **({"see what it remembers": folder.command("engram inspect", foreign)} if remembers else {}),
            "go on to more steps": folder.command("engram train --resume", foreign)
            + f" --steps {2 * run.glance.steps}",
        }
        if run.glance.state != "finished":
            told = {"go on where it stopped": folder.command("engram train --resume", foreign)}
        paths = [each.path for each in self.runs]
        out = [] if self.out == usual_folder(paths) else ["--out", str(self.out)]
        return {**told, "make this page again": shlex.join(["engram", "report", *map(str, paths), *out])}


def usual_folder(runs: Sequence[Path]) -> Path:
    """Where the page of these runs is written if nothing else is said: in the only run, or beside the first."""
    if len(runs) == 1:
        return runs[0] / REPORT
    names = as_file_name("-".join(path.absolute().name for path in runs), NAME_BYTES)
    return runs[0].absolute().parent / f"{REPORT}-{names}"


def telling_names(paths: Sequence[Path]) -> list[str]:
    """The last folders of each path, as many as it takes to tell it from the others."""
    names = []
    for path in paths:
        count = 1
        while any(other.parts[-count:] == path.parts[-count:] for other in paths if other != path):
            count += 1
        names.append(str(Path(*path.parts[-count:])))
    return names


def described(run: RunRecord) -> str:
    """The agent with its memory, in words."""
    settings = run.glance.settings
    strategy, capacity = settings.get("strategy"), settings.get("capacity")
    kept = f" with {strategy_label(strategy_name(strategy))}" if isinstance(strategy, dict) else ""
    size = "" if capacity is None else f"{' and' if kept else ' with'} {size_label(capacity)} entries per action"
    return f"{label_of(run.glance.config['agent'])}{kept}{size}"


def usual_settings(agent: str) -> dict[str, str]:
    """The defaults of a built-in agent as text; of one's own nothing is known without importing it."""
    if agent not in BUILT_IN:
        return {}
    try:
        return {name: _text(name, value) for name, value in find_agent(agent).Config().to_json().items()}
    except EngramError:
        return {}


def facts_of(runs: Sequence[RunRecord]) -> dict[str, list[str]]:
    """When and where the runs were finished, in which versions."""
    facts: dict[str, list[str]] = {"Folder": [str(run.path) for run in runs]}
    for run in runs:
        meta = run.meta
        if isinstance(meta.get("seconds"), int | float):
            whose = "" if len(runs) == 1 else f"{run.name}: "
            facts.setdefault("Time", []).append(f"{whose}{meta['seconds']:,.1f} s, from {meta.get('started')} on")
        if isinstance(meta.get("versions"), dict):
            told = ", ".join(f"{name} {version}" for name, version in meta["versions"].items())
            facts["Versions"] = list(dict.fromkeys([*facts.get("Versions", []), told]))
        if meta.get("platform"):
            facts["Machine"] = list(dict.fromkeys([*facts.get("Machine", []), str(meta["platform"])]))
    return facts


def _film(path: Path, out: Path) -> page.Block:
    """A film as a part of the page; one that is too large is only named."""
    if path.stat().st_size > LARGEST_FILM:
        return page.Text(f"{path} is too large to be shown here.", note=True)
    return page.Film(b64encode(read_file(path)).decode(), path.suffix, os.path.relpath(path, out))


def _text(name: str, value: Any) -> str:
    """A setting as text: a strategy by its label, others as one would type them."""
    if name == "strategy" and isinstance(value, Mapping):
        return strategy_label(strategy_name(value))
    if isinstance(value, Mapping) and isinstance(value.get("name"), str):
        options = ",".join(f"{key}={each}" for key, each in value.items() if key not in ("name", "source"))
        return f"{value['name']}:{options}" if options else str(value["name"])
    if isinstance(value, str):
        return value
    return "none" if value is None else json.dumps(value)


def _listed(names: Mapping[str, Any]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else str(last)
