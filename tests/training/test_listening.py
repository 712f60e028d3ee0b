"""Callbacks: what they hear, that they can stop training, and that a run they stopped can be gone on with."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from engram import MFEC, load
from engram.callbacks import Callback
from engram.errors import FaultyEnvironmentError, InvalidInputError
from engram.runs.folder import RunFolder
from engram.runs.run import Run
from engram.training.events import EpisodeEnd, Evaluation, Event, Step
from tests.agents.test_metrics import assert_equal

RUN = Run(MFEC, "CartPole-v1", MFEC.Config(capacity=20, strategy="dkm", seed=1), 300, 100, 2)


class Diary(Callback):
    """Notes what it is told, and stops at a step."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.told: list[Any] = []
        self.stop_at = stop_at

    def catch_up(self, agent: Any, events: Iterable[Event]) -> None:
        self.told.append([event.step for event in events])

    def begin(self, agent: Any) -> None:
        self.told.append(("begin", agent.steps))

    def on_event(self, agent: Any, event: Event) -> bool:
        self.told.append(event)
        return not (isinstance(event, EpisodeEnd) and self.stop_at is not None and event.step >= self.stop_at)

    def end(self, agent: Any) -> None:
        self.told.append(("end", agent.steps))


def agent() -> MFEC:
    return MFEC("CartPole-v1", capacity=20, seed=1)


def test_one_callback_or_several_hear_every_event() -> None:
    steps: list[int] = []
    diary = Diary()
    agent().learn(40, [lambda event: steps.append(event.step), diary])
    assert diary.told[0] == ("begin", 0)
    assert diary.told[-1] == ("end", 40)
    assert [event.step for event in diary.told[1:-1]] == steps
    assert [event.step for event in diary.told if isinstance(event, Step)] == list(range(1, 41))
    assert any(isinstance(event, EpisodeEnd) for event in diary.told)


@pytest.mark.parametrize("answer", [False, np.False_])
def test_false_ends_training_after_the_step_and_everyone_hears_of_it_whole(answer: Any) -> None:
    heard: list[Event] = []

    def stop(event: Event) -> Any:
        return answer if isinstance(event, EpisodeEnd) else None

    stopped = agent().learn(500, [stop, heard.append])
    assert isinstance(heard[-1], Step)
    assert isinstance(heard[-2], EpisodeEnd)
    assert heard[-1].step == heard[-2].step == stopped.num_timesteps < 100
    assert_equal(stopped.learn(60).state_dict(), agent().learn(stopped.steps).state_dict())


def test_a_progress_bar_ends_well_when_training_is_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    stopped = agent().learn(500, lambda event: event.step < 30, progress_bar=True)
    assert stopped.steps == 30
    assert "mfec 30/500 steps" in capsys.readouterr().err


@pytest.mark.parametrize("answer", [0, None, "", [], {}])
def test_other_answers_are_ignored(answer: Any) -> None:
    assert agent().learn(20, lambda event: answer).steps == 20


def test_an_evaluation_in_answer_is_told_to_all() -> None:
    heard: list[Event] = []

    def evaluate(event: Event) -> Evaluation | None:
        return Evaluation(event.step, (1.0,), (1,)) if isinstance(event, Step) and event.step == 5 else None

    agent().learn(8, [heard.append, evaluate])
    assert [event.step for event in heard if isinstance(event, Evaluation)] == [5]


def test_end_is_called_after_an_error_too() -> None:
    class Failing(gymnasium.Wrapper[Any, Any, Any, Any]):
        def step(self, action: Any) -> Any:
            raise RuntimeError("no")

    diary = Diary()
    with pytest.raises(FaultyEnvironmentError):
        MFEC(lambda: Failing(gymnasium.make("CartPole-v1")), capacity=5).learn(10, diary)
    assert diary.told == [("begin", 0), ("end", 0)]


@pytest.mark.parametrize(("wrong", "words"), [(3, "got 3"), (Diary, r"give an object of that class: Diary\(…\)")])
def test_what_is_no_callback_is_refused(wrong: Any, words: str) -> None:
    for given in (wrong, [wrong]):
        with pytest.raises(InvalidInputError, match=rf"callback must be a function of an event.*{words}"):
            agent().learn(5, given)


def test_a_run_that_a_callback_stopped_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    RunFolder(tmp_path / "whole").record(RUN, RUN.make_agent())
    first, second = Diary(stop_at=150), Diary()
    half = RunFolder(tmp_path / "half")
    assert half.record(RUN, RUN.make_agent(), first) is None
    assert half.result is None
    assert first.told[0] == []
    stopped = first.told[-1][1]
    assert 150 <= stopped < 200
    assert half.record(RUN, RUN.make_agent(), second) is not None
    assert second.told[0] == [event.step for event in first.told[2:-1] if not isinstance(event, Step)]
    assert second.told[1] == ("begin", stopped)
    for name in ("progress.jsonl", "model.safetensors", "result.json"):
        assert (tmp_path / "whole" / name).read_bytes() == (half.path / name).read_bytes()
    finished = Diary()
    half.record(RUN, RUN.make_agent(), finished)
    assert [len(each) for each in finished.told] == [len(list(half.entries()))]


def test_a_run_is_finished_where_it_is_stopped_at_its_last_step(tmp_path: Path) -> None:
    result = RunFolder(tmp_path / "run").record(RUN, RUN.make_agent(), lambda event: event.step < 300)
    assert result is not None
    assert result["steps"] == 300


def test_an_agent_in_the_midst_of_learning_is_left_to_it() -> None:
    learned = agent()
    state = learned.state_dict()
    for wrong in (
        lambda event: learned.learn(5),
        lambda event: learned.set_env("CartPole-v1"),
        lambda event: learned.load_state_dict(state),
    ):
        with pytest.raises(InvalidInputError, match="is learning in another thread, or in a call around this one"):
            learned.learn(5, wrong)
    assert learned.learn(5).steps == 8


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("env", ["CartPole-v1", "CartPole-v1|NormalizeObservation"])
@pytest.mark.parametrize("change", ["learn", "set_env", "load_state_dict"])
def test_events_end_where_the_agent_is_changed_between_two(change: str, env: str, begun: bool) -> None:
    learned, alone = (MFEC(env, capacity=20, seed=1).learn(12) for _ in range(2))
    state = learned.state_dict()
    events = learned.events(50)
    if begun:
        next(events)
    argument = {"learn": 5, "set_env": env, "load_state_dict": state}[change]
    getattr(learned, change)(argument)
    with pytest.raises(InvalidInputError, match="so that they cannot go on; ask for new ones"):
        next(events)
    if change == "load_state_dict":
        assert_equal(learned.learn(30).state_dict(), alone.learn(30).state_dict())
    learned.learn(5).check_valid()


def test_an_environment_that_was_looked_at_is_put_back_where_it_was() -> None:
    learned = agent().learn(30)
    learned.get_env().reset()
    assert_equal(learned.learn(30).state_dict(), agent().learn(60).state_dict())


def test_steps_cannot_be_counted_anew() -> None:
    learned = agent().learn(30)
    with pytest.raises(InvalidInputError, match=r"always takes n more steps.*make a new agent: MFEC\(env, …\)"):
        learned.learn(30, reset_num_timesteps=True)
    assert learned.learn(30, reset_num_timesteps=False).num_timesteps == 60


def test_an_agent_goes_on_in_another_environment(tmp_path: Path) -> None:
    learned = agent().learn(30)
    assert learned.get_env() is learned.get_env()
    longer = gymnasium.make("CartPole-v1", max_episode_steps=5)
    learned.set_env(longer)
    heard: list[Event] = []
    learned.learn(30, heard.append)
    assert learned.get_env() is longer
    assert {event.length for event in heard if isinstance(event, EpisodeEnd)} == {5}
    learned.set_env("CartPole-v1")
    learned.learn(7).save(tmp_path / "agent.safetensors")
    assert load(tmp_path / "agent.safetensors").learn(3).num_timesteps == 70
    with pytest.raises(InvalidInputError, match="but the environment has"):
        learned.set_env("Acrobot-v1")
    assert learned.learn(5).steps == 72


def test_an_evaluation_in_answer_to_another_is_refused() -> None:
    def evaluate(event: Event) -> Evaluation:
        return Evaluation(event.step, (1.0,), (1,))

    with pytest.raises(
        InvalidInputError, match=r"answered the evaluation at step 1 with another one.*other events only"
    ):
        agent().learn(5, evaluate)


@pytest.mark.parametrize("wrong", [lambda locals_, globals_: True, lambda: None, MFEC.learn])
def test_a_function_of_anything_but_an_event_is_told_what_it_gets(wrong: Any) -> None:
    with pytest.raises(
        InvalidInputError, match=r"gets one argument, the event, .*one of \(locals, globals\).*def callback"
    ):
        agent().learn(5, wrong)
