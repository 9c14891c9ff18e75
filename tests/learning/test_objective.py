import warnings
from functools import partial

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

import gramsmith as gs
from gramsmith.learning import OBJECTIVES
from gramsmith.learning.coordinates import make_coordinates
from gramsmith.learning.objective import (
    KernelFisher,
    KernelObjective,
    MarginalLikelihood,
    RadiusMargin,
    RidgeLeaveOneOut,
    get_objective,
    get_projection,
    held_out_measure,
    responses,
)
from gramsmith.measures import MEASURES, Undefined
from gramsmith.solvers import RidgePath, solve_l2svm
from gramsmith.targets import make_target
from oracle import golden
from oracle import textbook as tb
from oracle.plain_learners import KernelLearner

K = golden.K
S = np.array([[0.7, 0.1], [0.2, 0.6], [0.1, 0.3]])
KERNELS = {
    "full map": gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(S),
    "diagonal map": gs.Laplacian(1.0, norm="l2") @ gs.LinearMap(S[:, 0]),
    "expression": 0.5 * gs.Gaussian(np.array([1.0, 2.0, 0.5])) + gs.Polynomial(2),
}
TARGETS = {"binary": golden.y, "classes": golden.lab, "values": golden.yr}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", [*MEASURES, *OBJECTIVES])
def test_gradient_equals_differences(name, kernel, target):
    kernel = KERNELS[kernel]
    try:
        objective = KernelObjective(name, golden.X, make_target(TARGETS[target]), C=10.0)
    except Undefined:
        pytest.skip("not defined for this target")
    coordinates = make_coordinates(kernel)
    theta = coordinates.read(kernel)
    value, gradient = objective.value_and_gradient(kernel)
    if not np.isfinite(value):
        assert gradient == {}
        return

    def at(point):
        coordinates.write(kernel, point)
        return objective.value(kernel)

    gradient = coordinates.gradient(kernel, gradient)
    step = 1e-5
    differences = [
        (at(theta + step * e) - at(theta - step * e)) / (2 * step) for e in np.eye(len(theta))
    ]
    coordinates.write(kernel, theta)
    assert value == pytest.approx(objective.value(kernel), rel=1e-12)
    scale = np.abs(differences).max()
    np.testing.assert_allclose(gradient, differences, atol=2e-5 * scale + 1e-9)


EDGES = {  # of the regularisers tried: what the kernel explains, and what it makes worse
    "smallest": lambda K: np.linalg.eigh(K)[1] @ np.linalg.eigh(K)[0],
    "largest": lambda K: np.linalg.eigh(K)[1][:, 1],
}


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e15])
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("name", ["marginal_likelihood", "ridge_loo"])
def test_gradient_at_the_edge_of_the_regularisers(name, edge, scale, rng):
    X = rng.normal(size=(25, 3))
    kernel = 0.4 * gs.Gaussian(0.8) + gs.Linear() @ gs.LinearMap(np.array([1.0, 0.5, 0.2]))
    y = scale * EDGES[edge](kernel(X))
    objective = KernelObjective(name, X, make_target(y))
    coordinates = make_coordinates(kernel)
    theta = coordinates.read(kernel)
    gradient = coordinates.gradient(kernel, objective.value_and_gradient(kernel)[1])
    share = objective.objective.alpha / kernel(X).diagonal().mean()
    assert share == pytest.approx({"smallest": 1e-8, "largest": 1e4}[edge])
    change = 1e-4 * rng.normal(size=(3, len(theta)))

    def at(point):
        coordinates.write(kernel, point)
        return objective.value(kernel)

    differences = [at(theta + c) - at(theta - c) for c in change]
    np.testing.assert_allclose(2.0 * change @ gradient, differences, rtol=1e-4)


def test_leave_one_out_takes_weights(rng):
    """Whole rows are left out, and weights times a number change nothing."""
    X, y, w = rng.normal(size=(20, 2)), rng.normal(size=20), rng.uniform(0.2, 3.0, 20)
    K, criterion = gs.Gaussian([1.0, 0.7])(X) + 0.1 * np.eye(20), RidgeLeaveOneOut()
    value, dK = criterion(K, make_target(y, sample_weight=w), True)
    left = np.zeros(20)
    for i in range(20):
        rows = np.arange(20) != i
        part = RidgePath(K[np.ix_(rows, rows)], y[rows], sample_weight=20.0 * w[rows] / w.sum())
        fit = part.solve(criterion.alpha)
        left[i] = y[i] - K[i, rows] @ fit.coef - fit.intercept
    assert value == pytest.approx(np.average(left**2, weights=w), rel=1e-9)
    again, _ = RidgeLeaveOneOut()(K, make_target(y, sample_weight=2.0**20 * w), True)
    assert again == value
    E = 1e-5 * rng.normal(size=(20, 20))
    E = E + E.T
    up, down = (
        RidgeLeaveOneOut()(K + s * E, make_target(y, sample_weight=w), False)[0] for s in (1, -1)
    )
    assert 2.0 * np.vdot(dK, E) == pytest.approx(up - down, rel=1e-4)


@pytest.mark.parametrize("name", ["marginal_likelihood", "ridge_loo"])
def test_gradient_for_an_indefinite_matrix(name, rng):
    B = np.tanh(golden.X @ golden.X.T - 1.0)
    criterion, target = OBJECTIVES[name](), make_target(golden.yr)
    E = rng.normal(size=(12, 12))
    E = 1e-5 * (E + E.T)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it is not positive semidefinite
        _, dK = criterion(B, target, True)
        difference = criterion(B + E, target, False)[0] - criterion(B - E, target, False)[0]
    assert 2.0 * np.vdot(dK, E) == pytest.approx(difference, rel=1e-4)


def test_an_objective_of_ones_own_is_followed_to_the_parameters(rng):
    kernel = gs.Gaussian(0.8)
    W = rng.normal(size=(12, 12))
    W = W + W.T
    D = ((golden.X[:, None] - golden.X) ** 2).sum(axis=2)
    expected = np.sum(W * kernel(golden.X) * D) / 0.8**3

    class Inner:
        name, higher_is_better = "inner", True

        def __call__(self, K, target, derivative):
            return np.vdot(W, K), W if derivative else None

    objective = KernelObjective(Inner(), golden.X, make_target(golden.y))
    value, slopes = objective.value_and_gradient(kernel)
    assert value == pytest.approx(np.sum(W * kernel(golden.X)))
    assert slopes["length_scale"] == pytest.approx(expected)


def test_golden_derivatives():
    """The map at I/sqrt 2 is the Gaussian of width one."""
    kernel = gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(np.eye(3) / np.sqrt(2))
    target = make_target(golden.y)
    for name, key in (("kta", "d_kta_d_S_diag"), ("fsm", "d_fsm_d_S_diag")):
        _, gradient = KernelObjective(name, golden.X, target).value_and_gradient(kernel)
        expected, tolerance = golden.GOLDEN[key]
        np.testing.assert_allclose(np.diag(gradient["map__S"]), expected, atol=tolerance)
    _, gradient = KernelObjective("kta", golden.X, target).value_and_gradient(kernel)
    assert gradient["map__S"][0, 1] == pytest.approx(golden.GOLDEN["d_kta_d_S_01"][0], abs=1e-8)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_kernel_that_tells_the_classes_apart_is_better(name, rng):
    X = rng.normal(size=(40, 2))
    y = np.arange(40) % 2
    objective = KernelObjective(name, X + 4.0 * y[:, None], make_target(y))
    noise = KernelObjective(name, X, make_target(y))
    kernel = gs.Gaussian(2.0)
    assert objective.sign * objective.value(kernel) > noise.sign * noise.value(kernel)


@pytest.mark.parametrize("measure", ["accuracy", 3, RadiusMargin, None])
def test_unknown_objectives_are_told_what_there_is(measure):
    with pytest.raises(ValueError, match=r"kta, cka.*kernel_fisher, or an object with name.*got"):
        get_objective(measure)


def test_objects_are_taken_as_names_are():
    assert get_objective("cka") is get_objective(MEASURES["cka"]) is MEASURES["cka"]


@pytest.mark.parametrize(
    ("typed", "meant"), [("cka_debaised", "cka_debiased"), ("rigde_loo", "ridge_loo")]
)
def test_a_slip_of_the_pen_is_answered_by_what_was_meant(typed, meant):
    with pytest.raises(ValueError, match=f"Did you mean '{meant}'"):
        gs.TransformLearner(measure=typed).fit(golden.X, golden.y)
    target = make_target(golden.y)
    by_name = KernelObjective("radius_margin", golden.X, target, C=10.0)
    by_object = KernelObjective(RadiusMargin(10.0), golden.X, target)
    assert by_name.value(gs.Gaussian(1.0)) == by_object.value(gs.Gaussian(1.0))


def test_a_learned_object_is_left_alone():
    bound = RadiusMargin(10.0)
    KernelLearner(gs.Gaussian(1.0), bound, max_iter=50).fit(golden.X, golden.y)
    assert bound.ball is None


@pytest.mark.parametrize("measure", ["fsm", None, MEASURES["fsm"], RadiusMargin()])
def test_closed_forms_are_for_alignments(measure):
    assert get_projection(measure) is None
    assert get_projection(MEASURES["cka"]) == get_projection("cka") == "centred"


def test_held_out_samples_are_judged_by_a_measure():
    assert held_out_measure(MEASURES["kta"]).name == "kta"
    assert held_out_measure(RadiusMargin()).name == "cka"


def test_responses():
    binary = responses(make_target(golden.y))
    np.testing.assert_allclose(binary[:, 0], golden.y - golden.y.mean())
    assert responses(make_target(golden.lab)).shape == (12, 3)
    np.testing.assert_allclose(
        responses(make_target(golden.yr))[:, 0], golden.yr - golden.yr.mean()
    )


def test_marginal_likelihood_is_a_density():
    criterion, target = MarginalLikelihood(), make_target(golden.yr)
    value, _ = criterion(K, target, False)
    y = golden.yr - golden.yr.mean()
    A = K + criterion.alpha * np.eye(12)
    s = y @ np.linalg.solve(A, y) / 12
    assert 12 * value == pytest.approx(multivariate_normal(np.zeros(12), s * A).logpdf(y))


def test_marginal_likelihood_takes_the_best_noise():
    criterion, target = MarginalLikelihood(), make_target(golden.yr)
    best, _ = criterion(K, target, False)
    y = golden.yr - golden.yr.mean()
    for alpha in np.logspace(-6, 2, 30):
        A = K + alpha * np.eye(12)
        s = y @ np.linalg.solve(A, y) / 12
        assert multivariate_normal(np.zeros(12), s * A).logpdf(y) / 12 <= best + 1e-9


def test_ridge_error_is_leave_one_out():
    criterion, target = RidgeLeaveOneOut(), make_target(golden.yr)
    value, _ = criterion(K, target, False)
    residuals = tb.ridge_leave_one_out(K, golden.yr, criterion.alpha, intercept=True)
    assert value == pytest.approx(np.mean(residuals**2))


def fisher_criterion(K, y):
    return gs.KernelFisherDiscriminant("precomputed").fit(K, y).criterion_


@pytest.mark.parametrize("y", [golden.y, golden.lab])
def test_fisher_is_the_criterion_of_the_machine(y):
    value, _ = KernelFisher()(K, make_target(y), False)
    assert value == pytest.approx(fisher_criterion(K, y), rel=1e-12)


def test_fisher_of_an_indefinite_matrix(rng):
    B = np.tanh(golden.X @ golden.X.T - 1.0)
    criterion, target = KernelFisher(), make_target(golden.y)
    value, dK = criterion(B, target, True)
    assert value == pytest.approx(fisher_criterion(gs.nearest_psd(B), golden.y), rel=1e-6)
    E = rng.normal(size=(12, 12))
    E = 1e-6 * (E + E.T)
    difference = criterion(B + E, target, False)[0] - criterion(B - E, target, False)[0]
    assert 2.0 * np.vdot(dK, E) == pytest.approx(difference, rel=1e-4)


@pytest.mark.parametrize("criterion", [RidgeLeaveOneOut, MarginalLikelihood, KernelFisher])
@pytest.mark.parametrize("factor", [1e-3, 50.0])
def test_multiples_of_the_kernel_change_nothing(criterion, factor):
    """The regulariser follows the size of the kernel."""
    target = make_target(golden.yr)
    one, _ = criterion()(K, target, False)
    other, _ = criterion()(factor * K, target, False)
    assert other == pytest.approx(one, rel=1e-4)


@pytest.mark.parametrize(
    ("criterion", "worst"),
    [(RidgeLeaveOneOut, np.inf), (MarginalLikelihood, -np.inf), (KernelFisher, 0.0)],
)
def test_zero_kernel_is_the_worst(criterion, worst):
    assert criterion()(np.zeros((12, 12)), make_target(golden.yr), True)[0] == worst


def test_golden_bound_and_gradient():
    objective = KernelObjective("radius_margin", golden.X, make_target(golden.y), C=10.0)
    kernel = gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(np.eye(3) / np.sqrt(2))
    value, gradient = objective.value_and_gradient(kernel)
    bound = np.exp(value)
    assert bound == pytest.approx(golden.GOLDEN["rmb"][0], abs=1e-6)
    expected, tolerance = golden.GOLDEN["d_rmb_d_S_diag"]
    np.testing.assert_allclose(bound * np.diag(gradient["map__S"]), expected, atol=tolerance)


def test_derivative_is_that_of_the_bound():
    criterion = RadiusMargin(10.0)
    value, dK = criterion(golden.K, make_target(golden.y), True)
    expected, _ = tb.d_radius_margin(golden.K, golden.y, 10.0)
    np.testing.assert_allclose(np.exp(value) * dK, expected, atol=1e-5)


def test_more_classes_add_up():
    value, _ = RadiusMargin(10.0)(golden.K, make_target(golden.lab), False)
    _, r2 = tb.enclosing_ball(golden.K, 10.0)
    w2 = sum(tb.l2_svm(golden.K, np.where(golden.lab == c, 1, -1), 10.0)[2] for c in range(3))
    assert np.exp(value) == pytest.approx(r2 * w2, rel=1e-6)


def test_warm_start_changes_nothing():
    criterion, target = RadiusMargin(10.0), make_target(golden.y)
    for width in (0.5, 0.7, 1.0):
        K = golden.K ** (1 / width**2)
        warm, _ = criterion(K, target, False)
        cold, _ = RadiusMargin(10.0)(K, target, False)
        assert warm == pytest.approx(cold, rel=1e-9)


def test_a_bound_that_is_not_solved_says_so(rng, monkeypatch):
    few = partial(solve_l2svm, max_iter=1)
    monkeypatch.setattr("gramsmith.learning.objective.solve_l2svm", few)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + rng.normal(size=80) > 0
    learner = KernelLearner(gs.Gaussian(5.0), "radius_margin", C=1e6, max_iter=3)
    with pytest.warns(ConvergenceWarning) as told:
        learner.fit(X, y)
    solves = [w for w in told if str(w.message).startswith("radius_margin: expected convergence")]
    assert len(solves) == 1
    assert "lower C" in str(solves[0].message)


def test_needs_classes_and_a_penalty():
    with pytest.raises(Undefined, match="classes"):
        RadiusMargin().check(make_target(golden.yr))
    with pytest.raises(ValueError, match="C > 0"):
        RadiusMargin(0.0).check(make_target(golden.y))
