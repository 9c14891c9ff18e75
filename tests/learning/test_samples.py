"""Weights of learners say how much rows count; held-out samples keep the shares of classes."""

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.learning.samples import hold_out, make_draw
from gramsmith.targets import make_target
from oracle.plain_learners import KernelLearner, TransformLearner

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Few steps: along many, rounding alone would part two climbs of the same function.
LEARNERS = {
    "diagonal": TransformLearner(max_iter=3),
    "full": TransformLearner(structure="full", early_stopping=False, max_iter=3),
    "low rank": TransformLearner(structure="low_rank", rank=2, random_state=0, max_iter=3),
    "debiased": TransformLearner(measure="cka_debiased", max_iter=3),
    "separability": TransformLearner(measure="fsm", solver="ascent", max_iter=3),
    "linear": TransformLearner("linear", max_iter=3),
    "any kernel": KernelLearner(gs.Gaussian(1.0) + 0.5 * gs.Linear(), "kta", max_iter=3),
    "default kernel": KernelLearner(measure="cka_debiased", max_iter=3),
    "fisher": KernelLearner(gs.Gaussian(1.0), "kernel_fisher", max_iter=3),
    "two Gaussians": gs.TwoGaussianLearner(n_grid=16, keep=1.0),
    "centred Gaussians": gs.TwoGaussianLearner(measure="cka", n_grid=16, keep=1.0),
    "alignf": gs.KernelCombination(keep=1.0),
    "align": gs.KernelCombination([gs.Linear(), None], "align", "cka_debiased", keep=1.0),
    "spectral": gs.SpectralAligner(keep=1.0),
    "spectral, few": gs.SpectralAligner(gs.Gaussian(1.0), n_components=5, keep=1.0),
    "spectral, factor": gs.SpectralAligner(threshold=1e-2, method="cholesky", keep=1.0),
}
# Debiasing counts rows, of which a copy is one more; sums alone do not tell it from a weight.
COUNTING = ("debiased", "separability", "default kernel", "align")
SUMS = {name: learner for name, learner in LEARNERS.items() if name not in COUNTING}


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(50, 4))
    y = np.where(X[:, 0] * X[:, 1] > 0, "up", "down")
    return X, y, rng.integers(0, 4, size=50)


@pytest.mark.parametrize("learner", SUMS.values(), ids=SUMS)
def test_whole_weights_are_repetition_where_nothing_counts_rows(learner, problem):
    X, y, w = problem
    assert (w == 0).any()
    weighted = learner.fit(X, y, sample_weight=w)
    kernel, value = weighted.kernel_(X), weighted.value_
    repeated = learner.fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert value == pytest.approx(repeated.value_, rel=1e-8)
    np.testing.assert_allclose(kernel, repeated.kernel_(X), rtol=1e-5, atol=1e-5)
    # and they matter
    assert abs(value / learner.fit(X, y).value_ - 1.0) > 1e-3


def test_values_and_importances_are_weighted(rng):
    X = rng.normal(size=(60, 3))
    y, w = np.sin(2 * X[:, 0]), rng.integers(0, 4, size=60)
    weighted = TransformLearner(max_iter=3).fit(X, y, sample_weight=w)
    repeated = TransformLearner(max_iter=3).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(
        weighted.feature_importances_, repeated.feature_importances_, atol=1e-6
    )


def test_matrices_and_views_take_weights(problem):
    X, y, w = problem
    kernels = gs.Linear(), gs.Gaussian(0.7), gs.Gaussian(2.0)
    R, u = np.repeat(X, w, axis=0), np.repeat(y, w)
    by_matrix = gs.KernelCombination(keep=1.0).fit([k(X) for k in kernels], y, sample_weight=w)
    by_view = gs.KernelCombination(kernels, keep=1.0).fit((X, X, X), y, sample_weight=w)
    repeated = gs.KernelCombination(kernels, keep=1.0).fit(R, u)
    for found in (by_matrix, by_view):
        np.testing.assert_allclose(found.weights_, repeated.weights_, atol=1e-9)
        assert found.value_ == pytest.approx(repeated.value_, rel=1e-12)


@pytest.mark.parametrize("method", ["eigen", "cholesky"])
def test_strings_take_weights(method, rng):
    texts = ["".join(rng.choice(list("ACGT"), size=12)) for _ in range(30)]
    y, w = np.arange(30) % 3, rng.integers(0, 3, size=30)
    aligner = gs.SpectralAligner(gs.Spectrum(2), method=method, keep=1.0)
    G = aligner.fit(texts, y.tolist(), sample_weight=w).kernel_(texts)
    repeated = [t for t, k in zip(texts, w, strict=True) for _ in range(k)]
    H = aligner.fit(repeated, np.repeat(y, w)).kernel_(texts)
    np.testing.assert_allclose(G, H, atol=1e-9)


@pytest.mark.parametrize(
    "learner",
    [
        TransformLearner(measure="radius_margin"),
        KernelLearner(measure="radius_margin"),
        KernelLearner(measure="marginal_likelihood"),
    ],
    ids=repr,
)
def test_criteria_that_solve_refuse_weights(learner, problem):
    X, y, w = problem
    with pytest.raises(ValueError, match=f"no sample_weight .*{learner.measure}.*Use a measure"):
        learner.fit(X, y, sample_weight=w)


def test_classes_keep_their_proportions():
    y = np.repeat([0, 1], [80, 20])
    learn, held = hold_out(make_target(y), 0.25, np.random.RandomState(0))
    assert np.bincount(y[held]).tolist() == [20, 5]
    assert sorted([*learn, *held]) == list(range(100))


def test_values_are_drawn_at_random():
    y = np.linspace(0, 1, 50)
    learn, held = hold_out(make_target(y), 0.2, np.random.RandomState(0))
    assert (len(learn), len(held)) == (40, 10)


def test_too_few_samples_cannot_be_spared():
    assert hold_out(make_target([0, 0, 0, 1, 1, 1]), 0.2, np.random.RandomState(0)) is None
    assert hold_out(make_target(np.linspace(0, 1, 20)), 0.2, np.random.RandomState(0)) is None


def test_every_class_has_its_share(rng):
    y = np.repeat(["a", "b", "c"], [90, 8, 2])
    target = make_target(y)
    for seed in range(5):
        rows = make_draw(target, np.arange(100), 20, np.random.RandomState(seed))()
        assert np.unique(y[rows], return_counts=True)[1].tolist() == [18, 2, 2]
    with pytest.raises(ValueError, match="batch_size >= 6"):
        make_draw(target, np.arange(100), 5, np.random.RandomState(0))


@pytest.mark.parametrize("y", [np.linspace(0.0, 1.0, 40), np.arange(40) % 2])
def test_batches_have_every_row_once_and_alike_often(y):
    for size in (8, 30):
        draw = make_draw(make_target(y), np.arange(40), size, np.random.RandomState(0))
        batches = [draw() for _ in range(2000)]
        assert all(len(np.unique(rows)) == size for rows in batches)
        share = np.bincount(np.concatenate(batches), minlength=40) / len(batches)
        # five deviations
        p = size / 40
        assert np.abs(share - p).max() < 5.0 * np.sqrt(p * (1 - p) / len(batches))
