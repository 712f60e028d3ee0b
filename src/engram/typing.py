"""Names for the array types that appear everywhere."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
States = npt.NDArray[np.uint64]
Whole = int | np.integer[Any]  # a slot or a count, which in a kernel has a width
