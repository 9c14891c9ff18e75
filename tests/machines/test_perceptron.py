"""The kernel perceptron against a double loop, in one call or in many."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import gramsmith as gs
from oracle import learning as textbook
from tools.machine_zoo import points, strings


def separable(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1, -1)


def dense(machine, n):
    A = np.zeros((n, machine.coefficients_.shape[1]))
    A[machine.support_] = machine.coefficients_
    return A


def test_against_the_double_loop():
    X, y = separable()
    K = gs.Gaussian(1.0)(X)
    counts, converged = textbook.perceptron(K, y)
    machine = gs.KernelPerceptron("precomputed").fit(K, y)
    assert converged
    assert machine.mistakes_ == 0
    np.testing.assert_array_equal(dense(machine, 40)[:, 0], counts * y)
    assert machine.score(K, y) == 1.0


def several(K, codes, classes, passes):
    """Multi-class perceptron by loops, with the mean of all states on the way."""
    A, mean, steps = np.zeros((len(K), classes)), np.zeros((len(K), classes)), 0
    for _ in range(passes):
        for i in range(len(K)):
            f = [sum(A[j, c] * K[j, i] for j in range(len(K))) for c in range(classes)]
            rival = max((c for c in range(classes) if c != codes[i]), key=lambda c: (f[c], -c))
            if f[codes[i]] <= f[rival]:
                A[i, codes[i]] += 1
                A[i, rival] -= 1
            mean += A
            steps += 1
    return A, mean / steps


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_several_classes_and_the_average(average):
    X, y = points(30, classes=3)
    K = gs.Gaussian(1.0)(X)
    machine = gs.KernelPerceptron("precomputed", max_iter=3, average=average).fit(K, y)
    last, mean = several(K, y, 3, machine.n_iter_)
    np.testing.assert_allclose(dense(machine, 30), mean if average else last, atol=1e-12)


def test_partial_fit_is_one_pass_in_pieces():
    X, y = separable(60)
    whole = gs.KernelPerceptron(gs.Gaussian(1.0)).partial_fit(X, y)
    pieces = gs.KernelPerceptron(gs.Gaussian(1.0))
    for k in range(0, 60, 20):
        pieces.partial_fit(X[k : k + 20], y[k : k + 20], classes=[-1, 1])
    np.testing.assert_array_equal(whole.support_, pieces.support_)
    np.testing.assert_allclose(whole.coefficients_, pieces.coefficients_)
    np.testing.assert_allclose(whole.decision_function(X), pieces.decision_function(X))
    once = gs.KernelPerceptron(gs.Gaussian(1.0), max_iter=1)
    with pytest.warns(ConvergenceWarning):
        once.fit(X, y)
    np.testing.assert_array_equal(once.support_, whole.support_)


@pytest.mark.parametrize("average", [False, True])
def test_partial_fit_goes_on_where_fit_ended(average):
    X, y = separable(60)
    machine = gs.KernelPerceptron(gs.Gaussian(1.0), average=average).fit(X[:30], y[:30])
    before = machine.score(X[30:], y[30:])
    for _ in range(20):
        machine.partial_fit(X[30:], y[30:])
    assert machine.score(X[30:], y[30:]) >= before
    assert machine.score(X, y) > 0.9


def test_partial_fit_of_strings():
    texts, labels = strings(40)
    machine = gs.KernelPerceptron(gs.Normalized(gs.Spectrum(3)), average=True)
    for k in (0, 20, 0, 20):
        machine.partial_fit(texts[k : k + 20], labels[k : k + 20])
    new, truth = strings(20, seed=1)
    assert machine.score(new, truth) > 0.8
    assert len(machine.support_samples_) == len(machine.support_)


def test_new_classes_in_partial_fit():
    X, y = separable(20)
    machine = gs.KernelPerceptron(gs.Gaussian()).partial_fit(X, y)
    with pytest.raises(ValueError, match="new class 7"):
        machine.partial_fit(X, np.where(y == 1, 7, -1))
    with pytest.raises(ValueError, match="classes of the first call"):
        machine.partial_fit(X, y, classes=[-1, 1, 2])
    with pytest.raises(ValueError, match="one class only: 1"):
        gs.KernelPerceptron().partial_fit(X, np.ones(20, dtype=int))
    with pytest.raises(ValueError, match="inconsistent"):
        machine.partial_fit(X, y[:5])


def test_precomputed_kernels_cannot_grow():
    assert not hasattr(gs.KernelPerceptron("precomputed"), "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit"):
        _ = gs.KernelPerceptron("precomputed").partial_fit


def test_shuffled_passes_are_repeatable():
    X, y = separable(60)
    fits = [
        gs.KernelPerceptron(gs.Gaussian(1.0), shuffle=True, random_state=s).fit(X, y)
        for s in (0, 0, 1)
    ]
    np.testing.assert_array_equal(fits[0].coefficients_, fits[1].coefficients_)
    assert not np.array_equal(fits[0].support_, fits[2].support_)


def test_online_machine_has_its_own_kernel():
    X, y = separable()
    kernel = gs.Gaussian(1.0)
    machine = gs.KernelPerceptron(kernel).partial_fit(X, y)
    before = machine.decision_function(X)
    kernel.set_params(length_scale=9.0)
    np.testing.assert_array_equal(machine.decision_function(X), before)


def test_dense_and_sparse_batches():
    X, y = separable()
    dense = gs.KernelPerceptron(gs.Gaussian(1.0)).partial_fit(X, y)
    for first in (np.asarray, sp.csr_array):
        mixed = gs.KernelPerceptron(gs.Gaussian(1.0)).partial_fit(first(X[:20]), y[:20])
        mixed.partial_fit(sp.csr_array(X[20:]), y[20:])
        np.testing.assert_allclose(mixed.decision_function(X), dense.decision_function(X))


def test_a_failed_first_batch_leaves_nothing_behind():
    X, y = separable()
    machine = gs.KernelPerceptron(gs.Gaussian(1.0))
    with pytest.raises(ValueError, match="new class"):
        machine.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(NotFittedError):
        machine.predict(X)
