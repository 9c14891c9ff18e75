"""The alignment of two-Gaussian mixtures as a picture."""

from __future__ import annotations

from typing import Any

import numpy as np


def plot_surface(surface: Any, ax: Any = None, *, mark: tuple[float, float] | None = None) -> Any:
    """Draw the surface of a `TwoGaussianLearner`: alignment over bandwidth and share.

    Parameters
    ----------
    surface : TwoGaussianLearner or dict
        A fitted learner, whose optimum is marked, or its `surface_`: "u", "sigma" and "value".
    ax : matplotlib axes, optional
        Default: new ones.
    mark : (float, float), optional
        A point (sigma, u) to mark instead.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> from gramsmith.report import plot_surface
    >>> x = np.array([0.0, 3.0, 5.0, 40.0])[:, None]
    >>> learner = gs.TwoGaussianLearner(sigma1=1.0).fit(x, [-1, 1, 1, 1])
    >>> ax = plot_surface(learner)
    >>> ax.get_xlabel()
    'sigma2'
    """
    import matplotlib.pyplot as plt

    if hasattr(surface, "surface_"):
        mark = (surface.sigma2_, surface.u_) if mark is None else mark
        surface = surface.surface_
    if ax is None:
        _, ax = plt.subplots()
    sigma, u, value = (np.asarray(surface[name]) for name in ("sigma", "u", "value"))
    filled = ax.contourf(sigma, u, value, levels=24)
    ax.figure.colorbar(filled, ax=ax, label="alignment")
    ax.set_xscale("log")
    ax.set_xlabel("sigma2")
    ax.set_ylabel("u, share of the first Gaussian")
    if mark is not None and np.isfinite(mark[0]) and mark[0] > 0:
        ax.plot(*mark, marker="o", color="white", markeredgecolor="black")
    return ax
