from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import gramsmith as gs
from gramsmith.learning.two_gaussian import (
    AlignedMixtures,
    GaussianSlope,
    bandwidth_range,
    best_share,
)
from gramsmith.measures import MEASURES
from gramsmith.targets import make_target
from oracle import golden
from oracle import textbook as tb
from papers.tan import best_bandwidth

TwoGaussianLearner = partial(gs.TwoGaussianLearner, keep=1.0)  # as in the papers


def test_golden_share_and_value():
    learner = TwoGaussianLearner(0.2, 1.0).fit(golden.X, golden.y)
    assert learner.u_ == pytest.approx(golden.GOLDEN["u_star"][0], abs=1e-8)
    assert learner.value_ == pytest.approx(golden.GOLDEN["u_star_kta"][0], abs=1e-8)
    assert tb.kta(learner.kernel_(golden.X), golden.y) == pytest.approx(learner.value_, abs=1e-10)


def test_golden_share_on_the_circle():
    learner = TwoGaussianLearner(0.2, 1.0, mixing="circle").fit(golden.X, golden.y)
    assert learner.u_ == pytest.approx(golden.GOLDEN["u_circle"][0], abs=1e-8)
    assert learner.value_ == pytest.approx(golden.GOLDEN["u_star_kta"][0], abs=1e-8)
    assert tb.kta(learner.kernel_(golden.X), golden.y) == pytest.approx(learner.value_, abs=1e-10)


@pytest.mark.parametrize("measure", ["kta", "cka", "cka_debiased"])
@pytest.mark.parametrize(
    "y", [golden.y, golden.lab, golden.yr], ids=["binary", "classes", "values"]
)
def test_second_bandwidth_is_the_best_of_a_grid(measure, y):
    learner = TwoGaussianLearner(sigma1=0.3, measure=measure).fit(golden.X, y)
    value = {"kta": gs.kta, "cka": gs.cka}.get(measure, lambda K, y: gs.cka(K, y, debiased=True))
    for sigma in np.geomspace(0.1, 10, 12):
        for u in np.linspace(0, 1, 6):
            K = u * gs.Gaussian(0.3)(golden.X) + (1 - u) * gs.Gaussian(sigma)(golden.X)
            assert value(K, y) <= learner.value_ + 1e-6


def test_measure_objects_are_taken_as_names_are():
    by_name = TwoGaussianLearner(sigma1=0.3, measure="cka").fit(golden.X, golden.y)
    by_object = TwoGaussianLearner(sigma1=0.3, measure=MEASURES["cka"]).fit(golden.X, golden.y)
    assert by_object.value_ == by_name.value_


@pytest.mark.parametrize("mixing", ["linear", "circle"])
def test_surface(mixing):
    learner = TwoGaussianLearner(sigma1=0.3, mixing=mixing).fit(golden.X, golden.y)
    u, sigma, value = (learner.surface_[name] for name in ("u", "sigma", "value"))
    assert value.shape == (len(u), len(sigma))
    rest = 1 - u[20] if mixing == "linear" else np.sqrt(1 - u[20] ** 2)
    K = u[20] * gs.Gaussian(0.3)(golden.X) + rest * gs.Gaussian(sigma[30])(golden.X)
    assert value[20, 30] == pytest.approx(tb.kta(K, golden.y), abs=1e-10)
    assert value.max() <= learner.value_ + 1e-9


def test_a_limit_can_be_best():
    y = np.ones(30)
    y[15] = -1
    learner = TwoGaussianLearner(sigma1=0.1).fit(np.arange(30.0)[:, None], y)
    assert learner.sigma2_ == np.inf
    K = learner.kernel_(np.arange(30.0)[:, None])
    assert tb.kta(K, y) == pytest.approx(learner.value_, abs=1e-6)


def test_history_and_callback():
    rows = []
    learner = TwoGaussianLearner(sigma1=0.3, callback=rows.append).fit(golden.X, golden.y)
    assert len(rows) >= len(learner.history_["value"]) == learner.n_iter_ + 1
    assert all(row["sigma"][0] == 0.3 for row in rows)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter above 1"):
        TwoGaussianLearner(sigma1=0.3, max_iter=1).fit(golden.X, golden.y)


def test_interrupt_keeps_the_best():
    def callback(row):
        if row["iteration"] == 3:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning):
        learner = TwoGaussianLearner(callback=callback).fit(golden.X, golden.y)
    assert learner.value_ >= max(learner.history_["value"]) - 1e-9
    assert tb.kta(learner.kernel_(golden.X), golden.y) == pytest.approx(learner.value_, abs=1e-9)


def test_verbose(capsys):
    TwoGaussianLearner(0.2, 1.0, n_grid=4, verbose=1).fit(golden.X, golden.y)
    assert "[TwoGaussianLearner] 0: value 0." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma1": 0.0}, "'sigma1' parameter .*Got 0.0"),
        ({"n_grid": 2}, "'n_grid' parameter .*Got 2"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        TwoGaussianLearner(**options).fit(golden.X, golden.y)


@pytest.mark.slow
def test_table_of_mixtures_of_digits(data_dir):
    """Row u = 0 of Table 1 of Tan et al.: eights and nines, 100 images each."""
    z = np.load(data_dir / "usps" / "usps.npz")
    X = np.vstack([z["X"][z["y"] == d][:100].astype(float) for d in (8, 9)])
    y = np.repeat([1, -1], 100)
    printed = {450: 0.090, 800: 0.173, 1150: 0.102, 1500: 0.061, 1850: 0.040, 2200: 0.028}
    for sigma, value in printed.items():
        assert gs.kta(gs.Gaussian(float(sigma))(X), y) == pytest.approx(value, abs=6e-4)
    learner = TwoGaussianLearner(sigma1=50.0).fit(X, y)
    assert learner.value_ >= 0.173


def products(K1, K2, y):
    """The inner products of two kernels with the target, and with each other."""
    T = np.outer(y, y)
    return [np.vdot(*pair) for pair in ((K1, T), (K2, T), (K1, K1), (K1, K2), (K2, K2))]


def test_share_is_the_best_of_a_grid(rng):
    for _ in range(100):
        A, B = rng.normal(size=(2, 6, 4))
        y = rng.choice([-1.0, 1.0], size=6)
        K1, K2 = A @ A.T, B[:, :1] @ B[:, :1].T
        u = best_share(*products(K1, K2, y))
        assert 0.0 <= u <= 1.0
        best = max(
            tb.alignment(v * K1 + (1 - v) * K2, np.outer(y, y)) for v in np.linspace(0, 1, 201)
        )
        assert tb.alignment(u * K1 + (1 - u) * K2, np.outer(y, y)) >= best - 1e-12


def test_share_does_not_clip_the_ratio():
    """With n1 + n2 < 0 the stationary point is a minimum beyond 1; clipping would end there."""
    a1, a2, g11, g12, g22 = 0.1, 1.0, 1.0, 1.5, 4.0
    n1, n2 = a1 * g22 - a2 * g12, a2 * g11 - a1 * g12
    assert n1 + n2 < 0
    assert n1 / (n1 + n2) > 1
    assert best_share(a1, a2, g11, g12, g22) == 0.0
    assert 0.0 <= best_share(1.0, 1.0, 1.0, 1.0, 1.0) <= 1.0  # equal kernels share anything


@pytest.mark.parametrize("projection", ["plain", "centred", "debiased"])
def test_slopes_equal_differences(projection):
    s = ((golden.X[:, None] - golden.X) ** 2).sum(axis=2) / (2 * 0.7**2)
    np.testing.assert_allclose(GaussianSlope(0.7)(golden.X), s * np.exp(-s), atol=1e-12)
    assert not GaussianSlope(0.7).positive_definite
    step, sigma = 1e-5, np.array([0.3, 1.1])
    for y in (golden.y, golden.lab, golden.yr):
        mixtures = AlignedMixtures(golden.X, make_target(y), projection, None)
        for moving in ([True, True], [True, False], [False, True]):
            slopes = mixtures.evaluate(sigma, np.nan, np.array(moving))[1]
            for k, slope in zip(np.flatnonzero(moving), slopes, strict=True):
                moved = np.where(np.arange(2) == k, step, 0.0)
                up, down = (
                    mixtures.evaluate(sigma * np.exp(s * moved), np.nan, np.zeros(2, dtype=bool))
                    for s in (1, -1)
                )
                difference = (up[0].value - down[0].value) / (2 * step)
                assert slope == pytest.approx(difference, abs=1e-6)


@pytest.mark.parametrize(("columns", "offset"), [(2, 0.0), (20, 1e8)])
def test_range_ignores_repeated_rows_and_the_origin(columns, offset, rng):
    X = rng.normal(size=(40, columns)) + offset
    low, high = bandwidth_range(np.vstack([X, X]))
    D = tb.distances(X - offset)
    assert low == pytest.approx(0.1 * D[D > 0].min())
    assert 10 * D.max() <= high <= 20 * D.max()


def test_range_needs_two_different_samples():
    with pytest.raises(ValueError, match="two different"):
        bandwidth_range(np.ones((5, 2)))


@pytest.mark.parametrize("example", [0, 1])
def test_counterexamples_are_solved_to_the_global_maximum(example):
    """One Gaussian can have several maxima: the best is taken."""
    x, y, extrema = golden.SIGMA_COUNTEREXAMPLES[example]
    best = max((value, sigma) for sigma, value, kind in extrema if kind == "max")
    X = np.array(x)[:, None]
    assert best_bandwidth(X, y) == pytest.approx(best[1], rel=1e-4)
    assert TwoGaussianLearner().fit(X, y).value_ >= best[0] - 1e-6


def random_problem(rng):
    if rng.random() < 0.5:
        X = rng.uniform(0, 10, size=(rng.integers(4, 9), 1))
    else:
        centres = rng.normal(size=(4, 2)) * 3
        X = centres[rng.integers(4, size=rng.integers(20, 40))] + rng.normal(size=(1, 2))
        X = X + rng.normal(size=X.shape) * rng.choice([0.1, 1.0])
    y = rng.choice([-1, 1], size=len(X))
    y[:2] = [-1, 1]
    return X, y


def brute_force(X, y, points=300):
    D = tb.distances(X) ** 2
    low, high = 0.1 * np.sqrt(D[D > 0].min()), 10 * np.sqrt(D.max())
    T = np.outer(y, y)
    n = len(y)
    values = []
    for sigma in np.geomspace(low, high, points):
        K = np.exp(-D / (2 * sigma**2))
        values.append(np.sum(K * T) / (n * np.linalg.norm(K)))
    return max(*values, 1 / np.sqrt(n), (y.sum() / n) ** 2)


@pytest.mark.parametrize("count", [15, pytest.param(200, marks=pytest.mark.slow)])
def test_random_problems_are_never_worse_than_brute_force(count, rng):
    for _ in range(count):
        X, y = random_problem(rng)
        assert TwoGaussianLearner().fit(X, y).value_ >= brute_force(X, y) - 1e-9


def test_both_limits_are_candidates():
    # Labels that alternate between the closest points: no Gaussian beats the identity.
    learner = TwoGaussianLearner()
    narrow = learner.fit(np.array([[0.0], [1.0], [10.0], [11.0]]), [1, -1, 1, -1])
    assert narrow.value_ == pytest.approx(0.5, abs=1e-9)
    # Nearly one class: the constant kernel is best.
    assert learner.fit(np.arange(30.0)[:, None], [-1] + [1] * 29).value_ >= (28 / 30) ** 2 - 1e-9


def test_few_steps_per_maximum():
    rows = []
    TwoGaussianLearner(callback=rows.append).fit(golden.X, golden.y)
    assert len(rows) <= 4 * 15


def aligned(measure, K, y):
    return gs.kta(K, y) if measure == "kta" else gs.cka(K, y, debiased=measure == "cka_debiased")


@pytest.mark.filterwarnings("ignore::gramsmith.measures.alignment.ConstantKernelWarning")
@pytest.mark.parametrize("measure", ["kta", "cka", "cka_debiased"])
def test_pairs_are_never_worse_than_one_after_another(measure, rng):
    """Nor than pairs at random."""
    for _ in range(4):
        X, y = random_problem(rng)
        if len(X) < 6:
            continue
        joint = TwoGaussianLearner(measure=measure).fit(X, y)
        low, high = bandwidth_range(X)
        grid = np.geomspace(low, high, 24)
        first = max(grid, key=lambda sigma: aligned(measure, gs.Gaussian(sigma)(X), y))
        apart = TwoGaussianLearner(first, measure=measure).fit(X, y)
        assert joint.value_ >= apart.value_ - 1e-7
        for a, b in rng.uniform(np.log(low), np.log(high), size=(20, 2)):
            K1, K2 = gs.Gaussian(np.exp(a))(X), gs.Gaussian(np.exp(b))(X)
            for u in (0.1, 0.5, 0.9):
                assert aligned(measure, u * K1 + (1 - u) * K2, y) <= joint.value_ + 1e-6


def test_a_given_second_bandwidth_finds_its_first(rng):
    X = rng.normal(size=(50, 2))
    y = X[:, 0] * X[:, 1] > 0
    learner = gs.TwoGaussianLearner(sigma2=2.0, keep=1.0).fit(X, y)
    assert learner.sigma2_ == 2.0
    for sigma in np.geomspace(0.05, 10.0, 15):
        other = gs.TwoGaussianLearner(sigma, 2.0, keep=1.0, n_grid=4).fit(X, y)
        assert other.value_ <= learner.value_ + 1e-9
