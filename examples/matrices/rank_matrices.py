"""
Rank kernel matrices that another program computed
==================================================

Matrices can be measured, centred, normalised, ranked and combined without the data behind them.
In cross-validation both axes are sliced.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import cosine_similarity, laplacian_kernel
from sklearn.pipeline import make_pipeline

import gramsmith as gs

X, y = load_digits(return_X_y=True)
X, y = X[:240] + 9 * np.random.default_rng(0).random((240, 64)), y[:240]
matrices = {
    "cosine": cosine_similarity(X),
    "Laplacian": laplacian_kernel(X, gamma=0.005),
    "squared": (X @ X.T) ** 2,
    "corner of the picture": X[:, :20] @ X[:, :20].T,
}
matrices["squared, normalised"] = gs.KernelNormalizer().fit_transform(
    matrices["squared"]
)
ranking = gs.rank_kernels(X, y, matrices)

# %%
ranking.plot("scores")
plt.show()

# %%
# With ``kernel="precomputed"``, or the kernel object :class:`~gramsmith.Precomputed`, an estimator
# is fitted to a matrix. Steps that centre or normalise matrices go into a pipeline and treat new
# blocks with the means and lengths of the training samples:
K, train, test = matrices["Laplacian"], np.arange(160), np.arange(160, 240)
model = make_pipeline(
    gs.KernelCenterer(), gs.KernelRidgeClassifier(gs.Precomputed())
)
model.fit(K[np.ix_(train, train)], y[train])
print(
    f"{model.score(K[np.ix_(test, train)], y[test]):.3f} of new digits are right"
)
