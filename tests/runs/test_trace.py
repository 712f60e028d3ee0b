"""Traces: they tell where every entry comes from, change nothing of a run, and survive interruptions exactly."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram import D3QN, MFEC, NEC
from engram.agents import Agent
from engram.cli import main
from engram.errors import InvalidInputError, ModelFileError, RunFolderError
from engram.files.arrays import read_arrays, write_arrays
from engram.hashing import state_of
from engram.runs import trace as tracing
from engram.runs.cadence import Cadence
from engram.runs.checkpoints import Checkpoint
from engram.runs.extending import extend
from engram.runs.folder import RunFolder
from engram.runs.run import Run
from engram.runs.snapshots import read_snapshot
from engram.runs.trace import begin_trace, name_of, snapshot_paths
from engram.runs.traced import read_trace, replay
from engram.training.events import Event

SETTINGS: dict[str, Any] = {"capacity": 30, "seed": 3, "epsilon_anneal_start_steps": 0, "epsilon_anneal_end_steps": 300}


def a_run(kind: type[Agent] = MFEC, steps: int = 900, env: str = "CartPole-v1", **settings: Any) -> Run:
    return Run(kind, env, kind.Config(**SETTINGS, **settings), steps=steps, evaluation_episodes=2)


def record(run: Run, path: Path, **options: Any) -> Agent:
    agent = run.make_agent()
    RunFolder(path).record(run, agent, tell=lambda text: None, **options)
    return agent


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix == ".safetensors"}


@pytest.mark.parametrize("kind", [MFEC, NEC])
@pytest.mark.parametrize("strategy", ["lru", "dkm"])
def test_every_entry_is_led_back_to_the_step_that_it_comes_from(
    kind: type[Agent], strategy: str, tmp_path: Path
) -> None:
    run = a_run(kind, strategy=strategy)
    agent = record(run, tmp_path / "run", trace=True)
    traced = read_trace(tmp_path / "run")
    assert traced is not None
    env, met = agent.source.make(), 0
    for action, table in enumerate(traced.last.tables):
        assert table.games is not None
        assert table.steps is not None
        for state, game, step in zip(table.states, table.games.tolist(), table.steps.tolist(), strict=True):
            actions = traced.games[game]
            assert actions[step] == action
            *_, seen = replay(agent, env, game, actions[: step + 1])
            assert state_of(seen) == state
            met += 1
    assert met == int(agent.memory.size.sum())  # type: ignore[attr-defined]


def test_the_age_of_an_entry_is_that_of_the_episode_that_wrote_it(tmp_path: Path) -> None:
    run = a_run()  # in which no state is met twice
    record(run, tmp_path / "run", trace=True)
    traced = read_trace(tmp_path / "run")
    assert traced is not None
    ends = np.cumsum([len(actions) for actions in traced.games.values()])  # games are numbered from 0
    for table in traced.last.tables:
        np.testing.assert_array_equal(table.ages, run.steps - ends[table.games])
        np.testing.assert_array_equal(table.counts, 1)


def test_a_trace_changes_nothing_of_the_run(tmp_path: Path) -> None:
    run = a_run()
    record(run, tmp_path / "plain")
    record(run, tmp_path / "traced", trace=True)
    for name in ("config.json", "progress.jsonl", "model.safetensors", "result.json"):
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "traced" / name).read_bytes()
    assert read_trace(tmp_path / "plain") is None


class StopError(Exception):
    pass


@pytest.mark.parametrize("settings", [{}, {"strategy": "kmeans"}, {"encoder": "scaled:steps=150"}])
def test_an_interrupted_trace_ends_as_an_uninterrupted_one(settings: dict[str, Any], tmp_path: Path) -> None:
    run = a_run(**settings)
    record(run, tmp_path / "whole", trace=True)

    def stop(event: Event) -> None:
        if event.step in (130, 610):
            raise StopError

    for _ in range(2):
        with pytest.raises(StopError):
            record(run, tmp_path / "parts", callback=stop, trace=True, cadence=Cadence(steps=70))
        stop = lambda event: (_ for _ in ()).throw(StopError) if event.step == 610 else None  # noqa: E731
    record(run, tmp_path / "parts")  # a run that was begun with a trace goes on with it
    assert content(tmp_path / "parts") == content(tmp_path / "whole")


def test_a_trace_that_begins_again_at_another_length_keeps_nothing_of_the_first(tmp_path: Path) -> None:
    run, folder = a_run(steps=300), RunFolder(tmp_path / "killed")

    def stop(event: Event) -> None:
        if event.step == 100:
            raise StopError

    with pytest.raises(StopError):
        record(run, folder.path, callback=stop, trace=True, cadence=Cadence(steps=10**6))
    for path in folder.path.glob("checkpoint-*"):
        path.unlink()
    assert len(snapshot_paths(folder.path)) > 10
    longer = extend(folder, run, 900, tell=lambda text: None)
    record(longer, folder.path)
    record(longer, tmp_path / "whole", trace=True)
    assert content(folder.path) == content(tmp_path / "whole")


def test_snapshots_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "MOST_SNAPSHOTS", 8)
    monkeypatch.setattr(tracing, "USUAL_SNAPSHOTS", 30)
    monkeypatch.setattr(tracing, "MOST_NUMBERS", 0)
    record(a_run(steps=600, neighbours=3), tmp_path / "run", trace=True)
    steps = list(snapshot_paths(tmp_path / "run"))
    assert len(steps) <= 8
    assert steps[0] == 0
    assert steps[-1] == 600
    assert len(set(np.diff(steps[:-1]))) == 1


def test_of_large_tables_some_entries_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "MOST_NUMBERS", 0)
    run = Run(MFEC, "CartPole-v1", MFEC.Config(capacity=400, seed=0), steps=400)
    agent = record(run, tmp_path / "run", trace=True)
    snapshot = read_snapshot(tmp_path / "run" / name_of(400))
    assert snapshot.sizes == tuple(agent.memory.size.tolist())  # type: ignore[attr-defined]
    assert [len(table.values) for table in snapshot.tables] == [50, 50]


def test_what_cannot_be_traced_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="got D3QN; leave --trace out"):
        record(Run(D3QN, "CartPole-v1", D3QN.Config(), steps=50), tmp_path / "d3qn", trace=True)

    def stop(event: Event) -> None:
        if event.step == 300:
            raise StopError

    run = a_run()
    with pytest.raises(StopError):
        record(run, tmp_path / "run", callback=stop)
    with pytest.raises(RunFolderError, match=r"at step 3\d\d without one; leave --trace out, or begin again"):
        record(run, tmp_path / "run", trace=True)


def test_a_trace_goes_on_from_its_end_where_a_checkpoint_says_nothing_of_it(tmp_path: Path) -> None:
    run = a_run(steps=600)
    agent = record(run, tmp_path / "run", trace=True)
    found = Checkpoint(600, agent.state_dict(), {}, {})
    again = begin_trace(tmp_path / "run", agent, 600, found, wanted=False)
    assert again is not None
    _, arrays = read_arrays(tmp_path / "run" / "trace.safetensors")
    for name, value in again.state_dict().items():
        np.testing.assert_array_equal(value, {**arrays, "interval": 10}[name])
    assert begin_trace(tmp_path / "run", agent, 600, found._replace(step=590), wanted=False) is None


def test_starting_over_moves_the_trace_aside(tmp_path: Path) -> None:
    run = a_run(steps=300)
    record(run, tmp_path / "run", trace=True)
    before = content(tmp_path / "run")
    record(run, tmp_path / "run", start_over=True)
    assert read_trace(tmp_path / "run") is None
    (aside,) = [path for path in (tmp_path / "run").iterdir() if path.is_dir()]
    assert content(aside).items() >= {name: each for name, each in before.items() if "trace" in name}.items()


def test_a_damaged_snapshot_is_told(tmp_path: Path) -> None:
    record(a_run(steps=300), tmp_path / "run", trace=True)
    path = tmp_path / "run" / name_of(300)
    manifest, arrays = read_arrays(path)
    write_arrays(path, {"step": 300, "capacity": manifest["capacity"]}, {**arrays, "values": arrays["values"][1:]})
    with pytest.raises(ModelFileError, match="is not the snapshot of a memory"):
        read_trace(tmp_path / "run")


def test_train_has_the_option(tmp_path: Path) -> None:
    words = ["train", "mfec", "--steps", "300", "--capacity", "20", "--out", str(tmp_path / "run"), "--no-progress"]
    assert main([*words, "--trace"]) == 0
    assert read_trace(tmp_path / "run") is not None


def test_a_trace_is_not_forgotten_by_a_process_that_is_killed_before_its_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = a_run(steps=300)
    record(run, tmp_path / "whole", trace=True)

    def killed(*_: Any) -> None:
        raise StopError

    for place in ("RunFolder.claim", "tidy_up"):  # just before config.json is written, and just after
        with monkeypatch.context() as patched:
            patched.setattr(f"engram.runs.folder.{place}", killed)
            with pytest.raises(StopError):
                record(run, tmp_path / place, trace=True)
    record(run, tmp_path / "tidy_up")  # as `engram train --resume` does
    assert content(tmp_path / "tidy_up") == content(tmp_path / "whole")
    record(run, tmp_path / "RunFolder.claim")  # of which no run was known yet: it is begun anew, without a trace
    assert list(content(tmp_path / "RunFolder.claim")) == ["model.safetensors"]


ODD: dict[str, Any] = {
    "sizes": np.array([0.5, 1.5]),
    "held": np.array([2**62, 2**62]),
    "keys": np.zeros((60, 0), np.float32),
    "values": np.full(60, 1e308),
    "states": np.zeros(60, np.float32),
    "counts": np.full(60, np.nan),
    "ages": np.full(60, 10**12),
    "games": np.full(60, 10**9),
    "steps": np.full(60, 10**9),
}


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traced") / "run"
    record(a_run(steps=600), path, trace=True)
    return path


@pytest.mark.parametrize("name", ODD)
def test_snapshots_that_cannot_be_are_told(
    name: str, traced: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(traced, tmp_path / "run")
    path = tmp_path / "run" / name_of(600)
    manifest, arrays = read_arrays(path)
    assert ODD[name].shape != arrays[name].shape or (ODD[name] != arrays[name]).any()
    write_arrays(path, {key: manifest[key] for key in ("step", "capacity")}, {**arrays, name: ODD[name]})
    assert main(["inspect", str(tmp_path / "run")]) == 2
    assert "delete it" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "change", [{"step": "600"}, {"step": 590}, {"capacity": -1}, {"capacity": 31}, {"capacity": None}]
)
def test_what_a_snapshot_says_of_itself_is_checked(
    change: dict[str, Any], traced: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(traced, tmp_path / "run")
    path = tmp_path / "run" / name_of(600)
    manifest, arrays = read_arrays(path)
    write_arrays(path, {key: manifest[key] for key in ("step", "capacity")} | change, arrays)
    assert main(["inspect", str(tmp_path / "run")]) == 2
    assert "; delete " in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("name", ["games", "lengths", "actions"])
@pytest.mark.parametrize(
    "wrong", [np.zeros(0, np.int64), np.full((3, 3), 1), np.full(40, 7), np.full(40, 0.5), np.full(40, -1)]
)
def test_games_that_cannot_be_are_told(name: str, wrong: Any, traced: Path, tmp_path: Path) -> None:
    shutil.copytree(traced, tmp_path / "run")
    path = tmp_path / "run" / "trace.safetensors"
    about, arrays = read_arrays(path)
    write_arrays(path, {key: about[key] for key in ("interval", "step", "seed")}, {**arrays, name: wrong})
    with pytest.raises(ModelFileError, match="is not the trace of a run"):
        read_trace(tmp_path / "run")
