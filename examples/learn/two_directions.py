"""
Two directions for a picture
============================

A low-rank map squeezes the features into a few directions that serve the kernel and the labels.
Thirteen properties of wine, among twenty columns of noise, become two directions, learned from
half of the bottles; the other half, which it has not seen, is drawn too.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import gramsmith as gs

X, y = load_wine(return_X_y=True)
noise = 1.5 * np.random.default_rng(0).normal(size=(len(X), 20))
X = np.column_stack([scale(X), noise])
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
learner = gs.TransformLearner(
    structure="low_rank", rank=2, solver="outer_product", shrinkage=1.0, random_state=0
).fit(X_train, y_train)

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, (name, mapped) in zip(
    axes,
    {
        "PCA, which knows no labels": PCA(2).fit(X_train),
        "TransformLearner": learner,
    }.items(),
):
    ax.scatter(
        *mapped.transform(X_train).T, c=y_train, s=14, alpha=0.35, cmap="viridis", label="taught"
    )
    ax.scatter(*mapped.transform(X_test).T, c=y_test, s=24, marker="^", cmap="viridis", label="new")
    ax.set(title=name, xticks=[], yticks=[])
axes[0].legend()
plt.show()
