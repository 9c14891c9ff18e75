"""Every criterion in every learner: laws over both registries."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import gramsmith as gs
from gramsmith.learning import OBJECTIVES
from gramsmith.learning.mixture import SumObjective, climb_shares
from gramsmith.learning.objective import (
    KernelObjective,
    get_objective,
    get_projection,
    stored_name,
)
from gramsmith.learning.two_gaussian import bandwidth_range
from gramsmith.measures import MEASURES, Measure
from gramsmith.targets import make_target

CRITERIA = (*MEASURES, *OBJECTIVES)
MEMBERS = [gs.Gaussian(s) for s in (0.5, 1.0, 2.0, 5.0)]
#: name -> learner that climbs a criterion and keeps all of it
LEARNERS = {
    "diagonal": lambda m: gs.TransformLearner(measure=m, keep=1.0, max_iter=3),
    "full": lambda m: gs.TransformLearner(
        measure=m, structure="full", keep=1.0, max_iter=3, early_stopping=False
    ),
    "parameters": lambda m: gs.KernelLearner(gs.Gaussian(1.5), m, keep=1.0, max_iter=3),
    "two": lambda m: gs.TwoGaussianLearner(measure=m, keep=1.0, n_grid=6, max_iter=5),
    "sum": lambda m: gs.KernelCombination(MEMBERS, measure=m, keep=1.0),
    "spectral": lambda m: gs.SpectralAligner(gs.Gaussian(1.5), measure=m, keep=1.0),
}


class Contrast:
    """The mean similarity within classes minus that between them."""

    name = "contrast"
    higher_is_better = True

    def __call__(self, K, target, derivative):
        T = target.V @ target.M_centred @ target.V.T / len(K) ** 2
        return np.vdot(K, T), T if derivative else None


@pytest.fixture
def parity(rng):
    X = rng.normal(size=(40, 3))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "up", "down")


def quiet(learner, X, y, **options):
    """Return the learner, fitted; that so few iterations do not converge is no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return learner.fit(X, y, **options)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_climbs_every_criterion(name, criterion, parity):
    X, y = parity
    learner = quiet(LEARNERS[name](criterion), X, y)
    K = learner.kernel_(X)
    assert np.isfinite(K).all()
    assert np.linalg.eigvalsh(K).min() > -1e-9 * np.linalg.norm(K)
    objective = KernelObjective(criterion, X, make_target(y))
    sign = objective.sign
    # what the criterion says about the kernel is what the learner says it reached
    if getattr(MEASURES.get(criterion), "scale_invariant", criterion != "radius_margin"):
        assert objective.value(learner.kernel_) == pytest.approx(learner.value_, rel=1e-5)
    start = {
        "sum": lambda: learner.alignments_,
        "two": lambda: [
            objective.value(gs.Gaussian(sigma)) for sigma in np.geomspace(*bandwidth_range(X), 6)
        ],
        "spectral": lambda: [],
    }.get(name, lambda: learner.history_["value"][:1])()
    merits = sign * np.asarray([v for v in start if np.isfinite(v)])
    assert sign * learner.value_ >= merits.max(initial=-np.inf) - 1e-9


@pytest.mark.parametrize("criterion", ["cka", "fsm_loo", "ridge_loo", "marginal_likelihood"])
def test_spectral_weights_are_at_least_those_of_plain_alignment(criterion, parity):
    X, y = parity
    kernel = gs.Gaussian(1.5)
    objective = KernelObjective(criterion, X, make_target(y))
    plain = gs.SpectralAligner(kernel, keep=1.0).fit(X, y)
    found = quiet(gs.SpectralAligner(kernel, measure=criterion, keep=1.0), X, y)
    reached = objective.sign * found.value_
    assert reached > objective.sign * objective.value(plain.kernel_)
    # no step along a weight is uphill
    V = plain.transform(X) / np.sqrt(plain.alphas_)
    for k in range(len(found.alphas_)):
        for factor in (0.8, 1.25):
            alphas = found.alphas_.copy()
            alphas[k] *= factor
            K = (V * alphas) @ V.T
            moved = KernelObjective(criterion, K, make_target(y)).value(gs.Precomputed())
            assert objective.sign * moved <= reached + 2e-3 * abs(reached)


@pytest.mark.parametrize("criterion", ["fsm_loo", "hsic", "ridge_loo", "marginal_likelihood"])
@pytest.mark.parametrize("name", ["two", "sum", "spectral"])
def test_amounts_of_every_criterion_are_cross_fitted(name, criterion, parity, stored):
    X, y = parity
    learner = LEARNERS[name](criterion).set_params(keep="cross_fit", random_state=0)
    quiet(learner, X, y)
    assert learner.keep_ in learner.keep_curve_["amount"]
    again = stored(learner)
    np.testing.assert_array_equal(again.kernel_(X), learner.kernel_(X))
    assert again.measure == criterion


@pytest.mark.parametrize("name", LEARNERS)
def test_objects_of_your_own(name, parity):
    X, y = parity
    learner = quiet(LEARNERS[name](Contrast()), X, y)
    assert np.isfinite(learner.value_)
    twin = Measure("twin", MEASURES["fsm_loo"].formula, False, ("classes",))
    ours, theirs = (quiet(LEARNERS[name](m), X, y) for m in (twin, "fsm_loo"))
    assert ours.value_ == pytest.approx(theirs.value_, rel=1e-6)
    assert stored_name(twin) is twin


@pytest.mark.parametrize("name", LEARNERS)
def test_unknown_criteria_are_refused(name, parity):
    with pytest.raises(ValueError, match="Expected a measure among"):
        LEARNERS[name]("alignment").fit(*parity)


@pytest.mark.parametrize("options", [{"method": "align"}, {"signed": True}])
def test_formulas_of_alignments_say_so(options, parity):
    with pytest.raises(ValueError, match=r"kta, cka, cka_debiased .* got 'ridge_loo'"):
        gs.KernelCombination(MEMBERS, measure="ridge_loo", **options).fit(*parity)


@pytest.mark.parametrize("name", ["two", "sum", "spectral"])
def test_weights_are_heeded_or_refused(name, parity, rng):
    X, y = parity
    w = rng.integers(0, 3, 40).astype(float)
    twice = np.repeat(np.arange(40), w.astype(int))
    by_weight = quiet(LEARNERS[name]("fsm_loo"), X, y, sample_weight=w)
    by_rows = quiet(LEARNERS[name]("cka"), X[twice], y[twice])
    weighted = quiet(LEARNERS[name]("cka"), X, y, sample_weight=w)
    assert np.isfinite(by_weight.value_)
    assert weighted.value_ == pytest.approx(by_rows.value_, rel=1e-3)
    with pytest.raises(ValueError, match="whose solve counts every sample once"):
        LEARNERS[name]("marginal_likelihood").fit(X, y, sample_weight=w)


@pytest.mark.parametrize("criterion", MEASURES)
@pytest.mark.parametrize("weighted", [False, True])
def test_slopes_by_weights_of_a_sum(criterion, weighted, rng):
    y = np.arange(30) % 3
    # without a signal "fsm_loo" is infinite
    X = rng.normal(size=(30, 3)) + 3.0 + 2.0 * np.eye(3)[y]
    target = make_target(y, sample_weight=rng.uniform(1.0, 2.0, 30) if weighted else None)
    kernels = [gs.Gaussian(1.0), 0.1 * gs.Linear(), gs.Gaussian(3.0)]
    moments = gs.Gram(kernels, X).moments(target, cross=True)
    evaluate = SumObjective(criterion, target, moments, list)
    mu, h = rng.uniform(1, 2, 3), 1e-4
    value, slopes = evaluate(mu)
    dense = sum(m * k(X) for m, k in zip(mu, kernels, strict=True))
    there = KernelObjective(criterion, dense, target).value(gs.Precomputed())
    assert value == pytest.approx(there, rel=1e-9)
    wanted = [(evaluate(mu + h * e)[0] - evaluate(mu - h * e)[0]) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(slopes, wanted, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("criterion", OBJECTIVES)
def test_slopes_by_weights_of_a_dense_sum(criterion, parity, rng):
    X, y = parity
    grams = [gs.Gram(kernel, X) for kernel in MEMBERS]
    evaluate = SumObjective(criterion, make_target(y), None, lambda: grams)
    mu, h = rng.uniform(1, 2, 4), 1e-5
    wanted = [(evaluate(mu + h * e)[0] - evaluate(mu - h * e)[0]) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(evaluate(mu)[1], wanted, atol=2e-3 * np.abs(wanted).max())


class Square:
    """A concave number of the weights, NaN without a best point."""

    sign = unit = 1.0

    def __init__(self, best, sizes):
        self.best, self.sizes = best, sizes

    def __call__(self, weights):
        d = weights * self.sizes - self.best
        return -float(d @ d), -2.0 * d * self.sizes


def test_shares_find_a_known_optimum():
    """The sizes of the kernels do not move it."""
    best = np.array([0.6, 0.0, 0.8])  # of length 1
    for sizes in (np.ones(3), np.array([1e-3, 1.0, 1e3])):
        found = climb_shares(Square(best, sizes), sizes, [np.full(3, 1 / 3)], few=False)
        np.testing.assert_allclose(found.theta * sizes, best, atol=1e-3)
    with pytest.raises(ValueError, match="objective is finite"):
        climb_shares(Square(np.nan * best, sizes), sizes, [np.ones(3)], few=False)


@pytest.mark.parametrize("given", [(None, None), (0.7, None), (None, 2.5), (0.7, 2.5)])
def test_mixtures_keep_what_was_given(given, parity):
    X, y = parity
    learner = gs.TwoGaussianLearner(*given, measure="ridge_loo", keep=1.0, n_grid=6).fit(X, y)
    for sigma, wanted in zip((learner.sigma1_, learner.sigma2_), given, strict=True):
        assert wanted is None or sigma == wanted
    objective = KernelObjective("ridge_loo", X, make_target(y))
    assert objective.value(learner.kernel_) == pytest.approx(learner.value_, rel=1e-6)
    assert learner.value_ == learner.history_["value"].min()


def test_a_callback_stops_a_climb_without_a_warning(parity):
    X, y = parity
    rows = []

    def stop(row):
        rows.append(row)
        return len(rows) == 25

    learner = gs.TwoGaussianLearner(measure="ridge_loo", callback=stop, keep=1.0).fit(X, y)
    assert learner.value_ == pytest.approx(min(row["value"] for row in rows))
    assert not hasattr(learner, "surface_")


def test_closed_forms_are_those_of_the_registered_alignments():
    assert [name for name in CRITERIA if get_projection(name)] == ["kta", "cka", "cka_debiased"]
    assert get_projection(MEASURES["cka"]) == "centred"
    assert get_projection(Measure("cka", MEASURES["kta"].formula)) is None
    assert {get_objective(name).higher_is_better for name in CRITERIA} == {True, False}
