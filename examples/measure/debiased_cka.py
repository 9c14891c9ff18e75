"""
Why CKA should be debiased
==========================

With fewer samples than features any two representations look alike: the plain centred alignment
of pure noise goes towards 1. Its debiased form is 0 on average where nothing is shared, at any
number of samples.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

rng = np.random.default_rng(0)
features = 300
samples = [20, 40, 80, 160, 320, 640]
plain, debiased = [], []
for n in samples:
    draws = []
    for _ in range(6):
        K, L = (gs.Linear()(rng.normal(size=(n, features))) for _ in range(2))
        draws.append(
            (
                gs.alignment(K, L, centered=True),
                gs.alignment(K, L, centered=True, debiased=True),
            )
        )
    plain.append(np.mean(draws, axis=0)[0])
    debiased.append(np.mean(draws, axis=0)[1])

# %%
# Two unrelated representations of 300 random units each:
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.plot(samples, plain, "o-", label="CKA")
ax.plot(samples, debiased, "o-", label="debiased CKA")
ax.axhline(0, color="0.6", lw=0.8)
ax.set(
    xscale="log",
    xlabel="samples",
    ylabel="similarity of two unrelated representations",
)
ax.set_xticks(samples, samples)
ax.minorticks_off()
ax.legend()
plt.show()

# %%
# The same holds for the alignment with labels: ``gs.cka(K, y, debiased=True)``.
