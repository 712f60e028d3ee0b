"""What a run costs: processor time, over all the stretches in which it is carried out, and bytes of memory."""

import time
from typing import Any

from engram.agents import Agent


class Meter:
    """Counts the processor time of this process, all its threads together, from now on.

    Args:
        before: Seconds of earlier stretches, as far as the checkpoint that the run goes on from knows them.
    """

    def __init__(self, before: float = 0.0) -> None:
        self._before, self._begun = before, time.process_time()

    @property
    def cpu_seconds(self) -> float:
        """The processor time of the run so far, to a millisecond."""
        return round(self._before + time.process_time() - self._begun, 3)

    def cost(self, agent: Agent) -> dict[str, Any]:
        """What the run has cost so far, by name; an agent without a memory has no bytes of it."""
        bytes_ = {"memory_bytes": agent.memory.nbytes} if agent.has_memory else {}  # type: ignore[attr-defined]
        return {"cpu_seconds": self.cpu_seconds, **bytes_}
