"""What users' own parts and wrappers remember, in a form that comes out of a file exactly as it went in.

A file holds arrays, and plain data as JSON, which knows no tuples, no numbers of NumPy's and no keys but text. These
are marked: a dict with the key `MARK` says what its content becomes again. Everything else stands for itself. Only the
order of a dict is not kept.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engram import checks
from engram.errors import InvalidInputError
from engram.files.arrays import DTYPES
from engram.files.pieces import Pieces
from engram.files.rows import Rows

MARK = "__form__"
TAKEN = (MARK, "rows_end")  # keys that mean something in a file
PLAIN = (type(None), bool, int, float, str)
ARRAYS = (np.ndarray, Rows, Pieces)  # which lie beside the plain data of a file
INSTEAD = {  # of what a file cannot hold, by the name of its type
    "set": "sorted(…)",
    "frozenset": "sorted(…)",
    "deque": "list(…)",
    "OrderedDict": "dict(…)",
    "defaultdict": "dict(…)",
    "Counter": "dict(…)",
    "bytes": "np.frombuffer(…, np.uint8)",
    "Tensor": "….numpy()",
    "Generator": "….bit_generator.state",
}


def form_of_state(owner: Any, told: Any) -> dict[str, Any]:
    """What `state_dict()` of a part or a wrapper has told, as a file holds it; InvalidInputError where none can."""
    who = f"state_dict() of {type(owner).__name__}"
    if not isinstance(told, Mapping):
        raise InvalidInputError(f"{who} must return a dict, got {checks.shown(told, 100)}")
    form: dict[str, Any] = as_form(dict(told), who)
    return form


def as_form(state: Any, who: str) -> Any:
    """A copy of what something remembers, as a file holds it; InvalidInputError, naming what a file cannot hold."""
    try:
        return _form_of(state, who)
    except RecursionError:
        raise InvalidInputError(f"{who} is nested too deeply, or holds itself; make it flatter") from None


def _form_of(value: Any, who: str) -> Any:
    kind = type(value)
    if kind in (*PLAIN, Rows, Pieces):
        return value
    if kind is np.ndarray or isinstance(value, np.generic):
        return _form_of_numbers(value, who)
    if kind is dict:
        if all(type(key) is str and "/" not in key and key not in TAKEN for key in value):
            return {key: _form_of(each, f"{who}[{key!r}]") for key, each in value.items()}
        keys, values = _form_of(list(value), f"the keys of {who}"), _form_of(list(value.values()), f"{who}.values()")
        return {MARK: "dict", "keys": keys, "values": values}
    if kind in (list, tuple):
        items: Any = [_form_of(each, f"{who}[{number}]") for number, each in enumerate(value)]
        if not _is_json(items):
            items = {MARK: "list", "items": {str(number): each for number, each in enumerate(items)}}
        return items if kind is list else {MARK: "tuple", "items": items}
    return _refuse(f"{who} is {checks.shown(value, 100)}, a {kind.__name__}", INSTEAD.get(kind.__name__))


def _form_of_numbers(value: Any, who: str) -> Any:
    """Numbers of NumPy's; a file has no arrays without axes."""
    if value.dtype not in DTYPES.values():
        return _refuse(f"{who} is an array of {value.dtype}", "an array of floats, integers or booleans")
    if np.ndim(value):
        return value.copy()
    return {MARK: "array" if type(value) is np.ndarray else "number", "value": np.array(value).reshape(1)}


def _is_json(form: Any) -> bool:
    """Whether there is no array in it."""
    if isinstance(form, list | dict):
        return all(map(_is_json, form.values() if isinstance(form, dict) else form))
    return not isinstance(form, ARRAYS)


def _refuse(what: str, instead: str | None) -> Any:
    usual = "dicts, lists, tuples, text, numbers, True, False, None and arrays of numbers"
    raise InvalidInputError(f"{what}, which a file cannot hold exactly; use {instead or usual}")


def from_form(form: Any) -> Any:
    """A copy of what `as_form` was given; KeyError, TypeError, ValueError or IndexError for what is no such form."""
    if isinstance(form, np.ndarray):
        return form.copy()
    if isinstance(form, list):
        return [from_form(each) for each in form]
    if not isinstance(form, dict):
        return form
    if MARK not in form:
        return {key: from_form(each) for key, each in form.items()}
    return MAKERS[form[MARK]](form)


def _one_number(form: dict[str, Any]) -> Any:
    """An array without axes."""
    if not isinstance(form["value"], np.ndarray) or form["value"].shape != (1,):
        raise ValueError(f"expected one number, got {form['value']!r:.80}")
    return form["value"].reshape(()).copy()


MAKERS: dict[str, Callable[[dict[str, Any]], Any]] = {  # of what is marked, by the mark
    "dict": lambda form: dict(zip(from_form(form["keys"]), from_form(form["values"]), strict=True)),
    "list": lambda form: [from_form(form["items"][str(number)]) for number in range(len(form["items"]))],
    "tuple": lambda form: tuple(from_form(form["items"])),
    "array": _one_number,
    "number": lambda form: _one_number(form)[()],
}


def are_same(one: Any, other: Any) -> bool:
    """Whether two forms are equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(are_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(are_same, one, other))
    return type(one) is type(other) and np.array_equal(one, other)
