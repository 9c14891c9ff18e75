"""Eight threads that use one kernel, one set of samples or one fitted machine: the same bits."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

import gramsmith as gs
from tools.machine_zoo import MACHINES, learners, points, strings

THREADS = 8


def at_once(work):
    """Return what `work` gives in each of eight threads that begin together."""
    gate = threading.Barrier(THREADS)

    def one(_):
        gate.wait()
        return work()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(one, range(THREADS)))


def assert_same_bits(work):
    """Assert that eight threads at once get the arrays that one thread gets alone."""
    alone = [np.asarray(part) for part in work()]
    for found in at_once(work):
        for part, expected in zip(found, alone, strict=True):
            np.testing.assert_array_equal(part, expected)


@pytest.fixture(autouse=True)
def quiet():
    """Set filters once: `catch_warnings` inside a thread would change them for all threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.__name__)
def test_machines(machine):
    X, codes = points(48)
    y = codes if is_classifier(machine()) else codes + np.sin(X[:, 0])
    kernel = gs.Gaussian(2.0) + 0.1 * gs.Linear()

    def fit():
        fitted = machine(kernel).fit(X, y)
        return fitted.predict(X), fitted.coefficients_

    assert_same_bits(fit)
    shared = machine(kernel).fit(X, y)
    assert_same_bits(lambda: [shared.predict(X)])


@pytest.mark.parametrize("learner", learners(), ids=lambda learner: type(learner).__name__)
def test_learners(learner):
    X, y = points(48)

    def fit():
        return [clone(learner).fit(X, y).kernel_(X)]

    assert_same_bits(fit)


def test_evaluate():
    X, y = points(120)
    kernels = {"gaussian": gs.Gaussian(1.3), "laplacian": gs.Laplacian(1.2), "linear": gs.Linear()}

    def measure():
        cells = gs.evaluate(kernels, X, y, n_jobs=2).cells.values()
        return [[cell.value for cell in cells], [cell.error for cell in cells]]

    assert_same_bits(measure)


def test_one_gram():
    # what a Gram keeps of its first sweep is made by eight threads at once
    X, y = points(120)
    expected = gs.cka(gs.Gram(gs.Gaussian(1.3), X), y)
    shared = gs.Gram(gs.Gaussian(1.3), X)
    assert at_once(lambda: gs.cka(shared, y)) == [expected] * THREADS


def test_strings():
    texts, y = strings(30)

    def fit():
        kernel = gs.Normalized(gs.Spectrum(3) + gs.Subsequence(2, 0.5))
        return [kernel(texts), gs.KernelRidgeClassifier(kernel).fit(texts, y).predict(texts)]

    assert_same_bits(fit)


def test_rankings():
    X, y = points(60)

    def rank():
        found = gs.rank_kernels(X, y, [gs.Gaussian(1.5), gs.Linear()], random_state=0, n_jobs=1)
        return [[record["score"] for record in found.records], found.estimate.value]

    assert_same_bits(rank)
