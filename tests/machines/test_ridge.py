"""Ridge machines against scikit-learn, against leaving one out, and as interpolation."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

import gramsmith as gs
from oracle import learning as textbook
from papers import tan
from tools.machine_zoo import points, strings


def curve(rng, n=60):
    x = np.sort(rng.uniform(-3, 3, size=n))[:, None]
    return x, np.sin(x[:, 0]) + 0.1 * rng.normal(size=n)


def test_against_kernel_ridge(rng):
    X, y = curve(rng)
    Y = np.column_stack([y, y**2])
    ours = gs.KernelRidgeRegressor(gs.Gaussian(1.0), alpha=0.3, fit_intercept=False).fit(X, Y)
    theirs = KernelRidge(kernel="rbf", gamma=0.5, alpha=0.3).fit(X, Y)
    np.testing.assert_allclose(ours.coefficients_, theirs.dual_coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.predict(X + 0.1), theirs.predict(X + 0.1), atol=1e-9)


def test_choice_among_regularisers(rng):
    X, y = curve(rng, n=25)
    K, alphas = gs.Gaussian(1.0)(X), np.logspace(-4, 1, 6)
    machine = gs.KernelRidgeRegressor("precomputed", alphas=alphas).fit(K, y)
    slow = [np.mean(textbook.ridge_leave_one_out(K, y, a, intercept=True) ** 2) for a in alphas]
    np.testing.assert_allclose(machine.loo_errors_, slow, rtol=1e-6)
    assert machine.alpha_ == alphas[np.argmin(slow)]


def test_classification_error_of_leave_one_out():
    X, y = points(30, classes=3)
    K, alphas = gs.Gaussian(1.0)(X), np.logspace(-3, 1, 5)
    machine = gs.KernelRidgeClassifier("precomputed", alphas=alphas, criterion="error").fit(K, y)
    Y = 2.0 * np.eye(3)[y] - 1.0
    for alpha, found in zip(alphas, machine.loo_errors_, strict=True):
        left = np.column_stack(
            [Y[:, c] - textbook.ridge_leave_one_out(K, Y[:, c], alpha, True) for c in range(3)]
        )
        assert found == pytest.approx(np.mean(left.argmax(axis=1) != y), abs=1e-6)


def test_zero_interpolates(rng):
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    machine = gs.KernelRidgeRegressor(gs.Gaussian(1.0), alpha=0.0).fit(X, y)
    np.testing.assert_allclose(machine.predict(X), y, atol=1e-8)
    assert machine.alpha_ == machine.jitter_ == 0.0


def test_equal_rows_interpolate_their_mean_with_stated_jitter(rng):
    X, y = rng.normal(size=(10, 2)), rng.normal(size=20)
    machine = gs.KernelRidgeRegressor(gs.Laplacian(1.0), alpha=0.0, fit_intercept=False)
    machine.fit(np.vstack([X, X]), y)
    assert machine.jitter_ > 0
    np.testing.assert_allclose(machine.predict(X), 0.5 * (y[:10] + y[10:]), atol=1e-6)


def test_shapes_of_targets(rng):
    X, y = curve(rng)
    for Y in (y, y[:, None], np.column_stack([y, y])):
        assert gs.KernelRidgeRegressor(gs.Gaussian()).fit(X, Y).predict(X).shape == Y.shape


def test_digits_of_paper_001(data_dir):
    """Kernel interpolation gives Table 2 of Tan et al. (001): recognition of USPS 8 against 9."""
    z = np.load(data_dir / "usps" / "usps.npz")
    eight, nine = (z["X"][z["y"] == d].astype(float) for d in (8, 9))
    X, new = np.vstack([eight[:100], nine[:100]]), np.vstack([eight[100:], nine[100:]])
    y, truth = np.repeat([1, -1], 100), np.repeat([1, -1], 1000)
    narrow, narrow_new = gs.Gaussian(tan.SIGMA1)(X), gs.Gaussian(tan.SIGMA1)(new, X)
    table = np.array([row.split() for row in tan.TABLE_2.split("\n") if row], dtype=float)
    for k, sigma in enumerate(tan.SIGMAS[1:]):
        wide, wide_new = gs.Gaussian(float(sigma))(X), gs.Gaussian(float(sigma))(new, X)
        for u, printed in zip(tan.U, table[:, k], strict=True):
            machine = gs.KernelRidgeClassifier("precomputed", alpha=0.0, fit_intercept=False)
            machine.fit(u * narrow + (1 - u) * wide, y)
            found = machine.score(u * narrow_new + (1 - u) * wide_new, truth)
            assert found == pytest.approx(printed, abs=6e-4), (u, sigma)


def test_left_out_residuals_at_the_regulariser_in_use(rng):
    X = rng.normal(size=(25, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=25)
    machine = gs.KernelRidgeRegressor(gs.Gaussian(1.0)).fit(X, y)
    for i in (0, 7, 24):
        rest = np.arange(25) != i
        without = gs.KernelRidgeRegressor(gs.Gaussian(1.0), alpha=machine.alpha_)
        left = y[i] - without.fit(X[rest], y[rest]).predict(X[[i]])[0]
        assert machine.loo_residuals_[i] == pytest.approx(left, rel=1e-6)


def test_left_out_errors_are_shares(rng):
    """Equal shares are decided by the residuals, which leave no trace in the shares."""
    X = rng.normal(size=(50, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=50) > 0).astype(int)
    kernel = gs.Gaussian(1.0)
    machine = gs.KernelRidgeClassifier(kernel, criterion="error").fit(X, y)
    wrong = 50 * machine.loo_errors_
    np.testing.assert_allclose(wrong, np.round(wrong), atol=1e-12)
    squared = gs.KernelRidgeClassifier(kernel, alphas=machine.alphas_).fit(X, y).loo_errors_
    best = np.flatnonzero(wrong == wrong.min())
    assert machine.alpha_ == machine.alphas_[best[np.argmin(squared[best])]]


# ---- landmarks and conjugate gradients agree with the dense machine --------------------------


def surface(rng, n=300):
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.sin(X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=n)


@pytest.mark.parametrize("intercept", [False, True])
def test_conjugate_gradients_solve_the_same_system(rng, intercept):
    X, y = surface(rng)
    w = rng.integers(1, 4, size=300)
    options = {"alpha": 0.1, "fit_intercept": intercept}
    dense = gs.KernelRidgeRegressor(gs.Gaussian(1.0), **options).fit(X, y, sample_weight=w)
    cg = gs.KernelRidgeRegressor(
        gs.Gaussian(1.0), solver="cg", n_landmarks=50, tol=1e-10, random_state=0, **options
    ).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(cg.predict(X), dense.predict(X), atol=1e-6)
    assert cg.n_iter_ > 1


def test_all_samples_as_landmarks_are_the_dense_machine(rng):
    X, y = surface(rng, n=80)
    dense = gs.KernelRidgeRegressor(gs.Laplacian(1.0), alphas=[0.01, 0.1, 1.0]).fit(X, y)
    thin = gs.KernelRidgeRegressor(
        gs.Laplacian(1.0), alphas=[0.01, 0.1, 1.0], solver="nystroem", n_landmarks=80
    ).fit(X, y)
    np.testing.assert_allclose(thin.loo_errors_, dense.loo_errors_, rtol=1e-5)
    np.testing.assert_allclose(thin.predict(X), dense.predict(X), atol=1e-5)


@pytest.mark.parametrize("criterion", ["squared", "error"])
def test_landmarks_are_met_in_blocks(rng, sizes, criterion):
    """However many rows are in work at once, and whether they are held or computed again."""
    X, y = points(90, classes=3)
    w = rng.integers(1, 3, size=90)
    options = {"solver": "nystroem", "n_landmarks": 20, "random_state": 0, "criterion": criterion}
    machine = gs.KernelRidgeClassifier(gs.Gaussian(1.5), **options)
    once = clone(machine).fit(X, y, sample_weight=w)
    sizes("machines.landmarks", BLOCK_ROWS=7, KEPT=0.0)
    blocks = clone(machine).fit(X, y, sample_weight=w)
    assert blocks.alpha_ == pytest.approx(once.alpha_)
    np.testing.assert_allclose(blocks.loo_errors_, once.loo_errors_, rtol=1e-8)
    np.testing.assert_allclose(blocks.loo_residuals_, once.loo_residuals_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(blocks.decision_function(X), once.decision_function(X), atol=1e-7)


def test_landmarks_lose_no_class(rng):
    X, y = rng.normal(size=(300, 2)), np.r_[np.zeros(297, int), np.ones(3, int)]
    for seed in (0, None, np.random.RandomState(1)):
        machine = gs.KernelRidgeClassifier(solver="nystroem", n_landmarks=20, random_state=seed)
        assert set(y[machine.fit(X, y).support_]) == {0, 1}
        assert len(machine.support_) <= 20


def test_auto_says_which_solver_it_takes(rng, sizes, capsys):
    X, y = surface(rng, n=50)
    machine = gs.KernelRidgeRegressor(
        gs.Gaussian(1.0), alpha=0.1, n_landmarks=20, random_state=0, verbose=True
    )
    assert machine.fit(X, y).solver_ == "eigen"
    sizes("machines.landmarks", HELD_ROWS=40)
    assert machine.fit(X, y).solver_ == "cg"
    assert "solver 'cg'" in capsys.readouterr().out
    # many products: a regulariser far below what the landmarks leave
    hard = clone(machine).set_params(alpha=1e-9, n_landmarks=2)
    assert hard.fit(X, y).solver_ == "nystroem"
    assert "solver 'nystroem'" in capsys.readouterr().out
    sizes("machines.landmarks", CG_ROWS=45)
    assert machine.fit(X, y).solver_ == "nystroem"


def test_estimated_leave_one_out_is_near_the_exact_one(rng):
    X, y = surface(rng)
    Y = np.column_stack([y, X[:, 0] ** 2])
    w = rng.uniform(0.5, 2.0, size=300)
    exact = gs.KernelRidgeRegressor(gs.Gaussian(1.0), alpha=0.3).fit(X, Y, sample_weight=w)
    options = {"solver": "cg", "n_landmarks": 60, "random_state": 0}
    cg = gs.KernelRidgeRegressor(gs.Gaussian(1.0), alpha=0.3, **options)
    cg.fit(X, Y, sample_weight=w)
    np.testing.assert_allclose(cg.estimated_loo_residuals_, exact.loo_residuals_, atol=2e-3)
    assert cg.estimated_loo_error_ == pytest.approx(exact.loo_errors_[0], rel=1e-3)
    assert cg.residual_ <= cg.tol
    assert not hasattr(cg, "loo_residuals_")
    assert cg.fit(X, y).estimated_loo_residuals_.shape == (300,)


def test_single_precision_products_are_corrected(rng, sizes):
    X, y = surface(rng)
    sizes("machines.ridge", ROUGH_ROWS=100)
    dense = gs.KernelRidgeRegressor(gs.Gaussian(1.0), alpha=0.1).fit(X, y)
    cg = gs.KernelRidgeRegressor(
        gs.Gaussian(1.0), alpha=0.1, solver="cg", n_landmarks=30, tol=1e-11
    ).fit(X, y)
    np.testing.assert_allclose(cg.coefficients_[:, 0], dense.coefficients_[:, 0], atol=1e-7)


def test_classifier_and_strings_take_the_routes():
    X, y = points(90, classes=3)
    texts, labels = strings(60)
    for solver in ("nystroem", "cg"):
        options = {"solver": solver, "n_landmarks": 30, "random_state": 0}
        assert gs.KernelRidgeClassifier(gs.Gaussian(1.5), **options).fit(X, y).score(X, y) > 0.7
        machine = gs.KernelRidgeClassifier(gs.Normalized(gs.Spectrum(3)), **options)
        assert machine.fit(texts, labels).score(texts, labels) > 0.9


def test_landmarks_of_an_indefinite_kernel_say_what_they_do(rng):
    X = rng.normal(size=(60, 3))
    K = np.tanh(X @ X.T - 1.0)
    with pytest.warns(UserWarning, match="set to zero"):
        gs.KernelRidgeClassifier("precomputed", solver="nystroem").fit(K, X[:, 0] > 0)


@pytest.mark.parametrize("solver", ["eigen", "nystroem", "cg"])
def test_a_kernel_of_zeros_predicts_the_mean(solver):
    y = np.arange(30.0)
    machine = gs.KernelRidgeRegressor("linear", solver=solver).fit(np.zeros((30, 2)), y)
    np.testing.assert_allclose(machine.predict(np.zeros((2, 2))), y.mean())


def test_a_constant_target_takes_the_largest_regulariser(rng):
    X = rng.normal(size=(50, 3))
    machine = gs.KernelRidgeRegressor(solver="cg").fit(X, np.full(50, 3.0))
    assert machine.alpha_ == machine.alphas_.max()
    assert machine.n_iter_ < 20
    np.testing.assert_allclose(machine.predict(X), 3.0)


@pytest.mark.parametrize("criterion", [None, "squared", "error"])
def test_conjugate_gradients_choose_among_neighbours_by_the_same_products(rng, criterion):
    # the candidates around the one that landmarks prefer, each as if it were solved for alone
    X = rng.normal(size=(300, 3))
    f = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=300)
    kind, more, y = gs.KernelRidgeRegressor, {}, f
    if criterion is not None:
        kind, more, y = gs.KernelRidgeClassifier, {"criterion": criterion}, np.digitize(f, [0, 0.8])
    options = {"n_landmarks": 120, "random_state": 0, "tol": 1e-10, **more}
    w = rng.uniform(0.5, 2.0, size=300)
    found = kind(gs.Gaussian(1.0), solver="cg", **options).fit(X, y, sample_weight=w)
    assert len(found.cg_alphas_) == 3
    assert found.alpha_ == found.cg_alphas_[np.argmin(found.estimated_loo_errors_)]
    alone = []
    for alpha, estimate in zip(found.cg_alphas_, found.estimated_loo_errors_, strict=True):
        exact = kind(gs.Gaussian(1.0), alpha=alpha, **more).fit(X, y, sample_weight=w)
        assert estimate == pytest.approx(exact.loo_errors_[0], rel=0.1)
        alone.append(exact)
    best = alone[int(np.argmin(found.estimated_loo_errors_))]
    values = [getattr(m, "decision_function", m.predict)(X) for m in (found, best)]
    np.testing.assert_allclose(*values, atol=1e-7)


def test_the_trace_that_probes_know_mends_estimates_of_few_landmarks(rng):
    X = rng.normal(size=(400, 3))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=400)
    exact = gs.KernelRidgeRegressor(gs.Gaussian(1.0), alpha=0.02).fit(X, y)
    options = {"alpha": 0.02, "solver": "cg", "n_landmarks": 60, "random_state": 0}
    found = gs.KernelRidgeRegressor(gs.Gaussian(1.0), **options).fit(X, y)
    assert 0.6 < found.estimated_loo_error_ / exact.loo_errors_[0] < 1.1  # 0.4 by landmarks alone


def test_no_regulariser_above_zero_is_refused_by_conjugate_gradients(rng):
    X, y = surface(rng, n=50)
    for options in ({"alphas": [0.0, 0.0]}, {"alpha": 0.0}):
        with pytest.raises(ValueError, match="expected alpha > 0 with solver='cg'"):
            gs.KernelRidgeRegressor(solver="cg", **options).fit(X, y)


def test_there_are_as_many_landmarks_as_were_asked_for(rng):
    X, y = rng.normal(size=(400, 3)), np.arange(400) % 20
    for size in (5, 20, 37):
        machine = gs.KernelRidgeClassifier(solver="nystroem", n_landmarks=size).fit(X, y)
        assert machine.n_landmarks_ == len(machine.support_) == size
        assert len(np.unique(y[machine.support_])) >= min(size, 20)
