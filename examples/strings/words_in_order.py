"""
Words, and the order of words
=============================

Tokens are symbols, too. :class:`~gramsmith.Subsequence` counts common subsequences with gaps, each
gap discounted by a factor (the decay), which can be learned because it has a derivative. In these
reviews the order of two words decides.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramsmith as gs

rng = np.random.default_rng(0)
filler = "the film was long and the music in it loud while we sat there".split()


def review(good):
    """Return a review in which *not* stands before or after *boring*."""
    words = list(rng.choice(filler, 9))
    first, second = ("not", "boring") if good else ("boring", "not")
    at = rng.integers(0, 7)
    words.insert(at, first)
    words.insert(at + rng.integers(1, 4), second)
    return words


y = rng.random(160) < 0.5
X = [review(good) for good in y]
print(" ".join(X[0]), "->", "good" if y[0] else "bad")

# %%
learner = gs.KernelLearner(
    gs.Normalized(gs.Subsequence(2, decay=0.3)),
    measure="cka",
    keep=1.0,
    random_state=0,
)
learned = learner.fit(X, y).kernel_
kernels = {
    "single words": gs.Normalized(gs.Spectrum(1)),
    "pairs of neighbours": gs.Normalized(gs.Spectrum(2)),
    "pairs of words with gaps, decay 0.3": gs.Normalized(
        gs.Subsequence(2, decay=0.3)
    ),
    f"pairs of words with gaps, decay learned: {learned.kernel.decay:.2f}": learned,
}
errors = [
    gs.KernelRidgeClassifier(k, criterion="error").fit(X, y).loo_errors_.min()
    for k in kernels.values()
]
fig, axes = plt.subplots(
    1, 2, figsize=(10, 2.6), sharey=True, layout="constrained"
)
axes[0].barh(
    list(kernels), [gs.cka(k(X), y, debiased=True) for k in kernels.values()]
)
axes[0].set_xlabel("debiased CKA")
axes[1].barh(list(kernels), [100 * e for e in errors], color="C1")
axes[1].set_xlabel("leave-one-out errors in %")
axes[0].invert_yaxis()
plt.show()
