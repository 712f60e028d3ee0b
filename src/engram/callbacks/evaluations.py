"""Evaluating while an agent learns."""

from pathlib import Path

from engram import checks
from engram.agents import Agent
from engram.callbacks.saves import SaveBest
from engram.envs import Env, EnvLike, EnvSource
from engram.envs.faults import close
from engram.errors import InvalidInputError
from engram.training.callback import Callback
from engram.training.evaluation import MOST_EPISODES, SIDE_BY_SIDE, examine
from engram.training.events import Evaluation, Event, Step


class Evaluate(Callback):
    """Plays greedy episodes every so many steps, and tells all callbacks how they went.

    A run in a folder is evaluated anyway, and needs only `SaveBest` and `StopAtScore`.

    Args:
        every: Steps between two evaluations.
        episodes: That are played, always from the same starts.
        env: Where they are played; by default in new environments such as the agent learns in.
        max_steps: After which an episode is cut off.
        save_best: A file for the agent with the best evaluation so far.
    """

    def __init__(
        self,
        every: int = 1_000,
        episodes: int = 10,
        *,
        env: EnvLike | None = None,
        max_steps: int | None = None,
        save_best: str | Path | None = None,
    ) -> None:
        self._every = checks.at_least("every", every, 1)
        self._episodes = checks.at_least("episodes", episodes, 1, MOST_EPISODES)
        self._max_steps = max_steps if max_steps is None else checks.at_least("max_steps", max_steps, 1)
        self._source = None if env is None else EnvSource(env)
        self._best = None if save_best is None else SaveBest(save_best)
        self._envs: list[Env] = []

    def begin(self, agent: Agent) -> None:
        """Make environments to play in."""
        source = _another(agent.source) if self._source is None else self._source
        if source.shared and agent.source.shared and source.peek() is agent.source.peek():
            raise InvalidInputError(
                "evaluations would be played in the very environment that the agent learns in, and move it; give them "
                "another one: Evaluate(…, env=…)"
            )
        self._envs = source.make_several(min(self._episodes, SIDE_BY_SIDE))

    def on_event(self, agent: Agent, event: Event) -> Evaluation | None:
        """Evaluate when it is time."""
        if not isinstance(event, Step) or event.step % self._every:
            return None
        found = examine(agent, self._envs, event.step, self._episodes, max_steps=self._max_steps)
        if self._best is not None:
            self._best.on_event(agent, found)
        return found

    def end(self, agent: Agent) -> None:
        """Close what was made."""
        if self._source is None or not self._source.shared:
            for env in self._envs:
                close(env)
        self._envs = []


def _another(source: EnvSource) -> EnvSource:
    """Where environments come from that are such as an agent learns in, and not the same."""
    if not source.shared:
        return source
    if source.name is None:
        raise InvalidInputError(
            "the agent learns in an environment that was handed over and has no id, so that no second can be made; "
            "evaluations need one of their own: Evaluate(…, env=…)"
        )
    return EnvSource(source.name)
