"""Reports of damaged studies: a sentence that names the file, no traceback, and nothing lost."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engram.cli import main

Damage = Callable[[Path, Path], object]  # what is done to a study's folder, and to that of one of its runs


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("studies") / "whole"
    words = ["--agents", "mfec", "--strategies", "lru", "--sizes", "20", "--steps", "500", "--seeds", "2"]
    assert main(["study", "cartpole", *words, "--jobs", "1", "--out", str(out)]) == 0
    return out


def content(name: str, text: str | bytes) -> Damage:
    """A file of the study with another content."""
    return lambda folder, run: (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def of_run(name: str, text: str | bytes) -> Damage:
    """A file of a run with another content."""
    return lambda folder, run: (run / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def changed(path: Path, change: Callable[[Any], Any]) -> None:
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


def in_study(**values: Any) -> Damage:
    return lambda folder, run: changed(folder / "study.json", lambda read: {**read, **values})


def in_place(**values: Any) -> Damage:
    """The line of a run in `study.json` with other values."""

    def change(read: Any, run: Path) -> Any:
        return {**read, "runs": {**read["runs"], run.name: {**read["runs"][run.name], **values}}}

    return lambda folder, run: changed(folder / "study.json", lambda read: change(read, run))


def without(key: str) -> Damage:
    def change(read: Any, run: Path) -> Any:
        read["runs"][run.name].pop(key)
        return read

    return lambda folder, run: changed(folder / "study.json", lambda read: change(read, run))


def in_result(**values: Any) -> Damage:
    return lambda folder, run: changed(run / "result.json", lambda read: {**read, **values})


def in_call(**values: Any) -> Damage:
    return lambda folder, run: changed(folder / "calls.jsonl", lambda read: {**read, **values})


def in_log(**values: Any) -> Damage:
    """The evaluations of a run with other values."""

    def damage(folder: Path, run: Path) -> None:
        entries = [json.loads(line) for line in (run / "progress.jsonl").read_text().splitlines()]
        lines = [json.dumps({**each, **values} if each["event"] == "evaluation" else each) for each in entries]
        (run / "progress.jsonl").write_text("\n".join(lines) + "\n")

    return damage


def first_line(text: str) -> Damage:
    def damage(folder: Path, run: Path) -> None:
        (run / "progress.jsonl").write_text(text + "\n" + (run / "progress.jsonl").read_text())

    return damage


def truncated_log(folder: Path, run: Path) -> None:
    (run / "progress.jsonl").write_bytes((run / "progress.jsonl").read_bytes()[:-9])


def instead_of(name: str) -> Damage:
    """A folder in the place of a run's file."""

    def damage(folder: Path, run: Path) -> None:
        (run / name).unlink()
        (run / name).mkdir()

    return damage


def only_a_table(table: bytes) -> Damage:
    def damage(folder: Path, run: Path) -> None:
        for path in folder.glob("*/result.json"):
            path.unlink()
        (folder / "evaluations.parquet").write_bytes(table)

    return damage


HUGE = 10**400
DAMAGES: dict[str, tuple[str, Damage]] = {
    "an empty study.json": ("study.json", content("study.json", "")),
    "a binary study.json": ("study.json", content("study.json", b"\xff\xfe\x00\x01")),
    "a study.json in UTF-16": ("study.json", content("study.json", "{}".encode("utf-16"))),
    "a list as study.json": ("study.json", content("study.json", "[1]")),
    "null as study.json": ("study.json", content("study.json", "null")),
    "brackets without end": ("study.json", content("study.json", "[" * 100_000)),
    "a study without a name": ("study.json", in_study(study=None)),
    "a list as title": ("study.json", in_study(title=["x"])),
    "a title that is no text": ("study.json", in_study(title="a\ud800b")),
    "runs in a list": ("study.json", in_study(runs=[1, 2])),
    "runs that are numbers": ("study.json", in_study(runs={"a": 5})),
    "a run without a seed": ("study.json", without("seed")),
    "a run without an agent": ("study.json", without("agent")),
    "a run without steps": ("study.json", without("steps")),
    "a run in a list": ("study.json", in_study(runs={"a": [1]})),
    "a number as environment": ("study.json", in_place(env=-1)),
    "a list as agent": ("study.json", in_place(agent=[1])),
    "a strategy without a name": ("study.json", in_place(strategy={"decay": 1})),
    "a negative capacity": ("study.json", in_place(capacity=-1)),
    "a huge seed": ("study.json", in_place(seed=HUGE)),
    "text as episodes": ("study.json", in_place(evaluation_episodes="x")),
    "nothing as interval": ("study.json", in_place(evaluation_interval_steps=None)),
    "an empty config.json": ("config.json", of_run("config.json", "")),
    "text in config.json": ("config.json", of_run("config.json", '{"evaluation_episodes": "x"}')),
    "an empty result.json": ("result.json", of_run("result.json", "")),
    "an empty result": ("result.json", of_run("result.json", "{}")),
    "a score that is text": ("result.json", in_result(score="x")),
    "a score that is no number": ("result.json", in_result(score=float("nan"))),
    "a huge score": ("result.json", in_result(score=HUGE)),
    "sizes that are text": ("result.json", in_result(memory_size="x")),
    "no log": ("progress.jsonl", lambda folder, run: (run / "progress.jsonl").unlink()),
    "a return beyond all rewards": (
        "progress.jsonl",
        of_run("progress.jsonl", '{"event": "evaluation", "step": 500, "returns": [1e308], "lengths": [1]}\n'),
    ),
    "a score beyond all rewards": (
        "result.json",
        of_run("result.json", '{"score": 1e308, "evaluations": 1, "steps": 500, "episodes": 1}'),
    ),
    "a binary log": ("progress.jsonl", of_run("progress.jsonl", b"\xff\x00\n")),
    "a truncated log": ("progress.jsonl", truncated_log),
    "a list in the log": ("progress.jsonl", first_line("[1]")),
    "null in the log": ("progress.jsonl", first_line("null")),
    "an unknown event": ("progress.jsonl", first_line('{"event": "x"}')),
    "text as return": ("progress.jsonl", first_line('{"event": "episode", "step": 1, "return": "x", "length": 1}')),
    "an evaluation without episodes": ("progress.jsonl", in_log(returns=[], lengths=[])),
    "returns that are text": ("progress.jsonl", in_log(returns="x")),
    "returns that are no numbers": ("progress.jsonl", in_log(returns=[float("nan")] * 10)),
    "huge returns": ("progress.jsonl", in_log(returns=[HUGE] * 10)),
    "a huge step": ("progress.jsonl", in_log(step=HUGE)),
    "calls that are binary": ("calls.jsonl", content("calls.jsonl", b"\xff\n")),
    "a call in a list": ("calls.jsonl", content("calls.jsonl", "[1]\n")),
    "an empty call": ("calls.jsonl", content("calls.jsonl", "{}\n")),
    "half a call": ("calls.jsonl", content("calls.jsonl", '{"command":')),
    "seconds that are text": ("calls.jsonl", in_call(seconds="x")),
    "versions that are a number": ("calls.jsonl", in_call(versions=5)),
    "a folder as log": ("progress.jsonl", instead_of("progress.jsonl")),
    "a folder as result": ("result.json", instead_of("result.json")),
    "a table that is none": ("evaluations.parquet", only_a_table(b"PAR1 and no more")),
    "an empty table": ("evaluations.parquet", only_a_table(b"")),
}


def names(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*")}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_study_is_told_of(name: str, study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, damage = DAMAGES[name]
    folder = shutil.copytree(study, tmp_path / "study")
    damage(folder, sorted(folder.glob("*/result.json"))[0].parent)
    before = names(folder)
    capsys.readouterr()
    for command in ("report", "claims"):
        assert main([command, str(folder)]) == 2
        told = capsys.readouterr().err
        assert file in told, told
        assert "Traceback" not in told
    assert names(folder) == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_files_that_may_not_be_read(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shutil.copytree(study, tmp_path / "study")
    (folder / "study.json").chmod(0)
    assert main(["report", str(folder)]) == 2
    assert "Permission denied" in capsys.readouterr().err


def test_runs_that_are_gone_are_named_and_the_rest_is_reported(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(study, tmp_path / "study")
    lost = sorted(folder.glob("*/result.json"))[0].parent
    shutil.rmtree(lost)
    assert main(["report", str(folder)]) == 0
    assert lost.name in (folder / "README.md").read_text()
    assert "Traceback" not in capsys.readouterr().err
