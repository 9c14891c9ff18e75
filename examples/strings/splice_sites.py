"""
Rank string kernels on DNA
==========================

Where is a signal, and how long is it? Each string kernel has its own definition of what two
sequences have in common; a ranking finds the one that suits the data. The sites below have a motif
near the middle.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

import gramsmith as gs

rng = np.random.default_rng(0)
letters = rng.choice(list("ACGT"), (400, 40))
y = rng.random(400) < 0.4
for row in np.flatnonzero(y):
    at = 20 + rng.integers(-1, 2)
    letters[row, at : at + 6] = np.where(
        rng.random(6) < 0.85, list("TTTCAG"), letters[row, :6]
    )
X = np.array(["".join(row) for row in letters])
X, X_new, y, y_new = train_test_split(
    X, y, train_size=0.5, random_state=0, stratify=y
)

kernels = {
    "spectrum 3": gs.Spectrum(3),
    "spectrum 3 to 6": gs.Spectrum((3, 6)),
    "5-mers with 1 mismatch": gs.Mismatch(5, 1, alphabet="ACGT"),
    "substrings": gs.AllSubstrings(max_length=8, decay=0.5),
    "subsequence 3": gs.Subsequence(3, decay=0.5),
    "weighted degree 5": gs.WeightedDegree(5),
    "weighted degree 5, shift 2": gs.WeightedDegree(5, shift=2),
}
ranking = gs.rank_kernels(
    X, y, {name: gs.Normalized(k) for name, k in kernels.items()}
)

# %%
ranking.plot("scores")
plt.show()

# %%
# Kernels that compare the same position are best here, and the best is the one that allows the
# motif to be shifted. On new sites:
print(
    f"{ranking.records[0]['kernel']}: {1 - ranking.best_estimator.score(X_new, y_new):.1%} wrong"
)
