"""
Imbalanced classes: rare positives
==================================

Where one class is rare, accuracy is the wrong score: never predicting it is right most of the
time. Choose another score, and the kernel, the regulariser and the threshold are chosen by it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay, balanced_accuracy_score
from sklearn.model_selection import train_test_split

import gramsmith as gs

rng = np.random.default_rng(0)
X = rng.normal(size=(1200, 4))
rare = X[:, 0] ** 2 + X[:, 1] + 0.7 * rng.normal(size=1200) > 3.0
y = np.where(rare, "rare", "common")
X, X_new, y, y_new = train_test_split(
    X, y, stratify=y, test_size=0.5, random_state=0
)
print(f"{np.mean(y == 'rare'):.1%} of the samples are rare")
kernels = ["linear", gs.Gaussian(1.0), gs.Gaussian(3.0)]

# %%
fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for ax, scoring in zip(axes, ("accuracy", "balanced_accuracy", "f1")):
    ranking = gs.rank_kernels(X, y, kernels, scoring=scoring)
    said = ranking.best_estimator.predict(X_new)
    ConfusionMatrixDisplay.from_predictions(
        y_new, said, ax=ax, colorbar=False, cmap="Blues"
    )
    balanced = balanced_accuracy_score(y_new, said)
    ax.set_title(f"scoring={scoring!r}\nbalanced accuracy {balanced:.2f}")
plt.show()
