"""Clusters found by raw observations: against the slow oracle, through files, and what is refused."""

from typing import Any

import numpy as np
import pytest

from engram import EpisodicMemory
from engram.errors import InvalidInputError
from engram.memory.strategies import CompiledStrategy, Decision, Numbers, Strategy, Write, blend
from tests.memory.strategies.test_built_in import oracle_tables

CLUSTERING = ["kmeans", "dkm", "dkm:decay=0.3", "fading:lifetime=2"]
ALONG = np.array([[100.0, 0.0], [0.0, 0.01], [3.0, 0.5]], np.float32)  # a key is this times the observation


class Estimating(CompiledStrategy):
    """Merges, and needs Q(s, a) besides."""

    clusters = True
    needs_nearest = "full"
    needs_estimate = "full"

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return blend(write.nearest, 0.5 if write.estimate > 0 else 0.25)


class Plain(Strategy):
    """Merges, in plain Python."""

    clusters = True
    needs_nearest = True

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return blend(int(write.nearest), 0.5)


def make_memory(strategy: Any, **options: Any) -> EpisodicMemory:
    settings: dict[str, Any] = {"actions": 2, "key_size": 3, "capacity": 9, "match": 0.1, "observation_size": 2}
    return EpisodicMemory(strategy=strategy, **settings | options)


def written(memory: EpisodicMemory, seed: int, *, count: int = 60) -> tuple[Any, Any, Any]:
    """Write observations, some of which come back, and the keys that a linear network makes of them."""
    rng = np.random.default_rng(seed)
    observations = (rng.integers(0, 40, (count, 2)) / 4 + seed).astype(np.float32)
    values = rng.standard_normal(count).astype(np.float32)
    states = (observations @ np.array([1, 1_000], np.float32)).astype(np.uint64)
    memory.write(0, observations @ ALONG.T, values, states=states, observations=observations)
    return observations, values, states


@pytest.mark.parametrize("name", CLUSTERING)
def test_clusters_are_those_of_the_observations_and_keys_go_with_them(name: str) -> None:
    """What is merged linearly stays what the network makes of it: each key is that of the merged observation."""
    memory = make_memory(name)
    table = oracle_tables(memory.strategy, 9, step=0.1)[0]
    for seed in range(5):
        for observation, value, state in zip(*written(memory, seed), strict=True):
            table.write(observation, value, int(state), 0)
        entries, observed = memory.entries(0), memory.state_dict()["observations"]
        np.testing.assert_allclose(observed, [entry.key for entry in table.entries], rtol=1e-5)
        np.testing.assert_allclose(entries["keys"], observed @ ALONG.T, rtol=1e-4)
        np.testing.assert_allclose(entries["values"], [entry.value for entry in table.entries], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(entries["n"], [float(entry.n) for entry in table.entries], rtol=1e-9)
        memory.check_valid()
    assert table.replaced or name == "kmeans"


def test_by_keys_other_clusters_are_found() -> None:
    """Worked out by hand: the key is near one entry, the observation near the other."""
    by_keys, by_observations = make_memory("kmeans", capacity=2, observation_size=0), make_memory("kmeans", capacity=2)
    seen = np.array([[0.0, 0.0], [10.0, 0.0], [9.0, 0.0]], np.float32)
    keys = np.array([[0.0, 0, 0], [8.0, 0, 0], [2.0, 0, 0]], np.float32)
    by_keys.write(0, keys, [0.0, 1.0, 2.0])
    by_observations.write(0, keys, [0.0, 1.0, 2.0], observations=seen)
    assert by_keys.entries(0)["keys"][:, 0].tolist() == [1, 8]
    assert by_observations.entries(0)["keys"][:, 0].tolist() == [0, 5]
    assert by_observations.state_dict()["observations"].tolist() == [[0, 0], [9.5, 0]]
    assert by_observations.read(keys[1:2]).shape == (1, 2)


@pytest.mark.parametrize("name", CLUSTERING)
def test_it_goes_on_from_a_file_as_if_nothing_had_happened(name: str) -> None:
    whole, part = make_memory(name), make_memory(name)
    written(whole, 0)
    written(part, 0)
    loaded, exported = make_memory(name), EpisodicMemory.from_arrays(part.to_arrays())
    loaded.load_state_dict(part.state_dict())
    for memory in (whole, loaded, exported):
        written(memory, 1)
        ours, theirs = whole.state_dict(), memory.state_dict()
        assert ours.keys() == theirs.keys()
        assert all(np.array_equal(ours[array], theirs[array]) for array in ours if array != "strategy")
    broken = part.state_dict()
    broken["observations"] = np.full_like(broken["observations"], np.nan)
    with pytest.raises(InvalidInputError, match="observations are finite"):
        loaded.load_state_dict(broken)
    with pytest.raises(InvalidInputError, match="observation_size 2, not None"):
        make_memory(name, observation_size=0).load_arrays(part.to_arrays())


@pytest.mark.parametrize("strategy", ["lru", "rew", "sur", Plain(), Estimating()], ids=str)
def test_strategies_without_clusters_of_their_own_are_refused(strategy: Any) -> None:
    with pytest.raises(
        InvalidInputError, match=r"compiled strategy that merges \(adaptive, dkm, fading, kmeans\).*, got"
    ):
        make_memory(strategy)


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        ({"observation_size": 0}, np.zeros((1, 2)), "finds clusters by keys; leave out observations="),
        ({}, None, r"give those of the 1 states: write\(..., observations=\) of shape \(1, 2\)"),
        ({}, np.zeros((1, 3)), r"observations must have shape \(1, 2\)"),
        ({}, [[np.nan, 0.0]], "NaN"),
    ],
)
def test_observations_are_asked_for_and_checked(options: Any, given: Any, message: str) -> None:
    memory = make_memory("dkm", **options)
    with pytest.raises(InvalidInputError, match=message):
        memory.write(0, np.zeros((1, 3)), [0.0], observations=given)
    assert memory.size.tolist() == [0, 0]


@pytest.mark.parametrize("options", [{"merging": "episode"}, {"device": "auto"}])
def test_what_does_not_go_together_is_refused(options: Any) -> None:
    with pytest.raises(InvalidInputError, match='an observation_size needs merging="single" and device="cpu", got'):
        make_memory("dkm", **options)
