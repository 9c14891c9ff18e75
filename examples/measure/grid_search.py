"""
A measure as the score of a grid search
=======================================

:func:`~gramsmith.alignment_scorer` lets scikit-learn's ``GridSearchCV`` compare kernels by their
alignment on the held-out fold. The regulariser of the estimator does not matter, so the grid has
kernel parameters only.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale
from sklearn.svm import SVC

import gramsmith as gs

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
kernel = gs.Gaussian() * gs.Polynomial(degree=2, gamma=1.0)
grid = {
    "kernel__k1__length_scale": np.geomspace(1, 30, 7).round(1),
    "kernel__k2__gamma": np.geomspace(1e-3, 1, 6).round(4),
}
search = GridSearchCV(
    SVC(kernel=kernel), grid, scoring=gs.alignment_scorer("cka"), cv=3
)
search.fit(X, y)
print(search.best_params_)

# %%
scores = search.cv_results_["mean_test_score"].reshape(7, 6)
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
picture = ax.imshow(scores, cmap="cividis", aspect="auto")
ax.set_xticks(range(6), grid["kernel__k2__gamma"])
ax.set_yticks(range(7), grid["kernel__k1__length_scale"])
ax.set(xlabel="gamma of the polynomial", ylabel="length scale of the Gaussian")
best = np.unravel_index(scores.argmax(), scores.shape)
ax.plot(best[1], best[0], "o", ms=12, mfc="none", mec="white", mew=2)
fig.colorbar(picture, label="CKA on held-out folds")
plt.show()
