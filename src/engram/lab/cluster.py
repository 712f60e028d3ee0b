"""Runs on the machines of a Ray cluster, which need Engram, but no shared disk and none of the user's files.

A run takes place in a temporary folder of its node, and its files are sent back when it is done. The runs of a node
that is lost begin again on another. Runs that were going on when a study was interrupted begin again when the study
is started again.

Importing this module needs the `ray` extra.
"""

import logging
import os
import pickle
import shutil
import socket
import sys
import sysconfig
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from engram.errors import EngramError, Interrupted, InvalidInputError, MissingExtraError
from engram.files.disk import is_folder, list_files, read_file
from engram.files.lock import FolderLock, is_in_use
from engram.lab.outcome import Begun, News, Outcome, carry_out
from engram.lab.workers import PATIENCE_SECONDS, THREAD_SETTINGS, WorkerDiedError
from engram.runs.folder import RunFolder
from engram.runs.run import Run
from engram.runs.run_files import PRODUCTS, as_json

try:
    ray: Any = import_module("ray")  # only half of it has types
except ModuleNotFoundError as missing:
    raise MissingExtraError(
        'a study on a cluster needs Ray, which is not installed; pip install "engram-rl[ray]"'
    ) from missing

RETRIES = 3  # of a run whose node or process was lost
AHEAD = 2  # runs submitted per core: one that runs and one that waits, as waiting tasks make a cluster grow
REFRESH_SECONDS = 5.0  # after which the number of cores is asked for again
CONNECT_SECONDS = 5.0
TEMPORARY = "engram-run-"  # beginning of the names of a node's temporary folders
FRESH_SECONDS = 60.0  # after which a temporary folder that nobody has locked is abandoned


class ClusterError(EngramError):
    """A Ray cluster that cannot be used, or a node with another version of Engram."""


class Product(NamedTuple):
    """What a node sends back: the files of a finished run, or the error that it ended with."""

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
        """Carry out the runs; see `Executor`. Closing the generator ends the runs on the cluster."""
        waiting, submitted = deque(runs), dict[Any, Run]()
        with connection(self.address):
            task = ray.remote(
                num_cpus=1,
                max_retries=RETRIES,
                retry_exceptions=[WorkerDiedError],
                runtime_env={"env_vars": dict.fromkeys(THREAD_SETTINGS, "1")},
            )(_on_a_node)
            try:
                while waiting or submitted:
                    room = max(1, int(AHEAD * ray.cluster_resources().get("CPU", 0)))
                    while waiting and len(submitted) < room:
                        yield from _submit(task, waiting.popleft(), out, submitted)
                    done, _ = ray.wait(list(submitted), timeout=REFRESH_SECONDS) if submitted else ([], [])
                    for ticket in done:
                        yield _collect(submitted.pop(ticket), ticket, out)
            finally:
                for ticket in submitted:
                    ray.cancel(ticket)
                if submitted:  # a cancelled run ends at its next step and removes its folder
                    ray.wait(list(submitted), num_returns=len(submitted), timeout=PATIENCE_SECONDS)


def _submit(task: Any, run: Run, out: Path, submitted: dict[Any, Run]) -> Iterator[News]:
    """Submit a run to the cluster, unless it is finished or its folder holds another run."""
    try:
        folder = RunFolder.inside(out, run.id)
        if folder.path.exists():
            folder.claim(run)
        if (result := folder.result) is not None:
            yield Outcome(run, result, reused=True)
        else:
            submitted[task.remote(_pack(run))] = run
            yield Begun(run)
    except Exception as error:
        yield Outcome.failed(run, error)


def _on_a_node(packed: bytes) -> Product:
    """On the node: carry out a run in a temporary folder."""
    run: Run = pickle.loads(packed)
    with temporary_folder() as out:
        try:
            outcome = carry_out(run, out)
        except Interrupted as stopped:  # its node is shutting down, or the study was interrupted
            raise WorkerDiedError(f"signal {stopped.signal} stopped its node in the middle of the run") from None
        files = {name: read_file(out / run.id / name) for name in PRODUCTS if outcome.error is None}
    return Product(files, outcome.error, outcome.traceback)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A locked folder that is removed at the end, like those that processes which were killed have left behind."""
    remove_abandoned(Path(gettempdir()))
    with TemporaryDirectory(prefix=TEMPORARY) as name, FolderLock(Path(name)):
        yield Path(name)


def remove_abandoned(place: Path) -> None:
    """Remove the temporary folders of this user whose process is gone: nobody holds their lock."""
    for folder in list_files(place, f"{TEMPORARY}*"):
        with suppress(OSError, EngramError):
            about = folder.lstat()
            own = not hasattr(os, "getuid") or about.st_uid == os.getuid()
            fresh = time.time() - about.st_mtime < FRESH_SECONDS  # it may be about to be locked
            if own and not fresh and is_folder(folder) and not is_in_use(folder):
                shutil.rmtree(folder)


def _collect(run: Run, ticket: Any, out: Path) -> Outcome:
    """Write the files of a run that has ended; return how it ended."""
    try:
        product: Product = ray.get(ticket)
        if product.error is not None:
            return Outcome(run, error=product.error, traceback=product.traceback)
        return Outcome(run, _write(run, product.files, RunFolder.inside(out, run.id)))
    except ray.exceptions.RayTaskError as error:  # its message is the traceback on the node
        text = str(error).rstrip()
        return Outcome(run, error=text.splitlines()[-1], traceback=text)
    except Exception as error:
        return Outcome.failed(run, error)


def _write(run: Run, files: dict[str, bytes], folder: RunFolder) -> dict[str, Any] | None:
    """Write a run's files as if it had taken place here; return the result."""
    if files["config.json"] != as_json(run.to_json()).encode():
        raise ClusterError(f"the node has made another config of {run.id}; install the same version of Engram there")
    return folder.receive(run, files)


def _pack(run: Run) -> bytes:
    """A run as bytes, with the code of parts and agents whose files only this machine has."""
    parts: dict[str, Any] = run.settings.parts()  # instances, where the settings may have `module:Class`
    run = replace(run, settings=replace(run.settings, **parts))
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
    """The modules or packages of a run's agent and parts, and of their base classes, that are not installed."""
    installed = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    settings = (getattr(run.settings, field.name) for field in fields(run.settings))
    modules = set()
    for kind in {base for each in (run.agent, type(run.settings), *map(type, settings)) for base in each.__mro__}:
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        if file is not None and not file.startswith(installed):
            modules.add(kind.__module__.partition(".")[0])
    return modules - {"engram", "__main__"}


@contextmanager
def connection(address: str) -> Iterator[None]:
    """A connection to Ray while this is entered; one that was there before stays."""
    if address == "auto" and ray.is_initialized():
        yield
        return
    if address not in ("auto", "local"):
        _check_reachable(address)
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
        ray.shutdown()  # ends a Ray that was started here, and disconnects from any other


def _check_reachable(address: str) -> None:
    """Raise an error if nothing listens at the address: Ray itself would try for minutes."""
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
