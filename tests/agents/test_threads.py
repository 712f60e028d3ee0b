"""Threads that use one agent at the same time get the answers that one alone gets."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Event as Signal
from threading import Thread
from typing import Any

import numpy as np
import pytest

from engram import MFEC, Agent
from engram.errors import InvalidInputError
from tests.agents.test_door import KINDS, good
from tests.conftest import assert_same_state
from tests.faults.worlds import Vectors

THREADS = 4


@pytest.mark.parametrize("kind", list(KINDS))
def test_predictions_of_many_threads_are_those_of_one(kind: str) -> None:
    agent = KINDS[kind]().learn(60)
    seen = good(agent, 64)
    expected = np.array([agent.predict(each)[0] for each in seen])
    values = np.concatenate([agent.q_values(each[None]) for each in seen])

    def ask(offset: int) -> None:
        for step in range(3 * len(seen)):
            row = (step * 7 + offset * 13) % len(seen)
            assert agent.predict(seen[row])[0] == expected[row]
            np.testing.assert_array_equal(agent.q_values(seen[row : row + 1])[0], values[row])

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(ask, range(THREADS)))
    np.testing.assert_array_equal([agent.predict(each)[0] for each in seen], expected)


@pytest.mark.parametrize("kind", list(KINDS))
def test_learning_is_not_disturbed_by_threads_that_predict_and_save(kind: str) -> None:
    alone, watched, done = KINDS[kind](), KINDS[kind](), Signal()
    seen, states = good(alone, 8), []

    def ask(_: int) -> None:
        while not done.is_set():
            watched.predict(seen)
            states.append(watched.state_dict())

    with ThreadPoolExecutor(2) as pool:
        asking = [pool.submit(ask, number) for number in range(2)]
        try:
            watched.learn(120)
        finally:
            done.set()
        for each in asking:
            each.result()
    alone.learn(120)
    assert_same_state(alone, watched)
    for state in states[:: max(1, len(states) // 20)]:  # each is that of an agent between two moments of its work
        KINDS[kind]().load_state_dict(state)


def test_an_agent_learns_in_one_thread_at_a_time() -> None:
    agent, inside, leave = MFEC(Vectors, capacity=5), Signal(), Signal()

    def stay(_: Any) -> None:
        inside.set()
        leave.wait(10)

    learner = Thread(target=lambda: agent.learn(1, stay))
    learner.start()
    inside.wait(10)
    with pytest.raises(InvalidInputError, match="learning in another thread"):
        agent.learn(1)
    leave.set()
    learner.join()
    assert agent.learn(1).steps == 2


def test_a_slow_environment_keeps_no_one_from_predicting() -> None:
    stepping, leave = Signal(), Signal()

    class Slow(Vectors):
        def step(self, action: Any) -> Any:
            stepping.set()
            leave.wait(10)
            return super().step(action)

    agent = MFEC(Slow, capacity=5)
    learner = Thread(target=lambda: agent.learn(1))
    learner.start()
    stepping.wait(10)
    agent.predict(np.zeros(3, np.float32))
    leave.set()
    learner.join()


def test_a_copy_of_an_agent_has_locks_of_its_own() -> None:
    agent: Agent = MFEC(Vectors, capacity=5).learn(20)
    other = copy.deepcopy(agent)
    with agent.lock:
        assert other.learn(20).steps == 40
    assert agent.steps == 20


@pytest.mark.parametrize("kind", ["mfec", "nec"])
def test_a_copy_that_is_made_while_an_agent_learns_is_whole(kind: str) -> None:
    agent = KINDS[kind]()
    learning = Thread(target=lambda: agent.learn(400))
    learning.start()
    copies = 0
    while learning.is_alive():
        made = copy.deepcopy(agent)
        made.abandon_game()
        made.check_valid()
        copies += 1
    learning.join()
    assert copies


@pytest.mark.parametrize("kind", ["mfec", "nec"])
def test_an_agent_that_has_learned_can_be_pickled(kind: str) -> None:
    agent = KINDS[kind]().learn(60)
    again = pickle.loads(pickle.dumps(agent))
    assert_same_state(agent, again)
