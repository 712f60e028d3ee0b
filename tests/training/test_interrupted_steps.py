"""An environment that fails in the middle of a step leaves a whole agent, which goes on as if nothing had happened."""

import signal
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import NormalizeObservation

from engram import MFEC, load
from engram.errors import FaultyEnvironmentError, InvalidInputError
from tests.agents.test_door import KINDS
from tests.conftest import assert_same_state
from tests.faults.worlds import Pictures, Vectors


class Failing:
    """Makes an environment's step number `failing` of all raise an error, once."""

    failing = 0
    taken = 0

    def step(self, action: Any) -> Any:
        type(self).taken += 1
        if self.taken == self.failing:
            raise ConnectionError("the simulator is gone")
        return super().step(action)  # type: ignore[misc]


@pytest.mark.parametrize("failing", [40, 41, 42, 48, 49])
@pytest.mark.parametrize("kind", list(KINDS))
def test_a_step_that_failed_is_taken_again(kind: str, failing: int, tmp_path: Path) -> None:
    world = Pictures if "images" in kind else Vectors
    broken: Any = type("Broken", (Failing, world), {"failing": failing})
    alone, agent, saved = KINDS[kind](), KINDS[kind](), KINDS[kind]()
    agent.source._env, agent.source._ready = broken, broken()
    with pytest.raises(FaultyEnvironmentError, match="ConnectionError: the simulator is gone"):
        agent.learn(100)
    agent.check_valid()
    agent.save(tmp_path / "saved")
    assert agent.steps == failing - 1
    alone.learn(100)
    assert_same_state(agent.learn(100 - agent.steps), alone)
    saved = load(tmp_path / "saved", world)
    assert_same_state(saved.learn(100 - saved.steps), alone)


@pytest.mark.parametrize("abandons", [False, True])
@pytest.mark.parametrize("before", [0, 60])
def test_what_a_reset_showed_that_failed_does_not_count(before: int, abandons: bool) -> None:
    class Flaky(gymnasium.Wrapper[Any, Any, Any, Any]):
        fails = False

        def reset(self, **options: Any) -> Any:
            seen = self.env.reset(**options)
            if self.fails:
                self.fails = False
                raise ConnectionError("the simulator is gone")
            return seen

    alone, agent = (MFEC(lambda: Flaky(NormalizeObservation(Vectors())), capacity=9, seed=3) for _ in range(2))
    if before:
        alone.learn(before)
        agent.learn(before)
    agent.get_env().fails = True  # type: ignore[attr-defined]
    with pytest.raises(FaultyEnvironmentError, match="ConnectionError: the simulator is gone"):
        agent.learn(100 - before)
    agent.check_valid()
    if abandons:
        agent.abandon_game()
    assert_same_state(agent.learn(100 - agent.steps), alone.learn(100 - before))


def test_ctrl_c_in_an_environment_is_the_users_where_no_handler_of_ours_is_at_work() -> None:
    class Interrupted(Vectors):
        def step(self, action: Any) -> Any:
            signal.raise_signal(signal.SIGINT)

    agent = KINDS[next(kind for kind in KINDS if "images" not in kind)]()
    agent.source._env, agent.source._ready = Interrupted, Interrupted()
    with pytest.raises(KeyboardInterrupt):
        agent.learn(5)


@pytest.mark.parametrize("reward", [np.nan, np.inf, 1e16, None, "much", [1.0, 2.0]])
@pytest.mark.parametrize("kind", list(KINDS))
def test_rewards_that_cannot_be_summed_are_refused_for_all_agents(kind: str, reward: Any) -> None:
    world: Any = Pictures if "images" in kind else Vectors

    class Odd(world):  # type: ignore[misc]
        def step(self, action: Any) -> Any:
            seen, _, *rest = super().step(action)
            return (seen, np.array(reward) if isinstance(reward, list) else reward, *rest)

    agent = KINDS[kind]()
    agent.source._env, agent.source._ready = Odd, Odd()
    with pytest.raises(InvalidInputError, match=r"the environment gave the reward .* at step 1; it must be a number"):
        agent.learn(5)
    agent.check_valid()
    agent.abandon_game()
    agent.check_valid()


@pytest.mark.parametrize("seen", [np.nan, "text", object()])
@pytest.mark.parametrize("kind", ["mfec", "nec", "d3qn"])
def test_observations_without_numbers_are_refused_for_all_agents(kind: str, seen: Any) -> None:
    class Odd(Vectors):
        def seen(self) -> Any:
            return np.full(3, seen)

    agent = KINDS[kind]()
    agent.source._env, agent.source._ready = Odd, Odd()
    with pytest.raises(InvalidInputError, match="observation that the environment gave at step 0"):
        agent.learn(5)
    agent.check_valid()


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ">f4", np.int64])
def test_an_observation_of_another_dtype_becomes_that_of_the_space(dtype: Any, tmp_path: Path) -> None:
    class Other(Vectors):
        def seen(self) -> Any:
            return np.array([1, 2, self.time]).astype(dtype)

    for kind in ("mfec", "nec", "d3qn"):
        agent = KINDS[kind]()
        agent.source._env, agent.source._ready = Other, Other()
        agent.learn(40).save(tmp_path / "saved")
        load(tmp_path / "saved", Other).learn(40).check_valid()


def test_environments_may_give_arrays_in_any_order() -> None:
    class Backwards(Pictures):
        def seen(self) -> Any:
            frames = super().seen()[:, ::-1].T.copy().T
            frames.flags.writeable = False
            return frames

    for kind in KINDS:
        if "images" in kind:
            agent = KINDS[kind]()
            agent.source._env, agent.source._ready = Backwards, Backwards()
            agent.learn(40).check_valid()
