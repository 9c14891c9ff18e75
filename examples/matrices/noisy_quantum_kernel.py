"""
A noisy quantum kernel
======================

A quantum computer estimates the similarity of two samples by repeated measurements ("shots"). Few
shots make the matrix noisy, and noise makes it indefinite, so that it is no longer a kernel.
:func:`~gramsmith.check_kernel_matrix` finds out, :func:`~gramsmith.nearest_psd` repairs it. The
computer is simulated here: two qubits, the overlap of two states.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

rng = np.random.default_rng(0)
X = rng.uniform(-1.2, 1.2, size=(160, 2))
y = X[:, 0] * X[:, 1] > 0


def states(X):
    """Return the states of two qubits: rotations by x0 and x1, then a phase by their product."""
    first = np.stack([np.cos(X[:, 0]), np.sin(X[:, 0])], axis=1)
    second = np.stack([np.cos(X[:, 1]), np.sin(X[:, 1])], axis=1)
    both = (
        np.einsum("ni,nj->nij", first, second)
        .reshape(len(X), 4)
        .astype(complex)
    )
    both[:, 3] *= np.exp(2j * X[:, 0] * X[:, 1])
    return both


exact = np.abs(states(X) @ states(X).conj().T) ** 2
train, test = np.arange(80), np.arange(80, 160)
shots = [10, 30, 100, 300, 1000, 10_000]
found = {"as measured": [], "repaired": []}
lowest = []
for count in shots:
    noise = rng.binomial(count, exact.clip(0, 1)) / count
    noisy = np.triu(noise, 1) + np.triu(noise, 1).T + np.eye(160)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        gs.check_kernel_matrix(
            noisy
        )  # warns: the smallest eigenvalue is negative
    lowest.append(np.linalg.eigvalsh(noisy)[0])
    repair = gs.NearestPSD().fit(
        noisy[np.ix_(train, train)]
    )  # new rows are repaired alike
    repaired = gs.nearest_psd(noisy)
    repaired[np.ix_(train, train)] = repair.transform(
        noisy[np.ix_(train, train)]
    )
    repaired[np.ix_(test, train)] = repair.transform(noisy[np.ix_(test, train)])
    for name, K in (("as measured", noisy), ("repaired", repaired)):
        model = gs.KernelSVC("precomputed").fit(
            K[np.ix_(train, train)], y[train]
        )
        right = model.score(K[np.ix_(test, train)], y[test])
        aligned = gs.cka(
            noisy if K is noisy else gs.nearest_psd(noisy), y, debiased=True
        )
        found[name].append((aligned, 1 - right))

# %%
fig, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
order = np.argsort(y, kind="stable")
few = rng.binomial(10, exact.clip(0, 1)) / 10
for ax, (name, K) in zip(
    axes, {"10 shots per entry": few, "without noise": exact}.items()
):
    ax.imshow(K[np.ix_(order, order)], cmap="cividis")
    ax.set(title=name, xticks=[], yticks=[])
axes[2].plot(shots, lowest, "o-", color="black")
axes[2].set(title="smallest eigenvalue", xscale="log", xlabel="shots per entry")
for name, values in found.items():
    axes[3].plot(shots, [100 * e for _, e in values], "o-", label=name)
axes[3].set(title="test errors in %", xscale="log", xlabel="shots per entry")
axes[3].legend()
plt.show()

# %%
# The alignment with the labels, before and after the repair:
for count, before, after in zip(shots, found["as measured"], found["repaired"]):
    print(f"{count:6d} shots: CKA {before[0]:.3f}, repaired {after[0]:.3f}")
