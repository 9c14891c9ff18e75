import numpy as np
import pytest
from scipy.stats import multivariate_normal

import golden
import gramsmith as gs
import textbook as tb
from gramsmith.learning.criteria import (
    KernelFisher,
    MarginalLikelihood,
    RidgeLeaveOneOut,
    responses,
)
from gramsmith.targets import make_target

K = golden.K


def test_responses():
    binary = responses(make_target(golden.y))
    np.testing.assert_allclose(binary[:, 0], golden.y - golden.y.mean())
    assert responses(make_target(golden.lab)).shape == (12, 3)
    np.testing.assert_allclose(
        responses(make_target(golden.yr))[:, 0], golden.yr - golden.yr.mean()
    )


def test_marginal_likelihood_is_a_density():
    criterion = MarginalLikelihood(make_target(golden.yr))
    value, _ = criterion(K, False)
    y = golden.yr - golden.yr.mean()
    A = K + criterion.alpha * np.eye(12)
    s = y @ np.linalg.solve(A, y) / 12
    assert 12 * value == pytest.approx(multivariate_normal(np.zeros(12), s * A).logpdf(y))


def test_marginal_likelihood_takes_the_best_noise():
    criterion = MarginalLikelihood(make_target(golden.yr))
    best, _ = criterion(K, False)
    y = golden.yr - golden.yr.mean()
    for alpha in np.logspace(-6, 2, 30):
        A = K + alpha * np.eye(12)
        s = y @ np.linalg.solve(A, y) / 12
        assert multivariate_normal(np.zeros(12), s * A).logpdf(y) / 12 <= best + 1e-9


def test_ridge_error_is_leave_one_out():
    criterion = RidgeLeaveOneOut(make_target(golden.yr))
    value, _ = criterion(K, False)
    residuals = tb.ridge_leave_one_out(K, golden.yr, criterion.alpha, intercept=True)
    assert value == pytest.approx(np.mean(residuals**2))


@pytest.mark.parametrize("y", [golden.y, golden.lab])
def test_fisher_is_the_criterion_of_the_machine(y):
    value, _ = KernelFisher(make_target(y))(K, False)
    assert value == pytest.approx(gs.fisher_criterion(K, y), rel=1e-12)


def test_fisher_of_an_indefinite_matrix(rng):
    B = np.tanh(golden.X @ golden.X.T - 1.0)
    criterion = KernelFisher(make_target(golden.y))
    value, dK = criterion(B, True)
    assert value == pytest.approx(gs.fisher_criterion(gs.nearest_psd(B), golden.y), rel=1e-6)
    E = rng.normal(size=(12, 12))
    E = 1e-6 * (E + E.T)
    difference = criterion(B + E, False)[0] - criterion(B - E, False)[0]
    assert 2.0 * np.vdot(dK, E) == pytest.approx(difference, rel=1e-4)


@pytest.mark.parametrize("criterion", [RidgeLeaveOneOut, MarginalLikelihood, KernelFisher])
@pytest.mark.parametrize("factor", [1e-3, 50.0])
def test_multiples_of_the_kernel_change_nothing(criterion, factor):
    """The regulariser follows the size of the kernel."""
    target = make_target(golden.yr)
    one, _ = criterion(target)(K, False)
    other, _ = criterion(target)(factor * K, False)
    assert other == pytest.approx(one, rel=1e-4)


@pytest.mark.parametrize(
    ("criterion", "worst"),
    [(RidgeLeaveOneOut, np.inf), (MarginalLikelihood, -np.inf), (KernelFisher, 0.0)],
)
def test_zero_kernel_is_the_worst(criterion, worst):
    assert criterion(make_target(golden.yr))(np.zeros((12, 12)), True)[0] == worst
