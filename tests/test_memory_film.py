"""The film of four memories, from runs that are shorter than those of the documents."""

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from engram.pictures.video import caption_of

SCRIPT = Path(__file__).parents[1] / "examples" / "memory_film.py"


@pytest.mark.slow
def test_four_memories_are_trained_and_filmed(tmp_path: Path) -> None:
    words = [sys.executable, str(SCRIPT), "--steps", "1000", "--out", "film.gif"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": score ") == 4
    with Image.open(tmp_path / "film.gif") as film:
        assert film.size == (520, 765)
        assert getattr(film, "n_frames", 1) > 20
        assert "After 1,000 steps they hold entries" in caption_of(film)
        assert caption_of(film) in " ".join(done.stdout.split())
