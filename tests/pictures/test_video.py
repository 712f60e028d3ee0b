"""Films of agents at play: whole episodes, as evaluation plays them, with what the agent makes of what it sees."""

from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

from engram import D3QN, MFEC, NEC, evaluate_policy
from engram.agents import Agent
from engram.cli import main
from engram.errors import StorageError
from engram.pictures.explain import PANEL, STRIP, aligned
from engram.pictures.neighbours import neighbours
from engram.pictures.state_map import round_numbers
from engram.pictures.video import caption_of, film, mark_of, write_video


@pytest.fixture(scope="module")
def agent() -> Agent:
    settings: dict[str, Any] = {"capacity": 50, "epsilon_anneal_start_steps": 0, "epsilon_anneal_end_steps": 100}
    return MFEC("engram/OpenRoom-v0", seed=0, **settings).learn(600)


def test_a_film_is_the_first_episode_of_an_evaluation(agent: Agent) -> None:
    (_, lengths) = evaluate_policy(agent, "engram/OpenRoom-v0", 1, return_episode_rewards=True)
    plain = list(film(agent, "engram/OpenRoom-v0", seed=agent.seed))
    told = list(film(agent, "engram/OpenRoom-v0", seed=agent.seed, explain=True))
    assert len(plain) == len(told) == lengths[0]
    width = plain[0].shape[1]
    assert told[0].shape[1:] == (width + PANEL, 3)
    np.testing.assert_array_equal(told[5][: len(plain[5]), :width], plain[5])


def test_the_values_shown_are_those_that_q_is_made_of(agent: Agent) -> None:
    observation = np.array([3.0, 4.5], np.float32)
    q = agent.q_values(observation[None])[0]
    for value, near in zip(q, neighbours(agent, observation), strict=True):
        assert float(near.values @ near.weights) == pytest.approx(float(value), rel=1e-5, abs=1e-9)
    assert neighbours(D3QN("CartPole-v1"), np.zeros(4, np.float32)) == []


def test_they_are_so_for_stored_states_and_for_the_keys_of_a_network(agent: Agent) -> None:
    stored = agent.memory.entries(1)["keys"][0]  # type: ignore[attr-defined]
    nec = NEC("CartPole-v1", capacity=50, key_size=8, seed=0).learn(300)
    for other, observation in ((agent, stored), (nec, np.zeros(4, np.float32))):
        for value, near in zip(other.q_values(observation[None])[0], neighbours(other, observation), strict=True):
            assert float(near.values @ near.weights) == pytest.approx(float(value), rel=1e-4, abs=1e-6)


def test_an_agent_without_a_memory_is_explained_by_its_values_alone() -> None:
    pictures = film(D3QN("CartPole-v1", seed=0), "CartPole-v1", seed=0, explain=True)
    first = next(iter(pictures))
    assert first.shape == (400 + STRIP, 600 + PANEL, 3)
    panel = first[:, -PANEL:]
    assert (panel[len(panel) // 2 :] != panel[-1, -1]).any(), "its lower half is empty"


def test_numbers_of_a_column_have_the_same_decimals() -> None:
    assert aligned(np.array([12.5, -3.25, 0.0], np.float32)) == ["12.50", "−3.25", "0.00"]
    assert aligned(np.array([0.012, 0.5])) == ["0.0120", "0.5000"]
    assert aligned(np.array([12345.6, 1.0])) == ["12346", "1"]
    assert aligned(np.zeros(2)) == ["0", "0"]


@pytest.mark.slow
def test_gif_and_mp4(agent: Agent, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent.save(tmp_path / "model.safetensors")
    words = ["eval", str(tmp_path / "model.safetensors"), "--episodes", "1", "--explain", "--video"]
    for name in ("room.gif", "room.mp4"):
        assert main([*words, str(tmp_path / name)]) == 0
    pictures = int(capsys.readouterr().out.split(" pictures")[0].split()[-1])
    with Image.open(tmp_path / "room.gif") as gif:
        assert getattr(gif, "n_frames", 1) <= pictures
    count, _ = imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "room.mp4"))
    assert count == pictures
    assert main([*words, str(tmp_path / "room.avi")]) == 2
    assert "must be a .gif or an .mp4, got 'room.avi'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["room.gif", "room.mp4"])
def test_a_film_that_fails_leaves_the_older_one(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, pictures = tmp_path / name, [np.zeros((40, 40, 3), np.uint8)] * 3
    path.write_bytes(b"older")

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(StorageError, match=r"cannot write .*room.*: No space left"):
            write_video(path, iter(pictures))
    assert path.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [path]
    assert write_video(path, iter(pictures)) == 3
    assert path.read_bytes() != b"older"


def test_a_film_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "else").write_bytes(b"of value")
    (tmp_path / "room.gif").symlink_to(tmp_path / "else")
    with pytest.raises(StorageError, match="it is a symbolic link where a file should be"):
        write_video(tmp_path / "room.gif", iter([np.zeros((40, 40, 3), np.uint8)]))
    assert (tmp_path / "else").read_bytes() == b"of value"


def test_a_film_of_nothing_is_no_film(tmp_path: Path) -> None:
    assert write_video(tmp_path / "none.mp4", iter(())) == 0


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(-2.4, 2.4, [-2, -1, 0, 1, 2]), (0.0, 0.07, [0, 0.02, 0.04, 0.06]), (13.0, 987.0, [200, 400, 600, 800])],
)
def test_axes_have_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert round_numbers(low, high) == expected


def test_a_film_carries_its_caption(tmp_path: Path) -> None:
    pictures, path, told = (
        [np.full((40, 40, 3), shade, np.uint8) for shade in (0, 99)],
        tmp_path / "room.gif",
        "A – B " * 99,
    )
    write_video(path, iter(pictures), about="it", caption=told)
    with Image.open(path) as shown:
        assert caption_of(shown) == told
    assert mark_of("it").encode() in path.read_bytes()
    write_video(path, iter(pictures), about="it")
    with Image.open(path) as shown:
        assert caption_of(shown) == ""
