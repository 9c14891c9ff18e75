"""
A map under a kernel, and the metric it makes
=============================================

``kernel @ LinearMap(S)`` compares S'x and S'z. The distance is then that of the matrix M = SS':
directions in which M is *large* count more, so the region of similar points is *short* there. (M
and its inverse are easily confused.) :class:`~gramsmith.Bilinear` is the inner product of the
same matrix, and any function or fitted transformer can take the place of the map.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

import gramsmith as gs

S = np.array([[2.0, 0.0], [1.0, 0.5]])
M = S @ S.T
grid = np.dstack(np.meshgrid(np.linspace(-2, 2, 90), np.linspace(-2, 2, 90)))
points = grid.reshape(-1, 2)
cloud = np.random.default_rng(0).normal(size=(200, 2)) @ np.array(
    [[1.2, 0.9], [0.0, 0.3]]
)
kernels = {
    "Gaussian(1.0)": gs.Gaussian(1.0),
    "Gaussian(1.0) @ LinearMap(S)": gs.Gaussian(1.0) @ gs.LinearMap(S),
    "Bilinear(SS')": gs.Bilinear(M),
    "Gaussian(1.0) @ FunctionMap(PCA)": gs.Gaussian(1.0)
    @ gs.FunctionMap(PCA(1).fit(cloud)),
}

# %%
# Similarity to the point (0.3, 0.3). The arrows are the eigenvectors of M, as long as their
# eigenvalues are large.
fig, axes = plt.subplots(1, 4, figsize=(12, 3.3), layout="constrained")
centre = np.array([[0.3, 0.3]])
for ax, (name, kernel) in zip(axes, kernels.items()):
    ax.contourf(
        grid[..., 0],
        grid[..., 1],
        kernel(points, centre).reshape(90, 90),
        15,
        cmap="cividis",
    )
    ax.plot(*centre[0], "o", color="white")
    ax.set(
        title=name,
        xticks=[],
        yticks=[],
        xlim=(-2, 2),
        ylim=(-2, 2),
        aspect="equal",
    )
    ax.title.set_fontsize(9)
for value, vector in zip(*np.linalg.eigh(M)):
    for ax in axes[1:3]:
        ax.annotate(
            "",
            centre[0] + 0.3 * value * vector,
            centre[0],
            arrowprops={"color": "red", "width": 1},
        )
axes[3].scatter(*cloud.T, s=4, color="white", alpha=0.5)
plt.show()

# %%
# Each kernel may see columns of its own.
parts = gs.Gaussian(1.0) @ gs.TakeColumns([0]) + gs.Linear() @ gs.TakeColumns(
    [1]
)
print(parts(points[:2]).round(3))
