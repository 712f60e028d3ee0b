"""The cluster: the bytes of local runs, whatever becomes of its nodes, and errors that say what to do."""

import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engram.agents.mfec import MFEC, MFECConfig
from engram.cli import main
from engram.errors import EngramError, InvalidInputError, MissingExtraError
from engram.lab.outcome import Begun, Executor, News, Outcome, StudyError
from engram.lab.runner import run_all
from engram.runs.run import Run

FILES = ("config.json", "progress.jsonl", "result.json", "model.safetensors")
START_SECONDS = 120.0  # for Ray on a busy machine

OWN = """
from dataclasses import dataclass

from engram.agents.mfec import MFEC, MFECConfig
from engram.agents.common.settings import takes
from engram.exploration import Exploration
from engram.memory.strategies import Decision, Numbers, Strategy, Write, replace


def slot_at(turn: int, capacity: int) -> int:
    return turn % capacity


@dataclass(frozen=True)
class RoundRobin(Strategy):
    stride: int = 3

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return replace(slot_at(self.stride * write.writes, write.capacity))


@dataclass(frozen=True)
class Sometimes(Exploration):
    epsilon: float = 0.2

    def choose(self, step, generator, view):
        explores = generator.random() < self.epsilon
        return int(generator.integers(view.actions)) if explores else view.greedy(generator)


@dataclass(frozen=True, kw_only=True)
class OwnConfig(MFECConfig):
    more: int = 1


class OwnAgent(MFEC):
    Config = OwnConfig

    @takes(OwnConfig)
    def __init__(self, env, config):
        self._begin(env, config)
"""


def run_of(strategy: Any = "lru", seed: int = 0, *, env: str = "CartPole-v1", steps: int = 600) -> Run:
    settings = MFECConfig(strategy=strategy, capacity=20, seed=seed)
    return Run(MFEC, env, settings, steps, evaluation_interval_steps=200, evaluation_episodes=2)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("*/*") if path.name in FILES}


def at(address: str) -> Executor:
    pytest.importorskip("ray")
    return importlib.import_module("engram.lab.cluster").Cluster(address)  # type: ignore[no-any-return]


class Node:
    """A raylet of its own, with its own working directory, and what belongs to it."""

    def __init__(self, home: Path, *options: str) -> None:
        self.home = home
        home.mkdir()
        program = Path(sys.executable).with_name("ray")
        with (home / "ray.log").open("w") as log:
            self._process = subprocess.Popen(
                [program, "start", "--block", "--disable-usage-stats", "--num-cpus=1", *options],
                cwd=home,
                env={**os.environ, "TMPDIR": str(home), "PYTHONUNBUFFERED": "1"},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            wait_until(lambda: "Ray runtime started" in (home / "ray.log").read_text(), START_SECONDS)
        except BaseException:
            self.kill()
            raise

    @property
    def going(self) -> list[str]:
        """The ids of the runs that it is at."""
        return [log.parent.name for log in self.home.glob("engram-*/*/progress.jsonl")]

    def pids(self) -> list[int]:
        """Its processes: each comes before those that it started."""
        parents = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended meanwhile
                continue
        found = [self._process.pid]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found

    def kill(self) -> None:
        """All at once, as if the machine had gone."""
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.wait()


class Machines:
    """A cluster, all on this machine: a head, and nodes that come and go."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.nodes: list[Node] = []

    def add(self, *options: str) -> Node:
        self.nodes.append(Node(self._home / str(len(self.nodes)), *(options or [f"--address={self.address}"])))
        return self.nodes[-1]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Machines]:
    pytest.importorskip("ray")
    if not Path("/proc/self/stat").exists():
        pytest.skip("finding a node's processes needs /proc")
    home = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))  # sockets are in it, and their paths must be short
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")  # or it depends on whether this machine has a token
        made = Machines(home)
        try:
            made.add("--head", f"--port={made.port}", "--include-dashboard=false", f"--temp-dir={home}/t")
            yield made
        finally:
            for node in made.nodes:
                node.kill()
            shutil.rmtree(home, ignore_errors=True)


@pytest.mark.slow
def test_a_run_that_fails_is_reported_when_the_others_are_done(cluster: Machines, tmp_path: Path) -> None:
    bad, taken, good = run_of(env="NoSuchPole-v1"), run_of("dkm"), [run_of(), run_of(seed=1)]
    run_all([run_of("rew")], tmp_path / "others")
    shutil.copytree(tmp_path / "others" / run_of("rew").id, tmp_path / "there" / taken.id)
    untouched = contents(tmp_path / "there")
    heard: list[News] = []
    with pytest.raises(StudyError, match="2 of 4 runs failed; the others are done") as caught:
        run_all([bad, taken, *good], tmp_path / "there", executor=at(cluster.address), callback=heard.append)
    with pytest.raises(StudyError) as local:
        run_all([bad, *good], tmp_path / "here")
    failures = {failure.run.id: failure for failure in caught.value.failures}
    assert failures[bad.id].error == local.value.failures[0].error
    assert "make_agent" in failures[bad.id].traceback
    assert "already holds another run" in str(failures[taken.id].error)
    assert not (tmp_path / "there" / bad.id).exists()
    assert contents(tmp_path / "there") == contents(tmp_path / "here") | untouched
    assert taken.id not in [news.run.id for news in heard if isinstance(news, Begun)]
    assert {run.id for run in good} == {news.run.id for news in heard if isinstance(news, Outcome) and not news.error}


@pytest.mark.slow
def test_parts_and_agents_in_a_file_that_the_nodes_do_not_have(
    cluster: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine" / "own_parts.py"
    file.parent.mkdir()
    file.write_text(OWN)
    monkeypatch.syspath_prepend(file.parent)
    own = importlib.import_module("own_parts")
    settings = {"capacity": 20, "exploration": "own_parts:Sometimes:epsilon=0.3"}
    mine = Run(own.OwnAgent, "CartPole-v1", own.OwnConfig(**settings), 600, 200, 2)
    runs = [run_of(own.RoundRobin()), run_of("own_parts:RoundRobin:stride=2", seed=1), mine]
    here = run_all(runs, tmp_path / "here", jobs=2)
    file.unlink()
    try:
        assert run_all(runs, tmp_path / "there", executor=at(cluster.address)) == here
    finally:
        del sys.modules["own_parts"]
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    assert len(contents(tmp_path / "there")) == len(runs) * len(FILES)


@pytest.mark.slow
def test_a_study_that_is_left_takes_its_runs_with_it(cluster: Machines, tmp_path: Path) -> None:
    (head,) = cluster.nodes
    news = at(cluster.address)([run_of(steps=10**8)], tmp_path)
    assert isinstance(next(news), Begun)
    wait_until(lambda: len(head.going) == 1, START_SECONDS)
    news.close()  # type: ignore[attr-defined]
    assert not list(head.home.glob("engram-*"))
    assert not list(tmp_path.iterdir())
    assert not importlib.import_module("ray").is_initialized()


@pytest.mark.slow
def test_a_node_that_is_killed_changes_nothing(cluster: Machines, tmp_path: Path) -> None:
    runs = [run_of(strategy, seed, steps=6_000) for strategy in ("lru", "dkm") for seed in range(4)]
    head, second = cluster.nodes[0], cluster.add()
    lost: list[str] = []
    heard: list[News] = []

    def kill() -> None:
        wait_until(lambda: bool(head.going and second.going), START_SECONDS)
        second.kill()
        lost.extend(run_id for run_id in second.going if not (tmp_path / "there" / run_id).exists())

    killer = threading.Thread(target=kill)
    killer.start()
    there = run_all(runs, tmp_path / "there", executor=at(cluster.address), callback=heard.append)
    killer.join()
    assert lost
    assert [news for news in heard if isinstance(news, Outcome) and news.error is not None] == []
    here = run_all(runs, tmp_path / "here", jobs=2)
    assert there == here
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    assert len(contents(tmp_path / "there")) == len(runs) * len(FILES)


@pytest.mark.slow
def test_a_ray_of_this_machine_alone(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    program = Path(sys.executable).with_name("engram")
    choices = ["--sizes", "10", "--seeds", "2", "--steps", "1000", "--strategies", "lru", "dkm"]

    def study(*words: str) -> None:
        words = ("study", "openroom", "--agents", "mfec", *choices, *words)
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")

    study("--ray", "local", "--out", str(tmp_path / "there"))
    study("--ray", "local", "--out", str(tmp_path / "there"))
    study("--jobs", "1", "--out", str(tmp_path / "here"))
    counts = [json.loads(line)["runs"] for line in (tmp_path / "there" / "calls.jsonl").read_text().splitlines()]
    assert [(count["done"], count["reused"]) for count in counts] == [(4, 0), (0, 4)]
    assert len(contents(tmp_path / "there")) == 4 * len(FILES)
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_folders_of_killed_workers_are_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    cluster = importlib.import_module("engram.lab.cluster")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    hold = "from engram.lab.cluster import temporary_folder as new\nwith new() as out: print(out, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        (left / "run").mkdir()
        (tmp_path / "treasure").mkdir()
        (tmp_path / "engram-run-link").symlink_to(tmp_path / "treasure")
        (tmp_path / "engram-run-file").touch()
        old(tmp_path)
        cluster.remove_abandoned(tmp_path)
        assert left.exists(), "its process is alive"
        process.kill()
    old(tmp_path)
    (tmp_path / "engram-run-fresh").mkdir()
    cluster.remove_abandoned(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "engram-run-file",
        "engram-run-fresh",
        "engram-run-link",
        "treasure",
    ]


def old(folder: Path) -> None:
    """Let all that is in a folder be an hour old."""
    for path in folder.iterdir():
        os.utime(path, (time.time() - 3600,) * 2, follow_symlinks=False)


def test_nobody_at_the_address(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    started = time.monotonic()
    with pytest.raises(EngramError, match=f"no Ray cluster can be reached at '{address}'.*ray start --head"):
        run_all([run_of()], tmp_path, executor=at(address))
    assert time.monotonic() - started < 10
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("address", ["somewhere", "127.0.0.1", "ray://head", "head:port", ""])
def test_an_address_that_is_none(tmp_path: Path, address: str) -> None:
    with pytest.raises(InvalidInputError, match=r"auto, local, HOST:PORT or ray://HOST:PORT, got"):
        run_all([run_of()], tmp_path, executor=at(address))


def test_without_ray_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "engram.lab.cluster", raising=False)
    with pytest.raises(MissingExtraError, match=r'pip install "engram-rl\[ray\]"'):
        importlib.import_module("engram.lab.cluster")
    assert main(["study", "openroom", "--agents", "mfec", "--ray", "auto", "--out", str(tmp_path)]) == 2
    assert 'pip install "engram-rl[ray]"' in capsys.readouterr().err


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
