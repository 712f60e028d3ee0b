"""Wrappers that remember something from game to game, such as the mean and spread of all observations.

What they remember belongs to what was learned: it is saved with the agent, put back on resume, and used in evaluations
without being changed there. Gymnasium's NormalizeObservation and NormalizeReward are known, and every wrapper that has
`state_dict()` and `load_state_dict(state)`.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, TypeVar

import numpy as np
from gymnasium.wrappers import NormalizeObservation, NormalizeReward

from engram.envs.wrapping import wrappers_of
from engram.errors import InvalidInputError
from engram.files.exact_state import are_same, form_of_state, from_form

Event = TypeVar("Event")
States = dict[str, Any]  # by the wrapper's name
RUNNING = ("mean", "var", "count")  # of Gymnasium's running statistics
SWITCH = "update_running_mean"  # the attribute by which Gymnasium's wrappers are told to learn no more
REWARDS = NormalizeReward.__name__


def stateful_wrappers(env: Any) -> dict[str, Any]:
    """The wrappers that remember something, by name; InvalidInputError for one whose memory cannot be saved."""
    found: dict[str, Any] = {}
    for wrapper in wrappers_of(env):
        if not is_stateful(wrapper):
            continue
        name, number = type(wrapper).__name__, 2
        while name in found:
            name, number = f"{type(wrapper).__name__}-{number}", number + 1
        found[name] = wrapper
    return found


def is_stateful(wrapper: Any) -> bool:
    """Whether a wrapper remembers something that can be saved; InvalidInputError if it cannot be."""
    if has_own_state(wrapper) or isinstance(wrapper, NormalizeObservation | NormalizeReward):
        return True
    kept = [name for name, value in vars(wrapper).items() if all(hasattr(value, each) for each in RUNNING)]
    if kept:
        raise InvalidInputError(
            f"the wrapper {type(wrapper).__name__} keeps running statistics ({', '.join(kept)}) that cannot be saved, "
            "so that evaluations and resumed runs would see other observations than training; give it state_dict() and "
            'load_state_dict(state), or leave it out and use encoder="scaled"'
        )
    return False


def has_own_state(wrapper: Any) -> bool:
    """Whether a wrapper says itself what it remembers; attributes of what it wraps do not count."""
    return all(callable(getattr(type(wrapper), name, None)) for name in ("state_dict", "load_state_dict"))


def state_of(wrapper: Any) -> dict[str, Any]:
    """A copy of what a wrapper remembers, as a file can hold it; InvalidInputError where a file cannot."""
    if has_own_state(wrapper):
        return form_of_state(wrapper, wrapper.state_dict())
    rewards = isinstance(wrapper, NormalizeReward)
    running = wrapper.return_rms if rewards else wrapper.obs_rms
    state = {"mean": _copy(running.mean), "var": _copy(running.var), "count": float(running.count)}
    return state | ({"discounted_reward": _copy(wrapper.discounted_reward)} if rewards else {})


def load_state(wrapper: Any, state: dict[str, Any]) -> None:
    """Put back what `state_of` gave."""
    if has_own_state(wrapper):
        wrapper.load_state_dict(from_form(state))
        return
    rewards = isinstance(wrapper, NormalizeReward)
    running = wrapper.return_rms if rewards else wrapper.obs_rms
    _check(type(wrapper).__name__, state, np.shape(running.mean), rewards)
    running.mean, running.var, running.count = _copy(state["mean"]), _copy(state["var"]), state["count"]
    if rewards:
        wrapper.discounted_reward = _copy(state["discounted_reward"])


def _copy(numbers: Any) -> Any:
    """An array of its own, or a single number as a float."""
    return np.array(numbers) if np.ndim(numbers) else float(numbers)


def _check(name: str, state: dict[str, Any], shape: tuple[int, ...], rewards: bool) -> None:
    """Raise InvalidInputError unless a state is what one of Gymnasium's wrappers can go on from."""
    arrays = [state[each] for each in ("mean", "var", *(("discounted_reward",) if rewards else ()))]
    right = all(np.asarray(each).dtype.kind == "f" and np.isfinite(each).all() for each in arrays)
    right = right and np.shape(state["mean"]) == np.shape(state["var"]) == shape and bool(np.all(state["var"] >= 0))
    count = state["count"]
    if not (right and isinstance(count, float) and 0 < count < float("inf")):
        raise InvalidInputError(f"the saved statistics of {name} are not those of observations of shape {shape}")


def states_of(env: Any) -> States:
    """What all wrappers of an environment remember, by name; empty for most environments."""
    return {name: state_of(wrapper) for name, wrapper in stateful_wrappers(env).items()}


def load_states(env: Any, states: States) -> None:
    """Put back what `states_of` gave; InvalidInputError unless the environment has the same wrappers."""
    wrappers = stateful_wrappers(env)
    if wrappers.keys() != states.keys():
        raise InvalidInputError(
            f"the agent was trained with {_listed(states)}, and the environment has {_listed(wrappers)}; wrap the "
            "environment as it was in training"
        )
    for name, wrapper in wrappers.items():
        load_state(wrapper, states[name])


def _listed(names: Any) -> str:
    return f"the wrappers {', '.join(names)}" if names else "no wrapper that keeps statistics"


@contextmanager
def frozen(envs: Sequence[Any], states: States | None) -> Iterator[Callable[[int], None]]:
    """Let wrappers use what was learned in training and learn nothing themselves; afterwards they are as before.

    What it gives is to be called with the number of an environment before each of its episodes: a wrapper that cannot
    be told to learn no more begins each from the same state. `states` is None for an agent that knows of no wrappers.
    """
    each_wrappers = [stateful_wrappers(env) for env in envs]
    before = [
        (wrapper, state_of(wrapper), getattr(wrapper, SWITCH, None))
        for wrappers in each_wrappers
        for wrapper in wrappers.values()
    ]
    known = [_known(wrappers, states) for wrappers in each_wrappers]

    def begin_episode(number: int) -> None:
        for wrapper, state in known[number]:
            load_state(wrapper, state)

    try:
        for number in range(len(envs)):
            begin_episode(number)
        for wrapper, _, switch in before:
            if switch is not None:
                setattr(wrapper, SWITCH, False)
        yield begin_episode
    finally:
        for wrapper, state, switch in before:
            load_state(wrapper, state)
            if switch is not None:
                setattr(wrapper, SWITCH, switch)


def _known(wrappers: dict[str, Any], states: States | None) -> list[tuple[Any, dict[str, Any]]]:
    """The wrappers with the states that the agent knows; InvalidInputError if observations would be others."""
    if states is None:
        return []
    if missing := [name for name in states if name not in wrappers and not name.startswith(REWARDS)]:
        raise InvalidInputError(
            f"the agent was trained with {_listed(missing)}, and the environment to evaluate in has none of the kind; "
            "wrap it as it was in training (the statistics are taken from the agent)"
        )
    unknown = [name for name in wrappers if name not in states and getattr(wrappers[name], SWITCH, True)]
    if unknown := [name for name in unknown if not name.startswith(REWARDS)]:
        raise InvalidInputError(
            f"the environment to evaluate in has {_listed(unknown)}, and the agent was trained without; train with the "
            f'wrapper, or with encoder="scaled", or set {SWITCH} = False if its statistics are meant as they are'
        )
    return [(wrapper, states[name]) for name, wrapper in wrappers.items() if name in states]


class GameStates:
    """What the wrappers of the training environment remember of the agent's own steps.

    Attributes:
        start: States from which the unfinished game, or if there is none the next, begins.
    """

    def __init__(self, env: Any) -> None:
        self.start = self._now = states_of(env)
        self._own = {name for name, wrapper in stateful_wrappers(env).items() if has_own_state(wrapper)}
        self._env: Any = None  # in which the agent learns at this moment

    def followed(self, env: Any, events: Generator[Event], resetting: Callable[[], bool]) -> Generator[Event]:
        """The same events, from steps in this environment; what others do in it afterwards does not count.

        Nor does what it showed in a reset that failed: `resetting` says at the end whether one did.
        """
        self._env = env
        try:
            yield from events
        finally:
            if self._env is env:  # no other state was loaded meanwhile
                self._now, self._env = self.start if resetting() else states_of(env), None

    @property
    def statistics(self) -> list[str]:
        """The wrappers that keep running statistics, such as means of observations."""
        return [name for name, state in self.start.items() if state.keys() >= set(RUNNING)]

    def begin_game(self) -> None:
        """The next game begins from how things are now."""
        self.start = self.now()

    def restore(self, env: Any) -> None:
        """Bring an environment to where the game begins."""
        if self.start or stateful_wrappers(env):
            load_states(env, self.start)

    def put_back(self, env: Any) -> None:
        """Bring an environment to how things are now."""
        if self.start:
            load_states(env, self.now())

    def is_as_left(self, env: Any) -> bool:
        """Whether an environment's wrappers remember what they did after the agent's last step."""
        return not self.start or are_same(states_of(env), self.now())

    def now(self) -> States:
        """States after the agent's last step."""
        return self._now if self._env is None else states_of(self._env)

    def state_dict(self) -> dict[str, Any]:
        """Both states; empty where no wrapper remembers anything."""
        return {"start": self.start, "now": self.now()} if self.start else {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave, for an environment with the same wrappers."""
        start, now = state.get("start", {}), state.get("now", {})
        if not start.keys() == now.keys() == self.start.keys():
            raise InvalidInputError(
                f"the agent was trained with {_listed(start)}, and the environment has {_listed(self.start)}; wrap the "
                "environment as it was in training"
            )
        for name in start:
            for each in (start[name], now[name]):
                if name in self._own:
                    from_form(each)  # which says so where it is none
                else:
                    _check(name, each, np.shape(self.start[name]["mean"]), name.startswith(REWARDS))
        self.start, self._now, self._env = deepcopy(start), deepcopy(now), None
