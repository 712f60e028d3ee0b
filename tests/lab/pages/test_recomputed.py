"""Every number of the committed studies' figures and tables, computed again from their evaluations.

Nothing here is shared with the report: polars reads the evaluations, and loops do the rest.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import exp, log, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from scipy.stats import t

from engram.lab.pages import figures
from engram.lab.pages.page import Block, Drawing, Entry, Folded, Section, Table, Text
from engram.lab.reports import find_report
from engram.paper.registry import STUDIES
from engram.pictures.marks import read_mark

RESULTS = Path(__file__).parents[3] / "results"
OWN = ("atari100k", "ideas")  # whose pages have other tables; tests/paper computes them again
FOLDERS = sorted(path.parent.name for path in RESULTS.glob("*/evaluations.parquet") if path.parent.name not in OWN)
QUICK = ("choosing", "openroom")
LABELS = {"lru": "LRU", "rew": "REW", "sur": "SUR", "kmeans": "kM", "dkm": "DkM", "fading": "Fading"}
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")
AGENTS = {"mfec": "MFEC", "nec": "NEC", "d3qn": "D3QN"}
Key = tuple[str, str, str | None, int | None]  # environment, agent, strategy, entries per action: as pages name them


def label(name: str) -> str:
    kind, _, options = name.partition(":")
    told = ", ".join(each.replace("=", " ") for each in options.split(",") if each)
    return f"{LABELS[kind]} ({told})" if told else LABELS[kind]


def short(env: str) -> str:
    return env.rpartition("/")[2].rpartition("-")[0]


@dataclass
class Computed:
    """The runs of a study, from its table of evaluations."""

    table: pl.DataFrame
    steps: dict[Key, list[np.ndarray]] = field(default_factory=dict)
    returns: dict[Key, list[np.ndarray]] = field(default_factory=dict)
    scores: dict[Key, list[float]] = field(default_factory=dict)
    training: dict[Key, list[float]] = field(default_factory=dict)
    full: dict[tuple[str, str, int], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for _, run in self.table.sort("seed", "step").group_by("run", maintain_order=True):
            first = run.row(0, named=True)
            name = None if first["strategy"] is None else label(first["strategy"])
            key = (short(first["env"]), AGENTS[first["agent"]], name, first["capacity"])
            returns = run["return"].to_numpy()
            self.steps.setdefault(key, []).append(run["step"].to_numpy())
            self.returns.setdefault(key, []).append(returns)
            self.scores.setdefault(key, []).append(sum(returns[-10:]) / len(returns[-10:]))
            total, episodes = 0.0, 0
            for each in run.tail(10).iter_rows(named=True):
                total += each["training_episodes"] * (each["training_return"] or 0.0)
                episodes += each["training_episodes"]
            if episodes:
                self.training.setdefault(key, []).append(total / episodes)
            if key[3] is not None:
                place = (key[0], key[1], key[3])
                self.full[place] = self.full.get(place, False) or bool(first["filled"])

    @cached_property
    def envs(self) -> list[str]:
        return list(dict.fromkeys(key[0] for key in self.scores))

    def sizes(self, env: str, agent: str) -> list[int]:
        return sorted({key[3] for key in self.scores if key[:2] == (env, agent) and key[3] is not None})

    def filled(self, env: str, agent: str) -> list[int]:
        return [size for size in self.sizes(env, agent) if self.full[env, agent, size]]

    def strategies(self, env: str, agent: str) -> list[str]:
        return list(dict.fromkeys(key[2] for key in self.scores if key[:2] == (env, agent) and key[2] is not None))


def computed(name: str) -> Computed:
    table = pl.read_parquet(RESULTS / name / "evaluations.parquet")
    places = json.loads((RESULTS / name / "study.json").read_text())["runs"]
    plain = [run for run, place in places.items() if not place.get("variant")]
    return Computed(table.filter(pl.col("run").is_in(plain)))


@dataclass
class Shown:
    """What a report draws and writes."""

    content: Sequence[Block]
    drawn: Mapping[str, Figure]
    captions: Mapping[str, str]

    def tables(self) -> Iterator[Table]:
        yield from _tables(self.content)


def _tables(blocks: Sequence[Block]) -> Iterator[Table]:
    for block in blocks:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Section | Folded):
            yield from _tables(block.blocks)


@pytest.fixture(
    scope="module", params=[name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FOLDERS]
)
def study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Computed, Shown]]:
    name = request.param
    drawn: dict[str, Figure] = {}
    captions: dict[str, str] = {}

    def keep(figure: Figure, out: Path, stem: str, caption: str, alt: str = "", *, across: int = 0) -> Drawing:
        drawn[stem], captions[stem] = figure, caption
        return Drawing(["<svg></svg>"], caption, f"{stem}.png", alt)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "write_figure", keep)
        report = find_report(RESULTS / name, tmp_path_factory.mktemp(name), STUDIES)
        content = report.content()  # type: ignore[attr-defined]
        yield computed(name), Shown(content, drawn, captions)


def series(artist: Any) -> str:
    """The name that a figure gives to a line or an area."""
    found = read_mark(artist.get_gid() or "")
    return "" if found is None else found.series


def points(line: Any) -> tuple[np.ndarray, np.ndarray]:
    """The coordinates of a line's points."""
    across, up = (np.asarray(each, float) for each in line.get_data())
    return across, up


def place_of(title: str, ours: Computed) -> tuple[str, str, str]:
    """The environment, the agent and the rest of a panel's title."""
    for env in ours.envs:
        if title.startswith(f"{env}, "):
            agent, _, rest = title.removeprefix(f"{env}, ").partition(", ")
            return env, agent, rest
    agent, _, rest = title.partition(", ")
    return ours.envs[0], agent, rest


def seeds(text: str) -> tuple[int, int]:
    found = re.search(r"n = (\d+)(?: to (\d+))?", text)
    assert found is not None, text
    return int(found[1]), int(found[2] or found[1])


def student(values: Sequence[float]) -> tuple[float, float]:
    n = len(values)
    mean = sum(values) / n
    spread = sqrt(sum((each - mean) ** 2 for each in values) / (n - 1))
    half = float(t.ppf(0.975, n - 1)) * spread / sqrt(n)
    return mean - half, mean + half


def middle(values: Sequence[float]) -> float:
    """Interquartile mean."""
    ordered = sorted(values)
    cut = len(ordered) // 4
    kept = ordered[cut : len(ordered) - cut]
    return sum(kept) / len(kept)


def above(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> float:
    """How often a score beats another of the same size; ties count half."""
    shares = []
    for a, b in zip(ours, theirs, strict=True):
        wins = sum((x > y) + (x == y) / 2 for x in a for y in b)
        shares.append(wins / (len(a) * len(b)))
    return sum(shares) / len(shares)


def needed(scores: Mapping[int, float], level: float) -> float:
    """The smallest memory that reaches a level, between the sizes on a straight line over the logarithm."""
    sizes = sorted(scores)
    if level <= scores[sizes[0]]:
        return sizes[0]
    for low, high in pairwise(sizes):
        if scores[high] >= level:
            part = (level - scores[low]) / (scores[high] - scores[low])
            return exp(log(low) + part * (log(high) - log(low)))
    raise AssertionError(f"{level} is not reached")


def test_scores_by_size(study: tuple[Computed, Shown]) -> None:
    ours, shown = study
    for name in ("score-by-size", "score-by-size-all"):
        if name not in shown.drawn:
            continue
        for axes in shown.drawn[name].axes:
            env, agent, rest = place_of(axes.get_title(loc="left"), ours)
            sizes = ours.sizes(env, agent)
            counts = {len(each) for key, each in ours.scores.items() if key[:2] == (env, agent)}
            assert seeds(rest) == (min(counts), max(counts))
            lines = {series(line): points(line)[1] for line in axes.lines if series(line)}
            assert lines
            for strategy, means in lines.items():
                values = [ours.scores[env, agent, strategy, size] for size in sizes]
                np.testing.assert_allclose(means, [sum(each) / len(each) for each in values])
            bars: dict[str, Any] = {series(each): each for each in axes.collections if series(each)}
            for strategy in lines:
                values = [each for size in sizes if len(each := ours.scores[env, agent, strategy, size]) >= 3]
                if not values:
                    assert strategy not in bars
                    continue
                ends = [(low, high) for (_, low), (_, high) in bars[strategy].get_segments()]
                np.testing.assert_allclose(ends, [student(each) for each in values], atol=1e-9)


def test_memory_needed(study: tuple[Computed, Shown]) -> None:
    ours, shown = study
    for name in ("memory-needed", "memory-needed-all"):
        if name not in shown.drawn:
            continue
        for axes in shown.drawn[name].axes:
            env, agent, _ = place_of(axes.get_title(loc="left"), ours)
            for line in axes.lines:
                means = {
                    size: float(np.mean(ours.scores[env, agent, series(line), size])) for size in ours.sizes(env, agent)
                }
                levels, sizes = points(line)
                assert levels[-1] == pytest.approx(max(means.values()))
                for level in np.linspace(levels[0], levels[-1], 23):  # also between the corners
                    drawn = exp(np.interp(level, levels, np.log(sizes)))
                    assert drawn == pytest.approx(needed(means, min(float(level), levels[-1])), rel=1e-6)


def test_curves(study: tuple[Computed, Shown]) -> None:
    ours, shown = study
    for name, figure in shown.drawn.items():
        if "curves" not in name or re.search(r"curves-\w+-\d+$", name):
            continue
        agent = ""
        for axes in figure.axes:
            agent = (axes.get_ylabel() or f", {agent}").rpartition(", ")[2]
            title = axes.get_title(loc="left")
            found = re.match(r"([\d,]+) (?:entries|to|and)", title)
            env = next((each for each in ours.envs if title.startswith(f"{each}, ")), None)
            if found is None and env is None:
                continue
            if env is None:
                env = next((each for each in ours.envs if name.startswith(f"{each.lower()}-")), ours.envs[0])
            size = int(found[1].replace(",", "")) if found else ours.sizes(env, agent)[0]
            bands = {series(each): each for each in axes.collections}
            for line in axes.lines:
                strategy = series(line)
                if not strategy:  # the curve of any strategy
                    same = [ours.returns[env, agent, each, size] for each in ours.strategies(env, agent)]
                    for other in same[1:]:
                        np.testing.assert_array_equal(other, same[0])
                    strategy = ours.strategies(env, agent)[0]
                key = (env, strategy, None, None) if strategy == "D3QN" else (env, agent, strategy, size)
                runs = ours.returns[key]
                length = min(map(len, runs))
                np.testing.assert_allclose(points(line)[1], [np.mean([run[i] for run in runs]) for i in range(length)])
                np.testing.assert_array_equal(points(line)[0], ours.steps[key][0][:length])
                if len(runs) < 3:
                    assert series(line) not in bands
                    continue
                corners = np.asarray(bands[series(line)].get_paths()[0].vertices, float)
                for i in range(0, length, 7):
                    step = ours.steps[key][0][i]
                    here = corners[corners[:, 0] == step, 1]
                    np.testing.assert_allclose([here.min(), here.max()], student([run[i] for run in runs]), atol=1e-7)


def test_the_finding(study: tuple[Computed, Shown]) -> None:
    ours, shown = study
    if "finding" not in shown.drawn:
        return
    axes = [each for each in shown.drawn["finding"].axes if each.get_visible()]
    compared = any(each.get_title(loc="left") == "beaten by the highest" for each in axes)
    robust: dict[str, list[bool]] = {}
    measures: dict[str, set[str]] = {}
    for number, left in enumerate(axes[:: 1 + compared]):
        right = axes[2 * number + 1] if compared else None
        env, agent, rest = place_of(left.get_title(loc="left"), ours)
        sizes = ours.filled(env, agent)
        of = {name: [ours.scores[env, agent, name, size] for size in sizes] for name in ours.strategies(env, agent)}
        first = left.get_yticklabels()[0].get_text()
        assert compared == any(len(each) >= 3 for values in of.values() for each in values)
        means = {name: sum(sum(each) / len(each) for each in values) / len(sizes) for name, values in of.items()}
        assert means[first] == max(means.values())
        counts = {len(each) for values in of.values() for each in values}
        assert seeds(rest) == (min(counts), max(counts))
        rows = [text.get_text() for text in left.get_yticklabels()]
        middles = {name: middle([x for each in values for x in each]) for name, values in of.items()}
        shares = all(0 <= x <= 1 for values in of.values() for each in values for x in each)
        robust.setdefault(env, []).append(not shares and max(middles.values()) > min(middles.values()))
        measure = left.texts[0].get_text()
        measures.setdefault(env, set()).add(measure)
        by_middles = measure == "Interquartile mean"
        sides = [(left, {name: (middles if by_middles else means)[name] for name in rows})]
        if right is not None:
            below = {name: above(of[first], of[name]) for name in rows if name != first and min(counts) >= 3}
            sides.append((right, below))
        for axes_, expected in sides:
            dots = {series(line): line for line in axes_.lines if series(line) and line.get_marker() == "o"}
            bars = {series(line): line for line in axes_.lines if series(line) and line.get_marker() != "o"}
            assert set(dots) == set(expected)
            assert set(bars) == (set(expected) if min(counts) >= 3 else set())
            for name, value in expected.items():
                assert points(dots[name])[0][0] == pytest.approx(value)
                assert points(dots[name])[1][0] == rows.index(name)
            for name, bar in bars.items():
                low, high = points(bar)[0]
                assert low <= expected[name] + 1e-9
                assert high >= expected[name] - 1e-9
    assert measures == {env: {"Interquartile mean" if any(differ) else "Mean"} for env, differ in robust.items()}


NUMBER = r"[−-]?\d[\d,]*(?:\.\d+)?"


def numbers(text: str) -> list[float]:
    return [float(each.replace("−", "-").replace(",", "")) for each in re.findall(NUMBER, text)]


def texts(row: Sequence[str | Entry]) -> list[str]:
    return [cell.text if isinstance(cell, Entry) else cell for cell in row]


def agrees(text: str, values: Sequence[float]) -> None:
    """Whether a text is mean ± deviation of some values, rounded as it is."""
    mean, *rest = numbers(text)
    digits = len(re.findall(NUMBER, text)[0].partition(".")[2])
    assert mean == pytest.approx(np.mean(values), abs=0.5000001 * 10**-digits)
    if len(values) > 1:
        assert rest[0] == pytest.approx(np.std(values, ddof=1), abs=0.5000001 * 10**-digits)
    else:
        assert rest == []


class Written(NamedTuple):
    """A cell of a table of scores: of which cell of the study it is, and what it says."""

    key: Key
    text: str
    row: Sequence[str | Entry]
    group: str  # what stands above its row and others
    bold: bool


def cells(table: Table, ours: Computed) -> Iterator[Written]:
    """The cells of a table with a row for each size, or for each environment."""
    place = re.match(r"(?:(\w+), )?(\w+)(?::| after|,)", table.caption)
    assert place is not None, table.caption
    by_env, by_size = table.header[0] == "environment", "entries per action" in table.header
    group = ""
    for number, row in enumerate(table.rows):
        group = table.groups.get(number, group)
        heads = texts(row)[: by_env + by_size]
        env = heads[0] if by_env else group.partition(",")[0] or place[1] or ours.envs[0]
        for name, cell in zip(table.header[len(heads) :], row[len(heads) :], strict=True):
            text, bold = (cell.text, cell.bold) if isinstance(cell, Entry) else (cell, False)
            if text in ("–", "missing"):
                continue
            size = 0 if heads[-1] == "all that filled" else int(heads[-1].replace(",", "")) if by_size else None
            yield Written((env, place[2], name if by_size else None, size), text, row, group, bold)


def about(shown: Shown, words: str) -> list[Table]:
    return [
        table for table in shown.tables() if re.search(words, table.caption) and "entries per action" in table.header
    ]


def digits(text: str) -> float:
    """How far a number may be from the one that was rounded to it."""
    return 0.5000001 * 10.0 ** -len(re.findall(NUMBER, text)[0].partition(".")[2])


def test_tables_of_scores(study: tuple[Computed, Shown]) -> None:
    ours, shown = study
    tables = [table for table in shown.tables() if re.match(r"\w+ after |\w+, n = ", table.caption)]
    written = [(table, cell) for table in tables for cell in cells(table, ours)]
    for table, cell in written:
        values = ours.scores[cell.key]
        agrees(cell.text, values)
        below = [line for each in cell.row if isinstance(each, Entry) for line in each.below]
        low, high = seeds(" ".join([table.caption, cell.group, *below]))
        assert low <= len(values) <= high
        assert not cell.bold or len(values) >= 3
    if "entries per action, after" not in str([table.caption for table in shown.tables()]):  # a page of its own
        assert {cell.key for _, cell in written} == set(ours.scores)


@pytest.mark.parametrize("kind", ["interquartile mean", "mean"])
def test_tables_of_intervals(study: tuple[Computed, Shown], kind: str) -> None:
    ours, shown = study
    for table in about(shown, rf": {kind}(,| \[)"):
        for cell in cells(table, ours):
            env, agent, name, size = cell.key
            sizes = [size] if size else ours.filled(env, agent)
            values = [ours.scores[env, agent, name, each] for each in sizes]
            every = [score for each in values for score in each]
            pooled = middle(every) if kind == "interquartile mean" else np.mean([np.mean(each) for each in values])
            assert numbers(cell.text)[0] == pytest.approx(pooled, abs=digits(cell.text))
            assert ("[" in cell.text) == (min(map(len, values)) >= 3)


def test_tables_of_training(study: tuple[Computed, Shown]) -> None:
    ours, shown = study
    for table in about(shown, "training episodes"):
        for cell in cells(table, ours):
            agrees(cell.text, ours.training[cell.key])


def test_tables_of_comparisons(study: tuple[Computed, Shown]) -> None:
    ours, shown = study
    for table in [table for table in shown.tables() if "probability that a run" in table.caption]:
        place = re.match(r"(?:(\w+), )?(\w+):", table.caption)
        assert place is not None
        env, agent = place[1] or ours.envs[0], place[2]
        columns = [name.removeprefix("> ") for name in table.header[1:]]
        for row in table.rows:
            name, *found = texts(row)
            for other, text in zip(columns, found, strict=True):
                if other == name:
                    continue
                both = [
                    [ours.scores[env, agent, each, size] for size in ours.filled(env, agent)] for each in (name, other)
                ]
                assert numbers(text)[0] == pytest.approx(above(*both), abs=0.005001)
                assert ("[" in text) == (seeds(table.caption)[0] >= 3)


def test_every_caption_says_n(study: tuple[Computed, Shown]) -> None:
    _, shown = study
    for name, figure in shown.drawn.items():
        said = shown.captions[name] + " ".join(axes.get_title(loc="left") for axes in figure.axes)
        assert re.search(r"\bn = \d", said), name


def test_what_captions_say(study: tuple[Computed, Shown]) -> None:
    """Falls during training, and the memory that a score needs."""
    ours, shown = study
    for name, caption in shown.captions.items():
        env = next((each for each in ours.envs if name.startswith(f"{each.lower()}-")), ours.envs[0])
        single = re.search(r"curves-\w+-(\d+)$", name)  # a figure of one size
        times = r"from steps ([\d,]+)–([\d,]+) to ([\d,]+)–([\d,]+)"
        fell = re.findall(rf"with (\w+), {times}, (.*?) \((?:mean over|\d+ runs)", caption)
        assert bool(fell) == ("Returns fall" in caption)
        for agent, start, middle_, late, last, changes in fell:
            windows = [tuple(int(each.replace(",", "")) for each in pair) for pair in ((start, middle_), (late, last))]
            found = re.findall(rf"(\w[\w., ()]*?) from ({NUMBER}) to ({NUMBER})", changes)
            assert found
            for strategy, *values in found:
                label_ = strategy.removeprefix("and ").strip(", ")
                for (low, high), value in zip(windows, values, strict=True):
                    runs = [
                        run[(steps >= low) & (steps <= high)].mean()
                        for size in ([int(single[1])] if single else ours.filled(env, agent))
                        for steps, run in zip(
                            ours.steps[env, agent, label_, size], ours.returns[env, agent, label_, size], strict=True
                        )
                    ]
                    assert numbers(value)[0] == pytest.approx(np.mean(runs), abs=digits(value))
    for where, level, first, most, rest in re.findall(
        rf"((?:\w+, )?\w+): for the ({NUMBER}) that (\w+) reaches with ([\d,]+) entries, (.*?) are enough",
        shown.captions.get("memory-needed", ""),
    ):
        env, agent, _ = place_of(where, ours)
        means = {
            name: {size: float(np.mean(ours.scores[env, agent, name, size])) for size in ours.filled(env, agent)}
            for name in ours.strategies(env, agent)
        }
        best = max(means[first].values())
        assert numbers(level)[0] == pytest.approx(best, abs=digits(level))
        assert means[first][int(most.replace(",", ""))] == best
        for name, size in re.findall(r"(\w+) ([\d,]+)", rest):
            assert 0 <= int(size.replace(",", "")) - needed(means[name], best) + 1e-6 < 1 + 1e-6


def test_what_the_finding_says(study: tuple[Computed, Shown]) -> None:
    """How far the highest lies above the next, and at how many sizes."""
    ours, shown = study
    for text in (block.text for block in shown.content if isinstance(block, Text)):
        said = re.match(rf"((?:\w+, )?\w+): (.+?) lies ({NUMBER}) above (.+?), the next", text)
        if said is None:
            assert " lies " not in text
            continue
        env, agent, _ = place_of(said[1], ours)
        sizes = ours.filled(env, agent)
        pairs = [[float(np.mean(ours.scores[env, agent, name, size])) for size in sizes] for name in (said[2], said[4])]
        assert numbers(said[3])[0] == pytest.approx(np.mean(pairs[0]) - np.mean(pairs[1]), abs=digits(said[3]))
        higher = sum(a > b for a, b in zip(*pairs, strict=True))
        assert text.endswith(f"at {WORDS[higher]} of {WORDS[len(sizes)]}.") == (len(sizes) > 1)


def test_variants_beside_what_they_vary() -> None:
    """The table of the study of neighbours, cell by cell."""
    table = pl.read_parquet(RESULTS / "choosing" / "evaluations.parquet")
    report = find_report(RESULTS / "choosing", RESULTS / "choosing", STUDIES)
    written = next(_tables(report.content()))  # type: ignore[attr-defined]
    assert len(written.rows) == 24
    for where, variant, score, n, plain, m, gap in map(texts, written.rows):
        env, _, strategy, size = where.split(", ")
        found = []
        for name in (variant, ""):
            here = table.filter(pl.col("variant") == name, pl.col("capacity") == int(size)).filter(
                pl.col("env").str.contains(env), pl.col("strategy") == {"LRU": "lru", "Fading": "fading"}[strategy]
            )
            runs = [run.sort("step")["return"].to_list()[-10:] for _, run in here.group_by("run")]
            found.append([sum(run) / len(run) for run in runs])
        agrees(score, found[0])
        agrees(plain, found[1])
        assert (int(n), int(m)) == tuple(map(len, found))
        assert numbers(gap)[0] == pytest.approx(np.mean(found[0]) - np.mean(found[1]), abs=digits(gap))
