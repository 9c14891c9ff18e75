"""
Feature selection: from all to a few
====================================

:func:`~gramsmith.penalty_path` learns one weight per feature under a growing penalty, each time
starting from the result before, and computes the alignment on held-out rows. From right to left the
features enter in the order of their importance.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 12))
y = (X[:, :3] ** 2).sum(axis=1) > 2.366
path = gs.penalty_path(X, y)

# %%
fig, axes = plt.subplots(
    2, 1, figsize=(7, 5.4), sharex=True, layout="constrained"
)
for feature, weights in enumerate(path.weights.T):
    matters = feature < 3
    axes[0].plot(
        path.penalties,
        np.abs(weights),
        color=f"C{feature}" if matters else "0.75",
        label=f"x{feature}" if matters else None,
    )
axes[0].set(ylabel="weight", title="grey: features without influence")
axes[0].legend()
axes[1].plot(path.penalties, path.held_out, "o-", color="black")
axes[1].axvline(
    path.penalties[path.best],
    ls="--",
    color="C3",
    label="best on the held-out part",
)
axes[1].set(
    xscale="log", xlabel="price of a weight", ylabel="alignment held out"
)
axes[1].legend()
plt.show()

# %%
print(
    "features kept at the best price:", np.flatnonzero(path.weights[path.best])
)
