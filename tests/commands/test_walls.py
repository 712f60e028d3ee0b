"""Walls that users ran into: each of these once gave a wrong result, a traceback or a misleading word."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from engram import D3QN, MFEC, NEC
from engram.agents import Agent
from engram.cli import main
from engram.envs import EnvSource
from engram.envs.forms import form_of
from engram.errors import InvalidInputError
from engram.memory import EpisodicMemory
from engram.pictures.video import film
from engram.typing import Array, Floats

TRAIN = ["train", "mfec", "--no-progress", "--evaluation-episodes", "2"]


def told(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join("".join(capsys.readouterr()).split())


@pytest.mark.parametrize("kind", [MFEC, NEC, D3QN])
def test_settings_without_a_name_are_refused(kind: Any) -> None:
    with pytest.raises(TypeError, match="settings by name"):
        kind("CartPole-v1", "dkm", 50)
    with pytest.raises(TypeError, match="got no environment"):
        kind()


@pytest.mark.parametrize(
    ("unnamed", "named"),
    [
        (("MlpPolicy", "CartPole-v1"), {}),
        (("MlpPolicy",), {"env": "CartPole-v1"}),
        ((), {"policy": "MlpPolicy", "env": "CartPole-v1"}),
    ],
)
def test_no_name_of_a_policy_is_needed(unnamed: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"MFEC needs no policy's name, got 'MlpPolicy'; leave it out: MFEC\(env, …\)"):
        MFEC(*unnamed, **named)


class Own(Agent):
    """An agent of one's own with settings that are checked by nobody else."""

    def build(self) -> None:
        pass

    def act(self, observation: Array, step: int) -> int:
        return 0

    def observe(self, reward: float, observation: Array, terminated: bool, truncated: bool) -> None:
        pass

    def q_values(self, observations: Array) -> Floats:
        return np.zeros((len(observations), self.spaces.actions), np.float32)


def test_agents_of_ones_own_say_what_they_take_too() -> None:
    own: Any = Own
    for unnamed, named in ((("MlpPolicy", "CartPole-v1"), {}), ((), {"policy": "MlpPolicy", "env": "CartPole-v1"})):
        with pytest.raises(TypeError, match=r"Own needs no policy's name, got 'MlpPolicy'; leave it out: Own\(env"):
            own(*unnamed, **named)
    with pytest.raises(TypeError, match=r"Own takes an environment and settings by name.*got 'CartPole-v1', 3"):
        own("CartPole-v1", 3)
    with pytest.raises(TypeError, match="got no environment"):
        own(seed=1)
    with pytest.raises(InvalidInputError, match="unknown setting 'sede'; did you mean 'seed'"):
        own("CartPole-v1", sede=1)
    assert own(env="CartPole-v1", seed=3).seed == 3


def test_wrappers_are_added_to_those_of_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(tmp_path / "run")
    limited = ["--env", "CartPole-v1|TimeLimit?max_episode_steps=7", "--steps", "300", "--capacity", "20"]
    assert main([*TRAIN, *limited, "--out", run]) == 0
    capsys.readouterr()
    assert main(["eval", run, "--wrapper", "RecordEpisodeStatistics", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["env"] == "CartPole-v1|TimeLimit?max_episode_steps=7|RecordEpisodeStatistics"
    assert set(answer["lengths"]) == {7}


def test_films_end_where_evaluations_do() -> None:
    agent = MFEC("engram/OpenRoom-v0", capacity=10, seed=1)
    assert len(list(film(agent, "engram/OpenRoom-v0", seed=1, max_steps=3))) == 3


def test_a_run_that_went_on_has_a_page_and_small_scores_have_digits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(tmp_path / "run")
    rooms = ["--env", "engram/OpenRoom-v0", "--preset", "rooms", "--capacity", "10", "--steps", "600"]
    assert main([*TRAIN, *rooms, "--out", run]) == 0
    assert "score 0.00," in told(capsys)
    assert main(["train", "--resume", run, "--steps", "700", "--no-progress"]) == 0
    assert (tmp_path / "run" / "aside-1").is_dir()
    assert main(["report", run]) == 0


class Endless(gymnasium.Env[Any, Any]):
    """A game that never ends."""

    observation_space = gymnasium.spaces.Box(0, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.zeros(2, np.float32), 0.0, False, False, {}


def test_any_environment_takes_a_limit() -> None:
    env = EnvSource(f"{__name__}:Endless?max_episode_steps=3").make()
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]


def test_one_observation_alone_has_values() -> None:
    agent = MFEC("CartPole-v1", capacity=10).learn(50)
    np.testing.assert_array_equal(agent.q_values(np.zeros(4)), agent.q_values(np.zeros((1, 4), np.float32)))


def test_one_channel_lies_in_memory_as_any_other_image() -> None:
    form = form_of(gymnasium.spaces.Box(0, 255, (5, 4, 1), np.uint8), "images")
    (array,), _ = form.read(np.zeros((5, 4, 1), np.uint8))
    assert array.strides == np.zeros((1, 5, 4), np.uint8).strides


def test_statistics_of_wrappers_are_not_left_out_of_a_policy(tmp_path: Path) -> None:
    agent = MFEC("CartPole-v1|NormalizeObservation", capacity=10).learn(50)
    with pytest.raises(InvalidInputError, match="wrappers have learned"):
        agent.export_policy(tmp_path / "policy.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04" + bytes(60), b"\x93NUMPY\x01\x00" + bytes(100)])
def test_damaged_archives_are_told_of(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent = MFEC("CartPole-v1", capacity=10).learn(50)
    agent.save(tmp_path / "model.safetensors")
    (tmp_path / "memory.npz").write_bytes(content)
    words = [
        str(tmp_path / "model.safetensors"),
        str(tmp_path / "memory.npz"),
        "--out",
        str(tmp_path / "x.safetensors"),
    ]
    assert main(["import", *words]) == 2
    assert "no NumPy archive" in told(capsys)


def test_archives_come_back(tmp_path: Path) -> None:
    memory = MFEC("CartPole-v1", capacity=10).learn(50).memory
    again = EpisodicMemory.from_arrays(memory.to_arrays())
    np.testing.assert_array_equal(again.size, memory.size)


@pytest.mark.parametrize("command", ["study", "tune"])
def test_files_that_are_no_text_are_told_of(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.toml").write_bytes(b"name = '\xff'")
    assert main([command, str(tmp_path / "x.toml")]) == 2
    assert "is no text in UTF-8" in told(capsys)


def test_options_that_a_game_has_for_itself_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="no option 'game'"):
        EnvSource("pong?game=breakout")


def test_a_run_whose_result_has_no_score_does_not_hide_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        assert main([*TRAIN, "--steps", "60", "--capacity", "10", "--out", str(tmp_path / name)]) == 0
    result = tmp_path / "one" / "result.json"
    result.write_text(
        json.dumps({key: value for key, value in json.loads(result.read_text()).items() if key != "score"})
    )
    capsys.readouterr()
    assert main(["runs", str(tmp_path), "--json"]) == 0
    assert {each["state"] for each in json.loads(capsys.readouterr().out)} == {"finished", "unusable"}


def test_workers_of_a_study_end_without_a_word(tmp_path: Path) -> None:
    words = ["study", "cartpole", "--agents", "mfec", "--strategies", "lru", "--sizes", "20", "--seeds", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "engram", *words, "--steps", "100", "--jobs", "2", "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "stopped" not in done.stderr
