"""Numerical differences."""

import numpy as np


def finite_difference(f, theta, step=1e-6):
    """Derivative of a scalar function at theta, an array of any shape, by central differences."""
    theta = np.asarray(theta, dtype=float)
    out = np.zeros(theta.shape)
    for index in np.ndindex(theta.shape):
        h = step * max(1.0, abs(float(theta[index])))
        up, down = theta.copy(), theta.copy()
        up[index] += h
        down[index] -= h
        out[index] = (f(up) - f(down)) / (2 * h)
    return out if out.ndim else float(out)
