"""What is handed to an agent's public methods is checked at the door, by the same check for every agent."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram import D3QN, MFEC, NEC, Agent, load
from engram.errors import EngramError, InvalidInputError
from tests.faults.worlds import Pictures, Vectors

KINDS: dict[str, Callable[[], Agent]] = {
    "mfec": lambda: MFEC(Vectors, capacity=20),
    "mfec-images": lambda: MFEC(Pictures, capacity=20, projection_size=8),
    "nec": lambda: NEC(Vectors, capacity=20, key_size=4, replay_size=50, learning_start_steps=30, batch_size=4),
    "nec-images": lambda: NEC(Pictures, capacity=20, key_size=4, replay_size=50),
    "d3qn": lambda: D3QN(Vectors, replay_size=50, learning_start_steps=30, batch_size=4),
    "d3qn-images": lambda: D3QN(Pictures, replay_size=50),
}


@pytest.fixture(scope="module", params=list(KINDS))
def agent(request: pytest.FixtureRequest) -> Agent:
    return KINDS[request.param]().learn(60)


def good(agent: Agent, count: int = 3) -> Any:
    drawn = np.random.default_rng(0).integers(0, 5, (count, *agent.spaces.observation_shape))
    return drawn.astype(agent.spaces.observation_dtype)


def methods_of(agent: Agent) -> list[Any]:
    """The methods that take observations."""
    return [agent.q_values, agent.predict, *([agent.distances] if agent.has_memory else [])]


def answers(agent: Agent, observations: Any) -> list[Any]:
    """What every method that takes observations says to them."""
    found = [method(observations) for method in methods_of(agent)]
    return [found[0], found[1][0], *found[2:]]


def test_the_width_of_an_observation_is_checked_before_any_kernel(agent: Agent) -> None:
    shape = agent.spaces.observation_shape
    wide = np.lib.stride_tricks.as_strided(np.ones(1, np.float32), (1, 20_000_000), (0, 0))  # as large as it says
    for wrong in (
        wide,
        np.ones((1, *shape, 1)),
        np.ones((1, *shape[:-1], shape[-1] + 1)),
        np.ones(()),
        np.ones((0, 7)),
    ):
        for method in methods_of(agent):
            with pytest.raises(InvalidInputError, match=r"observations must have shape \(batch, "):
                method(wrong)


def test_what_consists_of_no_usable_numbers_is_refused(agent: Agent) -> None:
    whole = good(agent)
    wrong: list[Any] = [
        whole.astype(object),
        whole.astype(str),
        whole.astype(np.complex64),
        [whole[0].tolist(), "text"],
        [[1], [1, 2]],
        None,
        {},
    ]
    for number in (np.nan, np.inf, -np.inf, 1e39):
        broken = whole.astype(np.float64)
        broken.flat[4] = number
        wrong.append(broken)
    for observations in wrong:
        for method in methods_of(agent):
            with pytest.raises(InvalidInputError, match="observations"):
                method(observations)


def test_whole_numbers_stay_what_they_were_or_are_refused(agent: Agent) -> None:
    if agent.spaces.observation_dtype.kind == "f":
        return
    for number in (256, -1, 0.5):
        wrong = good(agent).astype(np.float64)
        wrong.flat[0] = number
        with pytest.raises(InvalidInputError, match="that uint8 can hold exactly"):
            agent.predict(wrong)


def test_the_same_numbers_in_any_form_get_the_same_answers(agent: Agent) -> None:
    whole = good(agent)
    read_only = whole.copy()
    read_only.flags.writeable = False
    strided = np.repeat(whole, 2, axis=0)[::2]
    backwards = np.ascontiguousarray(whole[::-1])[::-1]
    fortran = np.asfortranarray(whole)
    swapped = whole.astype(whole.dtype.newbyteorder(">"))
    expected = answers(agent, whole)
    for same in (
        read_only,
        strided,
        backwards,
        fortran,
        swapped,
        whole.tolist(),
        whole.astype(np.float64),
        list(whole),
    ):
        for ours, theirs in zip(answers(agent, same), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


class Lying(np.ndarray[Any, Any]):
    """An array that tells of another shape and dtype than it has, and cannot be shown."""

    @property  # type: ignore[misc]
    def shape(self) -> Any:
        return (10**6, *super().shape[1:])

    @property
    def flags(self) -> Any:
        raise LookupError("no flags")

    def __repr__(self) -> str:
        raise LookupError("no words")


class Liar:
    """No array, whatever it says."""

    def __len__(self) -> int:
        return 2**62

    def __getitem__(self, i: int) -> Any:
        raise LookupError(i)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise LookupError("no array")

    def __repr__(self) -> str:
        raise LookupError("no words")


def test_other_classes_of_arrays_are_taken_for_the_numbers_that_they_hold(agent: Agent) -> None:
    whole = good(agent)
    expected = answers(agent, whole)
    others = [whole.view(Lying), np.ma.masked_array(whole)]
    others += [whole.view(np.matrix)] if whole.ndim == 2 else []
    for same in others:
        for ours, theirs in zip(answers(agent, same), expected, strict=True):
            assert type(ours) is np.ndarray
            np.testing.assert_array_equal(ours, theirs)


def test_objects_that_fail_when_they_are_converted_are_refused(agent: Agent) -> None:
    for method in methods_of(agent):
        with pytest.raises(InvalidInputError, match="observations must be an array of numbers, got a Liar that cannot"):
            method(Liar())


def test_an_empty_batch_has_empty_answers(agent: Agent) -> None:
    none = good(agent, 0)
    assert agent.q_values(none).shape == (0, 2)
    for deterministic in (True, False):
        actions, _ = agent.predict(none, deterministic=deterministic)
        assert actions.shape == (0,)
        assert actions.dtype == np.int64


def test_a_batch_larger_than_memory_is_refused_before_it_is_copied(agent: Agent) -> None:
    endless = np.broadcast_to(good(agent, 1), (10**13, *agent.spaces.observation_shape))
    for method in methods_of(agent):
        with pytest.raises(
            InvalidInputError, match=r"10,000,000,000,000 observations takes .* of memory are available"
        ):
            method(endless)


def test_other_methods_refuse_what_they_cannot_take(agent: Agent, tmp_path: Path) -> None:
    for steps in (0.5, "many", None, -1, np.nan):
        with pytest.raises(InvalidInputError, match="total_timesteps must be"):
            agent.learn(steps)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="total_timesteps must be"):
            agent.events(steps)  # type: ignore[arg-type]
    for word in (None, "yes", 1, np.zeros(0), np.ones(2)):
        with pytest.raises(InvalidInputError, match="deterministic must be True or False"):
            agent.predict(good(agent), deterministic=word)  # type: ignore[arg-type]
    for path in (3, None, b"x", "a\0b"):
        with pytest.raises(InvalidInputError, match="path must be"):
            agent.save(path)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="path must be"):
            load(path)  # type: ignore[arg-type]
    before = agent.state_dict()
    for state in ({}, {"loop": 3}, {**before, "loop": {}}, {**before, "policy_rng": {"bit_generator": "PCG64"}}):
        with pytest.raises(EngramError):
            copy.deepcopy(agent).load_state_dict(state)


def test_an_agent_without_a_memory_says_that_it_has_no_distances() -> None:
    with pytest.raises(InvalidInputError, match="D3QN has no memory"):
        D3QN(Vectors, replay_size=50).distances(np.zeros((1, 3), np.float32))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": 1e308}, "seed must be at most"),
        ({"seed": 2**70}, "seed must be at most"),
        ({"seed": True}, "seed must be a whole number"),
        ({"epsilon_anneal_end_steps": 10**400}, "epsilon_anneal_end_steps must be at most"),
        ({"discount": True}, "discount must be a number"),
        ({"discount": np.nan}, "discount must be a number"),
        ({"ties": 3}, "ties must be one of"),
        ({"device": 3}, "device must be one of"),
        ({"device": "cuda:x"}, "device must be one of"),
    ],
)
def test_settings_have_types_and_bounds(settings: dict[str, Any], message: str) -> None:
    for kind in (MFEC, NEC, D3QN):
        with pytest.raises(InvalidInputError, match=message):
            kind(Vectors, **settings)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (MFEC, {"projection_size": 10**9}, "projection_size must be at most"),
        (MFEC, {"encoder": "projection:size=1000000000"}, "size must be at most"),
        (MFEC, {"duplicates": 1}, "duplicates must be True or False"),
        (NEC, {"key_size": 10**9}, "key_size must be at most"),
        (NEC, {"batch_size": 10**9, "neighbours": 50}, "choose a smaller batch_size, fewer neighbours"),
        (NEC, {"replay_size": 10**12}, "choose a smaller replay_size"),
        (NEC, {"network": "mlp:hidden=1000000000"}, "hidden must be at most"),
        (D3QN, {"feature_size": 2**40}, "feature_size must be at most"),
        (D3QN, {"dueling": "yes"}, "dueling must be True or False"),
    ],
)
def test_what_settings_ask_for_is_bounded_before_it_is_allocated(kind: Any, settings: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        kind(Pictures if "projection" in str(settings) else Vectors, **settings)


def test_whole_numbers_may_be_written_with_a_point() -> None:
    agent = D3QN(Vectors, replay_size=50.0, batch_size=4.0, learning_start_steps=np.int64(5), discount=np.float32(0.5))  # type: ignore[arg-type]
    assert agent.learn(20).config.to_json()["batch_size"] == 4
    assert type(agent.config.discount) is float


def test_an_observation_of_a_million_numbers_is_refused_by_the_setting_that_would_have_to_change() -> None:
    class Wide(Vectors):
        observation_space = type(Vectors.observation_space)(-1, 1, (1_000_000,), np.float32)

    for kind, setting in ((NEC, "replay_size|capacity"), (D3QN, "replay_size")):
        with pytest.raises(InvalidInputError, match=setting):
            kind(Wide)


def test_a_batch_that_does_not_fit_into_memory_is_refused_when_the_agent_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engram.checks.available_memory", lambda: 10**9)
    with pytest.raises(InvalidInputError, match=r"a learning step with 100,000,000 transitions takes .*batch_size"):
        D3QN("CartPole-v1", batch_size=100_000_000)
