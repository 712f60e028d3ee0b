"""Fuzzing of model files: each of many thousand mutations is refused, or loads as an agent that learns and is valid.

Mutated files are loaded by worker processes, in which numba checks every index. A worker that dies, or that does not
come back in time, is a loss, and another one goes on behind the file that ended it.
"""

import json
import os
import random
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any, NamedTuple

from engram import D3QN, MFEC, NEC, load
from engram.agents import Agent
from engram.errors import DivergedError, EngramError, NotReproducibleError
from tests.faults.mutations import Content, content_of, mutate, mutate_bytes, signed
from tests.faults.tally import THREADS, Tally, scratch
from tests.faults.worlds import Pictures, Vectors

PROGRAM = ("-m", "tests.faults.fuzz")  # of a worker
PROCESSES = 2
STEPS = 50  # of learning, after loading
SECONDS = 10.0  # of computing that a file may take
HANG_SECONDS = 120.0  # after which a worker that tells nothing is given up
START_SECONDS = 900.0  # for a worker to begin, which compiles kernels
MEMORY = 2 * 10**9  # bytes by which a worker may grow over all its files
SHARE_OF_BYTES = 0.1  # of all files: those whose bytes are mutated, and not signed again
SMALL: dict[str, Any] = {"epsilon_anneal_start_steps": 0, "epsilon_anneal_end_steps": 60}
NETWORK: dict[str, Any] = {"learning_start_steps": 20, "batch_size": 4, "replay_size": 40, "learning_rate": 1e-3}
OUTCOMES = ("refused", "learned from", "told to diverge")
STRATEGIES = ("lru", "rew", "sur", "kmeans", "dkm", "fading")


class Original(NamedTuple):
    """A file before it is mutated."""

    name: str
    env: Callable[[], Any] | None  # to load it with; None where the file itself says
    content: Content
    whole: bytes


def agents() -> Iterator[tuple[str, Callable[[], Any] | None, Callable[[], Agent]]]:
    """Agents of every kind with full tables, in the middle of an episode: name, environment, how to make them."""
    explorations = (None, "boltzmann", "mellowmax", "novelty")
    for number, strategy in enumerate(STRATEGIES):
        memory: dict[str, Any] = {"strategy": strategy, "capacity": 6, "neighbours": 3, "seed": number} | SMALL
        more: dict[str, Any] = {"exploration": explorations[number % 4]}
        clusters = strategy in ("kmeans", "dkm", "fading")
        yield f"mfec-{strategy}", Vectors, lambda s=memory | more: MFEC(Vectors, **s)  # type: ignore[misc]
        yield (
            f"mfec-{strategy}-scaled",
            Vectors,
            lambda s=memory, steps=(30, 10**6)[number % 2]: MFEC(Vectors, encoder=f"scaled:steps={steps}", **s),  # type: ignore[misc]
        )
        yield (
            f"mfec-{strategy}-room",
            None,
            lambda s=memory, c=clusters: MFEC(  # type: ignore[misc]
                "engram/OpenRoom-v0", **s, merging="episode" if c else "single", duplicates=not c, kernel="mean"
            ),
        )
        encoder = ("projection:size=5", "dct:size=2")[number % 2]
        yield (
            f"mfec-{strategy}-images",
            Pictures,
            lambda s=memory, e=encoder: MFEC(Pictures, encoder=e, **s),  # type: ignore[misc]
        )
        nec = memory | NETWORK | {"key_size": 4, "learn_memory": number % 2 == 0, "return_steps": 3}
        yield f"nec-{strategy}", Vectors, lambda s=nec: NEC(Vectors, **s)  # type: ignore[misc]
    yield "nec-scaled", Vectors, lambda s=nec: NEC(Vectors, encoder="scaled:steps=10", **s)  # type: ignore[misc]
    yield "nec-images", Pictures, lambda s=nec: NEC(Pictures, **s)  # type: ignore[misc]
    d3qn = NETWORK | SMALL | {"feature_size": 4, "target_update_steps": 10}
    yield "d3qn", Vectors, lambda: D3QN(Vectors, **d3qn)
    yield "d3qn-room", None, lambda: D3QN("engram/OpenRoom-v0", **d3qn, dueling=False, exploration="boltzmann")
    yield "d3qn-scaled", Vectors, lambda: D3QN(Vectors, **d3qn, encoder="scaled:steps=10", bootstrap_truncated=True)
    yield "d3qn-images", Pictures, lambda: D3QN(Pictures, **d3qn)


def originals(folder: Path) -> list[Original]:
    """A model file of each kind of agent. Those of small images are slow, so they come once, all others three times."""
    found = []
    for name, env, make in agents():
        path = folder / f"{name}.safetensors"
        make().learn(101).save(path)
        original = Original(name, env, content_of(path), path.read_bytes())
        found += [original] * (1 if name in ("nec-images", "d3qn-images") else 3)
    return found


def mutation(files: list[Original], seed: int, number: int) -> tuple[Original, bytes]:
    """The file of a number: what it was made from, and its bytes."""
    rng = random.Random(f"{seed}/{number}")
    original, other = rng.choice(files), rng.choice(files)
    if rng.random() < SHARE_OF_BYTES:
        return original, mutate_bytes(original.whole, rng)
    while True:
        try:
            return original, signed(mutate(original.content, other.content, rng))
        except (OverflowError, ValueError):  # safetensors cannot write it: an array of too many numbers, say
            continue


def outcome(path: Path, env: Callable[[], Any] | None) -> str:
    """What becomes of a file: refused, or an agent that learns, is valid, and can be saved. All else is an error."""
    try:
        agent = load(path, env)
    except EngramError:
        return "refused"
    what = learned(agent)
    agent.check_valid()
    agent.save(path)
    load(path, env).check_valid()
    return what


def learned(agent: Agent) -> str:
    """Let an agent learn, in a new game where its own cannot be replayed; whether it did, or said that it diverged."""
    try:
        try:
            agent.learn(STEPS)
        except NotReproducibleError:
            agent.abandon_game()
            agent.learn(STEPS)
    except DivergedError:
        return "told to diverge"
    return "learned from"


def work(first: int, last: int, seed: int) -> None:
    """Try the files from one number to another, and tell of each on the standard output what became of it."""
    warnings.simplefilter("ignore")
    with scratch() as folder:
        files, path = originals(folder), folder / "mutated.safetensors"
        for original in files:
            path.write_bytes(original.whole)
            assert outcome(path, original.env) == "learned from", original.name
        limit = virtual_bytes() + 4 * MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        before = peak_bytes()
        for number in range(first, last):
            original, content = mutation(files, seed, number)
            path.write_bytes(content)
            tell(number, "begun")
            begun = time.process_time()
            try:
                what = outcome(path, original.env)
            except Exception as error:
                what = f"{original.name}: {error!r:.300} in {where(error)}"
            if peak_bytes() - before > MEMORY:
                tell(number, f"{original.name}: memory grew by {(peak_bytes() - before) / 1e9:.1f} GB, {what}")
                return
            seconds = time.process_time() - begun
            tell(number, what if seconds <= SECONDS else f"{original.name}: {seconds:.0f} s of computing, {what}")
    tell(last, "done")


def tell(number: int, what: str) -> None:
    sys.stdout.write(json.dumps([number, what]) + "\n")
    sys.stdout.flush()


def where(error: BaseException) -> str:
    """The innermost line of Engram's own on the way to an error."""
    lines, frame = [], error.__traceback__
    while frame is not None:
        lines.append(f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}")
        frame = frame.tb_next
    return " > ".join(lines[-4:])


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def virtual_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def fuzz_slice(first: int, last: int, seed: int) -> Tally:
    """Let workers try all files from one number to another, one worker after the other where one dies."""
    tally = Tally()
    while first < last:
        words = [sys.executable, *PROGRAM, str(first), str(last), str(seed)]
        variables = os.environ | dict.fromkeys(THREADS, "1") | {"NUMBA_BOUNDSCHECK": "1"}
        with subprocess.Popen(words, stdout=subprocess.PIPE, env=variables, text=True) as worker:
            current, what = watch(worker, first, tally)
        if what == "done":
            break
        if what not in OUTCOMES:
            tally.count("files")
            tally.losses.append(f"fuzz: file {current} of seed {seed}: {what}")
        first = current + 1
    return tally


def watch(worker: "subprocess.Popen[str]", first: int, tally: Tally) -> tuple[int, str]:
    """Count what a worker tells, until it ends or takes too long: the file that it was at, and what became of it."""
    lines: Queue[str] = Queue()
    assert worker.stdout is not None
    Thread(target=pass_on, args=(worker.stdout, lines), daemon=True).start()
    current, patience = first, START_SECONDS
    while True:
        begun = time.monotonic()
        try:
            line = lines.get(timeout=patience)
        except Empty:
            worker.kill()
            return current, f"not done after {time.monotonic() - begun:.0f} s"
        if not line:
            return current, f"the process died with code {worker.wait()}"
        current, what = json.loads(line)
        if what == "done" or "memory grew" in what:
            return current, what
        if what == "begun":
            patience = HANG_SECONDS
            continue
        tally.count("files")
        if what in OUTCOMES:
            tally.count(what)
        else:
            tally.losses.append(f"fuzz: file {current}: {what}")


def pass_on(output: Iterable[str], lines: "Queue[str]") -> None:
    """Put every line of a worker into a queue, and an empty one behind the last."""
    for line in output:
        lines.put(line)
    lines.put("")


def campaign(count: int, seed: int) -> Tally:
    """Load `count` mutated files, each of which is refused or learned from; everything else is a loss."""
    ends = [count * part // PROCESSES for part in range(PROCESSES + 1)]
    tally = Tally()
    with ThreadPoolExecutor(PROCESSES) as pool:
        for part in pool.map(lambda at: fuzz_slice(ends[at], ends[at + 1], seed), range(PROCESSES)):
            tally.add(part)
    return tally


if __name__ == "__main__":
    work(*map(int, sys.argv[1:4]))
