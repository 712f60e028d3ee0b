"""The unfinished episode, packed."""

import tracemalloc

import numpy as np

from engram.agents.common.episode import Episode


def test_a_step_takes_little_more_than_its_numbers() -> None:
    episode, key, steps = Episode(), np.ones(4, np.float32), 50_000
    tracemalloc.start()
    for step in range(steps):
        episode.add(key, 2**63 + step, step % 2)
        episode.rewards.append(0.5 * step)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown / steps < 80  # 16 of the key, 8 each of state, action and reward, and room for more


def test_keys_grow_and_come_back_whole() -> None:
    episode, keys = Episode(), np.random.default_rng(0).standard_normal((300, 3)).astype(np.float32)
    for step, key in enumerate(keys):
        episode.add(key, step, 0)
        episode.rewards.append(1.0)
    again = Episode()
    again.load_state_dict(episode.state_dict())
    finished = again.finish(np.zeros(300, np.float32))
    np.testing.assert_array_equal(finished.keys, keys)
    np.testing.assert_array_equal(finished.states, np.arange(300, dtype=np.uint64))
    assert finished.total == 300
    assert len(again) == 0


def test_the_key_of_one_step_is_found_wherever_it_lies() -> None:
    episode, keys = Episode(), np.random.default_rng(0).standard_normal((600, 3)).astype(np.float32)
    for step, key in enumerate(keys):
        episode.add(key, step, 0)
        if step == 30:
            episode.keys = keys[:31]  # as when an encoder settles
    for step in (0, 30, 31, 286, 287, 599):
        np.testing.assert_array_equal(episode.key(step), keys[step : step + 1])
