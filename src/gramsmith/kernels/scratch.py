"""Working arrays that a thread uses again for every tile."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

_scratch = threading.local()


def scratch(name: str, shape: tuple[int, int], dtype: Any) -> npt.NDArray[Any]:
    """Return this thread's working array of that name; fresh pages for every tile cost a sweep."""
    size = shape[0] * shape[1]
    key = (name, np.dtype(dtype))
    arrays = _scratch.__dict__.setdefault("arrays", {})
    if key not in arrays or arrays[key].size < size:
        arrays[key] = np.empty(size, dtype)
    return np.asarray(arrays[key][:size].reshape(shape))
