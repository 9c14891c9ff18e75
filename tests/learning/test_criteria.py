import numpy as np
import pytest
from scipy.stats import multivariate_normal

import golden
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


def test_fisher_is_the_best_ratio(rng):
    criterion = KernelFisher(make_target(golden.y))
    value, _ = criterion(K, False)
    classes = [golden.y == c for c in (-1, 1)]
    means = [K[:, c].mean(axis=1) for c in classes]
    N = sum(K[:, c] @ (K[:, c] - m[:, None]).T for c, m in zip(classes, means, strict=True))
    N = N + 1e-3 * np.trace(N) / 12 * np.eye(12)
    # ΔΔ' is the projector on the centred labels: the mean difference times sqrt(n+ n- / n)
    b = (means[1] - means[0]) * np.sqrt(4 * 8 / 12)
    assert value == pytest.approx(b @ np.linalg.solve(N, b))
    for a in rng.normal(size=(50, 12)):
        assert (a @ b) ** 2 / (a @ N @ a) <= value


@pytest.mark.parametrize("criterion", [RidgeLeaveOneOut, MarginalLikelihood, KernelFisher])
@pytest.mark.parametrize("factor", [1e-3, 50.0])
def test_multiples_of_the_kernel_change_nothing(criterion, factor):
    """The regulariser follows the size of the kernel."""
    target = make_target(golden.yr)
    one, _ = criterion(target)(K, False)
    other, _ = criterion(target)(factor * K, False)
    assert other == pytest.approx(one, rel=1e-4)


@pytest.mark.parametrize("criterion", [RidgeLeaveOneOut, MarginalLikelihood, KernelFisher])
def test_zero_kernel_is_the_worst(criterion):
    c = criterion(make_target(golden.yr))
    assert c.sign * c(np.zeros((12, 12)), True)[0] == -np.inf
