"""
Kernels and the functions that they prefer
==========================================

A kernel of the distance decides how smooth a learned function can be. Left: how similarity falls
with the distance. Right: random functions that are likely under each kernel, as samples of a
Gaussian process.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

kernels = {
    "Gaussian": gs.Gaussian(1.0),
    "Matérn 5/2": gs.Matern(1.0, nu=2.5),
    "Matérn 3/2": gs.Matern(1.0, nu=1.5),
    "Laplacian": gs.Laplacian(1.0),
    "power 1.4": gs.PowerExponential(1.0, power=1.4),
    "rational quadratic": gs.RationalQuadratic(1.0, alpha=0.5),
    "periodic": gs.Periodic(1.0, period=2.5),
}
x = np.linspace(0, 6, 300)[:, None]
noise = np.random.default_rng(1).normal(size=(300, 2))

# %%
fig, axes = plt.subplots(
    7, 2, figsize=(8, 10), sharex=True, layout="constrained"
)
for (left, right), (name, kernel) in zip(axes, kernels.items()):
    K = kernel(x)
    left.plot(x, K[0])
    left.set_ylim(0, 1.05)
    left.set_ylabel(name)
    values, vectors = np.linalg.eigh(K)
    right.plot(x, vectors * np.sqrt(values.clip(0)) @ vectors.T @ noise)
axes[0, 0].set_title("similarity")
axes[0, 1].set_title("two functions")
axes[-1, 0].set_xlabel("distance")
axes[-1, 1].set_xlabel("x")
plt.show()
