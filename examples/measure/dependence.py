"""
Are two things related at all?
==============================

:func:`~gramsmith.independence_test` finds any dependence of two variables, not only linear ones,
and :func:`~gramsmith.two_sample_test` any difference between two groups.
Both try several bandwidths and compare with shuffled data, and give a
:class:`~gramsmith.KernelTest`.
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
# The correlation of each pair is near zero. The kernel test finds the first two.
fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for ax, (name, (x, y)) in zip(axes, pairs.items()):
    result = gs.independence_test(x, y, random_state=0)
    ax.scatter(x, y, s=8)
    r = np.corrcoef(x, y)[0, 1]
    ax.set_title(f"{name}\ncorrelation {r:.2f}, HSIC p = {result.pvalue:.3f}")

# %%
# Two groups that have the same mean and the same variance: a test of means would find nothing.
first, second = (
    rng.normal(size=300),
    rng.choice([-1, 1], 300) * (0.95 + 0.3 * rng.normal(size=300)),
)
result = gs.two_sample_test(first, second, random_state=0)
print(result)

fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
axes[0].hist([first, second], bins=30, label=["one group", "the other"])
axes[0].legend()
result.plot(axes[1])
plt.show()

# %%
# The statistics themselves are measures of a kernel matrix and labels: :func:`~gramsmith.mmd`,
# :func:`~gramsmith.hsic`, and :func:`~gramsmith.polarity` before anything is centred or divided.
K, group = (
    gs.Gaussian(0.5)(np.append(first, second)[:, None]),
    np.repeat([0, 1], 300),
)
print(
    f"MMD² {gs.mmd(K, group, unbiased=True):.4f}, HSIC {gs.hsic(K, group, unbiased=True):.4f}"
)
print(f"polarity {gs.polarity(K, group):.0f}")
