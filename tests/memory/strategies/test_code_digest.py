"""The digest of compiled code: the same for the same code, another for anything that changes what it computes."""

from types import ModuleType
from typing import Any

import pytest

from engram.exploration.greedy import count_best
from engram.memory.strategies.code_digest import digest_of_class

SOURCE = """
import enum
import math
import helpers
import numpy as np

LIMIT = 1.5
TABLE = np.array([1.0, 2.0])
UNUSED = 1

class Level(enum.IntEnum):
    LOW = 1

def inner(x):
    return x + 1

def outer(x):
    return inner(x) + helpers.shift(x)

class Strategy:
    SHIFT = 3
    names = ("a", "b")

    def rule(self, x, y=2):
        # a comment
        z = [value for value in (x, y) if value in {1, 2}]
        return math.sqrt(outer(x)) + LIMIT + TABLE[0] + self.SHIFT + self.method(x) + Level.LOW + z[0]

    def method(self, x):
        return x * 2

    def unused(self):
        return UNUSED
"""
HELPERS = "FACTOR = 2\ndef shift(x):\n    return x * FACTOR\n"


def digest(source: str = SOURCE, helpers: str = HELPERS) -> str:
    import sys  # noqa: PLC0415

    module: Any = ModuleType("helpers")
    exec(helpers, vars(module))
    sys.modules["helpers"] = module
    try:
        space: dict[str, Any] = {"__name__": "mine"}
        exec(source, space)
        return digest_of_class(space["Strategy"], ["rule"], ["names"])
    finally:
        del sys.modules["helpers"]


def test_the_same_code_has_the_same_digest() -> None:
    assert digest() == digest()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LIMIT = 1.5", "LIMIT = 1.25"),
        ("[1.0, 2.0]", "[1.0, 3.0]"),
        ("LOW = 1", "LOW = 2"),
        ("x + 1", "x + 2"),
        ("x + 1", "x - 1"),
        ("inner(x) +", "inner(x) -"),
        ("SHIFT = 3", "SHIFT = 4"),
        ("y=2", "y=3"),
        ("x * 2", "x * 3"),
        ("math.sqrt", "math.exp"),
        ("{1, 2}", "{1, 3}"),
        ('("a", "b")', '("a", "c")'),
    ],
)
def test_whatever_changes_the_result_changes_the_digest(before: str, after: str) -> None:
    assert SOURCE.count(before) == 1
    assert digest(SOURCE.replace(before, after)) != digest()


@pytest.mark.parametrize("helpers", [HELPERS.replace("x * F", "x + F"), HELPERS.replace("= 2", "= 3")])
def test_functions_of_other_modules_count_too(helpers: str) -> None:
    assert digest(helpers=helpers) != digest()


@pytest.mark.parametrize(("before", "after"), [("UNUSED = 1", "UNUSED = 2"), ("# a comment", "# another\n")])
def test_what_does_not_change_the_result_keeps_the_digest(before: str, after: str) -> None:
    assert digest(SOURCE.replace(before, after)) == digest()


def test_modules_in_modules_count_and_what_is_named_of_engram(monkeypatch: pytest.MonkeyPatch) -> None:
    outer, inner = ModuleType("outer"), ModuleType("outer.inner")
    outer.inner = inner  # type: ignore[attr-defined]

    class Nested:
        def rule(self) -> float:
            return float(outer.inner.weight)

    class Named:
        def rule(self) -> Any:
            return count_best

    found = []
    for weight in (3.0, 7.0):
        inner.weight = weight  # type: ignore[attr-defined]
        found.append(digest_of_class(Nested, ["rule"], []))
    assert found[0] != found[1]
    before = digest_of_class(Named, ["rule"], []), digest_of_class(Nested, ["rule"], [])
    monkeypatch.setattr("engram.memory.strategies.code_digest.source_digest", lambda: "another state of the sources")
    after = digest_of_class(Named, ["rule"], []), digest_of_class(Nested, ["rule"], [])
    assert before[0] != after[0]
    assert before[1] == after[1]
