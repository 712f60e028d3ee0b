"""Who listens while an agent learns: all callbacks of one call of `learn`, or of one run."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Any, Self

import numpy as np

from engram.errors import InvalidInputError
from engram.training.callback import Callback
from engram.training.events import Evaluation, Event
from engram.training.sb3_callbacks import SB3Callback, is_sb3

Hears = Callable[[Event], object]
CallbackLike = Any  # a function of an event, a Callback, one of Stable-Baselines3's, a list of these, or None


class Listeners:
    """Callbacks that have begun while this is entered.

    Args:
        agent: That learns.
        callback: A function of an event, a `Callback`, one of Stable-Baselines3's, or a list of these.
        steps: That are to be taken.
    """

    def __init__(self, agent: Any, callback: CallbackLike, steps: int) -> None:
        self.stopped = False  # whether one of them wants training to end
        self._agent = agent
        found = [as_callback(each, steps) for each in as_list(callback)]
        self._objects = [each for each in found if isinstance(each, Callback)]
        self._hears = [partial(each.on_event, agent) if isinstance(each, Callback) else each for each in found]
        self._begun = ExitStack()

    def __bool__(self) -> bool:
        """Whether anyone listens."""
        return bool(self._hears)

    def catch_up(self, history: Callable[[], Iterable[Event]]) -> None:
        """Tell each what a run has behind it; `history` gives that from its beginning."""
        for each in self._objects:
            each.catch_up(self._agent, history())

    def __enter__(self) -> Self:
        with ExitStack() as begun:
            for each in self._objects:
                begun.callback(each.end, self._agent)
                each.begin(self._agent)
            self._begun = begun.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._begun.__exit__(kind, error, trace)

    def __call__(self, event: Event) -> None:
        """Hand an event to every callback, and heed the answers."""
        for hear in self._hears:
            answer = hear(event)
            if answer is not None and answer is not True:
                self._heed(answer, event)

    def _heed(self, answer: object, event: Event) -> None:
        if isinstance(answer, Evaluation):
            if isinstance(event, Evaluation):
                raise InvalidInputError(
                    f"a callback answered the evaluation at step {event.step:,} with another one, which all callbacks "
                    "would be told and could answer again, without end; answer other events only: if isinstance(event, "
                    "Step)"
                )
            self(answer)
        elif isinstance(answer, bool | np.bool_) and not answer:
            self.stopped = True


def as_list(callback: CallbackLike) -> list[Any]:
    """One callback, several or none, as a list."""
    if callback is None:
        return []
    return list(callback) if isinstance(callback, Sequence) else [callback]


def as_callback(callback: Any, steps: int) -> Callback | Hears:
    """Something that events can be handed to; raise InvalidInputError if this is nothing of the kind."""
    if isinstance(callback, Callback):
        return callback
    if is_sb3(callback):
        return SB3Callback(callback, steps)
    if isinstance(callback, type) or not callable(callback):
        hint = f"; give an object of that class: {callback.__name__}(…)" if isinstance(callback, type) else ""
        raise InvalidInputError(
            "callback must be a function of an event, a Callback of engram.callbacks or of Stable-Baselines3, or a "
            f"list of these, got {callback!r:.100}{hint}"
        )
    if not takes_one(callback):
        raise InvalidInputError(
            f"a function given as callback gets one argument, the event, and {callback!r:.100} takes others; one of "
            "(locals, globals), as Stable-Baselines3 has them, becomes: def callback(event): …, or an "
            "engram.callbacks.Callback, whose on_event(agent, event) gets the agent too"
        )
    function: Hears = callback
    return function


def takes_one(function: Any) -> bool:
    """Whether a function can be called with one argument, as far as it tells."""
    try:
        inspect.signature(function).bind(None)
    except ValueError:  # a function of another language
        return True
    except TypeError:
        return False
    return True
