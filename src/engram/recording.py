"""Work on a device as one launch: a function of tensors that stay where they are, recorded once as a CUDA graph.

On the CPU, and where a GPU refuses to record it, the same function is called. Numbers go in and out through an
`Exchange`, whose copies are a part of the work.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any, Generic, TypeVar
from warnings import warn

import numpy as np

from engram.devices import torch
from engram.garbage import uncollected
from engram.typing import Array

ALIGNED = 64  # bytes, at a multiple of which each array of an exchange begins
WARM_UP = 3  # calls before a recording: kernels are compiled and libraries make their buffers
KEPT = 8  # recordings of different shapes
T = TypeVar("T")
Field = tuple[tuple[int, ...], Any]  # shape and dtype


class Exchange:
    """Arrays in one block of main memory, and tensors of the same shapes in one block of the device's.

    `here` are the arrays by name, `there` the tensors; `send` and `fetch` copy all of them at once. On the CPU both are
    the same block.
    """

    def __init__(self, device: torch.device, fields: Mapping[str, Field]) -> None:
        self.device = device
        begins, end = {}, 0
        for name, (shape, dtype) in fields.items():
            begins[name] = end
            end += -(-prod(shape) * np.dtype(dtype).itemsize // ALIGNED) * ALIGNED
        self._here = torch.zeros(end, dtype=torch.uint8, pin_memory=device.type == "cuda")
        self._there = self._here if device.type == "cpu" else torch.zeros_like(self._here, device=device)
        self.here: dict[str, Array] = {}
        self.there: dict[str, torch.Tensor] = {}
        for name, (shape, dtype) in fields.items():
            part = slice(begins[name], begins[name] + prod(shape) * np.dtype(dtype).itemsize)
            self.here[name] = self._here.numpy()[part].view(dtype).reshape(shape)
            self.there[name] = self._there[part].view(torch.from_numpy(self.here[name]).dtype).view(shape)

    def send(self) -> None:
        """Copy to the device."""
        if self._there is not self._here:
            self._there.copy_(self._here, non_blocking=True)

    def fetch(self) -> None:
        """Copy from the device; the arrays are there once the work that this is a part of is done."""
        if self._there is not self._here:
            self._here.copy_(self._there, non_blocking=True)


class Recorded:
    """A function that can be called again and again.

    Args:
        work: Has no arguments and no result, and reads and writes only tensors that stay where they are.
        device: Where these are.
        changes: Those of them whose values the next call depends on: recording leaves them as they were.
        possible: Whether the work can be recorded at all.
    """

    graphs = True  # record on GPUs

    def __init__(
        self,
        work: Callable[[], None],
        device: torch.device,
        *,
        changes: Sequence[torch.Tensor] = (),
        possible: bool = True,
    ) -> None:
        self._work, self._device, self._changes = work, device, changes
        self._recordable = possible and self.graphs and device.type == "cuda"
        self._graph: Any = None
        event: Any = torch.cuda.Event
        on_gpu = device.type == "cuda"
        self._marked: Any = event(external=True) if on_gpu else None
        self._done: Any = event(external=True) if on_gpu else None

    def mark(self) -> None:
        """Called by the work, at the point that `wait_for_mark` waits for."""
        if self._marked is not None:
            self._marked.record()

    def __call__(self) -> None:
        """Do the work; on a GPU, begin it."""
        if self._device.type != "cuda":
            self._work()
            return
        if self._device.index in (None, torch.cuda.current_device()):
            self._begin()
        else:
            with torch.cuda.device(self._device):
                self._begin()

    def _begin(self) -> None:
        """Do the work on the current GPU."""
        if self._graph is None and self._recordable:
            self._record()
        if self._graph is None:
            self._whole_work()
        else:
            self._graph.replay()

    def _whole_work(self) -> None:
        """The work, and the note that it is done."""
        self._work()
        self._done.record()

    def wait(self) -> None:
        """Until the last call is done: before that, arrays of an exchange must be neither read nor written."""
        if self._done is not None:
            self._done.synchronize()

    def wait_for_mark(self) -> None:
        """Until the last call has come to its mark."""
        if self._marked is not None:
            self._marked.synchronize()

    def _record(self) -> None:
        """Record the graph after a few calls, whose effect is undone."""
        before = [tensor.detach().clone() for tensor in self._changes]
        stream: Any = torch.cuda.Stream
        current, aside = torch.cuda.current_stream(), stream()
        aside.wait_stream(current)
        try:
            with torch.cuda.stream(aside):
                for _ in range(WARM_UP):
                    self._work()
        finally:
            current.wait_stream(aside)
            with torch.no_grad():
                for tensor, was in zip(self._changes, before, strict=True):
                    tensor.copy_(was)
        graph = torch.cuda.CUDAGraph()
        try:
            with uncollected(), torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self._whole_work()
            self._graph = graph
        except RuntimeError as error:
            self._recordable = False
            warn(
                f"a step cannot be recorded as a CUDA graph and is launched piece by piece, which is slower; a network "
                f"of your own must not wait for the device, nor choose by values there ({error})",
                RuntimeWarning,
                stacklevel=2,
            )


def at_once(device: torch.device, *works: Callable[[], torch.Tensor]) -> list[torch.Tensor]:
    """What works give that do not depend on each other; a GPU does them side by side. The last may have gradients."""
    if device.type != "cuda":
        return [work() for work in works]
    current, aside = torch.cuda.current_stream(device), streams(device, len(works) - 1)
    found = []
    for stream, work in zip(aside, works, strict=False):
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            found.append(work())
    found.append(works[-1]())
    for stream in aside:
        current.wait_stream(stream)
    return found


@lru_cache
def streams(device: torch.device, count: int) -> list[Any]:
    """Streams beside the current one."""
    stream: Any = torch.cuda.Stream
    return [stream(device) for _ in range(count)]


class Recordings(Generic[T]):
    """The last few recordings by what they are for; a copy of the object that holds them begins with none."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, T] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The one for this key, made if there is none."""
        found = self._kept.pop(key, None)
        self._kept[key] = found = make() if found is None else found  # the last of them
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return found

    @property
    def last(self) -> T:
        """The one that was asked for last."""
        return self._kept[next(reversed(self._kept))]

    def __iter__(self) -> Iterator[T]:
        return iter(self._kept.values())

    def __deepcopy__(self, memo: Any) -> "Recordings[T]":
        return Recordings()

    def __reduce__(self) -> Any:
        return Recordings, ()
