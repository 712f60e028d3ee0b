"""A log for Weights & Biases, online or offline as its own settings say."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engram.agents import Agent
from engram.callbacks.scalars import scalars_of
from engram.errors import EngramError, MissingExtraError
from engram.files.disk import make_folder, whole_path
from engram.training.callback import Callback
from engram.training.events import Event


class WandbLog(Callback):
    """Sends each number of an episode or evaluation to Weights & Biases; `WANDB_MODE=offline` keeps them here.

    Args:
        project: Where the run is listed.
        name: Of the run; by default one that Weights & Biases makes up.
        run_id: With which a run that was interrupted is gone on with. What it has of a step cannot be changed there,
            so steps that are taken again after an interruption are left out.
        folder: For its local files; by default the current one.
        settings: Anything else that `wandb.init` takes, such as `mode="offline"` or `tags=[…]`.
    """

    def __init__(
        self,
        project: str = "engram",
        *,
        name: str | None = None,
        run_id: str | None = None,
        folder: str | Path | None = None,
        **settings: Any,
    ) -> None:
        try:
            import wandb  # noqa: PLC0415 (an extra)
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                'a log for Weights & Biases needs wandb: pip install "engram-rl[wandb]"; or write a CSV file'
            ) from error
        self._wandb: Any = wandb
        self._folder = None if folder is None else whole_path(Path(folder))
        self._settings = {"project": project, "name": name, "id": run_id, "resume": "allow", **settings}
        self._behind: list[Event] = []
        self._run: Any = None

    def catch_up(self, agent: Agent, events: Iterable[Event]) -> None:
        """Keep what a run has behind it, in case that Weights & Biases does not have it."""
        self._behind = list(events)

    def begin(self, agent: Agent) -> None:
        """Begin, or go on with, a run there."""
        if self._folder is not None:
            make_folder(self._folder)
        try:
            self._run = self._wandb.init(dir=self._folder, config=agent.describe(), **self._settings)
        except (self._wandb.Error, OSError) as error:
            raise EngramError(
                f"Weights & Biases cannot be used: {error}; log in with: wandb login, or keep the log here with "
                "WANDB_MODE=offline"
            ) from error
        behind, self._behind = self._behind, []
        for event in behind:
            self.on_event(agent, event)

    def on_event(self, agent: Agent, event: Event) -> None:
        """Send what an episode or an evaluation brought, unless it has that step already."""
        scalars = scalars_of(event)
        if scalars and event.step >= self._run.step:
            self._run.log(scalars, step=event.step)

    def end(self, agent: Agent) -> None:
        """Send what waits."""
        if self._run is not None:
            self._run.finish()
            self._run = None
