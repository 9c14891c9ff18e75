"""
Sets of classes (conformal prediction)
======================================

A set of classes shows how sure a prediction is: the true class is in the set with a given
probability, which holds in each class, however rare.
"""

# %%
# Three classes, one of them rare, that overlap.
import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

rng = np.random.default_rng(0)
centres = np.array([[0.0, 0.0], [2.2, 0.5], [0.8, 2.2]])
names = np.array(["sound", "worn", "cracked"])
codes = rng.choice(3, p=[0.55, 0.33, 0.12], size=400)
X = centres[codes] + 0.8 * rng.normal(size=(400, 2))
model = gs.KernelSelector().fit(X, names[codes])

# %%
# Of fresh rows nine in ten have their class in the set, in each class. Without `per_class` that
# holds over all rows, and the rare class pays.
fresh = rng.choice(3, p=[0.55, 0.33, 0.12], size=4000)
Z = centres[fresh] + 0.8 * rng.normal(size=(4000, 2))
place = np.searchsorted(model.classes_, names[fresh])
for per_class in (True, False):
    inside = model.predict_set(Z, coverage=0.9, per_class=per_class)
    own = inside[np.arange(4000), place]
    shares = {
        name: round(float(own[names[fresh] == name].mean()), 3)
        for name in names
    }
    print(
        f"per_class={per_class}:",
        shares,
        f"{inside.sum(axis=1).mean():.2f} classes in a set",
    )

# %%
# Where the sets name two classes, somebody should look. Where they name one, the model may decide
# if it is right often enough there: for a rare class look at this precision first.
inside = model.predict_set(Z, coverage=0.9)
for c, name in enumerate(model.classes_):
    alone = inside[:, c] & (inside.sum(axis=1) == 1)
    print(f"{name} alone: right {np.mean(names[fresh][alone] == name):.0%}")

# %%
# How many classes the sets have in the plane:
x, y = np.meshgrid(np.linspace(-2.5, 4.5, 120), np.linspace(-2.5, 4.5, 120))
sets = model.predict_set(np.column_stack([x.ravel(), y.ravel()]), coverage=0.9)
fig, ax = plt.subplots()
picture = ax.contourf(
    x, y, sets.sum(axis=1).reshape(x.shape), levels=[-0.5, 0.5, 1.5, 2.5, 3.5]
)
for name in names:
    ax.scatter(*X[names[codes] == name].T, s=8, label=name)
ax.legend(title="class")
bar = fig.colorbar(picture, ticks=range(4))
bar.set_label("classes in the set")
plt.show()
