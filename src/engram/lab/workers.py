"""Runs on the cores of this machine: worker processes with one thread each that carry out one run after the other."""

import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import connection, get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path

from engram.errors import EngramError, Interrupted
from engram.lab.outcome import Begun, News, Outcome, carry_out
from engram.runs.run import Run

THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
SPAWN = get_context("spawn")  # a forked process would inherit threads in the middle of their work
PATIENCE_SECONDS = 4.2  # for all workers to save their runs and end by themselves, before they are ended


class WorkerDiedError(EngramError):
    """A worker process ended in the middle of a run: it was killed, or ran out of memory."""


class Worker:
    """A process that carries out runs, and the run that it is carrying out."""

    def __init__(self, out: Path) -> None:
        self.pipe, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=_work, args=(theirs, out), daemon=True)
        with worker_environment():
            self.process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        self.run: Run | None = None

    def take(self, run: Run) -> None:
        """Send a run to the process."""
        self.run = run
        self.pipe.send_bytes(pickle.dumps(run))

    def outcome(self) -> Outcome:
        """How the run ended. Call it when the pipe has something to read."""
        run, self.run = self.run, None
        assert run is not None
        try:
            received: Outcome | str = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode
            how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
            return Outcome.failed(run, WorkerDiedError(f"the worker process ended with {how} in the middle of the run"))
        if isinstance(received, str):
            return Outcome(run, error=received.splitlines()[-1], traceback=received)
        return received

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self.process.is_alive()


class Workers:
    """An executor with a number of worker processes."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def __call__(self, runs: Sequence[Run], out: Path) -> Iterator[News]:
        """Carry out the runs; see `Executor`. The workers end when the generator is closed."""
        waiting, crew, ended = deque(runs), list[Worker](), None
        try:
            while waiting or ended or any(worker.run is not None for worker in crew):
                crew = [worker for worker in crew if worker.run is not None or worker.alive]
                while len(crew) < min(self.jobs, len(waiting) + sum(worker.run is not None for worker in crew)):
                    crew.append(Worker(out))
                for worker in crew:
                    if worker.run is None and waiting:
                        yield from _hand_over(worker, waiting.popleft())
                if ended is not None:
                    yield ended  # now that its worker has another run: whoever counts finds all workers at work
                ended = _next_outcome([worker for worker in crew if worker.run is not None])
        finally:
            _dismiss(crew)


def _hand_over(worker: Worker, run: Run) -> Iterator[News]:
    """Send a run to a worker."""
    try:
        worker.take(run)
        yield Begun(run)
    except Exception as error:  # it cannot be pickled, or the worker is gone
        worker.run = None
        yield Outcome.failed(run, error)


def _next_outcome(busy: Sequence[Worker]) -> Outcome | None:
    """How the run ended that ends first; None if there is none."""
    pipes = [worker.pipe for worker in busy]
    return busy[pipes.index(connection.wait(pipes)[0])].outcome() if busy else None  # type: ignore[arg-type]


def _dismiss(crew: Sequence[Worker]) -> None:
    """End the workers: idle ones at once, the others when they have saved their run."""
    for worker in crew:
        worker.pipe.close()
        worker.process.terminate()
    until = time.monotonic() + PATIENCE_SECONDS
    for worker in crew:
        worker.process.join(max(0.0, until - time.monotonic()))
        if worker.alive:
            worker.process.kill()


def _work(pipe: Connection, out: Path) -> None:
    """In the worker process: carry out the runs that come through the pipe until it is closed."""
    _end_with_parent()
    with suppress(EOFError, OSError):
        while True:
            sent = pipe.recv_bytes()
            try:
                pipe.send(carry_out(pickle.loads(sent), out))
            except Interrupted as stopped:  # its run is saved, and it takes no other
                os._exit(128 + stopped.signal)
            except Exception:  # it cannot be unpickled: the module of a part or an agent is not found here
                pipe.send(traceback.format_exc())


def _end_with_parent() -> None:
    """End this worker when its parent ends, also when that is killed."""
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def worker_environment() -> Iterator[None]:
    """While this is entered, processes that are started use one thread and ignore Ctrl-C: the parent handles it."""
    before = {name: os.environ.get(name) for name in THREAD_SETTINGS}
    os.environ.update(dict.fromkeys(THREAD_SETTINGS, "1"))
    if sys.platform != "win32":
        resource_tracker.ensure_running()  # which, if it began later, would unblock the signal
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if sys.platform != "win32":
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
