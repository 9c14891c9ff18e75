"""
A memory budget instead of an n x n array
=========================================

:class:`~gramsmith.Gram` evaluates a kernel in blocks and keeps only sums. The memory of a
measure is therefore a budget that you set, and the result does not depend on it, to the last bit.
"""

import tracemalloc

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

rng = np.random.default_rng(0)
X = rng.normal(size=(8000, 10))
y = X[:, 0] * X[:, 1] > 0
sizes = [500, 1000, 2000, 4000]
budget, used, values = 16, [], set()
for n in sizes:
    tracemalloc.start()
    gs.cka(gs.Gram(gs.Gaussian(3.0), X[:n], memory=budget), y[:n])
    used.append(tracemalloc.get_traced_memory()[1] / 2**20)
    tracemalloc.stop()

# %%
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.plot(
    sizes,
    [8 * n**2 / 2**20 for n in sizes],
    "o-",
    label="the n x n matrix alone",
)
ax.plot(sizes, used, "o-", label=f"measured peak, budget {budget} MiB")
ax.axhline(budget, color="0.6", ls="--", lw=1)
ax.set(xlabel="rows", ylabel="MiB", yscale="log")
ax.legend()
plt.show()

# %%
# Any budget and any number of threads give the same bits:
for memory, threads in ((8, 1), (16, 2), (64, 2)):
    print(
        gs.cka(
            gs.Gram(gs.Gaussian(3.0), X[:4000], memory=memory, n_jobs=threads),
            y[:4000],
        ).hex()
    )

# %%
# Products with a vector are streamed as well: ``gs.Gram(kernel, X) @ v`` is what iterative
# solvers need.
print((gs.Gram(gs.Gaussian(3.0), X[:2000]) @ np.ones(2000))[:3].round(2))
