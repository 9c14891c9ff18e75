"""
What kernel alignment (CKA) measures
====================================

A kernel is good for a set of labels if samples of one class resemble each other more than they
resemble the others. The pictures show how similar 178 wines are, ordered by their three growers,
under three kernels. :func:`~gramsmith.cka`, the centred alignment, is one number for each picture:
0 for a kernel that is unrelated to the growers, 1 for one that depends on nothing else.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import gramsmith as gs

X, y = load_wine(return_X_y=True)
X = scale(X)
kernels = {
    "looks at one property only": gs.Gaussian(0.7) @ (lambda X: X[:, 2:3]),
    "too narrow": gs.Gaussian(0.9),
    "fits": gs.Gaussian(3.0),
}

# %%
fig, axes = plt.subplots(1, 3, figsize=(10.5, 4.4), layout="constrained")
for ax, (word, kernel) in zip(axes, kernels.items()):
    K = kernel(X)  # the wines of load_wine are in the order of their growers
    ax.imshow(K, cmap="cividis", vmin=0, vmax=1)
    ax.set_title(f"{word}\nCKA = {gs.cka(K, y):.2f}", fontsize=13)
    ax.set_xticks([29, 94, 154], [f"grower {k}" for k in (1, 2, 3)])
    ax.set_yticks([])
    for border in (58.5, 129.5):
        ax.axhline(border, color="white", lw=1)
        ax.axvline(border, color="white", lw=1)
plt.show()

# %%
# On the left only the ash content counts, and the growers do not show. In the middle nearly
# every wine is similar to itself alone. On the right there are three bright blocks, one for each
# grower. :func:`~gramsmith.kta`, the plain alignment, is not centred and also depends on the mean
# value of a kernel:
for word, kernel in kernels.items():
    print(f"{word:<28} KTA {gs.kta(kernel(X), y):.2f}")
