"""Names for the array types that the core passes around."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
RealArray = NDArray[np.float64] | NDArray[np.float32]
IntArray = NDArray[np.int64]
WordArray = NDArray[np.uint64]
BoolArray = NDArray[np.bool_]
NumberArray = NDArray[Any]
