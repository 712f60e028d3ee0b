"""Explorations: each against its equation, and what all of them promise."""

from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from engram import MFEC, load
from engram.errors import InvalidInputError
from engram.exploration import EXPLORATIONS, Exploration, View
from engram.exploration.boltzmann import Boltzmann, softmax
from engram.exploration.detour import Detour
from engram.exploration.epsilon_greedy import EpsilonGreedy
from engram.exploration.lasting import Lasting
from engram.exploration.mellowmax import Mellowmax, inverse_temperature, mellowmax
from engram.exploration.novelty import Novelty, bonus
from engram.exploration.relative_novelty import RelativeNovelty
from engram.parts import option_types
from engram.typing import Floats
from tests.conftest import Corridor
from tests.examples import examples

Q_VALUES = arrays(np.float32, st.integers(1, 6), elements=st.floats(-100, 100, width=32))


def view_of(q: Any, distances: Any = None) -> View:
    def measured(_: Any) -> Floats:
        return np.asarray(distances, np.float32)

    return View(len(q), q_values=lambda _: np.asarray(q, np.float32), distances=measured)


def frequencies(exploration: Exploration, view: View, step: int = 0, draws: int = 20_000) -> Any:
    rng = np.random.default_rng(0)
    chosen = [exploration.choose(step, rng, view) for _ in range(draws)]
    return np.bincount(chosen, minlength=view.actions) / draws


def test_epsilon_greedy_draws_a_random_action_with_probability_epsilon() -> None:
    exploration = EpsilonGreedy(initial=1.0, final=0.2, start_steps=100, end_steps=200)
    assert [exploration.random_share(step) for step in (0, 100, 150, 200, 999)] == [1, 1, 0.6, 0.2, 0.2]
    assert frequencies(exploration, view_of([0, 1, 0]), 999) == pytest.approx(
        [0.2 / 3, 0.8 + 0.2 / 3, 0.2 / 3], abs=0.01
    )


def test_an_explored_step_asks_for_nothing() -> None:
    def never(_: Any) -> Floats:
        raise AssertionError("Q-values were computed")

    assert EpsilonGreedy().choose(0, np.random.default_rng(0), View(3, q_values=never)) in range(3)


def test_q_values_are_computed_once() -> None:
    asked = []

    def read(state: Any) -> Floats:
        asked.append(state)
        return np.zeros(2, np.float32)

    view = View(2, q_values=read)
    for state in ("a", "b"):
        view.at(state)
        view.q_values()
        view.greedy(np.random.default_rng(0))
    assert asked == ["a", "b"]


@examples(100)
@given(Q_VALUES, st.floats(0.01, 100))
def test_softmax_is_its_equation(q: Floats, beta: float) -> None:
    shifted = np.exp(beta * (q.astype(np.longdouble) - q.max()))
    np.testing.assert_allclose(softmax(q, beta), (shifted / shifted.sum()).astype(float), rtol=1e-9, atol=1e-12)


def test_boltzmann_draws_from_its_distribution() -> None:
    q = [1.0, 2.0, 0.0]
    exploration = Boltzmann(initial=2.0, final=0.5, start_steps=0, end_steps=100)
    for step, temperature in ((0, 2.0), (50, 1.25), (100, 0.5)):
        expected = np.exp(np.array(q) / temperature)
        assert frequencies(exploration, view_of(q), step) == pytest.approx(expected / expected.sum(), abs=0.015)


@examples(200)
@given(Q_VALUES, st.floats(0.01, 50))
def test_the_mellowmax_policy_has_mellowmax_as_its_mean(q: Floats, omega: float) -> None:
    """Asadi & Littman's definition: the policy of largest entropy among those with Σ π(a) Q(a) = mm(Q)."""
    expected = np.log(np.mean(np.exp(np.longdouble(omega) * (q.astype(np.longdouble) - q.max())))) / omega + q.max()
    assert mellowmax(q, omega) == pytest.approx(float(expected), rel=1e-6, abs=1e-6)
    policy = softmax(q, inverse_temperature(q, omega))
    assert float(policy @ q.astype(np.float64)) == pytest.approx(float(expected), rel=1e-4, abs=1e-3)


@pytest.mark.slow
def test_mellowmax_is_greedier_the_larger_omega_and_draws_from_its_policy() -> None:
    q = np.array([0, 1, 3], np.float32)
    greedy = [softmax(q, inverse_temperature(q, omega))[2] for omega in (0.01, 0.5, 5, 50)]
    assert greedy == sorted(greedy)
    assert greedy[0] == pytest.approx(1 / 3, abs=0.02)
    policy = softmax(q, inverse_temperature(q, 1.0))
    assert frequencies(Mellowmax(1.0), view_of(q)) == pytest.approx(policy, abs=0.015)


@examples(100)
@given(arrays(np.float32, 4, elements=st.floats(0, 1e6, width=32)), st.floats(0.1, 10), st.floats(0.1, 10))
def test_the_novelty_bonus_grows_with_distance_up_to_its_weight(d: Floats, weight: float, scale: float) -> None:
    found = bonus(d, weight, scale)
    distance = np.sqrt(d.astype(np.float64))
    np.testing.assert_allclose(found, weight * distance / (distance + scale), rtol=1e-4, atol=1e-6)
    assert (np.diff(found[np.argsort(d)]) >= -1e-6).all()
    assert bonus(np.array([np.inf], np.float32), weight, scale)[0] == pytest.approx(weight)


def test_novelty_takes_the_action_that_is_newest_here() -> None:
    exploration = Novelty(weight=2.0, scale=1.0, random=0.0)
    rng = np.random.default_rng(0)
    assert exploration.choose(0, rng, view_of([1.0, 0.0], [0.0, np.inf])) == 1
    assert exploration.choose(0, rng, view_of([1.0, 0.0], [0.0, 0.01])) == 0


def test_a_random_action_lasts_as_long_as_its_tail_says() -> None:
    exploration = Lasting(initial=1.0, start_steps=10**6, end_steps=10**6, tail=2.0, longest=3)
    rng, view = np.random.default_rng(0), view_of(np.zeros(1_000))  # so many actions that no two in a row are alike
    chosen = np.array([exploration.choose(0, rng, view) for _ in range(60_000)])
    lengths = np.diff(np.flatnonzero(np.diff(chosen, prepend=-1)))
    expected = np.array([1, 1 / 4, 1 / 9]) / (1 + 1 / 4 + 1 / 9)
    assert np.bincount(lengths, minlength=4)[1:4] / len(lengths) == pytest.approx(expected, abs=0.01)


def test_a_lasting_action_ends_with_its_episode_and_where_it_cannot_be_taken() -> None:
    rng, view = np.random.default_rng(0), view_of([0.0, 0.0, 1.0])
    exploration = Lasting(initial=0.0, final=0.0, start_steps=0, end_steps=0)
    for lasting in (0, 1):
        exploration.load_state_dict({"action": lasting, "left": 2})
        assert exploration.choose(9, rng, view.only(None)) == lasting
        assert exploration.choose(9, rng, view.only(np.array([lasting, 2]))) == 0, "its number among those in view"
        assert exploration.choose(9, rng, view.only(None)) == 2, "two steps were left"
        exploration.load_state_dict({"action": lasting, "left": 2})
        assert exploration.choose(9, rng, view.only(np.array([1 - lasting, 2]))) == 1
        assert exploration.choose(9, rng, view.only(None)) == 2, "it does not come back"
        exploration.load_state_dict({"action": lasting, "left": 2})
        exploration.begin_episode()
        assert exploration.choose(9, rng, view) == 2


def test_a_lasting_action_that_cannot_be_is_refused() -> None:
    for state in ({"action": -1, "left": 0}, {"action": 0, "left": 100}, {"action": 0.5, "left": 1}, {}):
        with pytest.raises(InvalidInputError, match="a lasting action must have a number from 0 and 0 to 99 steps"):
            Lasting().load_state_dict(state)


def test_the_options_of_a_lasting_exploration_are_frozen() -> None:
    exploration = Lasting(longest=50)
    exploration.choose(0, np.random.default_rng(0), view_of([0.0, 1.0]))
    with pytest.raises(FrozenInstanceError):
        exploration.longest = 3  # type: ignore[misc]
    assert exploration == Lasting(longest=50), "what lasts is no option"


def test_a_prediction_explores_as_at_the_start_of_an_episode_each_observation_by_itself() -> None:
    agent = MFEC("CartPole-v1", exploration=Lasting(initial=0.1, final=0.1), capacity=50, seed=2).learn(500)
    observations = np.random.default_rng(0).normal(0, 0.05, (4_000, 4)).astype(np.float32)
    greedy = agent.predict(observations)[0]
    agent.exploration.load_state_dict({"action": int(1 - greedy[0]), "left": 90})
    others = [agent.predict(observations, deterministic=False)[0] != greedy for _ in range(20)]
    assert np.mean(others) == pytest.approx(0.05, abs=0.01), "half of the random actions are the greedy one"
    assert np.mean([row[0] for row in others]) < 0.5, "what lasts in training does not last here"
    assert agent.exploration.state_dict() == {"action": int(1 - greedy[0]), "left": 90}


@examples(50)
@given(st.integers(0, 10**6), st.sampled_from([1e-3, 1.0, 64.0, 1e4]), st.sampled_from([1e-3, 1.0, 64.0, 1e4]))
def test_relative_novelty_knows_no_units(seed: int, rewards: float, keys: float) -> None:
    """The same choices in a world whose rewards or keys have another unit."""
    rng = np.random.default_rng(seed)
    q, d = rng.standard_normal((30, 4)), rng.exponential(size=(30, 4)) ** 2
    d[:5, 3] = np.inf
    d[rng.random(d.shape) < 0.3] = 0

    def choices(unit: float, length: float) -> list[int]:
        exploration, chooser = RelativeNovelty(weight=0.8, scale=0.5, initial=0.1, final=0.1), np.random.default_rng(1)
        return [exploration.choose(0, chooser, view_of(q[t] * unit, d[t] * length**2)) for t in range(len(q))]

    assert choices(rewards, keys) == choices(1, 1)


def test_relative_novelty_prefers_what_is_new_by_the_usual_range_of_values() -> None:
    exploration, rng = RelativeNovelty(weight=1.0, scale=1.0, initial=0, final=0), np.random.default_rng(0)
    for _ in range(20):
        assert exploration.choose(0, rng, view_of([10, 0], [4, 4])) == 0
    assert exploration.choose(0, rng, view_of([10, 9], [0, np.inf])) == 1, "a bonus of 10 for one that is new"
    assert exploration.choose(0, rng, view_of([10, 1], [4, 4])) == 0, "both get half of it"


def test_a_detour_is_taken_once_in_every_episode_anywhere_in_it() -> None:
    view, rng = view_of(np.r_[1, np.zeros(999)]), np.random.default_rng(0)  # a random action is hardly ever the first
    exploration = Detour(length=3, initial=0, final=0)
    left = []
    for _ in range(300):
        exploration.begin_episode()
        chosen = np.array([exploration.choose(0, rng, view) for _ in range(40)])
        left.append(np.flatnonzero(chosen).tolist())
    begun = np.array([each[0] for each in left[1:]])
    assert left[0] == [0, 1, 2], "before any length is known"
    assert all(each[-1] - each[0] < 3 for each in left)
    assert np.mean([len(each) for each in left]) == pytest.approx(3, abs=0.15)
    assert set(begun.tolist()) == set(range(40))
    assert begun.mean() == pytest.approx(19.5, abs=2)
    assert exploration.random_share(0) == pytest.approx(3 / 40)


def test_detours_begin_with_random_actions_as_epsilon_greedy_exploration_does() -> None:
    exploration = Detour(initial=1.0, final=0.2, start_steps=100, end_steps=200)
    exploration.begin_episode()
    shares = [
        np.mean(
            [
                exploration.choose(step, np.random.default_rng(n), view_of(np.r_[1, np.zeros(99)])) > 0
                for n in range(400)
            ]
        )
        for step in (0, 150, 999)
    ]
    assert shares == pytest.approx([1, 0.6, 0.2], abs=0.08)


@pytest.mark.parametrize("state", [{"taken": -1}, {"begin": -2}, {"taken": 1.5}, {"begin": 10**16}], ids=str)
def test_a_damaged_state_of_a_detour_is_refused(state: dict[str, Any]) -> None:
    exploration = Detour()
    with pytest.raises(InvalidInputError, match="a detour begins at a step of an episode"):
        exploration.load_state_dict(exploration.state_dict() | state)


def test_novelty_is_refused_by_an_agent_without_a_memory() -> None:
    from engram import D3QN  # noqa: PLC0415

    with pytest.raises(InvalidInputError, match=r"'novelty' needs distances .*, and D3QN has no memory"):
        D3QN("CartPole-v1", exploration="novelty")


@pytest.mark.parametrize("name", EXPLORATIONS.built_in)
def test_every_exploration_learns_resumes_and_predicts_without_a_trace(name: str, tmp_path: Path) -> None:
    spec = f"{name}:end_steps=300,start_steps=0" if "end_steps" in option_types(EXPLORATIONS.built_in[name]) else name
    whole = MFEC("CartPole-v1", exploration=spec, capacity=50, seed=1).learn(600)
    part = MFEC("CartPole-v1", exploration=spec, capacity=50, seed=1).learn(350)
    part.predict(np.zeros((5, 4), np.float32), deterministic=False)
    part.save(tmp_path / "model.safetensors")
    resumed: Any = load(tmp_path / "model.safetensors").learn(250)
    assert resumed.exploration == whole.exploration
    assert resumed.exploration.state_dict() == whole.exploration.state_dict()
    for action in range(2):
        np.testing.assert_array_equal(resumed.memory.entries(action)["keys"], whole.memory.entries(action)["keys"])


class Alternating(Exploration):
    """Counts what it chose, to show that state is saved and that prediction leaves it alone."""

    def __init__(self) -> None:
        self.chosen = self.episodes = 0

    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        self.chosen += 1
        return self.chosen % view.actions

    def begin_episode(self) -> None:
        self.episodes += 1

    def state_dict(self) -> dict[str, Any]:
        return {"chosen": self.chosen, "episodes": self.episodes}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.chosen, self.episodes = state["chosen"], state["episodes"]


def test_state_is_saved_and_prediction_leaves_it_as_it_was(tmp_path: Path, corridor: type[Corridor]) -> None:
    recipe = Alternating()
    agent = MFEC(corridor, exploration=recipe, capacity=10).learn(101)
    assert (agent.exploration.chosen, recipe.chosen) == (101, 0), "a part as given is a recipe"  # type: ignore[attr-defined]
    assert agent.exploration.episodes == agent.loop.episode + 1  # type: ignore[attr-defined]
    agent.predict(np.zeros((7, 1), np.float32), deterministic=False)
    assert agent.exploration.state_dict()["chosen"] == 101
    agent.save(tmp_path / "model.safetensors")
    loaded = MFEC.load(tmp_path / "model.safetensors", corridor, exploration=Alternating())
    assert loaded.exploration.state_dict() == agent.exploration.state_dict()
    with pytest.raises(InvalidInputError, match="'Alternating' is not part of Engram"):
        MFEC.load(tmp_path / "model.safetensors", corridor)


def test_novelty_reaches_the_end_of_a_corridor_sooner_than_chance(corridor: type[Corridor]) -> None:
    def first_success(exploration: str) -> float:
        ends = []
        for seed in range(8):
            agent = MFEC(lambda: corridor(4), exploration=exploration, capacity=50, neighbours=1, seed=seed)
            ends.append(next(event.step for event in agent.events(5000) if getattr(event, "total", 0) > 0))
        return float(np.median(ends))

    assert first_success("novelty:weight=1,scale=0.1") <= first_success("epsilon-greedy")


@dataclass(frozen=True)
class Fixed(Exploration):
    action: Any = 7

    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        return self.action  # type: ignore[no-any-return]


def test_an_impossible_action_is_refused_and_named() -> None:
    for action in (7, -1, 0.5, None):
        with pytest.raises(
            InvalidInputError, match=f"chose the action {action} at step 0; it must be a whole number from 0 to 1"
        ):
            MFEC("CartPole-v1", exploration=Fixed(action), capacity=5).learn(3)


class Counting(Exploration):
    """Hands out its own list as its state, as a careless part may."""

    def __init__(self) -> None:
        self.chosen: list[int] = []

    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        self.chosen.append(0)
        if len(self.chosen) % 50 == 0:
            raise RuntimeError("the fiftieth")
        return 0

    def state_dict(self) -> dict[str, Any]:
        return {"chosen": self.chosen}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.chosen = state["chosen"]


def test_state_that_a_part_hands_out_is_copied() -> None:
    one, other = (MFEC("CartPole-v1", exploration=Counting(), capacity=5) for _ in range(2))
    one.learn(20)
    saved = one.state_dict()
    one.predict(np.zeros((7, 4), np.float32), deterministic=False)
    one.learn(29)
    with pytest.raises(RuntimeError, match="the fiftieth"):
        one.predict(np.zeros((40, 4), np.float32), deterministic=False)
    assert len(one.exploration.state_dict()["chosen"]) == 49
    other.load_state_dict(saved)
    other.learn(10)
    assert [len(each["exploration"]["chosen"]) for each in (saved, one.state_dict(), other.state_dict())] == [
        20,
        49,
        30,
    ]
