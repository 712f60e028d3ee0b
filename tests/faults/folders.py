"""Damaged folders of runs and studies: every command ends with a plain error, and nothing that was there is lost."""

import contextlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from engram.cli import main
from engram.files.arrays import read_arrays, write_arrays
from engram.files.lock import LOCK_FILES
from engram.runs import checkpoints
from engram.runs.folder import RunFolder
from engram.runs.run import Run
from tests.faults.power import CADENCE, RUNS, SEGMENT_ROWS, TINY
from tests.faults.tally import THREADS, Stopped, Tally, finish, scratch, stop_at

LIMIT_SECONDS = 120.0
SHARE = 0.1  # of the folders, tried in processes of their own, where a hang can be seen
CHOICES = ("--agents", "mfec", "--strategies", "lru", "--sizes", "20", "--seeds", "2", "--steps", "400", "--jobs", "1")
STUDY = ("study", "cartpole", *CHOICES, "--evaluation-interval-steps", "100", "--evaluation-episodes", "2")
TREASURE = b"not yours"
Damage = Callable[[Path, random.Random], object]


def flip(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def cut(path: Path, rng: random.Random) -> None:
    path.write_bytes(path.read_bytes()[: rng.randrange(path.stat().st_size)])


def scramble(path: Path, rng: random.Random) -> None:
    path.write_bytes(rng.randbytes(rng.randrange(1, 2000)))


def lose(path: Path, rng: random.Random) -> None:
    path.unlink()


def link(path: Path, rng: random.Random) -> None:
    """A link to a copy of the file, or to something of the user's, outside the folder."""
    target = path.parents[1] / f"treasure-{path.name}"
    target.write_bytes(path.read_bytes() if rng.random() < 0.5 else TREASURE)
    path.unlink()
    path.symlink_to(rng.choice([target, target, Path("/dev/zero"), Path("nowhere")]))


def pipe(path: Path, rng: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def folder_in_place(path: Path, rng: random.Random) -> None:
    path.rename(path.with_name("mine"))
    path.mkdir()
    path.with_name("mine").rename(path / "mine")


def deny(path: Path, rng: random.Random) -> None:
    path.chmod(0)


def deepen(path: Path, rng: random.Random) -> None:
    path.write_text(rng.choice(["[", '{"a": ']) * 200_000)


def swell(path: Path, rng: random.Random) -> None:
    with path.open("r+b") as file:
        file.truncate(2**40)


def confuse(path: Path, rng: random.Random) -> None:
    """Other types in JSON, or a manifest of another format in a file of arrays."""
    if path.suffix == ".safetensors":
        manifest, arrays = read_arrays(path)
        known = ("version", "run", "step", "log", "plain", "segments", "agent", "description")
        key = rng.choice([key for key in known if key in manifest])
        write_arrays(path, {**manifest, key: rng.choice([99, "odd", None, [], {}, -1])}, arrays)
        return
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    at = rng.randrange(len(lines))
    lines[at] = json.dumps(confused(json.loads(lines[at]), rng))
    path.write_text("\n".join(lines) + "\n")


def confused(value: object, rng: random.Random) -> object:
    """The value, in which one thing is of another type, missing or impossible."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(list(value))
        if rng.random() < 0.2:
            return {name: each for name, each in value.items() if name != key}
        return value | {key: confused(value[key], rng)}
    return rng.choice([None, -1, 1e300, float("nan"), "odd", "../../up", "this:Evil-v0", [], [[]], {}, {"a": 1}, True])


DAMAGES: tuple[Damage, ...] = (
    flip, flip, cut, scramble, lose, link, link, pipe, folder_in_place, deny, deepen, swell, confuse, confuse, confuse,
)  # fmt: skip


class Hung(BaseException):
    """Raised when a command takes too long."""


class Trial(NamedTuple):
    """A folder that was damaged, and the commands to try on it."""

    folder: Path
    whole: frozenset[bytes]  # the contents of its files before it was damaged
    what: str
    commands: Sequence[Sequence[str]]


class Samples:
    """Whole folders, of which damaged copies are made: runs that were interrupted, finished runs, and a study."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.halves = [self._half(run, root / f"half-{number}") for number, run in enumerate(RUNS)]
        finish(TINY, root / "done", CADENCE)
        with contextlib.redirect_stdout(io.StringIO()):
            if main([*STUDY, "--out", str(root / "study")]) != 0:
                raise AssertionError("the study of the campaign failed")
        first = min(path.parent for path in (root / "study").glob("*/result.json"))
        for name in ("result.json", "model.safetensors", "meta.json"):  # one of its runs is not finished
            (first / name).unlink()

    def _half(self, run: Run, folder: Path) -> Path:
        with contextlib.suppress(Stopped):
            RunFolder(folder).record(run, run.make_agent(), (stop_at(70),), cadence=CADENCE, tell=lambda _: None)
        return folder

    def trial(self, number: int, rng: random.Random) -> Trial:
        """A damaged copy of one of them."""
        source = rng.choice([*self.halves, self.root / "done", self.root / "study", self.root / "study"])
        folder = shutil.copytree(source, self.root / f"trial-{number}" / "it")
        whole = frozenset(tree(folder).values())
        said = [spoil(folder, rng) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
        place = str(folder)
        commands = [["train", "--resume", place, "--no-progress"], ["eval", place, "--episodes", "1"]]
        if source.name == "study":
            runs = [str(path) for path in sorted(folder.iterdir()) if path.is_dir()]
            resume = [["train", "--resume", run, "--no-progress"] for run in runs[:1]]
            reuse = [*STUDY, "--out", str(folder.parent / "other"), "--reuse", place]
            commands = [["report", place], [*STUDY, "--out", place], ["report", place], reuse, *resume]
        return Trial(folder, whole, f"{source.name}: {', '.join(said)}", commands)


def spoil(folder: Path, rng: random.Random) -> str:
    """Damage one file below a folder; return what was done to which."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    path, damage = rng.choice(files), rng.choice(DAMAGES)
    try:
        damage(path, rng)
    except Exception:  # it was damaged before, and cannot be damaged in this way
        path.write_bytes(b"\0")
    return f"{damage.__name__} {path.relative_to(folder)}"


def tree(root: Path) -> dict[str, bytes]:
    """Everything below a folder, by path: contents, targets of links, and kinds."""
    return {str(path.relative_to(root)): content_of(path) for path in root.rglob("*")}


def content_of(path: Path) -> bytes:
    if path.is_symlink():
        return f"link to {path.readlink()}".encode()
    if path.is_fifo():
        return b"pipe"
    if path.is_dir():
        return b"folder"
    size = path.stat().st_size
    return path.read_bytes() if size < 2**24 else f"{size} bytes".encode()


def lost(before: Mapping[str, bytes], after: Mapping[str, bytes], whole: Container[bytes]) -> list[str]:
    """What was in a folder and is now neither where it was nor anywhere else below it.

    Logs may grow, the list of a study's runs too, and reports are written again. Checkpoints that are whole may go with
    the end of their run.
    """
    kept = set(after.values())
    return [
        name
        for name, content in before.items()
        if content not in kept and not _may_go(Path(name), content, after, whole)
    ]


def _may_go(path: Path, content: bytes, after: Mapping[str, bytes], whole: Container[bytes]) -> bool:
    now = after.get(str(path))
    if path.name in GROWING:
        return now is not None and now.startswith(content)
    if path.name == "study.json":
        return now is not None and runs_in(content) is not None and runs_in(content) <= (runs_in(now) or set())  # type: ignore[operator]
    if path.name in WRITTEN or "failures" in path.parts or "figures" in path.parts:
        return True
    return (
        content in whole and path.name.startswith(("checkpoint-", "segment-")) and f"{path.parent}/result.json" in after
    )


def runs_in(content: bytes) -> set[str] | None:
    try:
        return set(json.loads(content)["runs"])
    except (ValueError, KeyError, TypeError):
        return None


GROWING = ("progress.jsonl", "calls.jsonl")
WRITTEN = (  # for the moment, or again by every report
    *LOCK_FILES, "index.html", "README.md", "scores.csv", "evaluations.csv", "evaluations.parquet",
)  # fmt: skip


class Ending(NamedTuple):
    """How a command ended."""

    code: int | None  # None: not at all
    text: str


def in_process(words: Sequence[str]) -> Ending:
    """Carry out a command in this process."""
    said = io.StringIO()
    signal.signal(signal.SIGALRM, _raise_hung)
    signal.alarm(int(LIMIT_SECONDS))
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            return Ending(main(words), said.getvalue())
    except Hung:
        return Ending(None, said.getvalue())
    except SystemExit as stopped:
        return Ending(int(stopped.code or 0), said.getvalue())
    except Exception:
        return Ending(1, traceback.format_exc())
    finally:
        signal.alarm(0)


def _raise_hung(number: int, frame: object) -> None:
    raise Hung


def in_a_process(words: Sequence[str]) -> Ending:
    """Carry out a command in a process of its own, which is killed if it hangs."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "engram.cli", *words],
            env=os.environ | dict.fromkeys(THREADS, "1"),
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ending(None, "")
    return Ending(done.returncode, done.stderr)


def folders(count: int, seed: int) -> Tally:
    """Damage so many folders of runs and studies, and try the commands on them."""
    tally, rng = Tally(), random.Random(seed)
    with scratch() as root, patch.object(checkpoints, "SEGMENT_ROWS", SEGMENT_ROWS):
        samples = Samples(root)
        for number in range(count):
            trial = samples.trial(number, rng)
            carry_out = in_a_process if rng.random() < SHARE else in_process
            tally.count("damaged folders")
            tally.count("in processes of their own", int(carry_out is in_a_process))
            for loss in one_folder(trial, carry_out, tally):
                tally.losses.append(f"folder {number}, {trial.what}: {loss}")
            shutil.rmtree(trial.folder.parent, ignore_errors=True)
    return tally


def one_folder(trial: Trial, carry_out: Callable[[Sequence[str]], Ending], tally: Tally) -> list[str]:
    """Try the commands on a damaged folder; return what went wrong."""
    losses = []
    for words in trial.commands:
        before = tree(trial.folder.parent)
        ending = carry_out(words)
        tally.count("commands")
        tally.count("commands that refused", int(ending.code not in (0, None)))
        name = " ".join(words[:2])
        if ending.code is None:
            losses.append(f"engram {name} hung")
        if "Traceback" in ending.text or ending.code not in (0, 2, None):
            losses.append(f"engram {name} ended with {ending.code} and a traceback: {ending.text.strip()[-200:]}")
        if gone := lost(before, tree(trial.folder.parent), trial.whole):
            losses.append(f"engram {name} lost {', '.join(gone)}")
    return losses
