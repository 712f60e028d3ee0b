"""Films of an agent while it learns."""

from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from engram import checks
from engram.agents import Agent
from engram.errors import InvalidInputError
from engram.files.disk import make_folder, whole_path
from engram.training.callback import Callback
from engram.training.events import Event, Step


class Video(Callback):
    """Films a greedy episode every so many steps: `FOLDER/step-000000010000.gif`; always from the same start.

    Args:
        folder: Of the films.
        every: Steps between two of them.
        kind: "gif" or "mp4".
        env: The id of the environment; by default the one in which the agent learns.
    """

    def __init__(
        self,
        folder: str | Path,
        every: int = 10_000,
        *,
        kind: Literal["gif", "mp4"] = "gif",
        env: str | None = None,
    ) -> None:
        self._folder, self._env = whole_path(Path(folder)), env
        self._every = checks.at_least("every", every, 1)
        self._kind = checks.one_of("kind", kind, ("gif", "mp4"))
        self._films: Any = import_module("engram.pictures.video")  # needs an extra, and says so

    def begin(self, agent: Agent) -> None:
        """Refuse an agent whose environment cannot be made again."""
        if self._env is None and agent.source.name is None:
            raise InvalidInputError(
                "a film needs an environment of its own, and the one in which the agent learns has no id; give one: "
                "Video(…, env='CartPole-v1')"
            )

    def on_event(self, agent: Agent, event: Event) -> None:
        """Film when it is time."""
        if isinstance(event, Step) and event.step % self._every == 0:
            make_folder(self._folder)
            pictures = self._films.film(agent, self._env or agent.source.name, seed=agent.seed)
            self._films.write_video(self._folder / f"step-{event.step:012d}.{self._kind}", pictures)
