"""
Leaves of trees
===============

A kernel of distances needs many rows around the step of a class that begins at a threshold.
:class:`~gramsmith.ForestLearner` grows trees in which two rows are similar if they share leaves: a
:class:`~gramsmith.Leaves` kernel, mixed with a Gaussian in the amount with the smallest error on
held-out rows. Below, the similarity to one point under three kernels, and the decision boundary of
ridge regression on 150 points; eight more columns are noise.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

rng = np.random.default_rng(0)
X = rng.uniform(size=(150, 10))


def inside(X):
    """Return the class: a rectangle of the first two columns."""
    return (X[:, 0] > 0.3) & (X[:, 1] < 0.6)


y = inside(X)
kernels = {
    "a Gaussian": gs.ForestLearner(keep=0.0, random_state=0).fit(X, y).kernel_
}
for method in ("extra_trees", "boosting"):
    learner = gs.ForestLearner(method, random_state=0).fit(X, y)
    kernels[f"{method}, {learner.keep_:.0%} of its leaves"] = learner.kernel_
print(
    isinstance(
        gs.ForestLearner(keep=1.0, random_state=0).fit(X, y).kernel_, gs.Leaves
    )
)

# %%
# The other columns at their middle
side = np.linspace(0, 1, 80)
grid = np.full((80 * 80, 10), 0.5)
grid[:, 0], grid[:, 1] = (part.ravel() for part in np.meshgrid(side, side))
point = np.full((1, 10), 0.5)
new = rng.uniform(size=(4000, 10))

fig, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
for ax, (name, kernel) in zip(axes, kernels.items()):
    model = gs.KernelRidgeClassifier(kernel).fit(X, y)
    similar = kernel(grid, point).reshape(80, 80)
    ax.imshow(
        similar, origin="lower", extent=(0, 1, 0, 1), cmap="Greys", alpha=0.6
    )
    border = model.decision_function(grid).reshape(80, 80)
    ax.contour(side, side, border, levels=[0.0], colors="tab:red")
    ax.scatter(X[:, 0], X[:, 1], c=y, s=10, cmap="coolwarm")
    ax.plot(0.5, 0.5, "k+", ms=12)
    wrong = np.mean(model.predict(new) != inside(new))
    ax.set(title=f"{name}\n{wrong:.1%} wrong", xticks=[], yticks=[])
plt.show()
