"""The reference values, through the public functions."""

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.measures import MEASURES, get_measure
from gramsmith.targets import make_target
from oracle import golden
from oracle.golden import GOLDEN, K, X, lab, y, yr
from tools.registry import dense_adjoint


def check(name, value):
    expected, tolerance = GOLDEN[name]
    np.testing.assert_allclose(value, expected, rtol=0, atol=tolerance)


@pytest.fixture(params=["array", "gram"])
def G(request):
    return K if request.param == "array" else gs.Gram(gs.Gaussian(1.0), X)


def test_measures(G):
    check("kta", gs.kta(G, y))
    check("cka", gs.cka(G, y))
    check("cka_debiased", gs.cka(G, y, debiased=True))
    check("kta_uneven", gs.kta(G, y, target="imbalanced"))
    check("mmd", gs.mmd(G, y))
    check("fsm_ddof1", gs.fsm(G, y))
    check("fsm_ddof0", gs.fsm(G, y, ddof=0))
    check("fsm_error_ddof1", gs.fsm_error_bound(G, y))
    check("fsm_error_ddof0", gs.fsm_error_bound(G, y, ddof=0))
    check("fsm_loo_ddof1", gs.fsm(G, y, leave_one_out=True))
    check("fsm_loo_ddof0", gs.fsm(G, y, leave_one_out=True, ddof=0))
    check("csm_ddof1", gs.csm(G, y))
    check("csm_ddof0", gs.csm(G, y, ddof=0))
    check("csm_scatter_2", gs.csm(G, y, form="scatter"))


def test_several_classes(G):
    check("kta_3_onehot", gs.kta(G, lab, target="one_hot"))
    check("kta_3_simplex", gs.kta(G, lab))
    check("cka_3", gs.cka(G, lab))
    check("cka_debiased_3", gs.cka(G, lab, debiased=True))
    check("csm_scatter_3", gs.csm(G, lab, form="scatter"))
    F = gs.fsm(G, lab, aggregate="matrix")
    check("fsm_01", F[0, 1])
    check("fsm_02", F[0, 2])
    check("fsm_12", F[1, 2])
    assert gs.fsm(G, lab, aggregate="max") == F.max()


def test_regression(G):
    check("fsm_regression", gs.fsm(G, yr))
    check("fsm_regression_error", gs.fsm_error_bound(G, yr))
    check("regression_half", gs.kta(G, yr))
    check("regression_cka", gs.cka(G, yr))
    check("regression_cka_debiased", gs.cka(G, yr, debiased=True))


@pytest.mark.parametrize("measure", ["kta", "cka", "cka_debiased", "fsm", "csm"])
def test_norms_of_derivatives(measure):
    goal = make_target(y)
    moments = gs.Gram("precomputed", K).moments(goal)
    _, adjoint = MEASURES[measure].value_and_adjoint(moments, goal)
    dK = dense_adjoint(adjoint, moments, goal, K)
    check(f"norm_d_{measure}", np.linalg.norm(dK))


def gradient(measure, kernel):
    goal = make_target(y)
    G = gs.Gram(kernel, X)
    moments = G.moments(goal)
    _, adjoint = get_measure(measure).value_and_adjoint(moments, goal)
    return G.pullback(adjoint, goal, moments)[0].parameters


@pytest.mark.parametrize("measure", ["kta", "cka", "fsm", "csm"])
def test_derivatives_by_the_width(measure):
    check(f"d_{measure}_d_sigma", gradient(measure, gs.Gaussian(1.0))["length_scale"])


def test_derivatives_by_the_transform():
    kernel = gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(np.eye(3) / np.sqrt(2))
    dS = gradient("kta", kernel)["map__S"]
    check("d_kta_d_S_diag", np.diag(dS))
    check("d_kta_d_S_01", dS[0, 1])
    check("d_fsm_d_S_diag", np.diag(gradient("fsm", kernel)["map__S"]))


def test_reference_values():
    n = 9
    labels = np.arange(n) % 2
    identity = np.eye(n)
    assert gs.kta(identity, labels) == pytest.approx(1 / np.sqrt(n))
    assert gs.fsm(identity, labels) == pytest.approx(0.0, abs=1e-14)
    assert gs.fsm(identity, labels, leave_one_out=True) == np.inf
    assert gs.kta(np.ones((n, n)), labels) == pytest.approx(1 / n**2)  # (Σ y)² / n²
    positive = np.random.default_rng(0).random((n, 4))
    low, high = np.bincount(labels)
    bound = np.sqrt(low**2 + high**2) / n
    assert gs.kta(positive @ positive.T, labels) <= bound + 1e-12


def test_equality_case_of_the_fsm_bound():
    G = gs.Gram(gs.Linear(), golden.TIGHT_X)
    assert gs.fsm_error_bound(G, golden.TIGHT_Y, ddof=0) == pytest.approx(
        golden.TIGHT["bound_ddof0"]
    )
    bound = gs.fsm_error_bound(G, golden.TIGHT_Y, ddof=1)
    assert bound == pytest.approx(golden.TIGHT["bound_ddof1"], abs=5e-5)


@pytest.mark.parametrize(("x", "labels", "points"), golden.SIGMA_COUNTEREXAMPLES)
def test_stationary_points_of_the_width(x, labels, points):
    data = np.array(x, dtype=float)[:, None]
    goal = make_target(np.array(labels))
    for sigma, value, _ in points:
        G = gs.Gram(gs.Gaussian(sigma), data)
        moments = G.moments(goal)
        v, adjoint = get_measure("kta").value_and_adjoint(moments, goal)
        slope = G.pullback(adjoint, goal, moments)[0].parameters["length_scale"]
        assert v == pytest.approx(value, abs=1e-5)
        assert slope * sigma == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("angle", [30, 90, 150, 180])
@pytest.mark.parametrize("per_axis", [True, False])
def test_closed_forms_of_two_clouds(angle, per_axis):
    beta, n = np.radians(angle), 400
    means = np.array([[1.0, 0.0], [np.cos(beta), np.sin(beta)]])
    d = np.linalg.norm(means[0] - means[1])
    sd = d / 2 if per_axis else d / (2 * np.sqrt(2))
    gaps = []
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(scale=sd, size=(2 * n, 2))
        data = np.repeat(means, n, axis=0) + noise
        gaps.append(1 - gs.kta(gs.Gram(gs.Linear(), data), np.repeat([0, 1], n)))
    assert np.mean(gaps) == pytest.approx(golden.fig3_kta_gap(beta, per_axis), abs=0.015)
