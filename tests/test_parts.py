"""Parts: one grammar for names, descriptions as plain data, and digests of a user's own source."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from engram import MFEC
from engram.encoders import ENCODERS, Encoder
from engram.encoders.projection import Projection
from engram.errors import InvalidInputError
from engram.exploration import EXPLORATIONS, Exploration, View
from engram.exploration.epsilon_greedy import EpsilonGreedy
from engram.memory.strategies import STRATEGIES
from engram.networks import NETWORKS
from engram.parts import Family, parse_value
from engram.sources import source_digest

OWN = """
from dataclasses import dataclass
from engram import Exploration

CHANCE = 0.5

def helper(view):
    return 0

@dataclass(frozen=True)
class Mine(Exploration):
    chance: float = 0.25
    often: bool = False

    def choose(self, step, generator, view):
        return helper(view) if generator.random() < CHANCE else 1

class NotAPart:
    pass
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_parts.py").write_text(OWN)
    yield tmp_path / "own_parts.py"
    sys.modules.pop("own_parts", None)


@pytest.mark.parametrize("family", [ENCODERS, EXPLORATIONS, STRATEGIES, NETWORKS], ids=lambda family: family.word)
def test_every_built_in_part_is_found_by_its_name_and_made_again_from_its_description(family: Family[Any]) -> None:
    for name in family.built_in:
        if name == "frozen":
            continue  # needs a module: see tests/encoders/test_frozen.py
        part = family.find(name)
        assert part.name == name
        assert part.spec() == name
        again = family.restore(part.describe())
        assert again == part
        assert type(again) is type(part)


def test_options_are_typed_by_the_dataclass_and_shown_in_the_spec() -> None:
    part = EXPLORATIONS.find("epsilon-greedy:final=0.1,end_steps=100,start_steps=0")
    assert part == EpsilonGreedy(final=0.1, start_steps=0, end_steps=100)
    assert part.spec() == "epsilon-greedy:final=0.1,start_steps=0,end_steps=100"
    assert EXPLORATIONS.find(part.spec()) == part
    assert ENCODERS.find("projection:size=64") == Projection(64)
    assert STRATEGIES.find("KM").name == "kmeans"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("projektion", "unknown encoder 'projektion'; did you mean 'projection'.*built in: blurred, dct"),
        ("projection:sise=3", "projection has no option 'sise'; did you mean 'size'"),
        ("projection:size=three", "size must be int, got 'three'"),
        ("projection:size", "expected option=value, got 'size'"),
        ("projection:size=0", "size must be at least 1, got 0"),
        ("no_such_module:Class", "cannot import 'no_such_module:Class'"),
        ("pathlib:Pth", "pathlib has no Pth; did you mean 'Path'"),
        ("pathlib:Path", "does not derive from engram.encoders.base.Encoder"),
        (3, "encoder must be a name or an instance of Encoder, got 3"),
    ],
)
def test_what_is_wrong_with_a_name_is_said(spec: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ENCODERS.find(spec)


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("3", int, 3),
        ("3", float, 3.0),
        ("none", float | None, None),
        ("true", bool, True),
        ("high", Literal["low", "high"], "high"),
        ("a:b", str, "a:b"),
    ],
)
def test_values_are_read_by_their_type(text: str, hint: Any, value: Any) -> None:
    found = parse_value(text, hint, "it")
    assert found == value
    assert type(found) is type(value)


def test_a_part_of_ones_own_is_named_by_module_and_class(own_module: Path) -> None:
    part = EXPLORATIONS.find("own_parts:Mine:chance=0.5,often=true")
    assert part.options == {"chance": 0.5, "often": True}
    assert part.spec() == "own_parts:Mine:chance=0.5,often=True"
    assert EXPLORATIONS.find(part.spec()) == part
    described = part.describe()
    assert set(described) == {"name", "chance", "often", "source"}
    with pytest.raises(InvalidInputError, match="'Mine' is not part of Engram; give it again"):
        EXPLORATIONS.restore(described)
    assert EXPLORATIONS.restore(described, part) is part
    with pytest.raises(InvalidInputError, match="its source or its options differ"):
        EXPLORATIONS.restore(described, "own_parts:Mine")
    with pytest.raises(InvalidInputError, match="does not derive from"):
        EXPLORATIONS.find("own_parts:NotAPart")


@pytest.mark.parametrize(
    ("old", "new"), [("else 1", "else 0"), ("CHANCE = 0.5", "CHANCE = 0.6"), ("    return 0", "    return 1")]
)
def test_the_digest_covers_the_class_and_what_its_methods_use(own_module: Path, old: str, new: str) -> None:
    before = source_digest(type(EXPLORATIONS.find("own_parts:Mine")))
    del sys.modules["own_parts"]
    own_module.write_text(OWN.replace(old, new) + "\n# a comment that changes the size of the file\n")
    after = source_digest(type(EXPLORATIONS.find("own_parts:Mine")))
    assert before != after


def test_the_digest_does_not_cover_the_rest_of_the_file(own_module: Path) -> None:
    before = source_digest(type(EXPLORATIONS.find("own_parts:Mine")))
    del sys.modules["own_parts"]
    own_module.write_text(OWN + "\ndef other():\n    return 3\n")
    assert source_digest(type(EXPLORATIONS.find("own_parts:Mine"))) == before


def test_a_part_with_arguments_must_be_a_dataclass() -> None:
    class Untold(Exploration):
        def __init__(self, chance: float) -> None:
            self.chance = chance

    with pytest.raises(InvalidInputError, match="Untold takes arguments, so it must be a dataclass"):
        MFEC("CartPole-v1", exploration=Untold(0.5))


def test_a_part_that_defines_too_little_says_what_is_missing() -> None:
    @dataclass
    class Empty(Exploration):
        pass

    @dataclass
    class NoKeys(Encoder):
        pass

    with pytest.raises(NotImplementedError, match=r"must define choose\(step, generator, view\)"):
        Empty().choose(0, np.random.default_rng(0), View(2, q_values=lambda _: np.zeros(2, np.float32)))
    with pytest.raises(NotImplementedError, match="must define __call__"):
        NoKeys()(np.zeros((1, 2)))
