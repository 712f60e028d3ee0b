"""Nothing that was made by an earlier version is lost, and nothing that was decided comes out differently.

Agents on vectors must agree bit for bit everywhere. The arithmetic of networks for images depends on the processor and
on PyTorch, so they are compared only where both are those that the digests were recorded with.
"""

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram import load
from tests.golden.cases import (
    carry_out,
    cases,
    digest_of_agent,
    digest_of_case,
    digests_of_runs,
    machine,
    study_words,
)

HERE = Path(__file__).parent
RECORDED = json.loads((HERE / "digests.json").read_text())
FIRST = "mfec-1"  # recorded with less beside it than the others


@cache
def skip_reason() -> str | None:
    here = machine()
    differing = {
        name: f"{here[name]} instead of {was}" for name, was in RECORDED["machine"].items() if here[name] != was
    }
    return f"digests of networks were recorded elsewhere: {differing}" if differing else None


def need_same_machine(name: str) -> None:
    if "pong" in name and not name.startswith("mfec") and skip_reason() is not None:
        pytest.skip(str(skip_reason()))


def all_cases() -> Iterator[Any]:
    """Every case by its name; a game with each strategy takes a while."""
    for case in cases():
        usual = "pong" not in case[0] or case[0].endswith((" lru", " dkm")) or case[0].startswith("d3qn")
        yield pytest.param(case, id=case[0], marks=() if usual else pytest.mark.slow)


@pytest.mark.parametrize("case", list(all_cases()))
def test_every_agent_is_what_it_was(case: Any) -> None:
    name, *rest = case
    need_same_machine(name)
    assert digest_of_case(*rest) == RECORDED["agents"][name]


@pytest.mark.parametrize("name", sorted(path.stem for path in (HERE / "models").glob("*.json") if path.stem != FIRST))
def test_an_old_model_file_loads_and_goes_on(name: str) -> None:
    recorded = json.loads((HERE / "models" / f"{name}.json").read_text())
    agent = load(HERE / "models" / f"{name}.safetensors")
    assert digest_of_agent(agent, recorded["env"]) == recorded["before"]
    assert (
        digest_of_agent(load(HERE / "models" / f"{name}.safetensors").learn(500), recorded["env"]) == recorded["after"]
    )


def test_the_first_model_file_loads_predicts_and_goes_on() -> None:
    expected = json.loads((HERE / "models" / f"{FIRST}.json").read_text())
    agent: Any = load(HERE / "models" / f"{FIRST}.safetensors")
    assert agent.steps == expected["steps"]
    observations = np.random.default_rng(0).standard_normal((20, 4)).astype(np.float32) * np.float32(0.3)
    assert agent.predict(observations)[0].tolist() == expected["actions"]
    assert agent.memory.size.tolist() == expected["sizes"]
    assert agent.memory.entries(0)["values"][:5] == pytest.approx(expected["first_values"], abs=1e-5)
    assert agent.learn(300).steps == expected["steps"] + 300


@pytest.mark.parametrize("agent", ["mfec", "nec", "d3qn"])
def test_an_old_run_resumes_under_its_id(agent: str, tmp_path: Path) -> None:
    shutil.copytree(HERE / "folders" / "runs" / agent, tmp_path / agent)
    run_id = json.loads((tmp_path / agent / "config.json").read_text())["id"]
    carry_out(["train", "--resume", str(tmp_path / agent), "--no-progress"])
    assert digests_of_runs(tmp_path)[agent] == RECORDED["runs"][f"resumed {agent}"]
    assert json.loads((tmp_path / agent / "config.json").read_text())["id"] == run_id


@pytest.mark.slow
def test_an_old_study_goes_on_with_the_same_runs(tmp_path: Path) -> None:
    expected = {
        name.removeprefix("study "): each for name, each in RECORDED["runs"].items() if name.startswith("study")
    }
    study = tmp_path / "study"
    shutil.copytree(HERE / "folders" / "study", study)
    finished = {path: path.stat().st_mtime_ns for path in study.glob("*/result.json")}
    assert 0 < len(finished) < len(expected)
    carry_out(study_words(study))
    assert digests_of_runs(study) == expected
    assert all(path.stat().st_mtime_ns == written for path, written in finished.items()), "a finished run was run again"
