"""
Overfitting of a learned map
============================

A full linear map has a number for every pair of features. The alignment with the training labels
still rises long after the error on new rows has begun to rise. :class:`~gramsmith.TransformLearner`
passes the map of every iteration to its `callback`, so that one fit shows the whole course.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

rng = np.random.default_rng(0)
X, y = rng.normal(size=(1200, 15)), rng.permutation(np.repeat([0, 1], 600))
X[y == 0] *= 2.0  # "ringnorm": one class around the other
X[y == 1] += 2.0 / np.sqrt(15.0)
train, test = slice(0, 200), slice(200, None)

maps = []
learner = gs.TransformLearner(
    structure="full",
    measure="kta",
    keep=1.0,
    callback=lambda info: maps.append(info["S"]),
).fit(X[train], y[train])

# %%
# The error of a classifier on new rows, after every few iterations:
steps = np.unique(np.geomspace(1, len(maps), 12).astype(int)) - 1
errors, alignments = [], []
for step in steps:
    kernel = gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(maps[step])
    model = gs.KernelRidgeClassifier(kernel).fit(X[train], y[train])
    errors.append(100 * (1 - model.score(X[test], y[test])))
    alignments.append(gs.kta(gs.Gram(kernel, X[test]), y[test]))

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
axes[0].plot(learner.history_["value"], label="training rows")
axes[0].plot(steps, alignments, "o-", label="new rows")
axes[0].set(xlabel="iteration", ylabel="alignment")
axes[0].legend()
axes[1].plot(steps, errors, "o-")
axes[1].set(xlabel="iteration", ylabel="error on new rows (%)", ylim=(0, None))
plt.show()

# %%
# Without ``keep=1.0`` only as much is kept as lowers the error on held-out rows:
careful = gs.TransformLearner(structure="full", measure="kta", random_state=0)
careful.fit(X[train], y[train])
model = gs.KernelRidgeClassifier(careful.kernel_).fit(X[train], y[train])
error = 100 * (1 - model.score(X[test], y[test]))
print(
    f"all {len(maps)} iterations: {errors[-1]:.1f} %, the least on the way {min(errors):.1f} %,"
)
print(f"{careful.keep_:.0%} of {careful.n_iter_} iterations: {error:.1f} %")
