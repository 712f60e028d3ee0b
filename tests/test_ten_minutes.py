"""The ten-minute path: an environment of one's own, trained, looked into, reported and filmed by printed commands."""

import json
import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

SCRIPT = Path(__file__).parents[1] / "examples" / "ten_minutes.py"


def test_the_warehouse_is_a_sound_environment_with_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    env = gymnasium.make("ten_minutes:Warehouse-v0", render_mode="rgb_array").unwrapped
    check_env(env)
    env.reset(seed=0)
    fetch = "nnnnnn" + "eeeeee"  # to the parcel, and back to the door
    rewards = [env.step("nesw".index(letter))[1] for letter in fetch + "wwwwww" + "ssssss"]
    assert rewards == [0.0] * 11 + [0.2] + [0.0] * 11 + [1.0]


@pytest.mark.slow
def test_every_step_of_the_path_leaves_what_it_says(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--out", str(tmp_path)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "run" / "result.json").read_text())["score"] > 1.0  # of 1.2
    assert done.stdout.count("$ engram ") == 4
    for name in ("warehouse.gif", "memory.gif", "memory/index.html", "page/index.html"):
        assert (tmp_path / name).stat().st_size > 1_000, name
    assert os.fspath(tmp_path) in done.stdout.splitlines()[-1]
