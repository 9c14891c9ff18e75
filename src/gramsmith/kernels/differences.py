"""The derivative of every kernel value by `theta`, for scikit-learn's Gaussian processes alone.

They want an array of shape (n, n, len(theta)); everything else goes by pullbacks, which need none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.kernels.finite import count_samples

Array = npt.NDArray[Any]

# Differences of fourth order: h^4 / 30 of the fifth derivative, and eps / h of the kernel, are both
# about 1e-13 of its largest value.
STEP = 1e-3
RESERVED = ("theta", "bounds", "n_dims", "hyperparameters")


def theta_gradient(kernel: Any, X: Any) -> Array:
    """Return the derivative of kernel(X) by the logarithms of its positive parameters."""
    taken = [name for name in RESERVED if name in kernel._get_param_names()]
    if taken:
        raise TypeError(
            f"Expected a kernel without an argument {taken[0]!r}, which Gaussian processes of "
            f"scikit-learn read as theirs, got {type(kernel).__name__}. Use 1.0 * kernel there."
        )
    theta = kernel.theta

    def values(moved: Array) -> Array:
        other = kernel.clone_with_theta(moved)
        a = other.embed(X, other.reference(X))
        return np.asarray(other.tile(a, a), dtype=np.float64)

    slopes = []
    for step in STEP * np.eye(len(theta)):
        near = values(theta + step) - values(theta - step)
        far = values(theta + 2.0 * step) - values(theta - 2.0 * step)
        slope = (8.0 * near - far) / (12.0 * STEP)
        slopes.append(0.5 * (slope + slope.T))
    n = count_samples(X)
    return np.stack(slopes, axis=2) if slopes else np.empty((n, n, 0))
