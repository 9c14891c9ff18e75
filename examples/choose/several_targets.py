"""
Several targets at once
=======================

A sheet of metal is tested for strength, weight and colour. All three depend on the same recipe: the
kernels are compared for all of them together, and one model predicts all of them.
"""

# %%
# The units differ by eleven orders of magnitude, which does not matter: every output counts in
# units of its own standard deviation.
import numpy as np
import pandas as pd

import gramsmith as gs

rng = np.random.default_rng(0)
recipe = rng.uniform(-1, 1, size=(200, 3))
copper, tin, heat = recipe.T
noise = rng.normal(size=(3, 200))
tests = pd.DataFrame(
    {
        "strength": 4e8 * (np.sin(3 * copper) + heat + 0.1 * noise[0]),
        "weight": 5.0 + copper + 2.0 * tin + 0.05 * noise[1],
        "colour": 1e-3 * (copper * tin + 0.3 * noise[2]),
    }
)
X = pd.DataFrame(recipe, columns=["copper", "tin", "heat"])
kernels = {
    "linear": "linear",
    "wide": gs.Gaussian(3.0),
    "narrow": gs.Gaussian(1.0),
}
ranking = gs.rank_kernels(X, tests, kernels)
print(ranking)

# %%
# The score is the mean of R². The R² of each output shows what the model can be used for: the
# weight is predicted well, the colour is not.
for name, score in ranking.output_scores.items():
    print(f"{name:<10} {score:.3f}")

# %%
# Predictions have a column for each, and each has intervals of its own width.
new = pd.DataFrame({"copper": [0.3], "tin": [-0.2], "heat": [0.5]})
prediction = ranking.best_estimator.predict(new)[0]
low, high = ranking.best_estimator.predict_interval(new, coverage=0.9)[0].T
for name, value, a, b in zip(tests, prediction, low, high, strict=True):
    print(f"{name:<10} {value:9.3g}   nine of ten between {a:.3g} and {b:.3g}")

# %%
# Passed or not, three times: labels
# ----------------------------------
# Columns of 0 and 1, or flags, are labels. Every one has a calibrated probability.
passed = tests > tests.median()
labels = gs.rank_kernels(X, passed, kernels)
print(labels.verdict)
print(
    pd.Series(
        labels.best_estimator.predict_proba(new)[0], index=passed.columns
    ).round(2)
)

# %%
# Precision and recall for all thresholds of each label, on held-out rows.
labels.plot("roc")
