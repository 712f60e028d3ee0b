"""Reads of MFEC beyond the paper: two kinds of estimates brought to one level, and close states that count as one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram import MFEC, EpisodicMemory
from engram.agents.common.aggregation import Aggregation
from engram.agents.common.calibration import STATES, Calibration
from engram.agents.common.episode import Finished
from engram.agents.common.estimates import estimate, estimate_everywhere
from engram.errors import InvalidInputError
from engram.running_mean import RunningMean
from engram.typing import Floats
from tests.examples import examples

ACTIONS = 3


def filled(seed: int, entries: int = 20, neighbours: int = 5, kernel: Any = "inverse") -> tuple[EpisodicMemory, Floats]:
    """A memory with so many entries in tables 0 and 1 and none in table 2, and their keys."""
    rng = np.random.default_rng(seed)
    memory = EpisodicMemory(actions=ACTIONS, key_size=2, capacity=50, neighbours=neighbours, kernel=kernel)
    keys = rng.standard_normal((2, entries, 2)).astype(np.float32)
    for action in range(2):
        memory.write(action, keys[action], rng.standard_normal(entries))
    return memory, keys


def calibrated(
    memory: EpisodicMemory,
    shrinkage: float | None = 0.0,
    correct: str = "none",
    pooling: float = 0.0,
    radius: float = 0.0,
) -> Any:
    aggregation = Aggregation(memory, radius)
    return Calibration(memory, shrinkage=shrinkage, correct_by=correct, pooling=pooling, aggregation=aggregation)


def episode(action: int, keys: Floats, returns: Any) -> Finished:
    states = np.arange(len(keys), dtype=np.uint64) + np.uint64(10**6)
    return Finished(keys, states, np.full(len(keys), action), np.asarray(returns, np.float32), 0.0)


@pytest.mark.parametrize("kernel", ["inverse", "mean"])
@examples(30)
@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 6))
def test_the_state_itself_is_left_out_of_what_its_neighbours_say(
    kernel: str, seed: int, entries: int, neighbours: int
) -> None:
    memory, keys = filled(seed, entries, neighbours, kernel)
    table = memory.entries(0)
    query = keys[0, seed % entries]
    found = estimate(memory, np.zeros(1, np.int64), query[None])
    d2 = ((table["keys"] - query) ** 2).sum(1).astype(np.float64)
    others = np.argsort(d2, kind="stable")[1 : min(neighbours, entries)]
    weights = 1 / (d2[others] + memory.delta) if kernel == "inverse" else np.ones(len(others))
    expected = (weights * table["values"][others]).sum() / weights.sum() if len(others) else np.nan
    assert found.stored[0] == table["values"][seed % entries]
    np.testing.assert_allclose(found.near[0], expected, rtol=1e-4, atol=1e-5)


def test_without_any_correction_reads_are_the_memorys_own() -> None:
    memory, keys = filled(1)
    queries = np.concatenate([keys[0], keys[1], np.random.default_rng(2).standard_normal((90, 2)).astype(np.float32)])
    np.testing.assert_allclose(calibrated(memory).read(queries), memory.read(queries), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seen", [1, 100])
def test_one_search_gives_values_and_distances(seen: int, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, _ = filled(2)
    queries = np.random.default_rng(3).standard_normal((seen, 2)).astype(np.float32)
    expected, calibration = memory.nearest_distances(queries), calibrated(memory)
    np.testing.assert_array_equal(calibration.nearest_distances(queries), expected)
    calibration.read(queries)
    monkeypatch.setattr(EpisodicMemory, "nearest_distances", None)
    np.testing.assert_array_equal(calibration.nearest_distances(queries), expected)
    assert np.isinf(expected[:, 2]).all()


def test_a_stored_value_shrinks_towards_its_neighbours_and_a_new_state_stays_as_it_is() -> None:
    memory, keys = filled(3)
    both = estimate(memory, np.zeros(20, np.int64), keys[0])
    read = calibrated(memory, shrinkage=0.25).read(keys[0])
    np.testing.assert_allclose(read[:, 0], 0.75 * both.stored + 0.25 * both.near, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(read[:, 1], memory.read(keys[0])[:, 1], rtol=1e-6, atol=1e-6)
    assert (read[:, 2] == 0).all(), "nothing is known there"


def test_a_lonely_entry_has_nothing_to_shrink_towards() -> None:
    memory, keys = filled(4, entries=1)
    assert calibrated(memory, shrinkage=0.9).read(keys[0, :1])[0, 0] == memory.values(0)[0]


@pytest.mark.parametrize("kernel", ["inverse", "mean"])
@examples(30)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 6), st.floats(0.1, 30), st.booleans())
def test_what_neighbours_say_is_pulled_towards_what_those_of_all_actions_say(
    kernel: str, seed: int, entries: int, neighbours: int, pooling: float, stored: bool
) -> None:
    """The definition, in plain NumPy; an action without any entry gets what the others' say."""
    memory, keys = filled(seed, entries, neighbours, kernel)
    query = keys[0, 0] if stored else np.random.default_rng(seed + 1).standard_normal(2).astype(np.float32)
    listed = [(action, *pair) for action in range(2) for pair in nearest(memory, action, query)]
    reach = sorted(distance for _, distance, _ in listed)[: memory.neighbours][-1]

    def weight(distance: float) -> float:
        return (reach + memory.delta) / (distance + memory.delta) if kernel == "inverse" else 1.0

    found = estimate_everywhere(memory, query[None], pooling=pooling)
    for action in range(ACTIONS):
        others = [each for each in listed if not (each[0] == action and each[1] == 0)]
        own = [(weight(distance), value) for table, distance, value in others if table == action]
        pool = [(weight(distance), value) for _, distance, value in others if distance <= reach]
        if pool:
            mean = sum(w * value for w, value in pool) / sum(w for w, _ in pool)
            expected = (sum(w * value for w, value in own) + pooling * mean) / (sum(w for w, _ in own) + pooling)
        else:
            expected = sum(w * value for w, value in own) / sum(w for w, _ in own) if own else np.nan
        np.testing.assert_allclose(found.near[0, action], expected, rtol=1e-4, atol=1e-5)


def nearest(memory: EpisodicMemory, action: int, query: Floats) -> list[tuple[float, float]]:
    """Squared distance and value of the k nearest entries of a table, nearest first."""
    slots, distances = memory.find_neighbours(action, query[None])
    return list(zip(distances[0].tolist(), memory.entries(action)["values"][slots[0]].tolist(), strict=True))


def test_what_is_measured_is_measured_of_estimates_that_are_pulled_together() -> None:
    memory, _ = filled(8)
    new = np.random.default_rng(9).standard_normal((STATES, 2)).astype(np.float32)
    calibration = calibrated(memory, correct="new", pooling=4)
    before = calibration.read(new)
    assert not np.allclose(before, memory.read(new))
    calibration.learn(episode(1, new, before[:, 1] - 3))
    assert calibration.correction == pytest.approx(-3, rel=1e-5)


def test_neighbours_are_raised_by_how_far_returns_were_above_them() -> None:
    memory, keys = filled(5)
    new = np.random.default_rng(6).standard_normal((STATES, 2)).astype(np.float32)
    calibration = calibrated(memory, correct="new")
    before = memory.read(new)
    calibration.learn(episode(0, new, before[:, 0] + 5))
    assert calibration.correction == pytest.approx(5, rel=1e-5)
    np.testing.assert_allclose(calibration.read(new)[:, :2], before[:, :2] + 5, rtol=1e-5, atol=1e-5)
    assert (calibration.read(new)[:, 2] == 0).all(), "where nothing is known, nothing is corrected"
    np.testing.assert_array_equal(calibration.read(keys[0])[:, 0], memory.read(keys[0])[:, 0])


def test_states_that_are_stored_teach_the_correction_only_where_all_do_and_not_by_themselves() -> None:
    memory, keys = filled(7)
    near = estimate(memory, np.zeros(20, np.int64), keys[0]).near
    for correct, expected in (("all", -2), ("new", 0), ("none", 0)):
        calibration = calibrated(memory, correct=correct)
        calibration.learn(episode(0, keys[0], near - 2))
        assert calibration.correction == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("share", [-0.5, 0.0, 0.3, 1.0, 1.5])
@pytest.mark.parametrize("correct", ["none", "all"])
def test_the_shrinkage_that_is_measured_is_the_best_one(share: float, correct: str) -> None:
    """Where returns lie on the way from the stored values to the neighbours' estimates, as far as that can be."""
    memory, keys = filled(8)
    both = estimate(memory, np.zeros(20, np.int64), keys[0])
    calibration = calibrated(memory, None, correct)
    assert calibration.shrinkage == 0
    returns = both.stored + share * (both.near - both.stored)
    calibration.learn(episode(0, keys[0], returns))
    assert calibration.shrinkage == pytest.approx(min(max(share, 0), 1), abs=1e-5)
    if correct == "all":
        assert calibration.correction == pytest.approx((returns - both.near).mean(), rel=1e-5, abs=1e-6)


def test_close_states_count_as_one_and_keep_the_larger_value() -> None:
    memory = EpisodicMemory(actions=1, key_size=1, capacity=9)
    apart = np.array([[0], [10], [20], [30]], np.float32)
    aggregation = Aggregation(memory, 0.5)
    for key in apart:  # 10 apart each: the first has no entry near it
        aggregation.renamed(episode(0, key[None], [1.0]))
        memory.write(0, key[None], [1.0])
    assert aggregation.square == pytest.approx(25)
    calibration = Calibration(memory, shrinkage=0, correct_by="none", pooling=0.0, aggregation=aggregation)
    size = memory.size[0]
    aggregation.renamed(episode(0, np.array([[23.0]], np.float32), [7.0])).write_to(memory)
    assert memory.size[0] == size
    assert calibration.read(np.array([[20], [22.5], [26]], np.float32))[:2, 0].tolist() == [7, 7]
    aggregation.renamed(episode(0, np.array([[46.0]], np.float32), [7.0])).write_to(memory)
    assert memory.size[0] == size + 1


def test_a_running_mean_is_a_plain_one_first_and_follows_later() -> None:
    mean = RunningMean(4)
    for number in (1.0, 2.0, 3.0):
        mean.add(number)
    assert mean.mean == pytest.approx(2)
    for _ in range(40):
        mean.add(10.0)
    assert mean.mean == pytest.approx(10, abs=1e-3)
    other = RunningMean(4)
    other.load_state_dict(mean.state_dict())
    assert other.state_dict() == mean.state_dict()
    for state in ({"count": 5, "mean": 1.0}, {"count": 0, "mean": 1.0}, {"count": 1, "mean": float("nan")}):
        with pytest.raises(InvalidInputError, match="running mean must be a number over 0 to 4 others"):
            other.load_state_dict(state)


@pytest.mark.parametrize(
    "options", [{"shrinkage": 0.2}, {"correct_neighbours": "all"}, {"pooling": 1.0}, {"radius": 0.1}], ids=str
)
def test_a_policy_that_reads_otherwise_is_not_exported(options: dict[str, Any], tmp_path: Path) -> None:
    agent = MFEC("CartPole-v1", capacity=20, **options).learn(100)
    with pytest.raises(InvalidInputError, match=r"exported with shrinkage=0.*save the agent itself"):
        agent.export_policy(tmp_path / "policy.npz")
