"""
Digits in the plane of Fisher's discriminant
============================================

:class:`~gramsmith.KernelFisherDiscriminant` looks for the axes on which classes are far apart and
tight. Its ``criterion_`` is the number that it maximises; higher is better, so it can also compare
kernels.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import gramsmith as gs

X, y = load_digits(n_class=6, return_X_y=True)
X_train, X_new, y_train, y_new = train_test_split(
    X, y, train_size=500, random_state=0
)
fig, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
for ax, width in zip(axes, (9.0, 20.0, 60.0)):
    kernel = gs.Gaussian(width)
    model = gs.KernelFisherDiscriminant(kernel).fit(X_train, y_train)
    points = model.transform(X_new)
    for digit in range(6):
        at = points[y_new == digit]
        ax.scatter(*at[:, :2].T, s=8, label=digit)
    wrong = 1 - model.score(X_new, y_new)
    ax.set_title(
        f"length scale {width:g}: criterion {model.criterion_:.1f}, {wrong:.1%} wrong"
    )
    ax.set(xticks=[], yticks=[])
axes[0].legend(ncols=2)

# %%
# The points are held-out digits. With a narrow kernel the training digits
# are far apart, and new ones fall in between.
plt.show()
