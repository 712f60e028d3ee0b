"""What users hand in is refused with what was given and what is expected."""

from typing import Any

import numpy as np
import pytest

from engram import checks
from engram.errors import InvalidInputError


@pytest.mark.parametrize("value", [3, 3.0, np.int8(3), np.float16(3)])
def test_whole_numbers_come_in_any_type(value: Any) -> None:
    assert checks.at_least("n", value, 1, 9) == 3


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "n must be a whole number, got True"),
        (1j, "n must be a whole number, got 1j"),
        (np.complex64(1), "n must be a whole number"),
        (float("nan"), "n must be a whole number, got nan"),
        (float("inf"), "n must be a whole number, got inf"),
        ("3", "n must be a whole number, got '3'"),
        (0, "n must be at least 1, got 0"),
        (10**400, "n must be at most 9, got 1000"),
        (10**5000, "n must be at most 9, got a int that is too long to show"),
    ],
    ids=checks.shown,
)
def test_what_is_not_a_whole_number_in_its_range_is_refused(value: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        checks.at_least("n", value, 1, 9)


@pytest.mark.parametrize("value", [True, None, "1", float("nan"), -1, 10**400, 1j, np.zeros(2)])
def test_what_is_not_a_number_within_its_range_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"x must be a number from 0 to inf, got "):
        checks.within("x", value, 0, float("inf"))


def test_choices_and_flags_of_the_wrong_type_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="x must be one of 'a', 'b', got array"):
        checks.one_of("x", np.zeros(2), "ab")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="x must be True or False, got 1"):
        checks.flag("x", 1)


def test_what_takes_more_memory_than_there_is_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "available_memory", lambda: 10**9)
    checks.room(10**9, "it", lambda free: "")
    message = r"it takes 2\.0 GB, and 1\.0 GB of memory are available; have 500000000"
    with pytest.raises(InvalidInputError, match=message):
        checks.room(2 * 10**9, "it", lambda free: f"have {free // 2}")
    monkeypatch.setattr(checks, "available_memory", lambda: None)
    checks.room(10**15, "it", lambda free: "")
    with pytest.raises(InvalidInputError, match="it takes 10 bytes, and 9 bytes of memory"):
        checks.room(10, "it", lambda free: "", free=9)


def test_long_values_are_cut_and_those_that_cannot_be_shown_named() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert checks.shown(endless) == "[[...]]"
    assert len(checks.shown("x" * 10_000)) < 300
    assert checks.in_bytes(5 * 10**17) == "500,000 TB"
