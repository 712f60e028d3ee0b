"""A run's folder: equal byte for byte for equal configs, and never another run's."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engram import load
from engram.agents import find_agent
from engram.agents.mfec import MFEC, MFECConfig
from engram.errors import InvalidInputError, RunFolderError
from engram.runs.folder import RunFolder
from engram.runs.run import Run

RUN = Run(MFEC, "CartPole-v1", MFECConfig(capacity=30, strategy="dkm", seed=1), 700, 200, 3)
DETERMINED = ("config.json", "progress.jsonl", "result.json", "model.safetensors")


def record(run: Run, path: Path) -> RunFolder:
    folder = RunFolder(path)
    folder.claim(run)
    folder.record(run, run.make_agent())
    return folder


def test_two_runs_of_one_config_are_equal_byte_for_byte(tmp_path: Path) -> None:
    one, two = record(RUN, tmp_path / "one"), record(RUN, tmp_path / "two")
    for name in DETERMINED:
        assert (one.path / name).read_bytes() == (two.path / name).read_bytes(), name
    other = record(replace(RUN, settings=MFECConfig(capacity=30, strategy="dkm", seed=2)), tmp_path / "other")
    assert (one.path / "progress.jsonl").read_bytes() != (other.path / "progress.jsonl").read_bytes()


def test_the_folder_says_everything(tmp_path: Path) -> None:
    folder = record(RUN, tmp_path / "run")
    config = json.loads((folder.path / "config.json").read_text())
    assert config["settings"]["strategy"] == {"name": "dkm", "decay": 1.0}
    assert config["settings"]["neighbours"] == 11
    assert config["steps"] == 700
    evaluations = list(folder.evaluations())
    assert [entry["step"] for entry in evaluations] == [200, 400, 600]
    assert all(len(entry["returns"]) == 3 for entry in evaluations)
    result = folder.result
    assert result is not None
    assert result["score"] == pytest.approx(np.mean([entry["returns"] for entry in evaluations]))
    assert result["memory_size"] == [30, 30]
    meta = json.loads((folder.path / "meta.json").read_text())
    assert meta["versions"].keys() >= {"engram-rl", "gymnasium", "numba", "numpy"}
    assert load(folder.model_file).steps == 700


def test_evaluations_do_not_change_training(tmp_path: Path) -> None:
    agent = RUN.make_agent()
    for _ in RUN.events(agent):
        pass
    np.testing.assert_array_equal(
        agent.memory.entries(0)["keys"],  # type: ignore[attr-defined]
        RUN.make_agent().learn(700).memory.entries(0)["keys"],  # type: ignore[attr-defined]
    )


def test_a_folder_with_another_run_is_refused(tmp_path: Path) -> None:
    record(RUN, tmp_path / "run")
    other = replace(RUN, steps=800)
    with pytest.raises(RunFolderError, match=rf"already holds another run \({RUN.id}; this one is {other.id}\)"):
        RunFolder(tmp_path / "run").claim(other)
    RunFolder(tmp_path / "run").claim(RUN)
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "thesis.tex").touch()
    with pytest.raises(RunFolderError, match="holds files that are not a run"):
        RunFolder(tmp_path / "papers").claim(RUN)
    with pytest.raises(RunFolderError, match="is a file"):
        RunFolder(tmp_path / "papers" / "thesis.tex").claim(RUN)


def test_ids_are_readable_and_tell_runs_apart() -> None:
    assert RUN.id.startswith("cartpole-mfec-dkm-30-s1-")
    room = replace(RUN, env="engram/OpenRoom-v0")
    assert room.id.startswith("openroom-mfec-dkm-30-s1-")
    slower = replace(RUN, settings=MFECConfig(capacity=30, strategy="dkm:decay=0.3", seed=1))
    same = replace(RUN, settings=MFECConfig(capacity=30, strategy="dkm:decay=1", seed=1))
    assert len({RUN.id, room.id, slower.id, replace(RUN, steps=701).id}) == 4
    assert same.id == RUN.id


def test_bad_numbers_are_refused() -> None:
    for name in ("steps", "evaluation_interval_steps", "evaluation_episodes"):
        with pytest.raises(InvalidInputError, match=f"{name} must be at least 1, got 0"):
            replace(RUN, **{name: 0})  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="agent must be one of"):
        find_agent("mfek")


def test_a_config_that_would_import_a_module_is_refused(tmp_path: Path) -> None:
    folder = record(RUN, tmp_path / "run")
    config = (folder.path / "config.json").read_text().replace("CartPole-v1", "this:CartPole-v1")
    (folder.path / "config.json").write_text(config)
    with pytest.raises(RunFolderError, match="would import a module"):
        folder.run()


def test_a_folder_tells_its_run(tmp_path: Path) -> None:
    assert record(RUN, tmp_path / "run").run().to_json() == RUN.to_json()
    with pytest.raises(RunFolderError, match="holds no run; train one"):
        RunFolder(tmp_path / "nothing").run()
