"""Learn which features matter, and use the learned kernel in an SVM.

Run with ``python examples/learn_a_transform.py``.
"""

import numpy as np
from sklearn.svm import SVC

import gramsmith as gs
from gramsmith.learning import penalty_path


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1300, 30))
    y = (X[:, :3] ** 2).sum(axis=1) > 2.366  # three of thirty features decide
    train, test = slice(0, 300), slice(300, None)

    learner = gs.TransformLearner(random_state=0).fit(X[train], y[train])
    print(f"alignment {learner.history_['value'][0]:.3f} -> {learner.value_:.3f}")
    print(f"share of the three features: {learner.feature_importances_[:3].sum():.2f}")

    for name, kernel in (("isotropic", "rbf"), ("learned", learner.kernel_)):
        error = 1.0 - SVC(kernel=kernel).fit(X[train], y[train]).score(X[test], y[test])
        print(f"test error, {name} kernel: {100 * error:.1f} %")

    path = penalty_path(X[train], y[train])
    for penalty, count, value in zip(path.penalties, path.counts, path.held_out, strict=True):
        print(f"l1 = {penalty:.4f}: {count:2d} features, held-out alignment {value:.3f}")


if __name__ == "__main__":
    main()
