"""Pictures of memories: where entries lie, what is said of them, and that they come out as files."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import gymnasium
import numpy as np
import pytest
from PIL import Image

from engram import D3QN, MFEC, NEC, EpisodicMemory
from engram.agents import Agent
from engram.errors import InvalidInputError
from engram.pictures import of_memory, plot_memory
from engram.pictures.plane import Dimensions, Floor, PrincipalAxes, choose_plane, parse_pair, telling_pair
from engram.pictures.scene import scene_of
from engram.runs.snapshots import snapshot_of

QUICK: dict[str, Any] = {"epsilon_anneal_start_steps": 0, "epsilon_anneal_end_steps": 200}


def in_room(kind: type[Agent], **settings: Any) -> Agent:
    return kind("engram/FourRoom-v0", seed=0, capacity=40, **QUICK, **settings).learn(700)


@pytest.fixture(scope="module")
def walker() -> Agent:
    return in_room(MFEC, strategy="dkm")


def test_a_room_gets_all_three_pictures_with_the_names_of_its_actions(walker: Agent, tmp_path: Path) -> None:
    found = of_memory(walker)
    assert [picture.name for picture in found] == ["entries", "policy", "distributions"]
    for picture in found:
        ElementTree.fromstring(picture.svg)  # well-formed
        assert picture.title
        assert picture.caption.endswith(".")
    for name in ("north", "east", "south", "west"):
        assert name in found[0].svg
    found[0].save(tmp_path / "map.png")
    found[0].save(tmp_path / "map.svg")
    with Image.open(tmp_path / "map.png") as image:
        assert np.asarray(image).std() > 1  # something is drawn
    with pytest.raises(InvalidInputError, match=r"must be an .svg or a .png, got 'map.jpg'"):
        found[0].save(tmp_path / "map.jpg")


def test_one_memory_has_one_scale_of_colours_and_says_what_counts_are(walker: Agent) -> None:
    entries, policy, _ = of_memory(walker)
    scales = [{each.get_ylim() for each in picture.figure.axes if each.get_ylabel()} for picture in (entries, policy)]
    assert scales[0] == scales[1]
    assert "have more states merged into them." in entries.caption
    assert "written more often" not in entries.caption


def test_the_same_memory_gives_the_same_bytes(walker: Agent) -> None:
    assert [picture.svg for picture in of_memory(walker)] == [picture.svg for picture in of_memory(walker)]


def test_entries_of_a_room_lie_on_its_floor_also_where_keys_are_a_networks() -> None:
    for agent in (in_room(MFEC), in_room(NEC, key_size=8), in_room(NEC, key_size=8, strategy="kmeans")):
        scene, snapshot = scene_of(agent), snapshot_of(agent.memory)  # type: ignore[attr-defined]
        plane = choose_plane(agent, scene, snapshot)
        assert isinstance(plane, Dimensions if type(agent) is MFEC else Floor)
        cells = {tuple(cell) for cell in scene.floor.tolist()}
        for table in snapshot.tables:
            assert {tuple(place) for place in plane.place(table).tolist()} <= cells


def test_two_numbers_of_an_observation_can_be_chosen_by_number_or_by_name() -> None:
    agent = MFEC("CartPole-v1", seed=0, capacity=60).learn(400)
    assert "cart position" in plot_memory(agent, "0,2").svg
    assert "pole angle" in plot_memory(agent, "cart velocity,pole angle").svg
    with pytest.raises(InvalidInputError, match=r"got '0,7'; there are 0 \(cart position\), 1 \(cart velocity\)"):
        plot_memory(agent, "0,7")
    assert parse_pair(" 3, 1", ["a", "b", "c", "d"]) == (3, 1)


def test_the_pair_that_tells_most_about_the_values_is_found() -> None:
    points = np.random.default_rng(0).normal(size=(300, 5))
    assert telling_pair(points, points[:, 1] * points[:, 4]) == (1, 4)
    assert telling_pair(points, points[:, 0] - points[:, 3]) == (0, 3)


def test_two_numbers_that_lie_on_a_curve_are_no_plane() -> None:
    rng = np.random.default_rng(0)
    angle, other = rng.uniform(0, 6, 300), rng.normal(size=300)
    points = np.stack([np.cos(angle), np.sin(angle), other], axis=1)
    assert telling_pair(points, points[:, 0] * points[:, 1]) != (0, 1)
    assert telling_pair(points[:, :2], angle) == (0, 1)  # there is no other


class Lamps(gymnasium.Env[Any, Any]):
    """Five lamps, which an action switches, and the last action."""

    observation_space: Any = gymnasium.spaces.Dict(
        {"lamps": gymnasium.spaces.MultiBinary(5), "last": gymnasium.spaces.Discrete(3)}
    )
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self.time, self.lamps = 0, np.zeros(5, np.int8)
        return {"lamps": self.lamps.copy(), "last": 0}, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.time += 1
        self.lamps[(self.time + action) % 5] ^= 1
        return {"lamps": self.lamps.copy(), "last": int(action)}, float(self.lamps.sum()), self.time == 20, False, {}


class Pictures(Lamps):
    """The lamps as they are seen."""

    observation_space: Any = gymnasium.spaces.Box(0, 255, (40, 40), np.uint8)

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        super().reset()
        return np.zeros((40, 40), np.uint8), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        _, *rest = super().step(action)
        return 200 * np.repeat(self.lamps.astype(np.uint8), 320).reshape(40, 40), *rest  # type: ignore[return-value]


def test_numbers_of_few_values_are_no_plane_and_parts_have_their_names() -> None:
    agent = MFEC(Lamps, seed=0, capacity=60).learn(300)
    assert scene_of(agent).numbers == (*(f"lamps[{i}]" for i in range(5)), "last=0", "last=1", "last=2")
    found = of_memory(agent)
    assert [picture.name for picture in found] == ["entries", "distributions"]
    assert "principal axis" in found[0].svg
    assert "lamps[1]" in plot_memory(agent, "lamps[1],last=0").svg  # whoever asks for it


def test_where_there_is_nothing_to_choose_axes_are_refused(walker: Agent) -> None:
    with pytest.raises(
        InvalidInputError, match="are the cells of a room, which is drawn as it is; leave out axes, got"
    ):
        plot_memory(walker, "0,1")
    images = MFEC(Pictures, seed=0, capacity=20).learn(25)
    with pytest.raises(InvalidInputError, match="observations here are images; leave out axes, got '0,1'"):
        plot_memory(images, "0,1")


def test_principal_axes_are_the_directions_of_largest_variance() -> None:
    rng = np.random.default_rng(0)
    keys = (rng.normal(size=(500, 2)) * (9, 3)) @ np.linalg.qr(rng.normal(size=(20, 2)))[0].T
    plane = PrincipalAxes(keys.astype(np.float32))
    assert re.fullmatch(r"1st principal axis \((88|89|90|91) %\)", plane.labels[0])  # 81 of 90, about
    memory = EpisodicMemory(actions=1, key_size=20, capacity=500)
    memory.write(0, keys.astype(np.float32), np.zeros(500, np.float32))
    places = plane.place(snapshot_of(memory).tables[0])
    lengths = [((each - each.mean(axis=0)) ** 2).sum(axis=1) for each in (places, keys)]
    np.testing.assert_allclose(lengths[0], lengths[1], rtol=1e-4)  # nothing else is lost
    assert places[:, 0].var() > places[:, 1].var()


def test_a_key_far_off_does_not_decide_the_axes() -> None:
    keys = np.random.default_rng(0).normal(size=(500, 6)).astype(np.float32) * (1, 5, 1, 1, 1, 1)
    far = np.vstack([keys, np.full((1, 6), 1e4, np.float32)])
    assert PrincipalAxes(far).labels == PrincipalAxes(keys).labels


def test_a_memory_alone_can_be_plotted_and_so_can_an_empty_one() -> None:
    memory = EpisodicMemory(actions=2, key_size=3, capacity=10, strategy="kmeans")
    assert "action 1" in memory.plot().svg
    assert "principal axis" in EpisodicMemory(actions=2, key_size=30, capacity=10).plot().svg
    memory.write(1, np.eye(3, dtype=np.float32), np.ones(3, np.float32))
    assert "dimension 2" in memory.plot("0,2").svg


def test_what_has_no_memory_or_nothing_in_it_is_told() -> None:
    with pytest.raises(InvalidInputError, match="D3QN has no memory to look into; MFEC and NEC have one"):
        D3QN("CartPole-v1").plot_memory()
    assert of_memory(MFEC("CartPole-v1")) == []
