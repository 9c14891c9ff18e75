"""Learned transforms on the four data sets of Pothin & Richard (000), beside NCA and an SVM.

The comparison with distance metric learning that the paper leaves for later: alignment on training
and held-out samples along the path, and the test error of a support vector machine on top.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import gramsmith as gs
from benchmarks.learning import TABLE_3, data_folder

STRUCTURES = ("full", "diagonal", "low_rank")


def paths(X: np.ndarray, y: np.ndarray) -> dict[str, gs.TransformLearner]:
    """Return a learner per structure that watched a held-out part all along its path."""
    found = {}
    for structure in STRUCTURES:
        learner = gs.TransformLearner(
            structure=structure,
            rank=min(2, X.shape[1]) if structure == "low_rank" else None,
            early_stopping=True,
            patience=1000,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found[structure] = learner.fit(X, y)
    return found


def sample(values: np.ndarray, best: int) -> str:
    """Return the start, the chosen iterate and the end of a path."""
    return f"{values[0]:.3f} > {values[best]:.3f} > {values[-1]:.3f}"


def main() -> None:
    """Print one table per data set."""
    folder = data_folder()
    if folder is None:
        print("\nLearned transforms: needs the data folder, set GRAMSMITH_DATA")
        return
    for name in TABLE_3:
        z = np.load(folder / name / f"{name}.npz")
        train, test = z["train"][0], z["test"][0]
        X, y = z["X"][train], z["y"][train].astype(int)
        X_new, y_new = z["X"][test], z["y"][test].astype(int)

        def error(machine: object, data: tuple = (X, y, X_new, y_new)) -> float:
            X, y, X_new, y_new = data
            return 100.0 * (1.0 - machine.fit(X, y).score(X_new, y_new))  # type: ignore[attr-defined]

        title = f"{name}: centred alignment at start > best held-out > end, test error of an SVC"
        print(f"\n{title}\n{'-' * len(title)}")
        print(f"{'':<12}{'training':<26}{'held out':<26}{'iterations':<12}error")
        for structure, learner in paths(X, y).items():
            history = learner.history_
            best = int(np.argmax(history["held_out"]))
            columns = (sample(history[k], best) for k in ("value", "held_out"))
            first, second = columns
            wrong = error(SVC(kernel=learner.kernel_))
            print(f"{structure:<12}{first:<26}{second:<26}{best:<12}{wrong:.1f} %")
        rivals = {
            "isotropic": SVC(),
            "NCA": make_pipeline(NeighborhoodComponentsAnalysis(random_state=0), SVC()),
            "NCA, rank 2": make_pipeline(
                NeighborhoodComponentsAnalysis(n_components=min(2, X.shape[1]), random_state=0),
                SVC(),
            ),
        }
        for label, machine in rivals.items():
            print(f"{label:<76}{error(machine):.1f} %")


if __name__ == "__main__":
    main()
