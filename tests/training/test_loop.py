"""The loop: its events, its seeds, and what evaluation leaves untouched."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from engram import MFEC, evaluate_policy
from engram.errors import InvalidInputError
from engram.files.arrays import split
from engram.randomness import COMPONENTS, generator, reset_seed
from engram.training.evaluation import play_episodes, with_evaluations
from engram.training.events import EpisodeEnd, Evaluation, Step
from tests.conftest import Corridor


def test_the_events_tell_the_whole_story() -> None:
    agent = MFEC(Corridor, capacity=20, seed=0)
    events = list(agent.events(300))
    steps = [event for event in events if isinstance(event, Step)]
    ends = [event for event in events if isinstance(event, EpisodeEnd)]
    assert [event.step for event in steps] == list(range(1, 301))
    assert [event.episode for event in ends] == list(range(agent.loop.episode))
    assert sum(event.length for event in ends) + agent.loop.length == 300
    assert sum(event.total for event in ends) == sum(event.reward for event in steps)
    assert agent.loop.game == agent.loop.episode + (agent.loop.length > 0)


def test_many_episodes_are_played_in_few_environments_with_the_same_results(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, made = MFEC(Corridor, capacity=20, seed=0).learn(300), list[Corridor]()

    def make() -> Corridor:
        made.append(Corridor())
        return made[-1]

    whole = evaluate_policy(agent, make, 30, max_steps=20, return_episode_rewards=True)
    assert len(made) == 30
    monkeypatch.setattr("engram.training.evaluation.SIDE_BY_SIDE", 4)
    made.clear()
    assert evaluate_policy(agent, make, 30, max_steps=20, return_episode_rewards=True) == whole
    assert len(made) == 4
    with pytest.raises(InvalidInputError, match="n_eval_episodes must be at most 1,000,000, got 1000000000"):
        evaluate_policy(agent, make, 10**9)


def test_a_step_is_the_last_event_of_its_step() -> None:
    agent = MFEC(Corridor, capacity=20, seed=0)
    events = list(with_evaluations(agent.events(100), agent, [Corridor()], every=10, episodes=2))
    for before, after in pairwise(events):
        if not isinstance(before, Step):
            assert isinstance(after, Evaluation | Step)
            assert after.step == before.step
    evaluations = [event for event in events if isinstance(event, Evaluation)]
    assert [event.step for event in evaluations] == list(range(10, 101, 10))


def test_every_game_begins_with_its_own_seed() -> None:
    seeds: list[int | None] = []

    class Recording(Corridor):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            seeds.append(seed)
            return super().reset(seed=seed, options=options)

    agent = MFEC(Recording, capacity=20, seed=11).learn(200)
    assert seeds == [reset_seed(11, "games", game) for game in range(agent.loop.game)]
    assert len(set(seeds)) == len(seeds)


def test_components_do_not_share_their_randomness() -> None:
    draws = {component: generator(4, component).random() for component in COMPONENTS}
    assert len(set(draws.values())) == len(COMPONENTS)
    assert reset_seed(4, "games", 0) != reset_seed(4, "evaluation", 0)
    assert reset_seed(4, "games", 0) != reset_seed(5, "games", 0)


@pytest.mark.parametrize("strategy", ["lru", "sur", "dkm"])
def test_evaluation_leaves_the_agent_bit_for_bit_as_it_was(strategy: str) -> None:
    agent = MFEC("CartPole-v1", strategy=strategy, capacity=60, seed=1).learn(1500)
    arrays, plain = split(agent.state_dict())
    evaluate_policy(agent, "CartPole-v1", 3)
    after_arrays, after_plain = split(agent.state_dict())
    assert plain == after_plain
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, after_arrays[name], err_msg=name)


def test_side_by_side_or_one_by_one_the_episodes_are_the_same() -> None:
    agent = MFEC("CartPole-v1", capacity=60, seed=1).learn(3000)
    together = evaluate_policy(agent, "CartPole-v1", 7, return_episode_rewards=True)
    alone = evaluate_policy(agent, agent.source.make(), 7, return_episode_rewards=True)
    envs = [agent.source.make() for _ in range(3)]
    by_three = play_episodes(agent, envs, 7, seed=agent.seed)
    assert together == alone == by_three
    assert together == evaluate_policy(agent, "CartPole-v1", 7, return_episode_rewards=True)
    assert together != evaluate_policy(agent, "CartPole-v1", 7, return_episode_rewards=True, seed=99)
    assert together == evaluate_policy(agent, "CartPole-v1", 7, return_episode_rewards=True, seed=float(agent.seed))  # type: ignore[call-overload]


def test_mean_and_deviation_are_those_of_the_episodes() -> None:
    agent = MFEC("CartPole-v1", capacity=60, seed=1).learn(1000)
    returns, lengths = evaluate_policy(agent, "CartPole-v1", 5, return_episode_rewards=True)
    assert evaluate_policy(agent, "CartPole-v1", 5) == (float(np.mean(returns)), float(np.std(returns)))
    assert returns == lengths
    with pytest.raises(InvalidInputError, match="n_eval_episodes must be at least 1, got 0"):
        evaluate_policy(agent, "CartPole-v1", 0)
