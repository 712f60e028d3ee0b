"""What users' own parts and wrappers remember comes out of a file exactly as it went in, or is refused with a word."""

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram.agents.common.model_file import read_model, write_model
from engram.errors import InvalidInputError
from engram.files.exact_state import are_same, as_form, from_form

KEPT: list[dict[Any, Any]] = [
    {"count": 3, "mean": 0.1, "name": "x", "seen": None, "on": True, "listed": [1, [2.5, "a"], {"b": []}], "empty": {}},
    {
        "array": np.arange(6, dtype=np.int16).reshape(2, 3),
        "none": np.zeros((0, 2), np.float32),
        "deep": {"er": np.ones(2)},
    },
    {
        "no axes": np.array(2.5),
        "scalar": np.int64(7),
        "small": np.float32(0.1),
        "flag": np.True_,
        "double": np.float64(1),
    },
    {"pair": (1, 2), "nested": ((1.5, [2]), ()), "arrays": [np.arange(3), (np.zeros(1), "text")]},
    {1: "one", "1": "text", (2, 3): [np.int8(1)], None: 0.5, False: np.arange(2)} | {2.5: {"__form__": "mine"}},
    {"a/b": 1, "rows_end": 2, "__form__": {"rows_end": np.ones(2)}, "": ()},
]


def assert_same_data(one: Any, other: Any) -> None:
    """Equal, and of the same types all the way down; dicts are equal in any order."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert sorted(map(repr, one)) == sorted(map(repr, other))
        for key in one:
            assert_same_data(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for each, its in zip(one, other, strict=True):
            assert_same_data(each, its)
    elif isinstance(one, np.ndarray | np.generic):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other


@pytest.mark.parametrize("state", KEPT)
def test_everything_comes_back_from_a_file_as_it_was(state: dict[Any, Any], tmp_path: Path) -> None:
    form = as_form(state, "it")
    write_model(tmp_path / "file", "mfec", {}, {"state": form})
    read = read_model(tmp_path / "file").state["state"]
    assert are_same(read, form)
    assert_same_data(from_form(read), state)


def test_plain_data_and_arrays_stand_for_themselves() -> None:
    for state in KEPT[:2]:
        assert_same_data(as_form(state, "it"), state)


def test_forms_are_copies() -> None:
    array = np.zeros(3)
    form = as_form({"a": array}, "it")
    array += 1
    from_form(form)["a"][:] = 2
    assert form["a"].tolist() == [0, 0, 0]
    assert not are_same(form, as_form({"a": array}, "it"))


ITSELF: list[Any] = []
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({3, 1}, r"it\['x'\] is \{1, 3\}, a set, which a file cannot hold exactly; use sorted"),
        (deque([1]), "a deque, .* use list"),
        (b"ab", "a bytes, .* use np.frombuffer"),
        ([0, {"y": 1j}], r"it\['x'\]\[1\]\['y'\] is 1j, a complex, .* use dicts, lists, tuples, text"),
        (np.array(["a"]), "an array of <U1, .* use an array of floats, integers or booleans"),
        (np.zeros(2, ">f8"), "an array of >f8"),
        (np.ma.masked_array([1]), "a MaskedArray"),
        (ITSELF, "nested too deeply, or holds itself"),
    ],
)
def test_what_a_file_cannot_hold_is_named(value: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        as_form({"x": value}, "it")


@pytest.mark.parametrize(
    "form",
    [
        {"__form__": "module"},
        {"__form__": ["list"]},
        {"__form__": "list", "items": {"1": 1}},
        {"__form__": "number", "value": 3},
        {"__form__": "number", "value": np.zeros(2)},
        {"__form__": "dict", "keys": [[1]], "values": [1]},
        {"__form__": "dict", "keys": [1], "values": []},
    ],
)
def test_forms_that_cannot_be_are_refused(form: Any) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        from_form(form)
