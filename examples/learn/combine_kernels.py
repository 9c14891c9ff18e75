"""
Weights of several kernels (multiple kernel learning)
=====================================================

:class:`~gramsmith.KernelCombination` finds the non-negative weights of a list of kernels whose
sum aligns best with the labels, from one pass over the data that keeps only inner products
between kernels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

import gramsmith as gs

rng = np.random.default_rng(0)
X = rng.normal(size=(900, 4))
y = np.sin(3.0 * X[:, 0]) + X[:, 1] > 0
train, test = slice(0, 300), slice(300, None)
kernels = [("linear", gs.Linear()), ("quadratic", gs.Polynomial(2))]
kernels += [(f"Gaussian {s:g}", gs.Gaussian(s)) for s in (0.5, 1.0, 2.0, 4.0)]
kernels += [("Gaussian of x0", gs.Gaussian(0.5) @ (lambda X: X[:, :1]))]
combined = gs.KernelCombination(kernels, keep=1.0).fit(X[train], y[train])

# %%
# The weights are those of kernels divided by their mean diagonal, so that the size of a kernel does
# not matter.
shares = combined.weights_ / combined.weights_.sum()
errors = [
    1 - SVC(kernel=kernel).fit(X[train], y[train]).score(X[test], y[test])
    for kernel in (*(k for _, k in kernels), combined.kernel_)
]
fig, axes = plt.subplots(
    1, 3, figsize=(11, 3.2), sharey=True, layout="constrained"
)
names = [*combined.names_, "their sum"]
axes[0].barh(names, [*shares, 1.0])
axes[0].set_xlabel("share of the weights")
axes[1].barh(names, [*combined.alignments_, combined.value_], color="C1")
axes[1].set_xlabel("alignment (CKA) in training")
axes[2].barh(names, 100 * np.array(errors), color="C2")
axes[2].set_xlabel("test error of an SVM in %")
axes[0].invert_yaxis()
plt.show()
