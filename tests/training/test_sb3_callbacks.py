"""Stable-Baselines3's own callbacks on our agents, and what is said of those that ask for more."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from stable_baselines3.common.callbacks import (
    BaseCallback,
    CallbackList,
    CheckpointCallback,
    EvalCallback,
    EveryNTimesteps,
    LogEveryNTimesteps,
    StopTrainingOnMaxEpisodes,
    StopTrainingOnRewardThreshold,
)
from stable_baselines3.common.monitor import Monitor

from engram import MFEC, load
from engram.errors import InvalidInputError
from engram.training.events import EpisodeEnd, Event


class Counting(BaseCallback):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[int, int]] = []
        self.returns: list[float] = []
        self.ended = False

    def _on_step(self) -> bool:
        self.calls.append((self.n_calls, self.num_timesteps))
        self.logger.record("own/rewards", self.locals["rewards"][0])
        self.returns += [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
        assert self.model.predict(self.model.example())[0].shape == (1,)  # type: ignore[attr-defined]
        return self.n_calls < 50

    def _on_training_end(self) -> None:
        self.ended = True


class Asking(BaseCallback):
    def __init__(self, ask: Any) -> None:
        super().__init__()
        self.ask = ask

    def _on_step(self) -> bool:
        self.ask(self)
        return True


def agent() -> MFEC:
    return MFEC("CartPole-v1", capacity=50, seed=1)


def test_a_callback_of_ones_own_is_called_after_each_step_and_may_stop() -> None:
    callback, heard = Counting(), []
    learned = agent().learn(30)

    def keep(event: Event) -> None:
        if isinstance(event, EpisodeEnd):
            heard.append(event.total)

    learned.learn(500, [callback, keep])
    assert callback.calls == [(n, 30 + n) for n in range(1, 51)]
    assert learned.steps == 80
    assert callback.ended
    assert callback.returns == heard != []


def test_checkpoints_are_written_as_our_own_files(tmp_path: Path) -> None:
    agent().learn(60, CheckpointCallback(save_freq=25, save_path=str(tmp_path), save_replay_buffer=True))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["rl_model_25_steps.safetensors", "rl_model_50_steps.safetensors"]
    assert load(tmp_path / names[1]).steps == 50


def test_callbacks_within_callbacks() -> None:
    inner = Counting()
    stop = StopTrainingOnMaxEpisodes(max_episodes=3)
    learned = agent().learn(2_000, CallbackList([EveryNTimesteps(20, inner), stop, LogEveryNTimesteps(30)]))
    assert learned.loop.episode == 3
    assert [step for _, step in inner.calls] == list(range(20, learned.steps + 1, 20))


def test_evaluation_with_a_threshold(tmp_path: Path) -> None:
    env = Monitor(gymnasium.make("CartPole-v1"))
    evaluate = EvalCallback(
        env,
        eval_freq=100,
        n_eval_episodes=2,
        callback_on_new_best=StopTrainingOnRewardThreshold(reward_threshold=5),
        best_model_save_path=str(tmp_path),
        verbose=0,
    )
    assert agent().learn(1_000, evaluate).steps == 100
    assert load(tmp_path / "best_model.safetensors").steps == 100


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda callback: callback.model.policy, r"Asking of Stable-Baselines3 asks for model\.policy, which no agent"),
        (lambda callback: callback.locals["rollout_buffer"], r"asks for locals\['rollout_buffer'\].*there are self"),
        (lambda callback: callback.training_env.reset(), r"asks for training_env\.reset"),
        (lambda callback: callback.training_env.envs, r"asks for training_env\.envs"),
    ],
)
def test_what_an_agent_does_not_have_is_said(ask: Any, words: str) -> None:
    learned = agent()
    with pytest.raises(InvalidInputError, match=words):
        learned.learn(5, Asking(ask))
    assert learned.learn(5).steps == 6


def test_stable_baselines3_is_not_imported_for_it() -> None:
    program = (
        "import sys, engram; engram.MFEC('CartPole-v1').learn(5, print); assert 'stable_baselines3' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
