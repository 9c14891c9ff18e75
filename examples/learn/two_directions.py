"""
Two directions for a picture
============================

A low-rank map reduces the features to a few directions in which a kernel fits the labels best.
Here a class depends on two oblique directions among ten features, by the sign of their product.
The map is learned from 400 rows; the points drawn are 400 others.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

import gramsmith as gs

rng = np.random.default_rng(0)
X = rng.normal(size=(800, 10))
directions = np.linalg.qr(rng.normal(size=(10, 2)))[0]
y = (X @ directions).prod(axis=1) > 0
learner = gs.TransformLearner(
    structure="low_rank",
    rank=2,
    solver="outer_product",
    keep=1.0,
    random_state=0,
).fit(X[:400], y[:400])

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
maps = {
    "PCA, which knows no labels": PCA(2).fit(X[:400]),
    "TransformLearner": learner,
}
for ax, (name, mapped) in zip(axes, maps.items()):
    ax.scatter(*mapped.transform(X[400:]).T, c=y[400:], s=14, cmap="coolwarm")
    ax.set(title=name, xticks=[], yticks=[])
plt.show()

# %%
# How far the plane that was found is from the true one, in degrees:
plane = np.linalg.qr(learner.components_.T)[0]
angles = np.degrees(
    np.arccos(np.linalg.svd(plane.T @ directions)[1].clip(0, 1))
)
print(angles.round(1))
