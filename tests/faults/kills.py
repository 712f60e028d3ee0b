"""Runs and studies that are killed at random moments, again and again, must end with the files of whole ones."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from engram.files.lock import HOLDER
from tests.faults.tally import THREADS, Tally, determined, differing

PATIENCE_SECONDS = 120.0
SMALL_SEGMENTS = (  # such that the replay of a short run has many
    "import sys; from engram.runs import checkpoints; checkpoints.SEGMENT_ROWS = 100; "
    "from engram.cli import main; sys.exit(main())"
)


class Case(NamedTuple):
    """A run that takes a few seconds."""

    agent: str
    options: str
    interval: float  # seconds between checkpoints
    segments: bool = False


class StudyCase(NamedTuple):
    """A study that takes a few seconds."""

    options: str
    jobs: int


NETWORK = "--learning-start-steps 100 --batch-size 8 --replay-size 700"
PONG = "--env pong?max_frames=400&screen_size=36 --preset atari"
CASES = (
    Case("mfec", "--strategy lru --capacity 100 --steps 6000", 0.1),
    Case("mfec", "--strategy rew --capacity 100 --steps 6000", 0.05),
    Case("mfec", "--strategy sur --capacity 100 --steps 6000", 0.1),
    Case("mfec", "--strategy kmeans --capacity 50 --steps 3000", 0.2),
    Case("mfec", "--strategy dkm --capacity 50 --steps 5000", 0.05),
    Case("mfec", "--env engram/OpenRoom-v0 --strategy lru --capacity 50 --steps 5000", 0.1),
    Case("mfec", "--env engram/FourRoom-v0 --strategy dkm --capacity 50 --steps 5000", 0.1),
    Case("nec", f"--strategy lru --capacity 100 --steps 1500 {NETWORK}", 0.1, True),
    Case("nec", f"--strategy dkm --capacity 50 --learn-memory --steps 1200 {NETWORK}", 0.2, True),
    Case("d3qn", f"--steps 2000 {NETWORK}", 0.1, True),
    Case("mfec", f"{PONG} --strategy lru --capacity 50 --steps 1500", 0.2),
    Case("nec", f"{PONG} --strategy dkm --capacity 50 --steps 800 {NETWORK}", 0.3, True),
    Case("d3qn", f"{PONG} --steps 800 {NETWORK}", 0.3, True),
)
STUDIES = (
    StudyCase("--agents mfec --strategies lru dkm --sizes 20 --steps 4000 --seeds 3", 2),
    StudyCase("--agents mfec --strategies kmeans --sizes 20 --steps 3000 --seeds 3", 3),
)


def launch(words: Sequence[str], *, segments: bool = False, stderr: int | None = None) -> subprocess.Popen[bytes]:
    """Start the command `engram WORDS` with one thread, as the leader of a group of processes."""
    program = ["-c", SMALL_SEGMENTS] if segments else ["-m", "engram.cli"]
    return subprocess.Popen(
        [sys.executable, *program, *words],
        env=os.environ | dict.fromkeys(THREADS, "1"),
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        start_new_session=True,
    )


def wait_for_lock(process: subprocess.Popen[bytes], folder: Path) -> bool:
    """Wait until the process has locked the folder and written its config; return whether it has."""
    sign, deadline = f'"pid": {process.pid},', time.monotonic() + PATIENCE_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(FileNotFoundError):
            if sign in (folder / HOLDER).read_text() and (folder / "config.json").exists():
                return True
        time.sleep(0.002)
    return False


def end_of(process: subprocess.Popen[bytes]) -> int:
    """The exit code of a process, which is killed if it takes too long."""
    try:
        return process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def wait_for_write(process: subprocess.Popen[bytes], folder: Path, seconds: float) -> None:
    """Wait until a file is being written, for at most so many seconds."""
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        if any(name.endswith(".part") for name in os.listdir(folder)):  # noqa: PTH208 (for speed)
            return


class Victim:
    """Kills runs of one case, all in one folder."""

    def __init__(self, case: Case, root: Path, seed: str) -> None:
        self.case, self.root = case, root
        self.rng, self.tally = random.Random(seed), Tally()
        self.seconds = 0.0  # that a whole run takes

    def work(self, kills: int) -> Tally:
        """Kill so many times, over as many runs as it takes; compare every finished run."""
        start = self._start(self.root / "whole")
        wait_for_lock(start, self.root / "whole")
        begun = time.monotonic()
        if (code := end_of(start)) != 0:
            self.tally.losses.append(f"{self.case}: exit code {code} without any kill")
            return self.tally
        self.seconds = time.monotonic() - begun
        expected, number = determined(self.root / "whole"), 0
        while self.tally.counts.get("kills", 0) < kills:
            folder, number = self.root / str(number), number + 1
            self._series(folder, min(self.rng.randint(3, 6), kills - self.tally.counts.get("kills", 0)))
            end = self._start(folder, resume=(folder / "config.json").exists())
            code, names = end_of(end), differing(folder, expected)
            self.tally.count("runs")
            if code != 0 or names:
                self.tally.losses.append(f"{self.case}: exit code {code}, differs in {names}")
        return self.tally

    def _start(self, folder: Path, *, resume: bool = False) -> subprocess.Popen[bytes]:
        words = ["--resume", str(folder)]
        if not resume:
            evaluation = ["--evaluation-interval-steps", "400", "--evaluation-episodes", "2"]
            cadence = ["--checkpoint-interval-seconds", str(self.case.interval)]
            words = [self.case.agent, *self.case.options.split(), *evaluation, *cadence, "--out", str(folder)]
        return launch(["train", *words, "--no-progress"], segments=self.case.segments)

    def _series(self, folder: Path, kills: int) -> None:
        """Start and kill a run so many times, or until it ends before it is killed."""
        for _ in range(kills):
            process = self._start(folder, resume=(folder / "config.json").exists() and self.rng.random() < 0.2)
            moment = self.rng.random()
            if moment < 0.1:
                time.sleep(self.rng.uniform(0, 1.5))
            elif wait_for_lock(process, folder):
                time.sleep(self.rng.uniform(0, 0.5 * self.seconds))
                if moment > 0.4:
                    wait_for_write(process, folder, 4 * self.case.interval)
                    time.sleep(self.rng.choice((0, self.rng.uniform(0, 3e-3))))
            process.kill()
            if process.wait() == 0:
                return
            self.tally.count("kills")
            if folder.exists() and any(folder.glob(".*.part")):
                self.tally.count("kills amid a write")


class StudyVictim:
    """Kills a study: its first process, one of its workers, or all at once."""

    def __init__(self, case: StudyCase, root: Path, seed: str) -> None:
        self.case, self.root = case, root
        self.rng, self.tally = random.Random(seed), Tally()
        self.seconds = 0.0  # that a whole study takes

    def work(self, kills: int) -> Tally:
        """Kill so many times, over as many studies as it takes; compare every finished study."""
        begun = time.monotonic()
        code = end_of(self._start(self.root / "whole"))
        self.seconds, expected = time.monotonic() - begun, determined_of_study(self.root / "whole")
        if code != 0 or not expected:
            self.tally.losses.append(f"{self.case}: exit code {code} without any kill")
            return self.tally
        number = 0
        while self.tally.counts.get("kills of studies", 0) < kills:
            folder, number = self.root / str(number), number + 1
            for _ in range(min(self.rng.randint(2, 4), kills - self.tally.counts.get("kills of studies", 0))):
                if not self._kill_one(folder):
                    break
            code, found = end_of(self._start(folder)), determined_of_study(folder)
            self.tally.count("studies")
            names = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
            if code != 0 or names:
                self.tally.losses.append(f"{self.case}: exit code {code}, differs in {names}")
        return self.tally

    def _start(self, folder: Path) -> subprocess.Popen[bytes]:
        evaluation = ["--evaluation-interval-steps", "400", "--evaluation-episodes", "2"]
        words = [*self.case.options.split(), *evaluation, "--jobs", str(self.case.jobs), "--out", str(folder)]
        return launch(["study", "cartpole", *words])

    def _kill_one(self, folder: Path) -> bool:
        """Start the study and kill it, or a part of it; return whether it was still running."""
        process, begun = self._start(folder), time.monotonic()
        how = self.rng.choice(("first", "all", "worker"))
        deadline = begun + self.rng.uniform(0.3, 0.9) * self.seconds
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if process.poll() is not None:
            self.seconds = time.monotonic() - begun  # the machine is less busy than it was
            return False
        children = workers_of(process.pid)
        if how == "worker" and children:
            with suppress(ProcessLookupError):
                os.kill(self.rng.choice(children), signal.SIGKILL)
            time.sleep(self.rng.uniform(0, 0.2))
        self.tally.count("kills of studies")
        if how == "all":
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()
        return True


def workers_of(pid: int) -> list[int]:
    """The processes that a process has started, where the system tells."""
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in found.read_text().split()] if found.exists() else []


def determined_of_study(folder: Path) -> dict[str, bytes | None]:
    """The contents of the files of all runs of a study that their configs determine, and of its list of runs."""
    runs = {
        f"{path.parent.name}/{name}": content
        for path in folder.glob("*/config.json")
        for name, content in determined(path.parent).items()
    }
    study = folder / "study.json"
    return runs | {"study.json": study.read_bytes() if study.exists() else None}


def kills(count: int, seed: int, cases: Sequence[Case] = CASES, studies: Sequence[StudyCase] = STUDIES) -> Tally:
    """Kill runs and studies of all cases, so many times in total; two cases run at a time."""
    tally, total = Tally(), len(cases) + len(studies)
    with tempfile.TemporaryDirectory(prefix="engram-kills-") as root, ThreadPoolExecutor(2) as pool:

        def work(number: int) -> Tally:
            folder = Path(root) / str(number)
            folder.mkdir()
            share, name = count // total + (number < count % total), f"{seed}-{number}"
            if number < len(cases):
                return Victim(cases[number], folder, name).work(share)
            return StudyVictim(studies[number - len(cases)], folder, name).work(share)

        for each in pool.map(work, range(total)):
            tally.add(each)
    return tally
