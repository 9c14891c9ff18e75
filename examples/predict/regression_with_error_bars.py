"""
Regression: ridge, support vectors, relevance vectors
=====================================================

Three regressors with the same kernel. Relevance vectors need the fewest samples (ringed), have no
hyperparameter to tune, and return error bars.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

rng = np.random.default_rng(3)
x = np.sort(rng.uniform(-8, 8, size=90))[:, None]
truth = np.sinc(x[:, 0] / 2)
t = truth + 0.15 * rng.normal(size=90)
kernel = gs.Gaussian(1.5)
models = [
    gs.KernelRidgeRegressor(kernel),
    gs.KernelSVR(kernel, C=5.0, epsilon=0.15),
    gs.RelevanceVectorRegressor(kernel),
]

# %%
new = np.linspace(-10, 10, 300)[:, None]
fig, axes = plt.subplots(
    1, 3, figsize=(11, 3.5), sharey=True, layout="constrained"
)
for ax, model in zip(axes, models):
    model.fit(x, t)
    ax.plot(x, t, ".", color="0.6")
    ax.plot(new, np.sinc(new / 2), "--", color="black", lw=1, label="truth")
    ax.plot(new, model.predict(new), color="C0", label="predicted")
    used = model.support_
    if len(used) < len(x):
        ax.scatter(x[used], t[used], s=50, facecolors="none", edgecolors="C3")
    ax.set_title(
        f"{type(model).__name__}\nuses {len(used)} of {len(x)} samples"
    )
mean, deviation = models[2].predict(new, return_std=True)
axes[2].fill_between(
    new[:, 0],
    mean - 2 * deviation,
    mean + 2 * deviation,
    alpha=0.25,
    label="±2 deviations",
)
axes[2].legend()
plt.show()
