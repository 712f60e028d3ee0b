"""The ready-made callbacks: each does what it says, at the step at which it says so."""

from pathlib import Path
from typing import Any

import gymnasium
import pytest
from PIL import Image

from engram import MFEC, evaluate_policy, load
from engram.callbacks import Checkpoint, Evaluate, SaveBest, StopAfter, StopAtScore, Video
from engram.errors import InvalidInputError
from engram.runs.folder import RunFolder
from engram.runs.run import Run
from engram.training.events import EpisodeEnd, Evaluation, Event

RUN = Run(MFEC, "CartPole-v1", MFEC.Config(capacity=30, seed=1), 800, 100, 2)


def agent() -> MFEC:
    return MFEC("CartPole-v1", capacity=30, seed=1)


def evaluations(events: list[Event]) -> list[Evaluation]:
    return [event for event in events if isinstance(event, Evaluation)]


def test_evaluations_are_those_of_evaluate_policy_and_leave_learning_as_it_is() -> None:
    heard: list[Event] = []
    watched = agent().learn(600, [Evaluate(every=200, episodes=3), heard.append])
    assert [event.step for event in evaluations(heard)] == [200, 400, 600]
    assert evaluations(heard)[-1].mean == evaluate_policy(watched, "CartPole-v1", 3)[0]
    assert evaluations(heard)[-1].metrics["start/value"] > 0
    alone = agent().learn(600)
    assert watched.memory.entries(1)["values"].tolist() == alone.memory.entries(1)["values"].tolist()


def test_the_best_agent_is_saved(tmp_path: Path) -> None:
    heard: list[Event] = []
    agent().learn(1_000, [Evaluate(every=100, episodes=3, save_best=tmp_path / "deep" / "best"), heard.append])
    best = max(evaluations(heard), key=lambda event: event.mean)  # the first of equal ones
    saved = load(tmp_path / "deep" / "best")
    assert saved.steps == best.step
    assert evaluate_policy(saved, "CartPole-v1", 3)[0] == best.mean


def test_the_best_of_a_run_that_was_interrupted_is_the_best_of_all(tmp_path: Path) -> None:
    RunFolder(tmp_path / "whole").record(RUN, RUN.make_agent(), SaveBest(tmp_path / "one"))
    half = RunFolder(tmp_path / "half")
    assert half.record(RUN, RUN.make_agent(), [SaveBest(tmp_path / "two"), lambda event: event.step < 450]) is None
    half.record(RUN, RUN.make_agent(), SaveBest(tmp_path / "two"))
    assert load(tmp_path / "one").steps == load(tmp_path / "two").steps
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_training_stops_at_a_score_of_evaluations_or_of_episodes() -> None:
    heard: list[Event] = []
    stopped = agent().learn(5_000, [Evaluate(every=100, episodes=2), StopAtScore(12), heard.append])
    assert evaluations(heard)[-1].mean >= 12
    assert evaluations(heard)[-1].step == stopped.steps < 5_000
    assert all(event.mean < 12 for event in evaluations(heard)[:-1])
    heard.clear()
    stopped = agent().learn(5_000, [StopAtScore(28, episodes=3), heard.append])
    totals = [event.total for event in heard if isinstance(event, EpisodeEnd)]
    assert sum(totals[-3:]) / 3 >= 28
    assert not any(sum(totals[i : i + 3]) / 3 >= 28 for i in range(len(totals) - 3))


def test_training_stops_after_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(100_000))
    monkeypatch.setattr("engram.callbacks.stops.monotonic", lambda: float(next(times)))
    assert agent().learn(5_000, StopAfter(25)).steps == 25


def test_checkpoints_are_models_that_go_on(tmp_path: Path) -> None:
    whole = agent().learn(300, Checkpoint(tmp_path, every=100))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"step-000000000{n}00.safetensors" for n in (1, 2, 3)]
    again: Any = load(tmp_path / names[0]).learn(200)
    assert again.memory.entries(0)["values"].tolist() == whole.memory.entries(0)["values"].tolist()


def test_films_are_taken_every_so_many_steps(tmp_path: Path) -> None:
    filmed = MFEC("engram/OpenRoom-v0", capacity=20, seed=1)
    filmed.learn(250, Video(tmp_path, every=100))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-000000000100.gif", "step-000000000200.gif"]
    with Image.open(tmp_path / "step-000000000200.gif") as film:
        assert getattr(film, "n_frames", 0) > 1


def test_an_environment_that_was_handed_over_is_not_played_in() -> None:
    env = gymnasium.make("CartPole-v1")
    given = MFEC(env, capacity=30, seed=1)
    heard: list[Event] = []
    given.learn(100, [Evaluate(every=50, episodes=2), heard.append])  # in environments of the same id
    assert [event.mean for event in evaluations(heard)][-1] == evaluate_policy(given, "CartPole-v1", 2)[0]
    assert given.memory.entries(1)["values"].tolist() == agent().learn(100).memory.entries(1)["values"].tolist()
    with pytest.raises(InvalidInputError, match=r"in the very environment that the agent learns in"):
        given.learn(10, Evaluate(every=5, env=env))
    given.source.name = None
    with pytest.raises(InvalidInputError, match=r"evaluations need one of their own: Evaluate\(…, env=…\)"):
        given.learn(10, Evaluate(every=5))
    heard.clear()
    given.learn(10, [Evaluate(every=5, episodes=1, env="CartPole-v1"), heard.append])
    assert len(evaluations(heard)) == 2
    nameless = MFEC(lambda: gymnasium.make("CartPole-v1"), capacity=5)
    nameless.source.name = None
    with pytest.raises(InvalidInputError, match=r"has no id; give one: Video\(…, env='CartPole-v1'\)"):
        nameless.learn(5, Video(Path("films"), every=5))
    assert nameless.steps == 0


@pytest.mark.parametrize("wrong", [lambda: Evaluate(0), lambda: Checkpoint("x", 0), lambda: StopAfter(-1)])
def test_wrong_numbers_are_refused_at_once(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="must be"):
        wrong()
