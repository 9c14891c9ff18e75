"""
Learn the parameters of any kernel
==================================

The expression of the kernel is a trend, a season and noise;
:class:`~gramsmith.KernelLearner` finds its parameters, such as the period, from the derivatives of
the leave-one-out error of ridge regression.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

rng = np.random.default_rng(0)
months = np.arange(120) / 12.0
values = (
    0.4 * months
    + np.sin(2 * np.pi * months) * (1 + 0.1 * months)
    + 0.25 * rng.normal(size=120)
)
seen = months < 7
X, y = months[:, None], values

kernel = (
    5.0 * gs.Gaussian(5.0)
    + gs.Periodic(1.5, period=1.1) * gs.Gaussian(8.0)
    + 0.1 * gs.Linear()
)
learner = gs.KernelLearner(kernel, keep=1.0, n_starts=3, random_state=0).fit(
    X[seen], y[seen]
)
print(learner.kernel_)

# %%
fig, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
ax.plot(months, values, ".", color="0.5", label="measured")
ax.axvspan(7, 10, color="0.93", label="not seen")
for name, k in (
    ("kernel as given", kernel),
    ("kernel as learned", learner.kernel_),
):
    ax.plot(
        months,
        gs.KernelRidgeRegressor(k).fit(X[seen], y[seen]).predict(X),
        label=name,
    )
ax.set(xlabel="year", ylabel="value")
ax.legend(ncols=4, loc="upper left")
plt.show()
