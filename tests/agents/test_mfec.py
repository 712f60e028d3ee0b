"""MFEC: it learns, it is exact to repeat and to resume, and it says what is wrong with what it is given."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import gymnasium
import numpy as np
import pytest
from stable_baselines3.common.evaluation import evaluate_policy as sb3_evaluate_policy

from engram import D3QN, MFEC, EpisodicMemory, Exploration, View, evaluate_policy, load
from engram.agents.mfec import MFECConfig, discounted_returns
from engram.errors import InvalidInputError, NotReproducibleError
from tests.conftest import Corridor, assert_same_state


class Rightwards(Exploration):
    """Goes right, whatever is known."""

    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        """Action 1."""
        return 1


STRATEGIES = ["lru", "rew", "sur", "kmeans", "dkm", "dkm:decay=0.3", "fading"]
CLUSTERING = ["kmeans", "dkm", "dkm:decay=0.3", "fading"]
QUICK: dict[str, Any] = {"epsilon_anneal_start_steps": 200, "epsilon_anneal_end_steps": 1000}


def test_the_defaults_are_the_papers() -> None:
    """Table 4 of the paper."""
    config = MFECConfig()
    assert config.neighbours == 11
    assert config.epsilon_initial == 1
    assert config.epsilon_final == 5e-3
    assert config.epsilon_anneal_start_steps == 5e3
    assert config.epsilon_anneal_end_steps == 25e3
    assert config.discount == 0.99
    assert config.delta == 1e-3
    assert config.projection_size == 128
    assert config.kernel == "inverse"
    assert config.strategy == "lru"


def test_epsilon_falls_in_a_straight_line_between_the_two_steps() -> None:
    epsilon: Any = MFEC("CartPole-v1", capacity=10).exploration.random_share
    assert [epsilon(step) for step in (0, 5_000)] == [1, 1]
    assert epsilon(15_000) == pytest.approx(0.5025)
    assert [epsilon(step) for step in (25_000, 10**6)] == [5e-3, 5e-3]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_learns_a_corridor(strategy: str, corridor: type[Corridor]) -> None:
    agent = MFEC(corridor, strategy=strategy, capacity=10, neighbours=1, seed=0, **QUICK).learn(2000)
    mean, std = evaluate_policy(agent, corridor, 5)
    assert (mean, std) == (1, 0)
    lengths = evaluate_policy(agent, corridor, 5, return_episode_rewards=True)[1]
    assert max(np.atleast_1d(lengths)) <= 5


@pytest.mark.parametrize(
    "strategy", [CLUSTERING[0], *(pytest.param(name, marks=pytest.mark.slow) for name in CLUSTERING[1:])]
)
def test_a_corridor_is_learned_from_merged_episodes(strategy: str, corridor: type[Corridor]) -> None:
    """With room for four of the five states, so that something has to be merged."""
    settings: dict[str, Any] = {"strategy": strategy, "capacity": 4, "neighbours": 1, "seed": 0, **QUICK}
    agent = MFEC(corridor, merging="episode", **settings).learn(2000)
    assert agent.memory.size.tolist() == [4, 4]
    assert evaluate_policy(agent, corridor, 5) == (1, 0)
    single = MFEC(corridor, **settings).learn(2000)
    assert not np.array_equal(agent.memory.entries(1)["keys"], single.memory.entries(1)["keys"])


BEYOND: list[dict[str, Any]] = [  # the paper
    {"shrinkage": 0.1},
    {"correct_neighbours": "new"},
    {"correct_neighbours": "all"},
    {"pooling": 1.0},
    {"radius": 0.1},
    {"horizon": 2},
    {"look_ahead": True},
]


@pytest.mark.parametrize("options", BEYOND, ids=str)
def test_a_corridor_is_learned_with_every_setting_beyond_the_paper(
    options: dict[str, Any], corridor: type[Corridor]
) -> None:
    agent = MFEC(corridor, capacity=10, neighbours=2, seed=0, **QUICK, **options).learn(2000)
    assert evaluate_policy(agent, corridor, 5) == (1, 0)


def test_returns_may_go_on_with_what_the_memory_knows() -> None:
    """Rₜ = rₜ₊₁ + λ max(Rₜ₊₁, V(sₜ₊₁)), and what follows the stretch at its end."""
    rewards, known = [1.0, 0.0, 2.0], np.array([9.0, -np.inf, 8.0])
    assert discounted_returns(rewards, 0.5).tolist() == [1.5, 1, 2]
    assert discounted_returns(rewards, 0.5, following=4).tolist() == [2, 2, 4]
    assert discounted_returns(rewards, 0.5, known=known).tolist() == [3, 4, 2]


def test_looking_ahead_a_bad_end_does_not_spoil_what_came_before(corridor: type[Corridor]) -> None:
    """A way to the goal is known from cell 3; an episode reaches cell 3 and turns back."""
    agent = MFEC(lambda: corridor(4), capacity=50, look_ahead=True, neighbours=1, exploration=Rightwards())
    for cell, reward, done in ((3, 1.0, True), (1, 0.0, False), (3, 0.0, False), (0, 0.0, True)):
        agent.act(np.array([cell], np.float32), 0)
        agent.observe(reward, np.array([0], np.float32), done, False)
    stored = dict(zip(*(agent.memory.entries(1)[name].ravel().tolist() for name in ("keys", "values")), strict=True))
    assert stored == pytest.approx({3: 1, 1: 0.99, 0: 0})


def test_a_horizon_writes_within_the_episode_and_the_whole_return_at_its_end(corridor: type[Corridor]) -> None:
    """With nothing known but the way itself: two steps later a state has the rewards since, and the value there."""
    agent = MFEC(lambda: corridor(4), capacity=50, horizon=2, neighbours=1, seed=1, exploration=Rightwards())
    agent.memory.write(1, np.array([[3.0]], np.float32), [0.6], states=np.array([7], np.uint64))
    agent.act(np.array([1], np.float32), 0)
    agent.observe(0.25, np.array([2], np.float32), False, False)
    agent.act(np.array([2], np.float32), 1)
    agent.observe(0.5, np.array([3], np.float32), False, False)
    assert agent.memory.size.tolist() == [0, 1], "nothing is two steps old yet"
    agent.act(np.array([3], np.float32), 2)
    stored = dict(zip(*(agent.memory.entries(1)[name].ravel().tolist() for name in ("keys", "values")), strict=True))
    assert stored == pytest.approx({3: 0.6, 1: 0.25 + 0.99 * 0.5 + 0.99**2 * 0.6})
    agent.observe(1.0, np.array([4], np.float32), True, False)
    stored = dict(zip(*(agent.memory.entries(1)[name].ravel().tolist() for name in ("keys", "values")), strict=True))
    assert stored[1] == pytest.approx(0.25 + 0.99 * 0.5 + 0.99**2)
    assert len(agent.unfinished) == 0


def test_what_is_written_are_the_discounted_returns() -> None:
    """Rₜ = Σ λⁱ rₜ₊ᵢ₊₁ of one recorded episode; where a state came up twice, the larger return."""
    visits: list[tuple[float, int, float]] = []  # observation, action, reward

    class Recorded(Corridor):
        def step(self, action: Any) -> Any:
            before = float(self._observation()[0])
            outcome = super().step(action)
            visits.append((before, action, outcome[1]))
            return outcome

    agent = MFEC(Recorded, capacity=50, seed=3)
    while agent.loop.episode == 0:
        agent.learn(1)
    expected: dict[tuple[float, int], float] = {}
    for t, (observation, action, _) in enumerate(visits):
        total = sum(0.99**i * reward for i, (_, _, reward) in enumerate(visits[t:]))
        expected[observation, action] = max(expected.get((observation, action), 0), total)
    stored = {
        (float(key[0]), action): value
        for action in range(2)
        for key, value in zip(*(agent.memory.entries(action)[name] for name in ("keys", "values")), strict=True)
    }
    assert stored == pytest.approx(expected)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_same_seed_gives_the_same_bits_and_another_does_not(strategy: str) -> None:
    one, same, other = (
        MFEC("CartPole-v1", strategy=strategy, capacity=40, seed=seed, **QUICK).learn(1500) for seed in (5, 5, 6)
    )
    assert_same_state(one, same)
    assert not np.array_equal(one.memory.entries(0)["values"], other.memory.entries(0)["values"])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("env", ["CartPole-v1", "Acrobot-v1", "engram/OpenRoom-v0", "engram/FourRoom-v0"])
def test_saving_and_loading_mid_episode_changes_nothing(tmp_path: Path, strategy: str, env: str) -> None:
    check_resuming(tmp_path, env, strategy=strategy)


@pytest.mark.parametrize(
    "options",
    [
        *({"strategy": name, "merging": "episode"} for name in CLUSTERING),
        {"always_read": True},
        {"shrinkage": 0.3, "correct_neighbours": "all"},
        {"shrinkage": "measured"},
        {"pooling": 3.0, "correct_neighbours": "all"},
        {"radius": 0.3},
        {"horizon": 5, "look_ahead": True},
        {"horizon": 3, "correct_neighbours": "new", "radius": 0.2, "encoder": "scaled:steps=300"},
    ],
    ids=str,
)
def test_saving_and_loading_changes_nothing_with_other_choices(tmp_path: Path, options: dict[str, Any]) -> None:
    check_resuming(tmp_path, "CartPole-v1", **options)


def test_random_steps_count_as_use_only_if_they_are_to() -> None:
    """Every step is random here. The clock ticks for each state written and each key whose read counts as use."""
    settings: dict[str, Any] = {"capacity": 20, "seed": 4, "epsilon_final": 1.0}
    never, always = (MFEC("CartPole-v1", always_read=reads, **settings).learn(1000) for reads in (False, True))
    written = int(never.memory.written.sum())
    assert written == int(always.memory.written.sum())
    assert never.memory.clock == written
    assert always.memory.clock == written + 1000
    assert np.array_equal(never.memory.written, always.memory.written), "the same steps were taken"
    kept = [set(agent.memory.entries(0)["states"].tolist()) for agent in (never, always)]
    assert kept[0] != kept[1], "what was near stays"
    last = always.memory.entries(0)["last_used"]
    assert len(set(last.tolist())) < len(last), "neighbours that were read together"


def check_resuming(tmp_path: Path, env: str, **options: Any) -> None:
    """learn(a), save, load, learn(b) is learn(a + b), bit for bit."""
    settings: dict[str, Any] = {"capacity": 30, "seed": 2, **QUICK, **options}
    whole = MFEC(env, **settings).learn(1600)
    part = MFEC(env, **settings)
    interrupted = []
    for steps in (1, 450, 149):
        part.learn(steps)
        interrupted.append(part.loop.length > 0)
        part.save(tmp_path / "model.safetensors")
        part = MFEC.load(tmp_path / "model.safetensors")
    assert any(interrupted), "an interruption should fall into an episode"
    assert_same_state(whole, part.learn(1000))
    part.memory.check_valid()


def test_learn_can_be_called_again_and_goes_on() -> None:
    whole = MFEC("CartPole-v1", capacity=50, seed=1).learn(900)
    parts = MFEC("CartPole-v1", capacity=50, seed=1).learn(333).learn(567)
    assert parts.steps == 900
    assert_same_state(whole, parts)


@pytest.mark.parametrize("make", [lambda: "CartPole-v1", lambda: gymnasium.make("CartPole-v1"), lambda: _cartpole])
def test_an_id_an_environment_and_a_function_are_the_same(make: Callable[[], Any]) -> None:
    agent = MFEC(make(), capacity=50, seed=1).learn(500)
    assert_same_state(agent, MFEC("CartPole-v1", capacity=50, seed=1).learn(500))


def _cartpole() -> gymnasium.Env[Any, Any]:
    return gymnasium.make("CartPole-v1")


def test_evaluating_in_the_training_environment_does_not_disturb_training() -> None:
    env = gymnasium.make("CartPole-v1")
    agent = MFEC(env, capacity=50, seed=1).learn(777)
    assert agent.loop.length > 0
    evaluate_policy(agent, env, 2)
    assert_same_state(agent.learn(500), MFEC("CartPole-v1", capacity=50, seed=1).learn(1277))


def test_an_environment_that_does_not_come_back_is_named() -> None:
    class Drifting(Corridor):
        resets = 0

        def reset(self, **_: Any) -> Any:
            Drifting.resets += 1
            self.cell = 0
            return np.array([self.resets], np.float32), {}

        def _observation(self) -> Any:
            return np.array([self.resets + self.cell / 10], np.float32)

    env = Drifting(1000)
    agent = MFEC(env, capacity=20, seed=0).learn(50)
    agent.learn(50)  # nobody has touched the environment: there is nothing to replay
    env.reset()
    with pytest.raises(NotReproducibleError, match=r"not reproducible.*abandon_game"):
        agent.learn(50)
    agent.abandon_game()
    assert agent.learn(50).steps == 150


def test_stable_baselines_evaluates_an_agent_unchanged() -> None:
    agent = MFEC("CartPole-v1", capacity=50, strategy="kmeans", seed=1).learn(3000)
    before = MFEC("CartPole-v1", capacity=50, strategy="kmeans", seed=1).learn(3000)
    mean, _ = sb3_evaluate_policy(agent, gymnasium.make("CartPole-v1"), n_eval_episodes=5, warn=False)
    assert isinstance(mean, float)
    assert mean > 8
    assert_same_state(agent, before)


def test_predicting_is_a_pure_function_alone_and_in_a_batch() -> None:
    agent = MFEC("CartPole-v1", capacity=50, seed=1).learn(2000)
    batch = np.random.default_rng(0).standard_normal((64, 4)).astype(np.float32)
    actions, state = agent.predict(batch)
    assert actions.shape == (64,)
    assert state is None
    assert set(actions.tolist()) == {0, 1}
    for observation, action in zip(batch, actions, strict=True):
        assert agent.predict(observation)[0] == action
    np.testing.assert_array_equal(agent.predict(batch)[0], actions)


def test_ties_are_broken_fairly_and_by_seed() -> None:
    """With empty tables every action ties; an agent must not pick one action for ever."""
    batch = np.random.default_rng(0).standard_normal((400, 4)).astype(np.float32)
    first, second = (MFEC("CartPole-v1", capacity=5, seed=seed).predict(batch)[0] for seed in (1, 2))
    assert 0.4 < first.mean() < 0.6
    assert (first != second).any()
    trained = MFEC("CartPole-v1", capacity=5, seed=0, epsilon_initial=0, epsilon_final=0)
    trained.learn(5)
    assert len(set(trained.loop.actions)) == 2


def test_exploring_predictions_differ_and_leave_training_alone() -> None:
    agent, untouched = (MFEC("CartPole-v1", capacity=50, seed=1).learn(500) for _ in range(2))
    observation = np.zeros(4, np.float32)
    actions = {int(agent.predict(observation, deterministic=False)[0]) for _ in range(30)}
    assert actions == {0, 1}
    assert_same_state(agent.learn(200), untouched.learn(200))


def test_images_are_projected() -> None:
    class Screen(Corridor):
        observation_space: Any = gymnasium.spaces.Box(0, 255, (12, 12, 1), np.uint8)

        def _observation(self) -> Any:
            screen = np.zeros((12, 12, 1), np.uint8)
            screen[:, min(self.cell, 4) * 2] = 200
            return screen

    agent = MFEC(Screen, capacity=20, neighbours=1, seed=0, **QUICK).learn(2000)
    assert agent.memory.key_size == 128
    assert evaluate_policy(agent, Screen, 5) == (1, 0)


def test_actions_may_begin_anywhere() -> None:
    class Shifted(Corridor):
        action_space = gymnasium.spaces.Discrete(2, start=3)

        def step(self, action: Any) -> Any:
            assert action in (3, 4)
            return super().step(action - 3)

    agent = MFEC(Shifted, capacity=10, neighbours=1, seed=0, **QUICK).learn(2000)
    assert evaluate_policy(agent, Shifted, 5) == (1, 0)


@pytest.mark.parametrize("seed", range(5))
def test_lru_with_room_for_every_state_solves_the_open_room(seed: int) -> None:
    agent = MFEC("engram/OpenRoom-v0", strategy="lru", capacity=100, seed=seed).learn(15_500)
    for _ in range(10):
        assert evaluate_policy(agent, "engram/OpenRoom-v0", 10) == (1, 0)
        agent.learn(500)


def test_a_truncated_episode_is_written_too() -> None:
    """In the room nothing but the time limit ends the first episodes; their states are stored with return 0."""
    agent = MFEC("engram/OpenRoom-v0", capacity=200, seed=0).learn(100)
    assert agent.loop.episode == 1
    assert agent.memory.size.sum() > 0


def test_load_finds_the_agent_by_itself(tmp_path: Path) -> None:
    agent = MFEC("CartPole-v1", capacity=50, seed=1).learn(700)
    agent.save(tmp_path / "a.safetensors")
    loaded = load(tmp_path / "a.safetensors")
    assert isinstance(loaded, MFEC)
    assert isinstance(loaded.memory, EpisodicMemory)
    assert_same_state(agent, loaded)
    assert (tmp_path / "a.safetensors").stat().st_size < 20_000


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"capacity": 0}, "capacity must be at least 1, got 0"),
        ({"neighbours": 0}, "neighbours must be at least 1, got 0"),
        ({"neighbours": 1.5}, "neighbours must be a whole number"),
        ({"strategy": "kmean"}, "did you mean 'kmeans'"),
        ({"strategy": "dkm:dekay=1"}, "no option 'dekay'"),
        ({"strategy": "dkm:decay=much"}, "decay must be float, got 'much'"),
        ({"strategy": "dkm:decay=-1"}, "decay must be a number from 0"),
        ({"strategy": 7}, "strategy must be a name or an instance of Strategy, got 7"),
        ({"discount": 1.5}, "discount must be a number from 0 to 1"),
        ({"kernel": "invers"}, "did you mean 'inverse'"),
        ({"merging": "batch", "strategy": "dkm"}, "merging must be one of 'single', 'episode', got 'batch'"),
        ({"merging": "episode"}, "needs a compiled strategy that merges .adaptive, dkm, fading, kmeans., got 'lru'"),
        ({"capacitty": 5}, "did you mean 'capacity'"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"delta": 0}, "delta must be a number from"),
        ({"shrinkage": 1.5}, "shrinkage must be a number from 0 to 1"),
        ({"shrinkage": "much"}, "shrinkage must be a number from 0 to 1, got 'much'"),
        ({"radius": -1}, "radius must be a number from 0"),
        ({"horizon": 0}, "horizon must be at least 1, got 0"),
        ({"radius": 0.5, "duplicates": True}, "duplicates=True counts every state as a new one, and radius=0.5"),
    ],
)
def test_bad_settings_are_refused_before_any_work(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        MFEC("CartPole-v1", **settings)


def test_steps_below_one_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="total_timesteps must be at least 1, got 0"):
        MFEC("CartPole-v1", capacity=5).learn(0)


def test_bad_environments_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"unknown environment id 'CartPol-v1'; did you mean 'CartPole-v1'"):
        MFEC("CartPol-v1")
    with pytest.raises(InvalidInputError, match=r"action space Box.*Discrete"):
        MFEC("MountainCarContinuous-v0")
    words = Corridor()
    words.observation_space = gymnasium.spaces.Dict(a=gymnasium.spaces.Text(5))  # type: ignore[assignment]
    with pytest.raises(InvalidInputError, match=r"'a': Text.* cannot be made into numbers.*FilterObservation"):
        MFEC(words)
    with pytest.raises(InvalidInputError, match="env must be an environment id"):
        MFEC(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="must return a Gymnasium environment"):
        MFEC(lambda: "CartPole-v1")  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_named_with_its_step(bad: float) -> None:
    class BadObservation(Corridor):
        def _observation(self) -> Any:
            return np.array([bad if self.cell == 3 else self.cell], np.float32)

    class BadReward(Corridor):
        def step(self, action: Any) -> Any:
            observation, _, terminated, truncated, info = super().step(action)
            return observation, bad if self.cell == 3 else 0.0, terminated, truncated, info

    with pytest.raises(InvalidInputError, match=r"environment gave at step \d+ must be finite, got NaN"):
        MFEC(BadObservation, capacity=5).learn(500)
    with pytest.raises(InvalidInputError, match=r"reward (nan|inf) at step \d+"):
        MFEC(BadReward, capacity=5).learn(500)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e5])
@pytest.mark.parametrize("agent", [MFEC, D3QN])
def test_what_a_short_float_cannot_hold_is_not_finite(agent: Any, bad: float) -> None:
    class Short(Corridor):
        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), cast(Any, np.float16))

        def _observation(self) -> Any:
            return np.array([bad if self.cell == 3 else self.cell], np.float64)

    with pytest.raises(InvalidInputError, match=r"environment gave at step \d+ must be finite, got NaN"):
        agent(Short).learn(500)


def test_a_key_that_is_too_large_is_refused_in_a_step_that_does_not_read(tmp_path: Path) -> None:
    class Far(Corridor):
        def _observation(self) -> Any:
            return np.array([5e15 if self.cell == 3 else self.cell], np.float32)

    agent = MFEC(Far, capacity=5, exploration=Rightwards())
    with pytest.raises(InvalidInputError, match="keys must be from -1e\\+15 to 1e\\+15"):
        agent.learn(500)
    assert agent.loop.observation == np.float32(5e15)  # the episode has not gone on
    agent.check_valid()
    agent.save(tmp_path / "model.safetensors")
    assert load(tmp_path / "model.safetensors", env=Far, exploration=Rightwards()).steps == agent.steps


def test_observations_of_another_shape_are_refused() -> None:
    class Growing(Corridor):
        def _observation(self) -> Any:
            return np.zeros(2 if self.cell == 3 else 1, np.float32)

    with pytest.raises(InvalidInputError, match=r"shape \(2,\) at step \d+"):
        MFEC(Growing, capacity=5).learn(500)
    with pytest.raises(InvalidInputError, match=r"observations must have shape \(batch, 4\), got \(3,\)"):
        MFEC("CartPole-v1", capacity=5).predict(np.zeros(3))


def test_a_subclass_may_have_more_settings() -> None:
    @dataclass(frozen=True, kw_only=True)
    class PatientConfig(MFECConfig):
        patience: int = 3

    class Patient(MFEC):
        Config = PatientConfig

    settings: dict[str, Any] = {"patience": 5, "capacity": 10}
    agent = Patient("CartPole-v1", **settings).learn(50)
    assert (agent.config.patience, agent.config.capacity) == (5, 10)  # type: ignore[attr-defined]
    assert agent.name == "Patient"


@pytest.mark.parametrize("use", ["nothing", "predict", "step", "reset", "events"])
def test_an_environment_that_is_shared_is_replayed_only_if_it_was_used(use: str) -> None:
    class Counted(Corridor):
        steps = 0

        def step(self, action: Any) -> Any:
            Counted.steps += 1
            return super().step(action)

    whole = MFEC(lambda: Counted(100), capacity=20, seed=2).learn(80)
    env = Counted(100)
    agent = MFEC(env, capacity=20, seed=2)
    if use == "events":
        for event in agent.events(40):
            if event.step == 40:
                break
    else:
        agent.learn(40)
    if use == "predict":
        agent.predict(np.zeros(1, np.float32))
    if use in ("step", "events"):
        env.step(1)
    if use == "reset":
        env.reset()
    Counted.steps = 0
    agent.learn(40)
    assert Counted.steps == (40 if use in ("nothing", "predict") else 80)
    assert_same_state(agent, whole)
