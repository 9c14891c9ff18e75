"""Numerical differences."""

import numpy as np


def finite_difference(f, theta, step=1e-6):
    """Slopes of f by the entries of theta, an array, by central differences.

    Of the shape of theta, followed by that of f, which is one number or several.
    """
    theta = np.asarray(theta, dtype=float)
    slopes = []
    for index in np.ndindex(theta.shape):
        h = step * max(1.0, abs(float(theta[index])))
        up, down = theta.copy(), theta.copy()
        up[index] += h
        down[index] -= h
        slopes.append((f(up) - f(down)) / (2 * h))
    out = np.reshape(slopes, (*theta.shape, *np.shape(slopes[0])))
    return out if out.ndim else float(out)
