"""Which run pictures of memories show, and what becomes of one that cannot be read."""

from pathlib import Path

import pytest
from tools.draw_held import typical_seed

from engram.errors import RunFolderError
from engram.lab.pages.held import FILES, held_blocks


def test_the_seed_that_is_drawn_lies_nearest_to_the_means_of_all_strategies() -> None:
    lru = {10: 99.0, 11: 100.0, 12: 107.0}
    kmeans = {10: 250.0, 11: 400.0, 12: 150.0}  # where seed 11 is not typical
    assert typical_seed({"lru": lru}) == 11
    assert typical_seed({"lru": lru, "kmeans": kmeans}) == 10
    assert typical_seed({"lru": lru, "dkm": dict.fromkeys(lru, 0.0)}) == 11  # where all are alike, nothing is said


@pytest.mark.parametrize("about", ["{", "[]", '{"command": "draw"}', '{"caption": "what is held"}'])
def test_a_picture_without_its_caption_is_told_of(about: str, tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_text("<svg></svg>")
    (tmp_path / FILES[0]).write_text(about)
    with pytest.raises(RunFolderError, match=r"cannot read .*held\.json.*draw it again, or move held\.json, held\.svg"):
        held_blocks(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
