"""
Eleven classifiers, one kernel
==============================

Every estimator of gramsmith takes any kernel. The picture shows the decision boundary of each
between two classes, and the training samples that it uses for predictions (ringed).
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import gramsmith as gs

X, y = make_moons(160, noise=0.25, random_state=0)
X_new, y_new = make_moons(2000, noise=0.25, random_state=1)
kernel = gs.Gaussian(0.5)
models = [
    gs.ParzenClassifier(kernel),
    gs.CentroidClassifier(kernel),
    gs.KernelFisherDiscriminant(kernel),
    gs.KernelPerceptron(kernel, average=True, random_state=0),
    gs.KernelRidgeClassifier(kernel),
    gs.KernelLogisticRegression(kernel),
    gs.KernelLossClassifier(kernel, loss="squared_hinge"),
    gs.ImportVectorClassifier(kernel),
    gs.RelevanceVectorClassifier(kernel),
    gs.KernelSVC(kernel),
    gs.L2SVC(kernel),
]

# %%
grid = np.dstack(
    np.meshgrid(np.linspace(-1.8, 2.8, 60), np.linspace(-1.3, 1.8, 60))
)
fig, axes = plt.subplots(3, 4, figsize=(11, 7.6), layout="constrained")
for ax, model in zip(axes.flat, models):
    with (
        warnings.catch_warnings()
    ):  # where classes overlap, the perceptron never settles
        warnings.simplefilter("ignore")
        model.fit(X, y)
    value = model.decision_function(grid.reshape(-1, 2)).reshape(60, 60)
    top = np.abs(value).max()
    ax.contourf(
        grid[..., 0],
        grid[..., 1],
        value,
        20,
        cmap="RdBu_r",
        vmin=-top,
        vmax=top,
    )
    ax.contour(grid[..., 0], grid[..., 1], value, [0], colors="black")
    ax.scatter(*X.T, c=y, s=8, cmap="gray", edgecolors="black", lw=0.3)
    support = model.support_samples_
    if len(support) < len(X):
        ax.scatter(*support.T, s=40, facecolors="none", edgecolors="black")
    wrong = 1 - model.score(X_new, y_new)
    ax.set_title(
        f"{type(model).__name__}\n{wrong:.1%} wrong, {len(support)} samples",
        fontsize=9,
    )
    ax.set(xticks=[], yticks=[])
axes.flat[-1].axis("off")
plt.show()
