"""Files of every released format stay readable. A golden file is never made again: a new format adds its own."""

import json
from pathlib import Path

import numpy as np
import pytest

from engram import load

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.safetensors")))
def test_an_old_file_loads_predicts_and_goes_on(name: str) -> None:
    expected = json.loads((GOLDEN / f"{name}.json").read_text())
    agent = load(GOLDEN / f"{name}.safetensors")
    assert agent.steps == expected["steps"]
    observations = np.random.default_rng(0).standard_normal((20, 4)).astype(np.float32) * np.float32(0.3)
    assert agent.predict(observations)[0].tolist() == expected["actions"]
    memory = agent.memory  # type: ignore[attr-defined]
    assert memory.size.tolist() == expected["sizes"]
    assert memory.entries(0)["values"][:5] == pytest.approx(expected["first_values"], abs=1e-5)
    assert agent.learn(300).steps == expected["steps"] + 300
