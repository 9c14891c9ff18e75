"""
Rows that belong together
=========================

Five rows per patient: if some of them are in the training fold and others in the test fold, a
kernel that recognises patients looks very good, and fails on new patients. ``groups`` keeps the
rows of a patient together.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

rng = np.random.default_rng(1)


def patients(n):
    """Return five rows for each patient, and a label that features tell little about."""
    kind = rng.normal(size=(n, 6))
    sick = kind[:, 0] + 1.5 * rng.normal(size=n) > 0
    X = np.repeat(kind, 5, axis=0) + 0.15 * rng.normal(size=(5 * n, 6))
    return (
        X,
        np.repeat(np.where(sick, "sick", "well"), 5),
        np.repeat(np.arange(n), 5),
    )


X, y, patient = patients(50)
X_new, y_new, _ = patients(1000)
kernels = {
    "narrow": gs.Gaussian(0.4),
    "medium": gs.Gaussian(1.5),
    "wide": gs.Gaussian(6.0),
    "linear": "linear",
}

# %%
fig, ax = plt.subplots(figsize=(7.5, 3), layout="constrained")
for place, (name, groups) in enumerate(
    {"groups ignored": None, "groups kept": patient}.items()
):
    ranking = gs.rank_kernels(X, y, kernels, groups=groups)
    found, truth = ranking.estimate, ranking.best_estimator.score(X_new, y_new)
    ax.errorbar(
        found.value,
        place,
        xerr=[[found.value - found.low], [found.high - found.value]],
        fmt="o",
        color=f"C{place}",
        capsize=4,
    )
    ax.plot(truth, place, "k|", ms=22, mew=2)
    best = ranking.records[0]["kernel"]
    ax.text(
        0.5,
        place - 0.28,
        f"{name}: {best} wins, promises {found.value:.2f}, keeps {truth:.2f}",
    )
ax.set(
    xlabel="accuracy: promised (dot, 95 % interval) and on new patients (bar)",
    xlim=(0.48, 1.02),
    ylim=(1.4, -0.6),
)
ax.set_yticks([])
plt.show()
