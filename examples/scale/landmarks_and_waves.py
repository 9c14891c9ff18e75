"""
Landmarks and random Fourier features
=====================================

Two ways to approximate a kernel by a few explicit features. :class:`~gramsmith.Nystroem` uses the
similarities to some landmarks, :class:`~gramsmith.RandomFourier` random waves.
The time then grows in proportion to the number of rows, not to its square. Landmarks need fewer
features where the kernel is smooth.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

rng = np.random.default_rng(0)
X = rng.normal(size=(1200, 4))
kernel = gs.Gaussian(2.0)
K = kernel(X)
counts = [10, 20, 40, 80, 160, 320]
makers = {
    "landmarks, pivoted": lambda m: gs.Nystroem(kernel, n_landmarks=m),
    "landmarks, uniform": lambda m: gs.Nystroem(
        kernel, n_landmarks=m, method="uniform"
    ),
    "random waves": lambda m: gs.RandomFourier(kernel, n_features=m),
}
errors = {
    name: [np.linalg.norm(make(m)(X) - K) / np.linalg.norm(K) for m in counts]
    for name, make in makers.items()
}

# %%
fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for name, values in errors.items():
    ax.plot(counts, values, "o-", label=name)
ax.set(
    xscale="log",
    yscale="log",
    xlabel="features",
    ylabel="relative error of the matrix",
)
ax.legend()
plt.show()

# %%
# Both are kernels: measures, learners and estimators take them.
y = X[:, 0] * X[:, 1] > 0
for name, k in {
    "exact": kernel,
    "80 landmarks": makers["landmarks, pivoted"](80),
}.items():
    print(f"{name:<13} CKA {gs.cka(gs.Gram(k, X), y):.4f}")
