"""A file that loads learns: every number of a file is checked before it is used."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from engram import D3QN, MFEC, NEC, Agent, load
from engram.errors import EngramError
from engram.runs.folder import RunFolder
from tests.faults.mutations import Content, content_of, signed
from tests.faults.worlds import Pictures, Vectors

NETWORK: dict[str, Any] = {"replay_size": 50, "learning_start_steps": 30, "batch_size": 4}
MAKE: dict[str, Callable[[], Agent]] = {
    "mfec": lambda: MFEC(Vectors, capacity=20),
    "scaled": lambda: MFEC(Vectors, capacity=20, encoder="scaled:steps=1000"),
    "nec": lambda: NEC(Vectors, capacity=20, key_size=4, **NETWORK),
    "d3qn": lambda: D3QN(Vectors, **NETWORK),
    "images": lambda: D3QN(Pictures, **NETWORK),
}
CONTENTS: dict[str, Content] = {}


def content(kind: str, tmp_path: Path) -> Content:
    """A model file in the middle of an episode, to be changed."""
    if kind not in CONTENTS:
        MAKE[kind]().learn(101).save(tmp_path / "whole")
        CONTENTS[kind] = content_of(tmp_path / "whole")
    manifest, arrays = CONTENTS[kind]
    return Content(json.loads(json.dumps(manifest)), {name: array.copy() for name, array in arrays.items()})


def change(tree: Any, path: str, value: Any) -> None:
    *folders, last = path.split("/")
    for name in folders:
        tree = tree[name]
    tree[last] = value


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("mfec", "plain/loop/step", 2**70),
        ("mfec", "plain/loop/episode", 10**6),
        ("mfec", "plain/loop/game", 10**6),
        ("mfec", "plain/loop/total", 1e300),
        ("mfec", "plain/loop/chosen", 7),
        ("mfec", "plain/loop/chosen", 1),
        ("mfec", "plain/policy_rng/state/inc", 2),
        ("mfec", "plain/policy_rng/state/state", 2**128),
        ("mfec", "plain/policy_rng/state/state", -1),
        ("mfec", "plain/policy_rng/state/state", 0.5),
        ("mfec", "plain/policy_rng/has_uint32", 2),
        ("mfec", "plain/policy_rng/uinteger", 2**32),
        ("mfec", "plain/policy_rng/bit_generator", "MT19937"),
        ("mfec", "description/config/seed", 1e308),
        ("mfec", "description/config/projection_size", 10**9),
        ("mfec", "description/config/neighbours", 2**40),
        ("mfec", "description/config/duplicates", "no"),
        ("scaled", "plain/encoder/count", 5000),
        ("scaled", "plain/encoder/count", True),
        ("scaled", "description/config/encoder/steps", 1e308),
        ("nec", "description/config/batch_size", 2.5),
        ("nec", "description/config/batch_size", 2**62),
        ("nec", "description/config/replay_size", 2**62),
        ("nec", "description/config/key_size", 2**40),
        ("nec", "plain/replay/entries/count", 2**62),
        ("nec", "plain/replay/observations/newest", 2.0),
        ("d3qn", "plain/replay/in_episode", False),
        ("d3qn", "plain/replay/in_episode", "yes"),
        ("d3qn", "description/config/feature_size", 2**40),
        ("images", "plain/replay/observations/newest", 10**6),
    ],
)
def test_numbers_of_a_manifest_that_cannot_be_are_refused(kind: str, path: str, value: Any, tmp_path: Path) -> None:
    changed = content(kind, tmp_path)
    change(changed.manifest, path, value)
    refused(kind, changed, tmp_path)


def refused(kind: str, changed: Content, tmp_path: Path) -> None:
    (tmp_path / "changed").write_bytes(signed(changed))
    with pytest.raises(EngramError):
        load(tmp_path / "changed", Pictures if kind == "images" else Vectors)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("mfec", "unfinished/rewards", 1e300),
        ("mfec", "unfinished/keys", np.nan),
        ("mfec", "unfinished/actions", 2),
        ("mfec", "loop/actions", -1),
        ("mfec", "loop/observation", np.inf),
        ("scaled", "encoder/mean", 1e308),
        ("scaled", "encoder/squares", -1),
        ("scaled", "encoder/squares", 1e300),
        ("scaled", "waiting/lengths", -1),
        ("scaled", "waiting/lengths", 2**62),
        ("scaled", "waiting/totals", np.nan),
        ("scaled", "waiting/returns", np.inf),
        ("scaled", "waiting/actions", 2),
        ("nec", "network/0.weight", 1e30),
        ("nec", "optimiser/0", -1),
        ("nec", "memory/values", 3e38),
        ("nec", "replay/entries/returns", 3e38),
        ("nec", "replay/entries/actions", 2),
        ("nec", "replay/unfinished", 1),
        ("nec", "unfinished/best", 1e30),
        ("d3qn", "online/0", np.nan),
        ("d3qn", "replay/entries/actions", 2),
        ("d3qn", "replay/entries/actions", -1),
        ("d3qn", "replay/entries/rewards", np.inf),
        ("d3qn", "replay/entries/numbers", 2**62),
        ("d3qn", "replay/observations/observations", np.nan),
        ("images", "replay/observations/last", -5),
    ],
)
def test_numbers_of_an_array_that_cannot_be_are_refused(kind: str, name: str, value: Any, tmp_path: Path) -> None:
    changed = content(kind, tmp_path)
    changed.arrays[name].flat[:] = value
    refused(kind, changed, tmp_path)


@pytest.mark.parametrize("kind", list(MAKE))
def test_every_array_must_have_its_dtype_and_shape(kind: str, tmp_path: Path) -> None:
    for name, array in content(kind, tmp_path).arrays.items():
        if name.startswith("memory/"):
            continue
        others = [array[None], np.zeros((0, 2**30), array.dtype), np.zeros(array.shape, np.float16)]
        for other in others:
            changed = content(kind, tmp_path)
            changed.arrays[name] = other
            refused(kind, changed, tmp_path)


@pytest.mark.parametrize(
    "env",
    [
        "evil:X-v0",
        'GymV26Environment-v0?env_id="evil\\u003aX-v0"',
        'GymV26Environment-v0?make_kwargs={"id":"evil"}',
        "CartPole-v1?env_id=evil:X-v0",
        "CartPole-v1?xml_file=/tmp/evil.xml",
        "CartPole-v1?entry_point=evil.X",
        'CartPole-v1?x=["evil:X-v0"]',
        "CartPole-v1?x=NaN",
        "CartPole-v1?x=1e999",
        "CartPole-v1?x",
        "../CartPole-v1:x",
        "engram/OpenRoom-v0?plan=[[[[[",
        ["evil:X-v0"],
        {"id": "evil:X-v0"},
    ],
)
def test_an_environment_named_in_a_file_imports_nothing(env: Any, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    changed = content("mfec", tmp_path)
    changed.manifest["description"]["env"] = env
    (tmp_path / "changed").write_bytes(signed(changed))
    with pytest.raises(EngramError):
        load(tmp_path / "changed")
    assert "evil" not in sys.modules
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    (folder.path / "config.json").write_text(json.dumps({"agent": "mfec", "env": env, "settings": {}, "id": "x"}))
    with pytest.raises(EngramError):
        folder.run().make_agent()
    assert "evil" not in sys.modules


def test_a_file_whose_network_gives_no_numbers_is_refused(tmp_path: Path) -> None:
    changed = content("d3qn", tmp_path)
    for name in changed.arrays:
        if name.startswith("online/"):
            changed.arrays[name][:] = 1e6
            changed.manifest["description"]["config"]["network"] = None
    changed.arrays["loop/observation"][:] = 3e38
    refused("d3qn", changed, tmp_path)


def test_a_name_that_gymnasium_knows_is_enough(tmp_path: Path) -> None:
    MFEC("engram/OpenRoom-v0", capacity=5).learn(20).save(tmp_path / "room")
    assert load(tmp_path / "room").learn(20).steps == 40
    assert "engram/OpenRoom-v0" in gymnasium.registry
