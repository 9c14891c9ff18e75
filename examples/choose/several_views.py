"""
Several views of the same samples
=================================

A patient has blood values and a sequence; a product has numbers and a text. Each view gets a
kernel of its own, and :class:`~gramsmith.KernelCombination` weighs them. A view that only holds
noise gets little weight.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

rng = np.random.default_rng(0)
n = 300
y = rng.random(n) < 0.5
blood = rng.normal(size=(n, 4)) + 0.8 * y[:, None]
letters = rng.choice(list("ACGT"), (n, 30))
letters[np.flatnonzero(y)[::2], 10:16] = list(
    "TTTCAG"
)  # half of the positives carry a motif
sites = np.array(["".join(row) for row in letters])
noise = rng.normal(size=(n, 4))

views = {"blood": blood, "site": sites, "noise": noise}
kernels = [
    gs.Gaussian(2.0),
    gs.Normalized(gs.WeightedDegree(6)),
    gs.Gaussian(2.0),
]
train, test = np.arange(150), np.arange(150, n)
combined = gs.KernelCombination(kernels, keep=1.0)
combined.fit(tuple(view[train] for view in views.values()), y[train])

# %%
# Estimators take the combined matrix:
seen, new = (
    tuple(view[rows] for view in views.values()) for rows in (train, test)
)
K, block = combined.matrix(seen), combined.matrix(new, seen)
errors = {
    "combined": 1
    - gs.KernelRidgeClassifier("precomputed")
    .fit(K, y[train])
    .score(block, y[test])
}
for (name, view), kernel in zip(views.items(), kernels):
    model = gs.KernelRidgeClassifier(kernel).fit(view[train], y[train])
    errors[f"{name} alone"] = 1 - model.score(view[test], y[test])

fig, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
axes[0].bar(list(views), combined.weights_ / combined.weights_.sum())
axes[0].set_ylabel("share of the weight")
axes[1].barh(list(errors), [100 * e for e in errors.values()], color="C1")
axes[1].set_xlabel("test errors in %")
plt.show()
