"""
All regularisers of ridge regression from one decomposition
===========================================================

The error of ridge regression on a sample that was left out has a closed form. One
eigendecomposition gives it for every regulariser, so :class:`~gramsmith.KernelRidgeRegressor`
chooses its own, exactly and without refitting. The dots check three values by fits without each
sample.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import LeaveOneOut, cross_val_predict

import gramsmith as gs

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-10, 10, size=80))[:, None]
t = np.sinc(x[:, 0] / np.pi) + 0.15 * rng.normal(size=80)
alphas = np.geomspace(1e-5, 1e2, 60)
ridge = gs.KernelRidgeRegressor(gs.Gaussian(1.5), alphas=alphas).fit(x, t)

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
axes[0].plot(alphas, np.sqrt(ridge.loo_errors_), label="closed form, 60 values")
for alpha in alphas[10::20]:
    left_out = cross_val_predict(
        gs.KernelRidgeRegressor(gs.Gaussian(1.5), alpha=alpha),
        x,
        t,
        cv=LeaveOneOut(),
    )
    axes[0].plot(
        alpha, np.sqrt(np.mean((left_out - t) ** 2)), "o", color="black"
    )
axes[0].axvline(ridge.alpha_, color="C3", ls="--", label="chosen")
axes[0].set(
    xscale="log",
    xlabel="regulariser",
    ylabel="leave-one-out error (root mean square)",
)
axes[0].legend()

new = np.linspace(-12, 12, 300)[:, None]
axes[1].plot(x, t, ".", color="0.5")
for alpha, style in ((alphas[0], ":"), (ridge.alpha_, "-"), (alphas[-1], "--")):
    fit = gs.KernelRidgeRegressor(gs.Gaussian(1.5), alpha=alpha).fit(x, t)
    axes[1].plot(new, fit.predict(new), style, label=f"{alpha:.2g}")
axes[1].set(ylim=(-0.8, 1.5), xlabel="x")
axes[1].legend(title="regulariser")
plt.show()

# %%
# The intercept is not penalised: adding 100 to every target adds 100 to every prediction.
shifted = gs.KernelRidgeRegressor(gs.Gaussian(1.5), alphas=alphas).fit(
    x, t + 100
)
print(f"{np.abs(shifted.predict(new) - ridge.predict(new) - 100).max():.1e}")
