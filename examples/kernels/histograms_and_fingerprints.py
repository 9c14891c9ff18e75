"""
Counts, histograms and fingerprints
===================================

Counts are not coordinates. :class:`~gramsmith.Chi2` compares histograms bin by bin,
:class:`~gramsmith.Tanimoto` is the share of what two samples have that is common to both, as is
usual for molecules. Here digits of 8 x 8 pixels are taken as counts of ink, and every kernel is
given them as they are. :func:`~gramsmith.rank_kernels` standardises columns for kernels such as the
Gaussian and not for these two; pass it matrices by name, ``{"gaussian": gs.Gaussian(25.0)(X)}``, to
compare kernels and not scalings.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import gramsmith as gs

X, y = load_digits(n_class=10, return_X_y=True)
X, y = X[:500], y[:500]
histograms = X / X.sum(axis=1, keepdims=True)
kernels = {
    "linear": (gs.Linear(), X),
    "Gaussian": (gs.Gaussian(25.0), X),
    "chi-squared": (gs.Chi2(2.0), histograms),
    "Tanimoto": (gs.Tanimoto(), X),
    "Tanimoto of bits": (gs.Tanimoto(), X > 8),
}

# %%
# How well each fits the ten digits, and the leave-one-out accuracy of ridge regression:
rows = []
for name, (kernel, data) in kernels.items():
    K = kernel(data)
    model = gs.KernelRidgeClassifier("precomputed", criterion="error").fit(K, y)
    rows.append((name, gs.cka(K, y, debiased=True), model.loo_errors_.min()))

fig, axes = plt.subplots(
    1, 2, figsize=(8.5, 3), sharey=True, layout="constrained"
)
names, values, errors = zip(*rows)
axes[0].barh(names, values)
axes[0].set_xlabel("debiased CKA")
axes[1].barh(names, 100 * np.array(errors), color="C1")
axes[1].set_xlabel("leave-one-out errors in %")
axes[0].invert_yaxis()
plt.show()
