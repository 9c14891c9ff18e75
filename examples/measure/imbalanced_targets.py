"""
Imbalanced classes raise the plain alignment
============================================

When one class is rare, a constant kernel already aligns well with the
labels. ``target="imbalanced"`` or centring corrects that.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

warnings.simplefilter("ignore")  # nothing is left of a constant after centring
rng = np.random.default_rng(0)
shares = np.linspace(0.02, 0.5, 13)
kernels = {"constant": gs.Constant(), "useful": gs.Gaussian(1.0)}
measures = {
    "KTA": gs.kta,
    "KTA, imbalanced target": lambda K, y: gs.kta(K, y, target="imbalanced"),
    "CKA": gs.cka,
}
values = {(name, kernel): [] for name in measures for kernel in kernels}
for share in shares:
    y = np.arange(400) < 400 * share
    X = rng.normal(size=(400, 2)) + 1.5 * y[:, None]
    for kernel, k in kernels.items():
        K = k(X)
        for name, measure in measures.items():
            values[name, kernel].append(measure(K, y))

# %%
fig, axes = plt.subplots(
    1, 3, figsize=(10, 3.3), sharey=True, layout="constrained"
)
for ax, name in zip(axes, measures):
    for kernel in kernels:
        ax.plot(shares, values[name, kernel], label=f"{kernel} kernel")
    ax.set(title=name, xlabel="share of the rare class", ylim=(0, 1))
axes[0].set_ylabel("value")
axes[0].legend()
plt.show()

# %%
# Plain KTA prefers the useless constant kernel to the useful one as soon as a class
# is rare. The other two do not.
