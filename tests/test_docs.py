"""The documents are true: their code runs, their links lead somewhere, their names and numbers are the code's."""

import ast
import inspect
import json
import re
import runpy
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tools import atari_hours

from engram import EpisodicMemory
from engram.agents import BUILT_IN, find_agent, label_of
from engram.agents.common.config import FAMILIES, AgentConfig
from engram.agents.common.metric_meanings import MEANINGS, meaning_of
from engram.agents.d3qn import D3QNConfig
from engram.agents.mfec import MFECConfig
from engram.agents.nec import NECConfig
from engram.callbacks.scalars import scalars_of
from engram.errors import EngramError
from engram.memory.strategies import STRATEGIES, Strategy, Write
from engram.runs.folder import RunFolder
from engram.runs.run import Run
from tests.paper.test_presets import TABLES

ROOT = Path(__file__).parents[1]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(ROOT / "results" / name for name in ("README.md", "account.md")),
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("results/*/README.md")),
]
WITH_CODE = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SOURCE = re.compile(r"\bsrc/engram/(?:[\w/.]*\w|[\w/]*/)?(?::[\w.]+\w)?")


def python_blocks() -> Iterator[Any]:
    """Every ```python block, named by its document and the line at which it begins."""
    for document in WITH_CODE:
        text = document.read_text()
        for found in BLOCK.finditer(text):
            if found[1] == "python":
                line = text[: found.start(2)].count("\n") + 1
                yield pytest.param(found[2], id=f"{document.relative_to(ROOT)}:{line}")


def prose(document: Path) -> str:
    """A document without its code blocks."""
    return BLOCK.sub("", document.read_text())


def links() -> Iterator[Any]:
    """Every link that stays in the repository, with the document that holds it."""
    for document in DOCUMENTS:
        for target in dict.fromkeys(LINK.findall(prose(document))):
            if "://" not in target:
                yield pytest.param(document, target, id=f"{document.relative_to(ROOT)}-{target}")


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", prose(document), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def mentions() -> list[str]:
    """Every `src/engram/…` that a document speaks of."""
    return sorted({mention for document in DOCUMENTS for mention in SOURCE.findall(document.read_text())})


def rows(text: str) -> list[list[str]]:
    """The rows of all tables in a text that begin with a name in `code`, as lists of cells."""
    return [line.split(" | ") for line in re.findall(r"^\| (`.*) \|$", text, re.MULTILINE)]


def section(name: str, heading: str) -> str:
    """What a document says under a heading of the second level."""
    return (ROOT / name).read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("code", list(python_blocks()))
def test_code_runs_as_it_stands(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "block.py").write_text(code)
    runpy.run_path("block.py", run_name="__main__")


@pytest.mark.parametrize(("document", "target"), list(links()))
def test_links_lead_somewhere(document: Path, target: str) -> None:
    path, _, anchor = target.partition("#")
    there = document.parent / path if path else document
    assert there.exists(), f"{document.name} links to {target}, which does not exist"
    if anchor:
        assert anchor in anchors(there)


@pytest.mark.parametrize("mention", mentions())
def test_what_is_mentioned_exists(mention: str) -> None:
    """`src/engram/folder/`, `src/engram/file.py`, or `src/engram/file.py:Class.method`."""
    path, _, name = mention.partition(":")
    assert (ROOT / path).exists()
    if name:
        assert name in defined_names(ROOT / path)


def defined_names(file: Path) -> set[str]:
    """Functions, classes and variables of a module, and `Class.method`."""
    names: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{below.name}" for below in node.body if isinstance(below, ast.FunctionDef)}
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def test_the_table_of_settings_is_the_config() -> None:
    """Names, order and defaults; and where the table gives a number of the paper's, it is the default."""
    table = rows(section("docs/interface.md", "MFEC and its settings"))
    told = {name.strip("`"): ast.literal_eval(default.strip("`")) for name, default, _, _ in table}
    config = {field.name: field.default for field in fields(MFECConfig)}
    assert list(told.items()) == list(config.items())
    paper = {name.strip("`"): float(number) for name, _, number, _ in table if re.fullmatch(r"[\d.]+", number)}
    assert paper == {name: config[name] for name in paper}
    words = {name.strip("`"): text for name, _, text, _ in table if name.strip("`") not in paper}
    varied = dict.fromkeys(("strategy", "capacity"), "varied")
    open_ones = ("seed", "exploration", "ties", "encoder", "kernel", "duplicates", "merging", "always_read", "device")
    beyond = ("shrinkage", "correct_neighbours", "pooling", "radius", "horizon", "look_ahead")
    assert words == {**varied, **dict.fromkeys((*open_ones, *beyond), "not given")}


@pytest.mark.parametrize(("agent", "table"), [("nec", "Table 5"), ("d3qn", "Table 6")])
def test_the_tables_of_nec_and_d3qn_are_their_configs_and_presets(agent: str, table: str) -> None:
    """Names, order and the value in every family; and what is said to be in the paper's table is there."""
    config = find_agent(agent).Config
    cells = rows(section("docs/agents.md", f"{label_of(agent)}'s settings"))
    names = [row[0].strip("`") for row in cells]
    assert names == [field.name for field in fields(config)]
    for column, family in enumerate(FAMILIES, 1):
        settings = config.from_settings({"preset": family})
        told = {name: ast.literal_eval(row[column].strip("`")) for name, row in zip(names, cells, strict=True)}
        assert told == {name: getattr(settings, name) for name in names}, family
    sources = {name: row[4] for name, row in zip(names, cells, strict=True)}
    assert {name for name, source in sources.items() if source == table} == set(TABLES[agent])
    assert set(sources.values()) <= {table, "varied", "not in it"}


def test_each_agent_is_in_the_readme_and_has_its_settings_on_a_page() -> None:
    text = section("README.md", "Agents and strategies")
    assert all(f"`{label_of(name)}`" in text for name in BUILT_IN)
    pages = (ROOT / "docs/interface.md").read_text() + (ROOT / "docs/agents.md").read_text()
    assert all(re.search(rf"^## {label_of(name)}.* settings$", pages, re.MULTILINE) for name in BUILT_IN)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


def test_speeds_of_the_readme_are_those_that_were_measured() -> None:
    measured = json.loads((ROOT / "results/bench.json").read_text())["rows"]
    known = {
        (row["name"], f"{row['ours']:,.1f}", row["peer"], f"{row['theirs']:,.1f}", f"{row['ratio']:.2f}")
        for row in measured
    }
    table = re.findall(r"^\| a (?:step of training|read), (.+) \|$", section("README.md", "Measured"), re.MULTILINE)
    assert len(table) > 5
    assert {tuple(line.split(" | ")) for line in table} <= known


@pytest.mark.parametrize(
    ("page", "told", "row"),
    [
        ("docs/choosing.md", r"([\d.]+) µs for two tables of 500", "2 × 500 × 4, k = 11, normal keys"),
        ("docs/choosing.md", r"([\d.]+) µs for three of 5,000", "3 × 5,000 × 6, k = 11, normal keys"),
        ("docs/performance.md", r"MFEC with LRU [\d]+ and ([\d]+),", "MFEC lru, N = 10,000"),
        ("docs/performance.md", r"The read, ([\d]+) µs", "6 × 10,000 × 128, k = 11, random play of both games"),
    ],
)
def test_times_within_sentences_are_those_that_were_measured(page: str, told: str, row: str) -> None:
    (time,) = re.findall(told, " ".join((ROOT / page).read_text().split()))
    ours = {each["name"]: each["ours"] for each in json.loads((ROOT / "results/bench.json").read_text())["rows"]}
    assert time == f"{ours[row]:.{len(time.partition('.')[2])}f}"


@pytest.mark.parametrize("name", ["README.md", "docs/choosing.md"])
def test_scores_are_those_of_a_study(name: str) -> None:
    """Every `mean ± standard deviation` of these pages is that of a cell in results/."""
    told = set(re.findall(r"−?[\d.,]+ ± [\d.]+", (ROOT / name).read_text()))
    assert told
    assert told <= scores_of_studies()


def scores_of_studies() -> set[str]:
    """Mean and standard deviation of every cell of every study, its variants among them, as documents print them."""
    found = set()
    for path in ROOT.glob("results/*/evaluations.parquet"):
        runs = pl.read_parquet(path).unique("run").with_columns(pl.col("variant").fill_null(""))
        cells = runs.group_by("env", "agent", "strategy", "capacity", "variant")
        for mean, std in cells.agg(mean=pl.col("score").mean(), std=pl.col("score").std()).select("mean", "std").rows():
            if std is not None:
                found |= {f"{mean:.{digits}f} ± {std:.{digits}f}".replace("-", "−") for digits in (0, 1, 2)}
    return found


def test_every_argument_of_the_memory_is_explained() -> None:
    text = section("docs/interface.md", "The memory on its own")
    told = {name for row in rows(text) for name in re.findall(r"`(\w+)`", row[0])}
    assert told == set(inspect.signature(EpisodicMemory).parameters)


@pytest.mark.parametrize("name", ["docs/agents.md", "results/gpu/README.md"])
def test_times_on_a_gpu_are_those_that_were_measured(name: str) -> None:
    measured = json.loads((ROOT / "results/gpu/gpu.json").read_text())["search"]
    lines = (ROOT / name).read_text().splitlines()
    for row in measured:
        gpu, cpu = (f" {row[time]:,.0f} |" for time in ("read_us", "cpu_read_us"))
        assert any(gpu in line and cpu in line for line in lines), f"{name} does not have {row['setting']}:{gpu}{cpu}"


def test_hours_of_atari_are_those_of_the_times_that_were_measured() -> None:
    assert atari_hours.PAGE.read_text() == atari_hours.made(), "python -m tools.atari_hours"


def test_counts_of_faults_are_those_that_were_found() -> None:
    text = (ROOT / "docs/reliability.md").read_text()
    for name, found in json.loads((ROOT / "results/faults.json").read_text())["campaigns"].items():
        counts = ", ".join(f"{number:,} {thing}" for thing, number in found["counts"].items())
        assert re.search(
            rf"^\| {name} \| .+ \| {re.escape(counts)} \| {len(found['losses'])} \|$", text, re.MULTILINE
        ), name


def test_every_folder_of_results_is_listed() -> None:
    folders = {path.name for path in (ROOT / "results").iterdir() if (path / "README.md").exists()}
    assert set(re.findall(r"^\| \[([\w-]+)\]", (ROOT / "results/README.md").read_text(), re.MULTILINE)) == folders


def test_metrics_mean_on_pages_what_the_document_says() -> None:
    rows = re.findall(r"^\| `([\w/]+)`.*? \| (.+?) \| ", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE)
    assert {name: meaning_of(name) for name, _ in rows} == {name: text.replace("`", "") for name, text in rows}
    assert len(rows) == len(MEANINGS)


@pytest.mark.slow
def test_every_metric_is_explained() -> None:
    explained = set(re.findall(r"`(\w+/\w+)`", (ROOT / "docs/metrics.md").read_text()))
    chosen: list[tuple[str, dict[str, Any]]] = [(name, {"learning_start_steps": 50}) for name in ("nec", "d3qn")]
    chosen += [("mfec", {"strategy": name, "capacity": 10}) for name in STRATEGIES.built_in]
    for name, settings in chosen:
        run = Run(find_agent(name), "engram/OpenRoom-v0", find_agent(name).Config(**settings), 300, 300, 1)
        told = {metric for event in run.events(run.make_agent()) for metric in scalars_of(event)}
        assert len(told) > 8
        assert told - {"fill/2", "fill/3"} <= explained, f"{name}: {sorted(told - explained)} not explained"


@pytest.mark.parametrize("settings", [MFECConfig(capacity=10), NECConfig(capacity=10), D3QNConfig()])
def test_every_field_of_a_runs_files_is_explained(settings: AgentConfig, tmp_path: Path) -> None:
    name = type(settings).__name__.removesuffix("Config").lower()
    run = Run(find_agent(name), "CartPole-v1", settings, 60, 30, 1)
    folder = RunFolder(tmp_path / "run")
    folder.claim(run)
    folder.record(run, run.make_agent())
    text = section("docs/runs.md", "A run's folder")
    explained = set(re.findall(r"`([\w.]+)`", text))
    assert {path.name for path in folder.path.iterdir()} <= explained
    for name in ("config.json", "progress.jsonl", "result.json", "meta.json"):
        for keys in objects(folder.path / name):
            assert keys <= explained, f"{name}: {sorted(keys - explained)} not explained"


def objects(file: Path) -> Iterator[set[str]]:
    """The fields of each JSON object in a file: one per line, or one in all."""
    text = file.read_text()
    for part in text.splitlines() if file.suffix == ".jsonl" else [text]:
        yield set(json.loads(part))


def test_all_strategies_and_errors_are_explained() -> None:
    strategies = (ROOT / "docs/strategies.md").read_text()
    told = {row[0].strip("`") for row in rows(section("README.md", "Agents and strategies"))}
    assert told == set(STRATEGIES.built_in)
    for name in STRATEGIES.built_in:
        assert re.search(rf"^## .*: `{name}`$", strategies, re.MULTILINE), name
    errors = {row[0].strip("`") for row in rows(section("docs/interface.md", "Errors"))}
    assert errors == {error.__name__ for error in EngramError.__subclasses__() if error.__module__ == "engram.errors"}


def test_what_a_strategy_may_ask_for_is_explained() -> None:
    text = section("docs/strategies.md", "Your own strategy")
    methods = {name for name in vars(Strategy) if not name.startswith("_")}
    for name in methods | set(Strategy.__annotations__) | set(Write._fields):
        assert re.search(rf"`(write\.)?{name}\b", text) or f"def {name}(" in text, name
