"""Kernels that a search has driven to one of their useless limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramsmith.kernels import Kernel

REMEDY = {
    "the identity": "Every sample resembles itself only: use a measure without the diagonal "
    '("cka_debiased", "fsm_loo"), or more samples.',
    "constant": "All samples resemble each other, and what is left is linear or quadratic: "
    'use measure="cka" instead of "csm", or kernel="linear" if that is meant.',
}


def degenerate(kernel: Kernel, X: Any, rows: int = 300) -> str | None:
    """Return "the identity" or "constant" if the kernel of a few rows is nearly that, else None.

    Parameters
    ----------
    kernel : Kernel
        Only stationary kernels, whose diagonal is constant, are judged.
    X : array of shape (n, p)
    rows : int
        How many samples to look at, spread over X.
    """
    if not kernel.is_stationary() or X.shape[0] < 3:
        return None
    K = kernel(X[np.linspace(0, X.shape[0] - 1, min(rows, X.shape[0])).astype(int)])
    n = len(K)
    between = float(K.sum() - np.trace(K)) / (n * (n - 1)) / float(np.trace(K) / n)
    if between < 1e-3:
        return "the identity"
    return "constant" if between > 1.0 - 1e-4 else None
