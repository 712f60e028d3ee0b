"""Plain data: what JSON can hold, and gives back as it was."""

import json
from typing import Any

import numpy as np


def as_plain(value: Any) -> Any:
    """Numbers of NumPy's as Python's, and tuples as lists, as JSON has them; anything else as it is."""
    if isinstance(value, dict):
        return {name: as_plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(each) for each in value]
    for kind, plain in ((np.bool_, bool), (np.integer, int), (np.floating, float)):
        if isinstance(value, kind):
            return plain(value)
    return value


def comes_back(value: Any) -> bool:
    """Whether a value is the same when it was written as JSON and read again."""
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError, RecursionError):
        return False
