"""Logs for other programs, read back by these: complete and without repetition, also after interruptions."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from engram import MFEC, load
from engram.callbacks import CsvLog, TensorBoardLog
from engram.cli import main
from engram.errors import StorageError
from engram.runs.cadence import Cadence
from engram.runs.folder import RunFolder
from engram.runs.run import Run
from tests.faults.tally import Stopped, stop_at

RUN = Run(MFEC, "CartPole-v1", MFEC.Config(capacity=20, strategy="dkm", seed=1), 400, 100, 2)
Points = dict[str, list[tuple[int, float]]]


def points_of_run(folder: Path) -> Points:
    """What the run's own log says, by name."""
    found: Points = {}
    for entry in RunFolder(folder).entries():
        evaluated = entry["event"] == "evaluation"
        value = sum(entry["returns"]) / len(entry["returns"]) if evaluated else entry["return"]
        numbers = {f"{entry['event']}/return": value, **entry.get("metrics", {})}
        for name, number in numbers.items():
            found.setdefault(name, []).append((entry["step"], number))
    return found


def points_of_tensorboard(folder: Path) -> Points:
    reader = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    reader.Reload()
    return {name: [(each.step, each.value) for each in reader.Scalars(name)] for name in reader.Tags()["scalars"]}


def points_of_csv(path: Path) -> Points:
    found: Points = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            for name, text in row.items():
                if name not in ("step", "event") and text:
                    found.setdefault(name, []).append((int(row["step"]), float(text)))
    return found


def assert_same(ours: Points, theirs: Points, *, rel: float = 1e-9) -> None:
    for name, points in ours.items():
        assert [step for step, _ in theirs[name]] == [step for step, _ in points], name
        assert [value for _, value in theirs[name]] == pytest.approx([value for _, value in points], rel=rel), name


def test_both_logs_of_a_command_hold_what_the_run_logged(tmp_path: Path) -> None:
    words = ["--capacity", "20", "--steps", "300", "--evaluation-interval-steps", "100", "--evaluation-episodes", "2"]
    folder = tmp_path / "run"
    options = ["--log", "csv", "--log", "tensorboard", "--no-progress", "--out", str(folder)]
    assert main(["train", "mfec", *words, *options]) == 0
    expected = points_of_run(folder)
    assert len(expected["evaluation/return"]) == 3
    assert {"episode/return", "explore/epsilon", "reads/exact", "memory/fill", "start/bias"} <= expected.keys()
    assert_same(expected, points_of_csv(folder / "logs" / "progress.csv"))
    assert_same(expected, points_of_tensorboard(folder / "logs" / "tensorboard"), rel=1e-6)


def logs(folder: Path) -> list[Any]:
    return [CsvLog(folder / "logs" / "x.csv"), TensorBoardLog(folder / "logs" / "board")]


def test_interrupted_runs_leave_no_gap_and_nothing_twice(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for at in (130, 333):  # the checkpoint before it is 10 to 50 steps older
        with pytest.raises(Stopped):
            RunFolder(folder).record(RUN, RUN.make_agent(), [*logs(folder), stop_at(at)], cadence=Cadence(steps=60))
    RunFolder(folder).record(RUN, RUN.make_agent(), logs(folder), tell=lambda _: None)
    expected = points_of_run(folder)
    assert_same(expected, points_of_csv(folder / "logs" / "x.csv"))
    assert_same(expected, points_of_tensorboard(folder / "logs" / "board"), rel=1e-6)


def test_a_finished_run_gets_its_log_later(tmp_path: Path) -> None:
    RunFolder(tmp_path).record(RUN, RUN.make_agent())
    assert main(["train", "--resume", str(tmp_path), "--log", "csv"]) == 0
    assert_same(points_of_run(tmp_path), points_of_csv(tmp_path / "logs" / "progress.csv"))
    assert RunFolder(tmp_path).result is not None


def test_learning_that_goes_on_goes_on_in_its_log(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    MFEC("CartPole-v1", capacity=20, seed=1).learn(500, logs(whole))
    agent: Any = MFEC("CartPole-v1", capacity=20, seed=1).learn(200, logs(parts))
    agent.save(tmp_path / "agent")
    agent.learn(150, logs(parts))  # which is lost
    load(tmp_path / "agent").learn(300, logs(parts))
    assert (whole / "logs" / "x.csv").read_text() == (parts / "logs" / "x.csv").read_text()
    one, two = (points_of_tensorboard(each / "logs" / "board") for each in (whole, parts))
    assert one == two
    assert len(one["episode/return"]) > 5


def test_a_file_that_is_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.csv").write_text("a,b\n1,2\n")
    with pytest.raises(StorageError, match="is not a log of ours"):
        MFEC("CartPole-v1", capacity=5).learn(10, CsvLog(tmp_path / "thesis.csv"))
    assert (tmp_path / "thesis.csv").read_text() == "a,b\n1,2\n"


@pytest.mark.parametrize(("module", "extra"), [("tensorboard", "tensorboard"), ("wandb", "wandb")])
def test_a_missing_extra_is_named_before_anything_is_done(module: str, extra: str, tmp_path: Path) -> None:
    words = ["train", "mfec", "--steps", "50", "--log", extra, "--out", str(tmp_path / "run")]
    program = f"import sys; sys.modules[{module!r}] = None; from engram.cli import main; sys.exit(main({words!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f'pip install "engram-rl[{extra}]"' in " ".join(done.stderr.split())
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_weights_and_biases_offline(tmp_path: Path) -> None:
    words = ["train", "mfec", "--capacity", "20", "--steps", "300", "--evaluation-interval-steps", "100"]
    program = [
        sys.executable,
        "-m",
        "engram",
        *words,
        "--log",
        "wandb",
        "--no-progress",
        "--out",
        str(tmp_path / "run"),
    ]
    environment = {**os.environ, "WANDB_MODE": "offline", "WANDB_CACHE_DIR": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "run" / "logs" / "wandb").glob("offline-run-*/run-*.wandb")
    read = subprocess.run([sys.executable, "-c", READ, str(file)], capture_output=True, text=True, check=True)
    theirs: Points = {}
    for step, name, value in json.loads(read.stdout):
        theirs.setdefault(name, []).append((step, value))
    assert_same(points_of_run(tmp_path / "run"), theirs)


READ = """
import json, struct, sys
from pathlib import Path
from wandb.proto import wandb_internal_pb2
data, at, parts, found = Path(sys.argv[1]).read_bytes(), 7, [], []  # after its name and version: a log as LevelDB's
while at + 7 <= len(data):
    if 32768 - at % 32768 < 7:  # no header fits into the rest of a block
        at += 32768 - at % 32768
        continue
    _, length, kind = struct.unpack_from("<IHB", data, at)
    parts.append(data[at + 7 : at + 7 + length])
    at += 7 + length
    if kind in (1, 4):  # whole, or the last of several parts
        record = wandb_internal_pb2.Record()
        record.ParseFromString(b"".join(parts))
        parts = []
        if record.WhichOneof("record_type") == "history":
            items = {".".join(each.nested_key) or each.key: json.loads(each.value_json) for each in record.history.item}
            step = items.get("_step", record.history.step.num)
            found += [(step, name, value) for name, value in items.items() if not name.startswith("_")]
print(json.dumps(found))
"""


def test_a_line_that_was_torn_is_cut_and_the_log_goes_on(tmp_path: Path) -> None:
    whole, torn = tmp_path / "whole.csv", tmp_path / "torn.csv"
    MFEC("CartPole-v1", capacity=20, seed=1).learn(300, CsvLog(whole))
    agent: Any = MFEC("CartPole-v1", capacity=20, seed=1).learn(200, CsvLog(torn))
    with torn.open("ab") as file:
        file.write(b"230,episo")
    agent.learn(100, CsvLog(torn))
    assert torn.read_text() == whole.read_text()


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "notes\nof mine\n"])
def test_a_file_without_our_columns_is_left_alone(content: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(content)
    with pytest.raises(StorageError, match="is not a log of ours"):
        MFEC("CartPole-v1", capacity=5).learn(10, CsvLog(tmp_path / "x.csv"))
    assert (tmp_path / "x.csv").read_text() == content


def test_weights_and_biases_hears_nothing_of_a_finished_run_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    RunFolder(tmp_path).record(RUN, RUN.make_agent())
    assert main(["train", "--resume", str(tmp_path), "--log", "wandb"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Weights & Biases was told nothing" in said
    assert "logs for other programs" not in said


def test_a_run_that_goes_on_goes_on_with_the_logs_that_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--capacity", "20", "--steps", "200", "--evaluation-interval-steps", "100", "--evaluation-episodes", "2"]
    assert main(["train", "mfec", *options, "--log", "csv", "--no-progress", "--out", str(tmp_path)]) == 0
    (tmp_path / "logs" / "wandb").mkdir()
    capsys.readouterr()
    assert main(["train", "--resume", str(tmp_path), "--steps", "300", "--no-progress"]) == 0
    assert_same(points_of_run(tmp_path), points_of_csv(tmp_path / "logs" / "progress.csv"))
    said = " ".join(capsys.readouterr().out.split())
    assert "Weights & Biases is told nothing of the steps from here on; to go on there too: --log wandb" in said
    assert not (tmp_path / "logs" / "tensorboard").exists()
