"""
Compare the layers of a neural network
======================================

Do two representations hold the same information? :func:`~gramsmith.alignment` compares their
kernels, whatever the number of units in each. Here two networks of the same shape learn the same
digits from other starting points.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import gramsmith as gs

X, y = load_digits(return_X_y=True)
X = X / 16
train, test = slice(0, 1000), slice(1000, 1400)


def layers(seed):
    """Return what every layer says about the test digits."""
    net = MLPClassifier((64, 64, 64), random_state=seed)
    for _ in range(15):
        net.partial_fit(X[train], y[train], classes=np.arange(10))
    said, current = [X[test]], X[test]
    for weights, offset in zip(net.coefs_, net.intercepts_):
        current = current @ weights + offset
        if len(said) < 4:
            current = np.maximum(current, 0)
        said.append(current)
    return said


first, second = layers(0), layers(1)

# %%
# The debiased, centred alignment of linear kernels is the "debiased CKA" of the literature on
# representations.
names = ["input", "layer 1", "layer 2", "layer 3", "output"]
kernels = [[gs.Linear()(layer) for layer in net] for net in (first, second)]
table = [[gs.alignment(a, b, centered=True, debiased=True) for b in kernels[1]] for a in kernels[0]]
fig, ax = plt.subplots(figsize=(5.2, 4.4), layout="constrained")
picture = ax.imshow(table, vmin=0, vmax=1, cmap="cividis")
ax.set_xticks(range(5), names, rotation=30)
ax.set_yticks(range(5), names)
ax.set(xlabel="second network", ylabel="first network")
for (i, j), value in np.ndenumerate(table):
    ax.text(
        j, i, f"{value:.2f}", ha="center", va="center", color="white" if value < 0.6 else "black"
    )
fig.colorbar(picture, label="debiased CKA")
plt.show()

# %%
# Layers of equal depth resemble each other most, although no unit of one network has a
# counterpart in the other.
