"""How well probabilities are calibrated: every machine that has them, on held-out samples.

The expected calibration error is the mean over ten bins of the largest probability, weighted by the
samples in them, of |share of right classes - mean probability|. scikit-learn's logistic regression
stands beside.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramsmith as gs
from benchmarks.measuring import processor
from benchmarks.sets import SETS, data_folder, split

Array = npt.NDArray[Any]

CHOSEN = ("ida-heart", "ida-diabetes", "ida-german", "wdbc", "ida-titanic")
ROWS = 124
SPLITS = 10
MACHINES = {
    "KernelLogisticRegression": gs.KernelLogisticRegression(),
    "the same, alpha=1": gs.KernelLogisticRegression(alpha=1.0),
    "ImportVectorClassifier": gs.ImportVectorClassifier(),
    "RelevanceVectorClassifier": gs.RelevanceVectorClassifier(),
    "KernelFisherDiscriminant": gs.KernelFisherDiscriminant(),
    "KernelRidgeClassifier, calibrated": gs.KernelRidgeClassifier(),
    "KernelSVC, calibrated": gs.KernelSVC(),
    "scikit-learn's LogisticRegression": LogisticRegression(max_iter=1000),
}


def expected_calibration_error(P: Array, codes: Array, bins: int = 10) -> float:
    """Return the mean distance of confidence and accuracy over bins of equal width.

    Parameters
    ----------
    P : array of shape (n, C)
        Probabilities.
    codes : int array of shape (n,)
        The true classes.
    bins : int, default=10
    """
    sure, right = P.max(axis=1), P.argmax(axis=1) == codes
    place = np.minimum((sure * bins).astype(int), bins - 1)
    gap = np.bincount(place, weights=right - sure, minlength=bins)
    return float(np.abs(gap).sum() / len(codes))


def probabilities(machine: Any, X: Array, y: Array, Z: Array) -> Array:
    """Fit a machine on standardised features and return the probabilities of new samples."""
    model = make_pipeline(StandardScaler(), machine).fit(X, y)
    if isinstance(machine, gs.KernelRidgeClassifier):
        f = np.where(y == machine.classes_[1], 1.0, -1.0) - machine.loo_residuals_[:, 0]
        machine.calibrate(f, y)
    elif isinstance(machine, gs.KernelSVC):
        machine.calibrate(cross_val_predict(clone(model), X, y, method="decision_function"), y)
    return np.asarray(model.predict_proba(Z))


def main() -> None:
    """Print the table: sets across, machines down, calibration error and log loss."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=None)
    parser.add_argument("--splits", type=int, default=SPLITS)
    options, _ = parser.parse_known_args()
    folder = data_folder(options.data)
    if not folder.is_dir():
        raise SystemExit("needs the folder of data sets: set GRAMSMITH_DATA")
    print(processor())
    print(f"{ROWS} rows, mean of {options.splits} splits: calibration error / log loss")
    print(f"{'':36}" + "".join(f"{name:>15}" for name in CHOSEN))
    tables = {name: SETS[name].load(folder) for name in CHOSEN}
    for title, machine in MACHINES.items():
        cells = []
        for name, (X, y) in tables.items():
            found = []
            codes = np.unique(y, return_inverse=True)[1]
            for number in range(options.splits):
                A, a, B, b = split(X, codes, ROWS, number, name)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    P = probabilities(machine, A, a, B)
                found.append((expected_calibration_error(P, b), log_loss(b, P)))
            error, loss = np.mean(found, axis=0)
            cells.append(f"{error:.3f} / {loss:.3f}")
        print(f"{title:36}" + "".join(f"{cell:>15}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
