"""
A whole path of bandwidths in the time of one
=============================================

How wide should a Gaussian kernel be? :func:`~gramsmith.bandwidth_path` measures sixteen widths in
little more than the time of one: squaring a Gaussian kernel doubles its exponent, so one
exponential serves all of them. The cross-validated error of a support vector machine, which takes
eighty fits, is drawn beside it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import scale
from sklearn.svm import SVC

import gramsmith as gs

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
path = gs.bandwidth_path(
    X, y, measures=["kta", "cka", "cka_debiased", "fsm_loo"]
)
widths = np.array([kernel.length_scale for kernel in path.kernels.values()])
errors = [
    1 - cross_val_score(SVC(kernel=k), X, y, cv=5).mean()
    for k in path.kernels.values()
]

# %%
# Higher is better for the alignments, lower for the leave-one-out feature space measure
# (fsm_loo), which is drawn upside down. Every curve is scaled to its own range; a dot marks its
# best width.
fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
for name in path.measures:
    values = path.scores(name)  # larger is better, whatever the measure
    values = (values - values.min()) / (values.max() - values.min())
    (line,) = ax.plot(widths, values, label=name)
    ax.plot(widths[values.argmax()], 1, "o", color=line.get_color())
ax.set(
    xscale="log", xlabel="length scale", ylabel="measure, from worst to best"
)
right = ax.twinx()
right.plot(widths, errors, color="black", lw=2.5, label="error of an SVM")
right.plot(widths[np.argmin(errors)], min(errors), "o", color="black")
right.set_ylabel("cross-validated error of an SVM")
fig.legend(loc="outside upper center", ncols=5)
plt.show()

# %%
# The centred measures prefer widths at which the support vector machine does well; plain KTA
# prefers smaller ones.
