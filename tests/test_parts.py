"""Parts: one grammar for names, descriptions as plain data, and digests of a user's own source."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from engram import MFEC, load
from engram.encoders import ENCODERS, Encoder
from engram.encoders.projection import Projection
from engram.encoders.scaled import Scaled
from engram.errors import InvalidInputError
from engram.exploration import EXPLORATIONS, Exploration, View
from engram.exploration.epsilon_greedy import EpsilonGreedy
from engram.exploration.lasting import Lasting
from engram.memory.strategies import STRATEGIES
from engram.memory.strategies.dkm import DynamicKMeans
from engram.memory.strategies.fading import FadingKMeans
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


@pytest.mark.parametrize(
    ("setting", "kind", "given", "kept"),
    [
        ("exploration", EpsilonGreedy, {"end_steps": 1e4}, {"end_steps": 10_000}),
        ("exploration", Lasting, {"longest": 5.0, "tail": np.float64(1.5)}, {"longest": 5, "tail": 1.5}),
        ("exploration", EpsilonGreedy, {"start_steps": np.int64(5), "initial": np.float32(0.5)}, {"initial": 0.5}),
        ("strategy", DynamicKMeans, {"decay": np.float32(0.5)}, {"decay": 0.5}),
        ("strategy", FadingKMeans, {"lifetime": np.int32(7)}, {"lifetime": 7}),
        ("encoder", Scaled, {"steps": np.int16(9)}, {"steps": 9}),
    ],
)
def test_options_are_pythons_own_numbers_so_that_a_file_holds_them(
    setting: str, kind: Any, given: dict[str, Any], kept: dict[str, Any], tmp_path: Path
) -> None:
    part = kind(**given)
    settings: dict[str, Any] = {"capacity": 5, setting: part}
    MFEC("CartPole-v1", **settings).learn(20).save(tmp_path / "model.safetensors")
    loaded = getattr(load(tmp_path / "model.safetensors").config, setting)
    assert loaded == part
    assert all(type(each) in (int, float) for each in loaded.options.values())
    assert loaded.options.items() >= kept.items()


def test_a_file_in_which_a_whole_number_is_a_float_is_read() -> None:
    described = EpsilonGreedy().describe() | {"end_steps": 10_000.0}
    assert EXPLORATIONS.restore(described).describe()["end_steps"] == 10_000
    with pytest.raises(InvalidInputError, match=r"end_steps must be int, got 10000\.5"):
        EXPLORATIONS.restore(described | {"end_steps": 10_000.5})


@dataclass(frozen=True)
class Listed(Exploration):
    chances: Any

    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        return 0


def test_options_of_ones_own_part_are_plain_data_or_refused_when_an_agent_is_made(tmp_path: Path) -> None:
    good: list[Any] = [np.float32(0.5), (1, (np.int8(2), 0.5)), {"left": np.bool_(True)}]
    bad: list[Any] = [np.ones(2), {1: 0.5}, float("nan"), {0.5}]
    for chances in good:
        agent = MFEC("CartPole-v1", exploration=Listed(chances), capacity=5).learn(9)
        agent.save(tmp_path / "model.safetensors")
        assert load(tmp_path / "model.safetensors", exploration=Listed(chances)).steps == 9
    for chances in bad:
        with pytest.raises(InvalidInputError, match=r"Listed has the option chances=.*, which files and run"):
            MFEC("CartPole-v1", exploration=Listed(chances), capacity=5)


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
