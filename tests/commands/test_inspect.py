"""`engram inspect`: a page with everything in it, files of the pictures, a film, and errors that say what to do."""

import re
from pathlib import Path

import pytest
from PIL import Image

from engram import D3QN, MFEC
from engram.cli import main
from tests.faults.power import TINY
from tests.faults.storage import interrupted

ROOM = ("--env", "engram/OpenRoom-v0", "--steps", "600", "--capacity", "30", "--evaluation-interval-steps", "300")


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("inspect") / "room"
    assert main(["train", "mfec", *ROOM, "--trace", "--no-progress", "--out", str(path)]) == 0
    for snapshot in sorted(path.glob("trace-*"))[1:-4]:
        snapshot.unlink()  # fewer frames to draw
    return path


@pytest.mark.slow
def test_a_traced_run_gets_a_page_with_a_slider_and_a_film(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(room), "--film", str(room / "memory.gif")]) == 0
    page = (room / "memory" / "index.html").read_text()
    assert str(room / "memory" / "index.html") in capsys.readouterr().out
    for words in ("What the memory holds", "How it changed", "What it makes the agent do", "south", 'type="range"'):
        assert words in page
    steps = re.findall(r'alt="step ([\d,]+)"', page)
    assert len(steps) == len(list(room.glob("trace-*"))) == 5
    assert steps[-1] == "600"
    assert page.count("<img hidden") == len(steps) - 1
    assert not re.search(r'(src|href)="(?!data:|#)', page)  # it needs nothing else
    names = {path.name for path in (room / "memory" / "figures").iterdir()}
    assert names == {f"{name}.{kind}" for name in ("entries", "policy", "distributions") for kind in ("svg", "png")}
    with Image.open(room / "memory.gif") as film:
        assert getattr(film, "n_frames", 1) > 3
        assert film.size == (800, 470)


def test_a_model_file_is_drawn_without_what_only_a_trace_knows(tmp_path: Path) -> None:
    MFEC("CartPole-v1", seed=0, capacity=40).learn(300).save(tmp_path / "cart.safetensors")
    assert main(["inspect", str(tmp_path / "cart.safetensors"), "--axes", "pole angle,0"]) == 0
    page = (tmp_path / "cart-memory" / "index.html").read_text()
    assert "was not traced" in page
    assert "pole angle" in page
    assert 'type="range"' not in page


def test_what_cannot_be_shown_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    D3QN("CartPole-v1", seed=0).save(tmp_path / "d3qn.safetensors")
    assert main(["inspect", str(tmp_path / "d3qn.safetensors")]) == 2
    assert "D3QN has no memory to look into" in capsys.readouterr().err
    MFEC("CartPole-v1", seed=0, capacity=40).learn(100).save(tmp_path / "cart.safetensors")
    words = ["inspect", str(tmp_path / "cart.safetensors")]
    assert main([*words, "--film", str(tmp_path / "film.gif")]) == 2
    assert "has no trace, so there is nothing to film; train it with --trace" in capsys.readouterr().err
    assert main([*words, "--film", str(tmp_path / "film.avi")]) == 2
    assert "must be a .gif or an .mp4" in capsys.readouterr().err
    assert main([*words, "--axes", "0,9"]) == 2
    assert "axes must be two different numbers of an observation" in capsys.readouterr().err
    MFEC("CartPole-v1", seed=0).save(tmp_path / "new.safetensors")
    assert main(["inspect", str(tmp_path / "new.safetensors")]) == 2
    assert "is empty: no episode has ended yet" in capsys.readouterr().err


def test_of_a_run_that_is_not_finished_its_newest_checkpoint_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "half"
    interrupted(TINY, run, at=70)
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    assert main(["inspect", str(run)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "which is not finished, as it was saved at step 60, is shown in" in told
    page = (run / "memory" / "index.html").read_text()
    assert "after 60 steps it holds" in page
    assert "The run is not finished" in page
    assert "was not traced" not in page
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()} == before
    for path in run.glob("checkpoint-*"):
        path.unlink()
    assert main(["inspect", str(run)]) == 2
    assert "is not finished; go on with: engram train --resume" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_an_atari_run_shows_the_frames_behind_its_entries(tmp_path: Path) -> None:
    path = tmp_path / "breakout"  # whose games have several lives, and so several episodes
    words = ["--env", "breakout", "--steps", "500", "--capacity", "60", "--evaluation-interval-steps", "5000"]
    assert main(["train", "mfec", *words, "--trace", "--no-progress", "--out", str(path)]) == 0
    for snapshot in sorted(path.glob("trace-*"))[1:-1]:
        snapshot.unlink()
    assert main(["inspect", str(path)]) == 0
    page = (path / "memory" / "index.html").read_text()
    assert "The frames behind entries" in page
    assert "noop" in page
    assert re.search(r"game \d, step \d", page)
