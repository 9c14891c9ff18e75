"""Choose a kernel for a table, look at the evidence, and keep the page that explains it.

python examples/choose_a_kernel.py
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import gramsmith as gs


def main():
    data = load_breast_cancer(as_frame=True)
    y = data.target.map({0: "malignant", 1: "benign"})
    X_train, X_test, y_train, y_test = train_test_split(data.data, y, random_state=0, stratify=y)
    ranking = gs.rank_kernels(X_train, y_train)
    print(ranking)
    print()
    print(ranking.explain())
    print()
    print(f"accuracy on rows never seen: {ranking.best_estimator.score(X_test, y_test):.3f}")
    page = ranking.write_html(Path(tempfile.mkdtemp()) / "report.html", source="breast cancer")
    print(f"the page: {page}")


if __name__ == "__main__":
    main()
