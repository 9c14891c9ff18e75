"""
Are two things related at all?
==============================

:func:`~gramsmith.hsic` sees every way in which the mean of a target may depend on the samples,
not only straight lines, and :func:`~gramsmith.mmd` every difference between two groups. How large
would they be by chance? Shuffling the labels tells: ``evaluate(..., permutations=...)`` does it
in the same pass over the data.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

rng = np.random.default_rng(0)
x = np.linspace(-1, 1, 200)
pairs = {
    "a wave": (x, np.cos(8 * x) + 0.8 * rng.normal(size=200)),
    "a parabola": (x, x**2 + 0.3 * rng.normal(size=200)),
    "nothing": (x, rng.normal(size=200)),
}

# %%
# The correlation of each pair is near zero. The kernel sees the first two.
fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for ax, (name, (x, y)) in zip(axes, pairs.items()):
    kernel = {"rbf": gs.Gaussian(0.3 * x.std())}
    table = gs.evaluate(
        kernel, x[:, None], y, measures=["hsic"], permutations=499, task="regression"
    )
    ax.scatter(x, y, s=8)
    r, p = np.corrcoef(x, y)[0, 1], table["rbf", "hsic"].p_value
    ax.set_title(f"{name}\ncorrelation {r:.2f}, HSIC p = {p:.3f}")

# %%
# Two groups that have the same mean and the same variance: a test of means would find nothing.
first, second = rng.normal(size=300), rng.choice([-1, 1], 300) * (0.95 + 0.3 * rng.normal(size=300))
values, group = np.append(first, second)[:, None], np.repeat([0, 1], 300)
K = gs.Gaussian(0.5)(values)
chance = [gs.mmd(K, rng.permutation(group), unbiased=True) for _ in range(200)]

fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
axes[0].hist([first, second], bins=30, label=["one group", "the other"])
axes[0].legend()
axes[1].hist(chance, bins=30, color="0.7", label="shuffled groups")
axes[1].axvline(gs.mmd(K, group, unbiased=True), color="C3", label="these groups")
axes[1].set_xlabel("MMD² (unbiased)")
axes[1].legend()
plt.show()

# %%
# HSIC tells the same groups apart, by the same inner product that :func:`~gramsmith.polarity` is
# before anything is centred or divided.
print(f"HSIC {gs.hsic(K, group, unbiased=True):.4f}, polarity {gs.polarity(K, group):.0f}")
