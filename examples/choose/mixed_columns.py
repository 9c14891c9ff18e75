"""
Numbers and categories in one kernel (Gower)
============================================

:class:`~gramsmith.Mixed` compares column by column and takes the mean, as Gower's similarity
does, with a Gaussian for each column. It is positive definite, so every estimator may use
it. Where columns act together, their product does better than their mean, and its length scales
can be learned.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import gramsmith as gs
from gramsmith.tables import TableEncoder

rng = np.random.default_rng(0)
n = 300
frame = pd.DataFrame(
    {
        "age": rng.integers(18, 80, n),
        "income": rng.lognormal(10, 0.5, n).round(),
        "sport": rng.choice(["ski", "swim", "run"], n),
        "smokes": rng.choice([True, False], n),
    }
)
y = (frame["sport"].eq("ski") & (frame["age"] < 50)) | (
    frame["income"] > 32_000
)
encoder = TableEncoder().fit(frame)
X = encoder.transform(frame)

# %%
# One length scale per column, learned; a long one means that the column does not matter.
learner = gs.KernelLearner(
    gs.Mixed(encoder.blocks(), length_scale=np.ones(4), combine="product"),
    random_state=0,
).fit(X, y)
kernels = {
    "linear": gs.Linear(),
    "Gaussian": gs.Gaussian(2.0),
    "Mixed": gs.Mixed(encoder.blocks()),
    "Mixed, product": gs.Mixed(encoder.blocks(), combine="product"),
    "product, learned": learner.kernel_,
}
errors = [
    gs.KernelRidgeClassifier(k, criterion="error").fit(X, y).loo_errors_.min()
    for k in kernels.values()
]
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3), layout="constrained")
axes[0].barh(list(kernels), [100 * e for e in errors])
axes[0].set_xlabel("leave-one-out errors in %")
axes[0].invert_yaxis()
axes[1].bar(frame.columns, 1 / learner.kernel_.length_scale, color="C1")
axes[1].set_ylabel("1 / learned length scale")
plt.show()
