"""
Choose a kernel for a table
===========================

:func:`~gramsmith.rank_kernels` compares kernels, cross-validates the best, shows which of them
tie, estimates the score on new data separately from the choice, and fits the winner.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import gramsmith as gs

data = load_breast_cancer(as_frame=True)
y = data.target.map({0: "malignant", 1: "benign"})
X, X_new, y, y_new = train_test_split(
    data.data, y, test_size=65, random_state=0, stratify=y
)
kernels = [
    "linear",
    (gs.Gaussian(), {"length_scale": [2.0, 4.0, 8.0, 16.0]}),
    gs.Polynomial(2, gamma=0.03),
]
ranking = gs.rank_kernels(X, y, kernels)
print(ranking.verdict)

# %%
# The result is a :class:`~gramsmith.KernelRanking`. Its table, as a notebook shows it:
ranking

# %%
# Two of its pictures: scores with their errors, and the samples as the best kernel sees them.
fig, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
ranking.plot("scores", axes[0])
ranking.plot("map", axes[1])
plt.show()

# %%
# The model is an ordinary scikit-learn pipeline. Its score on rows that were not used at all:
print(f"accuracy {ranking.best_estimator.score(X_new, y_new):.3f}")

# %%
# And the page to forward, one file without scripts:
page = ranking.write_html(
    Path(tempfile.mkdtemp()) / "report.html", source="breast cancer"
)
print(f"{page.name}: {page.stat().st_size / 1024:.0f} KiB")
