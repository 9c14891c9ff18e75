"""How long `rank_kernels` takes: the choice, the estimate, the final fit and the importances.

``python -m benchmarks.how_long`` prints processor seconds of one ranking for every number of rows,
of two classes and of values, with 20 numeric columns.
"""

import time
import warnings

from sklearn.datasets import make_classification, make_regression

import gramsmith as gs

ROWS = (100, 300, 500, 1000, 3000, 6000, 20_000, 100_000)


def seconds(make, n, task):
    """Return the processor seconds of one ranking."""
    X, y = make(n, n_features=20, n_informative=8, random_state=0)
    begun = time.process_time()
    gs.rank_kernels(X, y, task=task, random_state=0)
    return time.process_time() - begun


def main():
    """Print one line for every number of rows."""
    warnings.simplefilter("ignore")  # advice about the data
    seconds(make_classification, 100, "classification")  # imports and compiled formulas
    print(f"{'rows':>8}  classification  regression")
    for n in ROWS:
        classes = seconds(make_classification, n, "classification")
        values = seconds(make_regression, n, "regression")
        print(f"{n:>8}  {classes:12.1f} s  {values:8.1f} s", flush=True)


if __name__ == "__main__":
    main()
