"""Observations of every kind of space: trained on, predicted from as the environment gives them, saved and loaded."""

import logging
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from engram import D3QN, MFEC, NEC, evaluate_policy, load
from engram.envs import forms
from engram.envs.forms import form_of
from engram.errors import FaultyEnvironmentError, InvalidInputError
from tests.conftest import assert_same_state
from tests.envs.own_envs import SPACES, Walk

SEEN = {  # how they are shown → the shape that agents see
    "dict": (6,),
    "tuple": (7,),
    "number": (6,),
    "numbers": (8,),
    "bits": (4,),
    "matrix": (4,),
    "image": (3, 7, 6),
    "floats": (3, 7, 6),
    "bools": (2, 7, 6),
    "stack": (2, 7, 6),
}
QUICK: dict[str, Any] = {"epsilon_anneal_start_steps": 1, "epsilon_anneal_end_steps": 300}


def batched(shown: str, cells: list[int]) -> tuple[list[Any], Any]:
    """Observations one by one, and as a vector environment gives them together."""
    env = Walk(shown)
    singles = []
    for env.cell in cells:
        singles.append(env.seen())
    space = SPACES[shown]
    empty: Any = gymnasium.vector.utils.create_empty_array(space, n=len(cells))
    return singles, gymnasium.vector.utils.concatenate(space, singles, empty)


@pytest.mark.parametrize("shown", SEEN)
def test_every_kind_of_observation_is_learned_from_and_predicted_from(shown: str, tmp_path: Path) -> None:
    agent = MFEC(lambda: Walk(shown), capacity=50, **QUICK).learn(400)
    assert agent.spaces.observation_shape == SEEN[shown]
    assert evaluate_policy(agent, lambda: Walk(shown), 4)[0] == 1
    singles, together = batched(shown, [0, 3, 4])
    alone = [int(agent.predict(each)[0]) for each in singles]
    assert alone == [1, 1, 1]
    assert agent.predict(together)[0].tolist() == alone
    seen = np.concatenate([form_of(SPACES[shown], "it").read(each)[0] for each in singles])
    np.testing.assert_array_equal(agent.q_values(together), agent.q_values(seen))
    agent.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors", lambda: Walk(shown))
    assert_same_state(agent.learn(30), loaded.learn(30))


@pytest.mark.parametrize("kind", [NEC, D3QN])
@pytest.mark.parametrize("shown", ["tuple", "image", "floats", "bools"])
def test_networks_fit_small_images_and_flattened_observations(kind: Any, shown: str, tmp_path: Path) -> None:
    agent = kind(lambda: Walk(shown), replay_size=100, batch_size=8, learning_start_steps=30, **QUICK).learn(60)
    singles, together = batched(shown, [1, 2])
    assert agent.predict(together)[0].tolist() == [int(agent.predict(each)[0]) for each in singles]
    agent.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors", lambda: Walk(shown))
    assert_same_state(agent.learn(20), loaded.learn(20))


def test_values_of_a_discrete_space_are_told_apart_and_others_kept() -> None:
    form = form_of(spaces.Dict(a=spaces.Box(0, 9, (2,), np.float32), b=spaces.Discrete(3, start=5)), "it")
    rows, single = form.read({"a": np.array([4, 7], np.float32), "b": 6})
    assert single
    assert rows.tolist() == [[4, 7, 0, 1, 0]]
    rows, single = form.read([{"a": [1, 2], "b": 5}, {"a": [3, 4], "b": 7}])
    assert not single
    assert rows.tolist() == [[1, 2, 1, 0, 0], [3, 4, 0, 0, 1]]
    assert form_of(spaces.MultiDiscrete([2, 3]), "it").read(np.array([1, 0]))[0].tolist() == [[0, 1, 1, 0, 0]]


def test_a_list_of_tuples_is_several_observations_however_many() -> None:
    space = gymnasium.spaces.Tuple((gymnasium.spaces.Discrete(3), gymnasium.spaces.Discrete(3)))
    form, seen = form_of(space, "pairs"), [(0, 1), (2, 0), (1, 1)]
    rows = [form.read(each)[0][0].tolist() for each in seen]
    for count in (1, 2, 3):
        several, single = form.read(seen[:count])
        assert (several.tolist(), single) == (rows[:count], False)
    assert form.read((np.array([0, 2]), np.array([1, 0])))[0].tolist() == rows[:2], "as vector environments give them"
    assert form.read([2, 0])[0].tolist() == [rows[1]], "an environment may give a list for a tuple"
    with pytest.raises(InvalidInputError, match="a list of such tuples for several"):
        form.read([[0, 1], [2, 0]])


def test_channels_come_first_only_where_they_were_last() -> None:
    image = np.arange(7 * 6 * 3, dtype=np.uint8).reshape(7, 6, 3)
    rows, _ = form_of(SPACES["image"], "it").read(image)
    np.testing.assert_array_equal(rows[0], image.transpose(2, 0, 1))
    for shape in ((3, 7, 6), (4, 84, 84), (9, 9, 9)):
        assert form_of(spaces.Box(0, 255, shape, np.uint8), "it").plain
    assert form_of(spaces.Box(0, 255, (4, 84, 84, 1), np.uint8), "it").shape == (4, 84, 84)


@pytest.mark.parametrize(
    ("shown", "given", "said"),
    [
        ("dict", {"far": [0.0, 1.0]}, "observations must be a dict with 'far', 'kind', 'bits', as the agent"),
        ("dict", {"far": [0.0], "kind": 0, "bits": [0, 0]}, r"observations\['far'\] must have shape \(2,\)"),
        ("dict", {"far": [[0.0, 1.0]] * 2, "kind": 0, "bits": [0, 0]}, "parts for one observation, or all for equally"),
        ("tuple", (1,), r"observations must be a tuple of 2, or a list of such tuples, got"),
        ("tuple", [[0, 1], [[0.0], [1.0]]], r"must be a tuple of 2, a list of such tuples for several, .*other things"),
        ("number", 2, "must be whole numbers of the environment's space"),
        ("number", 4.0, "must be whole numbers of the environment's space"),
        ("image", np.zeros((7, 6)), r"observations must have shape \(batch, 3, 7, 6\)"),
    ],
)
def test_other_observations_are_refused(shown: str, given: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        MFEC(lambda: Walk(shown), capacity=5).predict(given)


def test_an_observation_that_is_not_of_its_space_is_the_environments_fault() -> None:
    env = Walk("image")
    env.observation_space = spaces.Box(0, 255, (9, 6, 3), np.uint8)
    with pytest.raises(FaultyEnvironmentError, match=r"observation of shape .*, but its observation space has"):
        MFEC(env, capacity=5).learn(1)


def test_what_is_done_to_observations_is_said_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forms, "_said", set())
    with caplog.at_level(logging.WARNING, "engram"):
        for _ in range(2):
            MFEC(lambda: Walk("dict"), capacity=5)
            MFEC(lambda: Walk("image"), capacity=5)
            MFEC("CartPole-v1", capacity=5)
    assert caplog.messages == [
        "note: observations Dict(far: Box[2], kind: Discrete(2), bits: MultiBinary(2)) are flattened to vectors of 6 "
        "numbers",
        "note: images [7, 6, 3] are turned to [3, 7, 6], channels first",
    ]
