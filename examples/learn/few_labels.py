"""
Few labels, many samples
========================

:class:`~gramsmith.SpectralAligner` keeps the eigenvectors of a kernel and weights each by how well
it agrees with the labels. If the samples to be classified are known already,
:func:`~gramsmith.transductive_alignment` uses them too: here six labels suffice for 400 points.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import gramsmith as gs

X, y = make_moons(400, noise=0.1, random_state=2)
rng = np.random.default_rng(0)
known = np.concatenate(
    [rng.choice(np.flatnonzero(y == c), 3, replace=False) for c in (0, 1)]
)
kernel = gs.Gaussian(0.25)
K = kernel(X)
aligned = gs.transductive_alignment(K, y[known], known, n_components=5)
aligner = gs.SpectralAligner(kernel, n_components=5, keep=1.0).fit(
    X[known], y[known]
)
kernels = {
    "the kernel as it is": K,
    "eigen-directions of six points": aligner.kernel_(X),
    "eigen-directions of all points": aligned,
}

# %%
fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for ax, (name, matrix) in zip(axes, kernels.items()):
    model = gs.KernelSVC("precomputed", C=10.0).fit(
        matrix[np.ix_(known, known)], y[known]
    )
    said = model.predict(matrix[:, known])
    ax.scatter(*X.T, c=said, s=10, cmap="coolwarm", alpha=0.6)
    ax.scatter(
        *X[known].T,
        c=y[known],
        s=90,
        cmap="coolwarm",
        edgecolors="black",
        lw=1.5,
    )
    ax.set(
        title=f"{name}\n{np.mean(said != y):.1%} wrong", xticks=[], yticks=[]
    )
plt.show()
