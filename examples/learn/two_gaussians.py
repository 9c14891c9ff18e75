"""
Many maxima in one bandwidth
============================

The alignment of a Gaussian kernel may have several local maxima over its bandwidth, of which a
local search finds one. :class:`~gramsmith.TwoGaussianLearner` brackets all of them, mixes the best
two, and returns the surface that it searched.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

x = np.array([0.0, 1.0, 10.0, 11.0, 100.0, 101.0, 110.0, 111.0])[:, None]
y = [1, 1, 1, -1, -1, -1, -1, -1]
learner = gs.TwoGaussianLearner(keep=1.0).fit(x, y)
print(
    f"{learner.u_:.0%} of bandwidth {learner.sigma1_:.4g}, the rest of {learner.sigma2_:.4g}"
)

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
widths = np.geomspace(0.1, 1000, 200)
axes[0].plot(
    widths, [gs.kta(gs.Gaussian(s)(x), y) for s in widths], label="one Gaussian"
)
axes[0].axhline(
    learner.value_, color="C3", ls="--", label="the best mixture of two"
)
axes[0].set(xscale="log", xlabel="bandwidth", ylabel="alignment (KTA)")
axes[0].legend()
surface = learner.surface_
axes[1].contourf(surface["sigma"], surface["u"], surface["value"], levels=24)
axes[1].plot(
    learner.sigma2_, learner.u_, "o", color="white", markeredgecolor="black"
)
axes[1].set(
    xscale="log", xlabel="sigma2", ylabel="u, share of the first Gaussian"
)
axes[1].set_title("alignment of mixtures, the best marked")
plt.show()
