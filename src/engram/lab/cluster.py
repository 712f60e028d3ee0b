"""Runs on the machines of a Ray cluster. These need Engram, and neither a disk that they share nor any file of yours.

A run takes place in a temporary folder of its node, and its files come back when it is done. A node that is lost takes
the runs with it that it was at, and no others; those begin anew on another. So do runs in the middle of which a study
was interrupted, when it is started again.

Importing this module needs the `ray` extra.
"""

import logging
import os
import pickle
import socket
import sys
import sysconfig
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from engram.errors import EngramError, Interrupted, InvalidInputError, MissingExtraError
from engram.files.disk import list_files, remove, write_atomically
from engram.files.lock import FolderLock
from engram.lab.outcome import Begun, News, Outcome, carry_out
from engram.lab.study_folder import COPIED
from engram.lab.workers import PATIENCE_SECONDS, THREAD_SETTINGS, WorkerDiedError
from engram.runs.checkpoints import Checkpoints
from engram.runs.folder import RunFolder, as_json
from engram.runs.run import Run

try:
    ray: Any = import_module("ray")  # only half of it has types
except ModuleNotFoundError as missing:
    raise MissingExtraError(
        'a study on a cluster needs Ray, which is not installed; pip install "engram-rl[ray]"'
    ) from missing

RETRIES = 3  # of a run whose node or process was lost
AHEAD = 2  # runs handed over per core: one that goes on, and one that waits, which is what makes a cluster grow
REFRESH_SECONDS = 5.0  # between two looks at how many cores there are
CONNECT_SECONDS = 5.0


class ClusterError(EngramError):
    """A Ray cluster that cannot be used, or a node that does not do what the others do."""


class Product(NamedTuple):
    """What comes back from a node: the files of a run that is done, or why there are none."""

    files: dict[str, bytes]
    error: str | None
    traceback: str


class Cluster:
    """An executor with the cores of a Ray cluster.

    Args:
        address: `auto` for the cluster that this machine is part of, `HOST:PORT` or `ray://HOST:PORT` for one that is
            somewhere else, or `local` for a Ray of this machine's own, which ends with the study.
    """

    def __init__(self, address: str) -> None:
        self.address = os.environ.get("RAY_ADDRESS", address) if address == "auto" else address

    def __call__(self, runs: Sequence[Run], out: Path) -> Iterator[News]:
        """As the executor that this is. However it is left, the runs on the cluster end with it."""
        waiting, flying = deque(runs), dict[Any, Run]()
        with connection(self.address):
            task = ray.remote(
                num_cpus=1,
                max_retries=RETRIES,
                retry_exceptions=[WorkerDiedError],
                runtime_env={"env_vars": dict.fromkeys(THREAD_SETTINGS, "1")},
            )(_on_a_node)
            try:
                while waiting or flying:
                    room = max(1, int(AHEAD * ray.cluster_resources().get("CPU", 0)))
                    while waiting and len(flying) < room:
                        yield from _hand_over(task, waiting.popleft(), out, flying)
                    done, _ = ray.wait(list(flying), timeout=REFRESH_SECONDS) if flying else ([], [])
                    for ticket in done:
                        yield _take_back(flying.pop(ticket), ticket, out)
            finally:
                for ticket in flying:
                    ray.cancel(ticket)
                if flying:  # a run that is told to stop does so at its next step, and clears up
                    ray.wait(list(flying), num_returns=len(flying), timeout=PATIENCE_SECONDS)


def _hand_over(task: Any, run: Run, out: Path, flying: dict[Any, Run]) -> Iterator[News]:
    """Give a run to the cluster, unless there is no need to, or no place for what would come back."""
    try:
        folder = RunFolder(out / run.id)
        if folder.path.exists():
            folder.claim(run)
        if (result := folder.result) is not None:
            yield Outcome(run, result, reused=True)
        else:
            flying[task.remote(_pack(run))] = run
            yield Begun(run)
    except Exception as error:
        yield Outcome.failed(run, error)


def _on_a_node(packed: bytes) -> Product:
    """On the node: carry out a run, in a folder that is gone afterwards."""
    run: Run = pickle.loads(packed)
    with TemporaryDirectory(prefix="engram-") as out:
        try:
            outcome = carry_out(run, Path(out))
        except Interrupted as stopped:  # its node is shutting down, or the study was interrupted
            raise WorkerDiedError(f"signal {stopped.signal} stopped its node in the middle of the run") from None
        files = {name: (Path(out) / run.id / name).read_bytes() for name in COPIED if outcome.error is None}
    return Product(files, outcome.error, outcome.traceback)


def _take_back(run: Run, ticket: Any, out: Path) -> Outcome:
    """How a run ended, once its files are here."""
    try:
        product: Product = ray.get(ticket)
        if product.error is not None:
            return Outcome(run, error=product.error, traceback=product.traceback)
        return Outcome(run, _write(run, product.files, RunFolder(out / run.id)))
    except ray.exceptions.RayTaskError as error:  # its message is the traceback on the node
        text = str(error).rstrip()
        return Outcome(run, error=text.splitlines()[-1], traceback=text)
    except Exception as error:
        return Outcome.failed(run, error)


def _write(run: Run, files: dict[str, bytes], folder: RunFolder) -> dict[str, Any] | None:
    """Write down what came back as if the run had taken place here, `result.json` last; return the result."""
    if files["config.json"] != as_json(run.to_json()).encode():
        raise ClusterError(f"the node has made another config of {run.id}; install the same version of Engram there")
    folder.claim(run)  # which writes config.json; or it is another's, and nothing is written, not even a lock
    with FolderLock(folder.path):
        for left in list_files(folder.path, ".*.part"):  # by a process that was killed
            remove(left)
        for name in COPIED[1:]:
            write_atomically(folder.path / name, files[name])
        Checkpoints(folder.path, run.id).clear()  # of the same run, when it was to take place here
    return folder.result


def _pack(run: Run) -> bytes:
    """A run as bytes; with its strategy's code where that is in a file that only this machine has."""
    pickler = ray.cloudpickle
    modules = _own_modules(run) - pickler.list_registry_pickle_by_value()
    for name in modules:
        pickler.register_pickle_by_value(sys.modules[name])
    try:
        return bytes(pickler.dumps(run))
    finally:
        for name in modules:
            pickler.unregister_pickle_by_value(sys.modules[name])


def _own_modules(run: Run) -> set[str]:
    """The modules, or packages, of a strategy and the classes that it derives from, that are not installed."""
    installed = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    modules = set()
    for kind in type(getattr(run.settings, "strategy", None)).__mro__:
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        if file is not None and not file.startswith(installed):
            modules.add(kind.__module__.partition(".")[0])
    return modules - {"engram", "__main__"}


@contextmanager
def connection(address: str) -> Iterator[None]:
    """Ray, while this is entered. One that was there before is still there afterwards."""
    if address == "auto" and ray.is_initialized():
        yield
        return
    if address not in ("auto", "local"):
        _knock(address)
    try:
        ray.init(
            address,
            include_dashboard=False if address == "local" else None,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise ClusterError(
            f"cannot use Ray at {address!r}: {error}; does it run there (ray start --head), in this version? "
            "If it asks for a token, set RAY_AUTH_MODE=token here too. `local` needs no cluster"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()  # which ends a Ray that was started here, and lets go of any other


def _knock(address: str) -> None:
    """Raise an error if nobody is there: Ray itself would try for minutes."""
    try:
        place = urlsplit(address if "://" in address else f"//{address}")
        host, port = place.hostname, place.port
    except ValueError:  # the port is no number
        host = port = None
    if host is None or port is None:
        raise InvalidInputError(f"a cluster's address is auto, local, HOST:PORT or ray://HOST:PORT, got {address!r}")
    try:
        socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        raise ClusterError(
            f"no Ray cluster can be reached at {address!r} ({error}); "
            "check the address and that Ray runs there (ray start --head), or use `local`, which needs no cluster"
        ) from error
