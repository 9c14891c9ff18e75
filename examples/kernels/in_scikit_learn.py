"""
One kernel, every estimator of scikit-learn
===========================================

A gramsmith kernel goes unchanged into support vector machines, kernel ridge, kernel PCA, spectral
clustering and Gaussian processes, whose optimiser then learns its parameters.
:func:`~gramsmith.as_kernel` goes the other way.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    kernels,
)
from sklearn.svm import SVC, OneClassSVM

import gramsmith as gs

X, y = make_circles(200, factor=0.4, noise=0.12, random_state=0)
kernel = gs.Gaussian(0.6) + 0.1 * gs.Linear()
grid = np.dstack(
    np.meshgrid(np.linspace(-1.6, 1.6, 70), np.linspace(-1.6, 1.6, 70))
)
points = grid.reshape(-1, 2)
values = {
    "SVC": SVC(kernel=kernel).fit(X, y).decision_function(points),
    "OneClassSVM": OneClassSVM(kernel=kernel, nu=0.1)
    .fit(X[y == 1])
    .decision_function(points),
    "KernelPCA, 1st axis": KernelPCA(kernel=kernel)
    .fit(X)
    .transform(points)[:, 0],
    "GaussianProcess": GaussianProcessClassifier(gs.Gaussian(0.6))
    .fit(X, y)
    .predict_proba(points)[:, 1],
}

# %%
fig, axes = plt.subplots(1, 4, figsize=(11, 3.1), layout="constrained")
for ax, (name, value) in zip(axes, values.items()):
    ax.contourf(
        grid[..., 0], grid[..., 1], value.reshape(70, 70), 20, cmap="RdBu_r"
    )
    ax.scatter(*X.T, c=y, s=6, cmap="gray", edgecolors="black", lw=0.3)
    ax.set(title=name, xticks=[], yticks=[])
plt.show()

# %%
# Names and kernels of scikit-learn, and any function of two vectors, become gramsmith kernels:
print(gs.as_kernel("rbf", gamma=0.5))
print(gs.as_kernel(kernels.Matern(2.0, nu=1.5)))

# %%
# The noise of a Gaussian process is a kernel too, and its optimiser keeps parameters within bounds:
x = np.linspace(0.0, 6.0, 60)[:, None]
noisy = np.sin(2.0 * x[:, 0]) + 0.3 * np.random.default_rng(0).normal(size=60)
smooth = gs.Bounded(gs.Gaussian(1.0), {"length_scale": (0.1, 5.0)})
print(GaussianProcessRegressor(smooth + gs.White(0.1)).fit(x, noisy).kernel_)
