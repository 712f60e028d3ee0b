"""A memory as plain arrays for NumPy: `np.savez("memory.npz", **memory.to_arrays())`, and back.

There is a row for every entry, those of action 0 first, and `actions` says whose each is. So entries can be looked at,
left out or changed with NumPy alone; a table that has room again counts writes to a full table anew. `about` is a text:
the memory's settings as JSON.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from engram import checks
from engram.errors import InvalidInputError
from engram.files.arrays import join, split
from engram.typing import Array

FORMAT = "engram memory 1"
ODD = (KeyError, TypeError, ValueError, AttributeError, RecursionError)  # what reading anything else raises


def as_arrays(settings: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Array]:
    """Arrays from a memory's settings and its state."""
    entries = {name: part for name, part in state.items() if name not in ("size", "strategy")}
    own, plain = split({"strategy": state["strategy"]})
    size = state["size"]
    about = {"format": FORMAT, "settings": settings, **plain}
    try:
        text = json.dumps(about)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"the strategy's own state is not plain data, so it cannot be exported: {error}"
        ) from error
    return {"actions": np.repeat(np.arange(len(size)), size), **entries, **own, "about": np.array(text)}


def settings_in(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the memory that the arrays are of."""
    return dict(_about(arrays)["settings"])


def state_in(arrays: Mapping[str, Any], tables: int, capacity: int) -> dict[str, Any]:
    """The state of a memory with so many tables of that size, for `load_state_dict`, which checks everything else."""
    about = _about(arrays)
    actions = np.asarray(arrays["actions"])
    if actions.ndim != 1 or actions.dtype.kind not in "iu" or not ((actions >= 0) & (actions < tables)).all():
        raise InvalidInputError(f"actions must be whole numbers from 0 to {tables - 1}, got {checks.shown(actions)}")
    if (np.diff(actions.astype(np.int64)) < 0).any():
        raise InvalidInputError("the entries must be in the order of their actions, those of action 0 first")
    content = {name: np.asarray(arrays[name]) for name in arrays if name not in ("about", "actions")}
    own = {name: array for name, array in content.items() if name.startswith("strategy/")}
    rest = {name: array for name, array in content.items() if name not in own}
    try:
        strategy = join(own, {"strategy": about["strategy"]})["strategy"]
    except ODD as error:
        raise InvalidInputError(f"the strategy's own state cannot be read from the arrays ({error!r})") from error
    size, writes = np.bincount(actions, minlength=tables).astype(np.int64), rest.get("writes", np.zeros(0))
    if writes.shape == size.shape:
        rest["writes"] = np.where(size < capacity, 0, writes).astype(writes.dtype)
    return {**rest, "size": size, "strategy": strategy}


def _about(arrays: Mapping[str, Any]) -> Any:
    """What `about` says, if these are the arrays of a memory."""
    try:
        about = json.loads(str(np.asarray(arrays["about"])[()]))
        if about["format"] == FORMAT and isinstance(about["settings"], dict) and "actions" in arrays:
            return about
    except ODD:
        pass
    raise InvalidInputError("these are not the arrays of a memory, as memory.to_arrays() and engram export give them")
