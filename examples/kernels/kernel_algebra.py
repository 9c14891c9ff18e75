"""
Kernels made of kernels
=======================

Sums, products, powers, exponentials and maps of kernels are kernels again. Every expression has
exact derivatives and works in every measure, learner and estimator.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

x = np.linspace(-2, 2, 120)[:, None]
gaussian, linear = gs.Gaussian(0.5), gs.Linear()
kernels = {
    "Linear()": linear,
    "Linear() + 2.0": linear + 2.0,
    "Linear() ** 2": linear**2,
    "Polynomial(3)": gs.Polynomial(3, gamma=0.5),
    "PolynomialOf(...)": gs.PolynomialOf(linear, [1.0, 0.0, 0.5, 0.1]),
    "Exp(Linear())": gs.Exp(0.5 * linear),
    "Normalized(Exp(...))": gs.Normalized(gs.Exp(2.0 * linear)),
    "Gaussian(0.5)": gaussian,
    "GaussianOf(Polynomial())": gs.GaussianOf(gs.Polynomial(2), 2.0),
    "Gaussian * Linear": gaussian * linear,
    "Gaussian + Periodic": gaussian + 0.5 * gs.Periodic(0.5, period=1.0),
    "RankOne(sin)": gs.RankOne(lambda X: np.sin(3 * X[:, 0])),
    "Bilinear(B)": gs.Bilinear(np.array([[2.0]])),
    "Gaussian @ abs": gaussian @ gs.FunctionMap(np.abs),
    "Sigmoid()": gs.Sigmoid(),
    "Gaussian - Gaussian": gs.Gaussian(0.4)
    + gs.Negated(0.5 * gs.Gaussian(1.2)),
}

# %%
# Each picture is a kernel k(x, z) for x and z between -2 and 2; blue is negative, red positive.
fig, axes = plt.subplots(4, 4, figsize=(9, 9.6), layout="constrained")
for ax, (name, kernel) in zip(axes.flat, kernels.items()):
    K = kernel(x)
    top = np.abs(K).max()
    ax.imshow(K, cmap="RdBu_r", vmin=-top, vmax=top, extent=(-2, 2, 2, -2))
    smallest = np.linalg.eigvalsh(K)[0] / top
    ax.set_title(
        name + ("\nnot positive definite" if smallest < -1e-9 else "\n"),
        fontsize=9,
    )
    ax.set_xticks([])
    ax.set_yticks([])
plt.show()

# %%
# The last two are not positive semidefinite: they have negative eigenvalues, of which estimators
# warn.
