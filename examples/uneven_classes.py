"""Rare positives: score by balanced accuracy and let the threshold follow.

python examples/uneven_classes.py
"""

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

import gramsmith as gs


def main():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    y = X[:, 0] ** 2 + X[:, 1] + 0.7 * rng.normal(size=900) > 3.0
    print(f"{y.mean():.1%} of the samples are positive")
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
    for scoring in (None, "balanced_accuracy"):
        model = gs.rank_kernels(X, y, scoring=scoring).best_estimator
        score = balanced_accuracy_score(y_test, model.predict(X_test))
        print(f"scoring={scoring!s:<18} balanced accuracy on new rows {score:.3f}")


if __name__ == "__main__":
    main()
