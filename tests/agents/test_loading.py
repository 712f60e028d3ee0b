"""Loading: from a run's folder, and for prediction alone, without an environment."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import engram
from engram import D3QN, MFEC, NEC, Agent, evaluate_policy, load
from engram.cli import main
from engram.errors import EngramError, InvalidInputError, ModelFileError
from tests.envs.own_envs import SPACES, Walk
from tests.faults.mutations import content_of, signed
from tests.faults.worlds import Vectors

NETWORK: dict[str, Any] = {"replay_size": 50, "learning_start_steps": 30, "batch_size": 4}


class Late(gymnasium.ActionWrapper[Any, Any, Any]):
    """CartPole whose actions are numbered 5 and 6."""

    def __init__(self) -> None:
        super().__init__(gymnasium.make("CartPole-v1"))
        self.action_space = gymnasium.spaces.Discrete(2, start=5)

    def action(self, action: Any) -> Any:
        return action - 5


def test_a_runs_folder_is_loaded_by_its_path(tmp_path: Path) -> None:
    out = tmp_path / "first"
    assert main(["train", "mfec", "--steps", "200", "--capacity", "20", "--no-progress", "--out", str(out)]) == 0
    for agent in (load(out), MFEC.load(str(out)), load(out, for_prediction=True)):
        assert agent.steps == 200
        assert evaluate_policy(agent, "CartPole-v1", 2) == evaluate_policy(
            load(out / "model.safetensors"), "CartPole-v1", 2
        )
    (out / "model.safetensors").unlink()
    with pytest.raises(ModelFileError, match="not finished, go on with it: engram train --resume"):
        load(out)
    with pytest.raises(ModelFileError, match=r"holds no model\.safetensors$"):
        load(tmp_path)


@pytest.mark.parametrize(
    "agent",
    [
        lambda: MFEC(Vectors, capacity=20),
        lambda: MFEC(Late, capacity=20),
        lambda: NEC(Late, capacity=20, **NETWORK),
        lambda: D3QN(Vectors, **NETWORK),
    ],
)
def test_an_agent_loaded_for_prediction_needs_no_environment_and_predicts_the_same(agent: Any, tmp_path: Path) -> None:
    trained: Agent = agent().learn(120)
    trained.save(path := tmp_path / "agent.safetensors")
    with pytest.raises(InvalidInputError, match="for_prediction=True"):
        load(path)
    loaded = load(path, for_prediction=True)
    observations = np.random.default_rng(0).normal(size=(50, *trained.spaces.observation_shape))
    np.testing.assert_array_equal(loaded.predict(observations)[0], trained.predict(observations)[0])
    with pytest.raises(InvalidInputError, match=r"loaded for prediction.*set_env"):
        loaded.learn(10)
    loaded.save(again := tmp_path / "again.safetensors")
    assert again.read_bytes() == path.read_bytes()
    loaded.set_env(agent().get_env())
    assert loaded.learn(10).steps == 130


def test_statistics_of_wrappers_are_kept_for_an_environment_that_is_given_later(tmp_path: Path) -> None:
    name = "CartPole-v1|NormalizeObservation"
    trained = MFEC(name, capacity=20).learn(150)
    trained.save(path := tmp_path / "agent.safetensors")
    loaded = load(path, for_prediction=True)
    assert evaluate_policy(loaded, name, 3) == evaluate_policy(trained, name, 3)
    loaded.save(again := tmp_path / "again.safetensors")
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "spaces",
    [
        {"shape": [-4], "dtype": "<f4", "actions": 2},
        {"shape": [4], "dtype": "O", "actions": 2},
        {"shape": [4], "dtype": "<f4", "actions": 0},
        {"shape": [2**20, 2**20], "dtype": "<f4", "actions": 2},
        {"shape": "ab", "dtype": "<f4", "actions": 2},
        {"shape": [4], "dtype": "<f4"},
    ],
)
def test_spaces_that_cannot_be_are_refused(spaces: dict[str, Any], tmp_path: Path) -> None:
    MFEC("CartPole-v1", capacity=5).save(path := tmp_path / "agent.safetensors")
    content = content_of(path)
    content.manifest["description"]["spaces"] = spaces
    path.write_bytes(signed(content))
    with pytest.raises(EngramError, match=r"is damaged|must be|columns"):
        engram.load(path, for_prediction=True)


@pytest.mark.parametrize("shown", SPACES)
def test_an_agent_without_its_environment_takes_observations_as_that_gives_them(shown: str, tmp_path: Path) -> None:
    trained = MFEC(lambda: Walk(shown), capacity=50).learn(100)
    trained.save(path := tmp_path / "agent.safetensors")
    loaded, env = load(path, for_prediction=True), Walk(shown)
    for env.cell in (0, 3, 4):
        assert loaded.predict(env.seen())[0] == trained.predict(env.seen())[0]
        np.testing.assert_array_equal(
            loaded.q_values(loaded.source.form.read(env.seen())[0]),
            trained.q_values(trained.source.form.read(env.seen())[0]),
        )
    loaded.save(again := tmp_path / "again.safetensors")
    assert again.read_bytes() == path.read_bytes()
    assert evaluate_policy(loaded, lambda: Walk(shown), 2) == evaluate_policy(trained, lambda: Walk(shown), 2)
    content = content_of(path)  # as older files are
    content.manifest["description"].pop("form", None)
    path.write_bytes(signed(content))
    old = load(path, for_prediction=True)
    seen = trained.source.form.read(env.seen())[0]
    assert old.predict(seen[0])[0] == trained.predict(env.seen())[0]
    if not trained.source.form.plain:
        with pytest.raises(InvalidInputError, match=r"older files never do: .* load\(path, env\), and save it again"):
            old.predict(env.seen())
    load(path, lambda: Walk(shown))


@pytest.mark.parametrize(
    "form",
    [
        {"flat": {"numbers": [5]}},
        {"flat": {"numbers": [-2, -3]}},
        {"flat": {"choices": [6], "starts": [0, 1], "shape": []}},
        {"flat": {"choices": [2.0, 4], "starts": [0, 0], "shape": [2]}},
        {"flat": {"choices": [2**62, 4], "starts": [0, 0], "shape": [2]}},
        {"flat": {"dict": [[["a"], {"numbers": [6]}]]}},
        {"flat": {"tuple": 3}},
        {"flat": 7},
        {"images": [2, 3, 1]},
        {"images": [0, 0, 0]},
        {"module": "os"},
        [],
    ],
)
def test_forms_that_cannot_be_are_refused(form: Any, tmp_path: Path) -> None:
    MFEC(lambda: Walk("dict"), capacity=5).save(path := tmp_path / "agent.safetensors")
    content = content_of(path)
    content.manifest["description"]["form"] = form
    path.write_bytes(signed(content))
    with pytest.raises(EngramError, match=r"is damaged|must be"):
        load(path, for_prediction=True)


def test_an_environment_whose_observations_are_others_is_refused(tmp_path: Path) -> None:
    MFEC(lambda: Walk("number"), capacity=5).save(path := tmp_path / "agent.safetensors")
    with pytest.raises(InvalidInputError, match=r"trained with .*'starts': \[3\].* but the environment has .*dict"):
        load(path, lambda: Walk("dict"))  # which has as many numbers, and means others
