"""
Estimates for very many rows
============================

Exact measures use all pairs of rows. :func:`~gramsmith.estimate` uses random draws, returns
intervals, and takes as long for a million rows as for fifty thousand.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

rng = np.random.default_rng(0)
X = rng.normal(size=(200_000, 5)).astype("float32")
y = X[:, 0] * X[:, 1] > 0
kernel = {"rbf": gs.Gaussian(2.0)}
found, seconds = [], []
sizes = [6_000, 20_000, 60_000, 200_000]
for n in sizes:
    start = time.perf_counter()
    table = gs.estimate(
        kernel, X[:n], y[:n], "cka", rows=512, pairs=5e7, tolerance=0.01
    )
    seconds.append(time.perf_counter() - start)
    low, high = table["rbf", "cka"].interval()
    found.append((low, table["rbf", "cka"].value, high))

# %%
# The exact value of the smallest size, for comparison (all pairs):
exact = [gs.cka(gs.Gram(gs.Gaussian(2.0), X[:n]), y[:n]) for n in sizes[:1]]
low, middle, high = np.array(found).T
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.3), layout="constrained")
axes[0].errorbar(
    sizes,
    middle,
    yerr=[middle - low, high - middle],
    fmt="o",
    capsize=4,
    label="estimate, 95 %",
)
axes[0].plot(sizes[:1], exact, "x", color="black", ms=9, label="exact")
axes[0].set(xscale="log", xlabel="rows", ylabel="CKA")
axes[0].legend()
axes[1].plot(sizes, seconds, "o-")
axes[1].set(xscale="log", xlabel="rows", ylabel="seconds", ylim=(0, None))
plt.show()
