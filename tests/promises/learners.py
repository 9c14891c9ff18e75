"""Learners: what does not change what is learned."""

import numpy as np

import gramsmith as gs
from promises import promise


@promise(
    "a learned kernel does not depend",
    runs=400,
    on_the_unit_low_rank={"structure": "low_rank", "change": "unit"},
    on_the_unit_diagonal={"structure": "diagonal", "change": "unit"},
    on_rows_of_weight_zero_diagonal={"structure": "diagonal", "change": "zero"},
    on_rows_of_weight_zero_combination={"structure": None, "change": "zero"},
)
def invariance(rng, structure, change):
    n = 40
    X = rng.normal(size=(n, 3))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=n)
    w = rng.uniform(0.5, 2.0, n)
    Z = rng.normal(size=(6, 3))

    def matrix(X, y, w, Z):
        if structure is None:
            kernels = [gs.Gaussian(0.5), gs.Gaussian(2.0), gs.Linear()]
            learner = gs.KernelCombination(kernels, measure="ridge_loo", random_state=0)
        else:
            rank = {"rank": 2} if structure == "low_rank" else {}
            learner = gs.TransformLearner(structure=structure, max_iter=10, random_state=0, **rank)
        return learner.fit(X, y, sample_weight=w).kernel_(Z)

    before = matrix(X, y, w, Z)
    if change == "unit":
        after = matrix(64.0 * X, y, w, 64.0 * Z)
    else:
        after = matrix(np.r_[X, Z], np.r_[y, np.full(6, 5.0)], np.r_[w, np.zeros(6)], Z)
    # an ascent of ten steps from starts that differ by rounding
    return np.allclose(before, after, rtol=1e-3, atol=1e-3)
