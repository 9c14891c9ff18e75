"""Sixty thousand rows: a machine fits, or refuses at once with advice that works."""

import re
import tracemalloc

import numpy as np
import pytest
from sklearn.base import is_classifier

import gramsmith as gs
from gramsmith.gram import Gram
from gramsmith.machines.base import KernelMachine
from tools.machine_zoo import MACHINES

ROWS = 60_000
GIB = 2**30
FITS = (
    gs.CentroidClassifier,
    gs.KernelLogisticRegression,
    gs.KernelLossClassifier,
    gs.KernelRidgeClassifier,
    gs.KernelRidgeRegressor,
    gs.ParzenClassifier,
)


def small(classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    values = X[:, 0] * X[:, 1]
    return X, values > 0 if classes else values


def as_advised(machine, advice, X, y):
    """Do what the message says, on rows that stand for many."""
    if named := re.search(r"Use (Kernel\w+)(?:\(loss='(\w+)'\))?", advice):
        options = {} if named[2] is None else {"loss": named[2]}
        return getattr(gs, named[1])(solver="nystroem", n_landmarks=50, **options).fit(X, y)
    if "max_candidates" in advice:
        return machine(max_candidates=40).fit(X, y)
    if "partial_fit" in advice:
        fitted = machine()
        for part in np.array_split(np.arange(len(X)), 3):
            fitted.partial_fit(X[part], y[part], classes=np.unique(y))
        return fitted
    assert "sample of the rows" in advice
    return machine().fit(X[::3], y[::3])


@pytest.mark.parametrize(
    "machine", [m for m in MACHINES if m not in FITS], ids=lambda m: m.__name__
)
def test_refuses_at_once_and_the_advice_works(machine, monkeypatch):
    def nothing(*args, **options):
        raise AssertionError("kernel values before the refusal")

    classes = is_classifier(machine())
    X = np.random.default_rng(0).normal(size=(ROWS, 2))
    y = X[:, 0] > 0 if classes else X[:, 0]
    with monkeypatch.context() as patch:
        patch.setattr("gramsmith.solvers.memory.physical_memory", lambda: 16.0 * GIB)
        for name in ("toarray", "block", "__matmul__"):
            patch.setattr(Gram, name, nothing)
        with pytest.raises(MemoryError, match="of 60000 x ") as refused:
            machine().fit(X, y)
    X, y = small(classes)
    fitted = as_advised(machine, str(refused.value), X, y)
    assert fitted.score(X, y) > (0.75 if classes else 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("machine", FITS, ids=lambda m: m.__name__)
def test_fits(machine):
    classes = is_classifier(machine())
    X = np.random.default_rng(0).normal(size=(ROWS, 3))
    values = X[:, 0] * X[:, 1]
    y = values > 0 if classes else values
    options = {"n_landmarks": 100} if hasattr(machine(), "n_landmarks") else {}
    assert machine(**options).fit(X, y).score(X[:500], y[:500]) > 0.8


HELD = [m for m in MACHINES if m not in FITS] + [gs.KernelLogisticRegression]


@pytest.mark.parametrize("machine", HELD, ids=lambda m: m.__name__)
def test_a_guard_counts_what_is_held(machine, watched):
    """What a fit asks for is what it takes, so that no fit begins that cannot end."""
    checks = watched(KernelMachine, "_check_memory")
    n, classes = 300, is_classifier(machine())
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    values = X[:, 0] ** 2 + 0.3 * rng.normal(size=n)
    y = X[:, 0] ** 2 > 0.5 if classes else values
    # the features on which it would choose alpha are 300, however many rows there are
    options = {"alpha": 0.1} if machine is gs.KernelLogisticRegression else {}
    machine(**options).fit(X, y)  # threads keep their working arrays
    tracemalloc.start()
    try:
        machine(**options).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    counted = [8 * call.get("copies", 2) * n * call.get("columns", n) for call in checks]
    assert peak <= max(counted) + 8 * n * n / 4  # a quarter for what grows with n alone
