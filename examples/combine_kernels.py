"""Weigh a bank of kernels by alignment, from one sweep over the samples.

Run with ``python examples/combine_kernels.py``.
"""

import numpy as np
from sklearn.svm import SVC

import gramsmith as gs


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] > 0
    train, test = slice(0, 300), slice(300, None)

    kernels = [("linear", gs.Linear()), ("quadratic", gs.Polynomial(2))]
    kernels += [(f"gaussian {s:g}", gs.Gaussian(s)) for s in (0.5, 1.0, 2.0, 4.0)]
    combined = gs.KernelCombination(kernels).fit(X[train], y[train])
    for name, weight, alone in zip(
        combined.names_, combined.weights_, combined.alignments_, strict=True
    ):
        print(f"{name:<13} weight {weight:.3f}, alignment alone {alone:.3f}")
    print(f"alignment of the sum {combined.value_:.3f}")

    score = SVC(kernel=combined.kernel_).fit(X[train], y[train]).score(X[test], y[test])
    print(f"test error of an SVC on the sum: {100 * (1 - score):.1f} %")


if __name__ == "__main__":
    main()
