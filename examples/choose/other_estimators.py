"""
Kernels, a forest, boosting and a linear model
==============================================

Which method suits this table? Other estimators are cross-validated in the folds of the kernels,
with the same score and the same paired test. In the first of two tables the relation is smooth, in
the second it has steps, which a tree finds with a few splits.
"""

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression

import gramsmith as gs

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(300, 6))
noise = rng.random(300) < 0.03
smooth = (X[:, 0] ** 2 + X[:, 1] ** 2 + 0.3 * X[:, 2] > 0.6) ^ noise
steps = ((X[:, 0] > 0.1) & (X[:, 1] > -0.4) | (X[:, 2] > 0.6)) ^ noise

estimators = {
    "forest": RandomForestClassifier(100, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=50, random_state=0),
    "logistic regression": LogisticRegression(),
}

# %%
# The verdict names the better method, and the time that each took.
rankings = {
    "a smooth truth": gs.rank_kernels(X, smooth, estimators=estimators),
    "a truth with steps": gs.rank_kernels(X, steps, estimators=estimators),
}
for name, ranking in rankings.items():
    print(fill(f"{name}: {ranking.verdict.others}", 76))
    print(fill(ranking.verdict.details[-1], 76), end="\n\n")

# %%
# Squares are the other estimators. ``best_other`` is a clear winner among them, fitted on all
# rows; the score to expect of the best of all allows for the choice between them.
for name, ranking in rankings.items():
    found = ranking.overall_estimate
    other = (
        "none"
        if ranking.best_other is None
        else type(ranking.best_other[-1]).__name__
    )
    print(f"{name}: clearly better is {other}, expected {found.value:.2f}")

fig, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
for ax, (name, ranking) in zip(axes, rankings.items(), strict=True):
    ranking.plot("scores", ax=ax)
    ax.set_title(name)
plt.show()
