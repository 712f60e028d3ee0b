"""A step of MFEC or NEC in one compiled call does what the plain way does: same actions, same memory, same bits."""

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram import MFEC, NEC, Exploration, load
from engram.encoders.identity import Identity
from engram.errors import DivergedError, InvalidInputError
from engram.exploration.epsilon_greedy import EpsilonGreedy
from engram.hashing import state_of
from engram.memory.quick import ROWS
from engram.memory.strategies import CompiledStrategy
from engram.memory.strategies.base import Numbers, Touch, Write
from engram.memory.strategies.decisions import Decision, replace

STRATEGIES = ("lru", "rew", "sur", "kmeans", "dkm", "fading")
SOON: dict[str, Any] = {"epsilon_anneal_start_steps": 0, "epsilon_anneal_end_steps": 300, "epsilon_final": 0.2}


@dataclass(frozen=True)
class Same(EpsilonGreedy):
    """ε-greedy, as an exploration of one's own: it takes the plain way."""


@dataclass
class AlsoIdentity(Identity):
    """The identity, as an encoder of one's own: it takes the plain way."""


def plainly(agent: Any) -> Any:
    """The same agent, made to take the plain way."""
    agent._desk = None
    return agent


def assert_same(one: Any, other: Any, where: str = "") -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for name in one:
            assert_same(one[name], other[name], f"{where}/{name}")
    elif isinstance(one, tuple):
        for part, same in zip(one, other, strict=True):
            assert_same(part, same, where)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other, err_msg=where)
    else:
        assert one == other, where


@pytest.mark.parametrize("env", ["CartPole-v1", "Acrobot-v1", "engram/OpenRoom-v0"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_both_ways_lead_to_the_same_bits(env: str, strategy: str) -> None:
    settings: dict[str, Any] = {"strategy": strategy, "capacity": 40, "neighbours": 5, "seed": 3, **SOON}
    quick, plain = MFEC(env, **settings), plainly(MFEC(env, **settings))
    for steps in (1, 2, ROWS - 1, ROWS, 700):  # within a block, at its end, and beyond
        assert_same(quick.learn(steps).state_dict(), plain.learn(steps).state_dict())
    assert quick._desk is not None
    quick.check_valid()


@pytest.mark.parametrize("env", ["CartPole-v1", "Acrobot-v1"])
@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "lru"},
        {"strategy": "fading"},
        {"match_key": "older"},
        {"strategy": "dkm", "clusters_by": "observations"},
    ],
    ids=str,
)
def test_both_ways_lead_nec_to_the_same_bits(env: str, options: dict[str, Any]) -> None:
    settings: dict[str, Any] = {
        **options,
        "capacity": 40,
        "neighbours": 5,
        "seed": 3,
        "key_size": 16,
        **SOON,
    }
    settings |= {"learning_start_steps": 100, "learning_rate": 1e-3, "return_steps": 7}
    quick, plain = NEC(env, **settings), plainly(NEC(env, **settings))
    for steps in (1, 2, ROWS - 1, ROWS, 700):
        assert_same(quick.learn(steps).state_dict(), plain.learn(steps).state_dict())
    assert quick._desk is not None
    quick.check_valid()
    assert_same(deepcopy(quick).learn(300).state_dict(), plain.learn(300).state_dict())


def test_parts_of_ones_own_take_necs_plain_way() -> None:
    for parts in ({"encoder": "identity"}, {"key_size": 128}, {"exploration": "boltzmann"}):
        assert NEC("CartPole-v1", capacity=5, **parts)._desk is None


def test_a_network_that_diverged_is_told_in_the_step() -> None:
    agent = NEC("CartPole-v1", capacity=20, seed=1).learn(20)
    agent.network.dense.parameters[:] = 1e30
    before = len(agent.unfinished)
    with pytest.raises(DivergedError, match="learning_rate"):
        agent.learn(1)
    assert len(agent.unfinished) == before


@pytest.mark.parametrize(
    "options",
    [
        {"ties": "first"},
        {"kernel": "mean"},
        {"neighbours": 30},
        {"capacity": 1},
        {"always_read": True},
        {"look_ahead": True},
    ],
)
def test_settings_mean_the_same_in_both_ways(options: dict[str, Any]) -> None:
    settings: dict[str, Any] = {"capacity": 20, "seed": 1, **SOON} | options
    quick, plain = MFEC("CartPole-v1", **settings), plainly(MFEC("CartPole-v1", **settings))
    assert_same(quick.learn(1500).state_dict(), plain.learn(1500).state_dict())


def test_parts_of_ones_own_take_the_plain_way() -> None:
    settings: dict[str, Any] = {"capacity": 20, "seed": 1}
    schedule: dict[str, Any] = {"initial": 1.0, "final": 0.2, "start_steps": 0, "end_steps": 300}
    quick = MFEC("CartPole-v1", exploration=EpsilonGreedy(**schedule), **settings)
    own: list[dict[str, Any]] = [{"exploration": Same(**schedule)}]
    own.append({"exploration": EpsilonGreedy(**schedule), "encoder": AlsoIdentity()})
    for parts in own:
        plain = MFEC("CartPole-v1", **settings, **parts)
        assert quick._desk is not None
        assert plain._desk is None
        assert_same(deepcopy(quick).learn(800).state_dict(), plain.learn(800).state_dict())
    others: tuple[dict[str, Any], ...] = (
        {"exploration": "boltzmann"},
        {"duplicates": True},
        {"encoder": "scaled:steps=5"},
    )
    for other in others:
        assert MFEC("CartPole-v1", capacity=5, **other)._desk is None


def test_a_copy_in_the_middle_of_an_episode_has_arrays_of_its_own() -> None:
    agent = MFEC("CartPole-v1", capacity=30, seed=2, **SOON).learn(511)
    assert agent.unfinished.row
    copy, before = deepcopy(agent), agent.state_dict()
    copy.learn(600)
    assert_same(agent.state_dict(), before)
    assert_same(agent.learn(600).state_dict(), copy.state_dict())


def test_it_resumes_exactly_from_the_middle_of_a_block(tmp_path: Path) -> None:
    whole = MFEC("CartPole-v1", capacity=30, seed=2, **SOON).learn(1100)
    MFEC("CartPole-v1", capacity=30, seed=2, **SOON).learn(511).save(tmp_path / "model.safetensors")
    assert_same(whole.state_dict(), load(tmp_path / "model.safetensors").learn(589).state_dict())


def test_states_are_hashes_of_observations() -> None:
    agent = MFEC("CartPole-v1", capacity=30, seed=0)
    for observation in ([0.1, -0.0, 3e-40, -2.5], [-0.0, 0.0, 1e15, -1e15]):
        given = np.array(observation, np.float32)
        agent.act(given, 0)
        assert agent.unfinished.states[-1] == state_of(given)
        np.testing.assert_array_equal(agent.unfinished.keys[-1].view(np.uint32), given.view(np.uint32))


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        ([0, np.nan, 0, 0], "NaN"),
        ([0, 0, np.inf, 0], "NaN or infinity"),
        ([0, 0, 2e15, 0], "from -1e\\+15 to 1e\\+15"),
        ([0, 0, 0], "observation must have"),
        ([0, 0, 0, 0, 0], "observation must have"),
    ],
)
def test_what_cannot_be_searched_is_refused(observation: list[float], message: str) -> None:
    agent = MFEC("CartPole-v1", capacity=30, seed=0).learn(50)
    with pytest.raises(InvalidInputError, match=message):
        agent.act(np.array(observation, np.float32), 10**6)


def test_observations_of_any_form_are_taken() -> None:
    agent = MFEC("CartPole-v1", capacity=30, seed=0, **SOON).learn(500)
    given = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    read_only, strided = given.copy(), np.repeat(given, 2)[::2]
    read_only.flags.writeable = False
    for same in (given, read_only, strided, given.astype(np.float64), given.tolist()):
        assert agent._desk is not None
        agent._desk.act(same, 3, True)
        np.testing.assert_array_equal(agent._desk.keys[3], given)


def test_an_exploration_with_a_rule_of_its_own_is_asked() -> None:
    @dataclass(frozen=True)
    class Always(Exploration):
        def choose(self, step: int, generator: np.random.Generator, view: Any) -> int:
            return 1

    agent = MFEC("CartPole-v1", exploration=Always(), capacity=10).learn(20)
    assert set(agent.loop.actions) <= {1}


@dataclass(frozen=True)
class Wrong(CompiledStrategy):
    """A strategy of one's own that sets the number of a slot that is not in use."""

    name = "wrong"
    numbers = ("rank",)
    order = "rank"

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return replace(write.lowest)

    def touched(self, touch: Touch, numbers: Numbers) -> None:
        numbers["rank"][10**6] = 1.0


def test_errors_of_rules_of_ones_own_are_told_as_theirs() -> None:
    for desk in (True, False):
        agent = MFEC("CartPole-v1", strategy=Wrong(), capacity=30, seed=0, **SOON)
        assert agent._desk is not None
        with pytest.raises(InvalidInputError, match="wrong: a strategy set the number of a slot"):
            (agent if desk else plainly(agent)).learn(600)
