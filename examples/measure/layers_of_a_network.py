"""
Compare the layers of a neural network
======================================

Do two representations hold the same information? :func:`~gramsmith.compare_representations`
compares their kernels, whatever the number of units in each, and returns a
:class:`~gramsmith.RepresentationMatrix` with errors. Here two networks of the same shape learn the
same digits from other starting points.
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
# representations. Every pair comes from one pass over the samples.
names = ["input", "layer 1", "layer 2", "layer 3", "output"]
first, second = (dict(zip(names, net)) for net in (first, second))
table = gs.compare_representations(first, second)
print(table)

# %%
ax = table.plot()
ax.set(xlabel="second network", ylabel="first network")
plt.show()

# %%
# :func:`~gramsmith.alignment` is the same for two kernels, which need not be linear.
one, other = (gs.Gram(gs.Linear(), net["layer 2"]) for net in (first, second))
print(
    f"{gs.alignment(one, other, debiased=True):.3f}, {table.frame().loc['layer 2', 'layer 2']:.3f}"
)

# %%
# Layers of equal depth are most similar, although no unit of one network corresponds to one of the
# other.
