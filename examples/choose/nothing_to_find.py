"""
When there is nothing to find
=============================

The best of many kernels looks good on any labels, even on random ones. The first score in the table
of a ranking is the best of many; the score on new data is estimated separately from the choice, and
the verdict states when it is no better than always predicting the most frequent class.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

kernels = [gs.Gaussian(width) for width in (0.5, 3.0)] + ["linear"]
rng = np.random.default_rng(0)
table, estimated = [], []
for _ in range(4):
    X, y = rng.normal(size=(50, 5)), rng.random(50) < 0.5
    ranking = gs.rank_kernels(X, y, kernels)
    table.append(ranking.records[0]["score"])
    estimated.append(ranking.estimate.value)
print(ranking.verdict)

# %%
# Four tables of pure noise, for which the true accuracy is one half.
fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
ax.plot(table, np.full(4, 1), "o", alpha=0.7)
ax.plot(estimated, np.full(4, 0), "o", alpha=0.7)
ax.axvline(0.5, color="black", lw=1)
ax.set_yticks([0, 1], ["estimate for new data", "best score of the table"])
ax.set(xlabel="accuracy", ylim=(-0.5, 1.5), xlim=(0.3, 0.8))
plt.show()
