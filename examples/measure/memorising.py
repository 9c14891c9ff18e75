"""
The kernel that memorises, and measures that are not deceived
=============================================================

A very narrow Gaussian makes every sample similar to itself alone. It separates any training set
perfectly and predicts nothing about new samples. The plain feature space measure
(:func:`~gramsmith.fsm`) ranks it first; its leave-one-out form does not. The
class separability measure (:func:`~gramsmith.csm`) errs on the other side and prefers the widest
kernel.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import gramsmith as gs

X, y = make_moons(300, noise=0.25, random_state=0)
X_new, y_new = make_moons(2000, noise=0.25, random_state=1)
widths = np.geomspace(0.01, 10, 25)
curves = {
    "fsm": [],
    "fsm, leave one out": [],
    "csm": [],
    "error on new samples": [],
}
for width in widths:
    K = gs.Gaussian(width)(X)
    curves["fsm"].append(gs.fsm(K, y))
    curves["fsm, leave one out"].append(gs.fsm(K, y, leave_one_out=True))
    curves["csm"].append(gs.csm(K, y, normalized=True))
    model = gs.KernelSVC(gs.Gaussian(width)).fit(X, y)
    curves["error on new samples"].append(1 - model.score(X_new, y_new))

# %%
# All three measures are better where they are lower, like the error. The dot marks the width that
# each would choose.
fig, axes = plt.subplots(
    2, 2, figsize=(8, 5), sharex=True, layout="constrained"
)
for ax, (name, values) in zip(axes.flat, curves.items()):
    best = int(np.nanargmin(values))
    ax.plot(widths, values, color="C3" if "error" in name else "C0")
    ax.plot(widths[best], values[best], "o", color="black")
    ax.set(title=name, xscale="log")
for ax in axes[1]:
    ax.set_xlabel("length scale")
plt.show()
