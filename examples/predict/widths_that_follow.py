"""
Intervals whose width follows the row
=====================================

Noise is seldom the same everywhere. An interval of one width is then too wide for some rows and
too narrow for others.
"""

# %%
# Expensive houses are harder to price.
import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs


def houses(n, seed):
    rng = np.random.default_rng(seed)
    size = rng.uniform(30, 220, n)
    noise = 0.1 + 0.0011 * size**1.2
    return size[:, None], 2.0 + size / 40 + 0.5 * np.sin(
        size / 20
    ) + noise * rng.normal(size=n)


X, y = houses(400, 0)
model = gs.KernelSelector().fit(X, y)

# %%
# Fresh houses lie inside nine times in ten, the small ones and the large ones.
Z, truth = houses(5000, 1)
low, high = model.predict_interval(Z, coverage=0.9).T
inside = (low <= truth) & (truth <= high)
for start in (30, 90, 150):
    part = (Z[:, 0] >= start) & (Z[:, 0] < start + 70)
    width = (high - low)[part].mean()
    print(
        f"{start} to {start + 70} m²: {inside[part].mean():.3f} inside, width {width:.2f}"
    )

# %%
grid = np.linspace(30, 220, 300)[:, None]
low, high = model.predict_interval(grid, coverage=0.9).T
fig, ax = plt.subplots()
ax.scatter(X[:, 0], y, s=8, color="0.5")
ax.plot(grid[:, 0], model.predict(grid))
ax.fill_between(grid[:, 0], low, high, alpha=0.3, label="nine of ten")
ax.set(xlabel="size in m²", ylabel="price")
ax.legend()
plt.show()
