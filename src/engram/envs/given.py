"""Whatever was given as numbers, as an array."""

from typing import Any

import numpy as np

from engram import checks
from engram.errors import InvalidInputError
from engram.typing import Array

NUMBERS = "biuf"  # kinds of dtypes: booleans, integers and floats


def as_array(given: Any, who: str) -> Array:
    """Whatever was given as an array of NumPy's own class; InvalidInputError where that is none."""
    if type(given) is np.ndarray:
        return given
    try:
        return np.asarray(given)
    except Exception as error:  # whatever converting an object of any class may raise
        raise InvalidInputError(
            f"{who} must be an array of numbers, got {checks.shown(given, 100)}: {error}"
        ) from error
