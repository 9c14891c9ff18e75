"""Every measure on unfriendly inputs: offsets, scales, ties, duplicates, constants, weights."""

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.measures import MEASURES, Undefined
from gramsmith.targets import make_target
from oracle import textbook as tb
from tools.registry import KINDS, WITHOUT_DIAGONAL, targets, textbook_measure

every_kind = pytest.mark.parametrize(
    ("measure", "kind"), [(measure, kind) for measure in KINDS for kind in KINDS[measure]]
)
a_constant_kernel_may_say_so = pytest.mark.filterwarnings(
    "ignore::gramsmith.measures.alignment.ConstantKernelWarning"
)
ROWS = 24
every_real_kind = pytest.mark.parametrize(
    ("measure", "kind"), [(m, k) for m in KINDS for k in KINDS[m] if k in ("values", "outputs")]
)


def problem(rng, kind):
    """Return samples whose classes lie apart, and a target."""
    X = rng.normal(size=(ROWS, 3))
    y = targets(rng, X)[kind]
    if kind in ("binary", "classes"):
        X = X + 1.5 * np.unique(y, return_inverse=True)[1][:, None]
    return X, y


def value(measure, kernel, X, y, **options):
    """Return a measure of a kernel on samples, or of a matrix."""
    goal = make_target(y, **options)
    return MEASURES[measure].value(gs.Gram(kernel, X).moments(goal), goal)


@every_kind
def test_samples_far_from_the_origin(measure, kind, rng):
    X, y = problem(rng, kind)
    kernels = [gs.Linear(), gs.Gaussian(2.0), gs.Laplacian(3.0)]
    for kernel in kernels if MEASURES[measure].translation_invariant else kernels[1:2]:
        for offset in (1e4, 1e8, 1e10):
            far = X + offset
            near = far - offset  # exact: what is left of X at that offset
            expected = value(measure, kernel, near, y)
            found = value(measure, kernel, far, y)
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), (str(kernel), offset)


@every_real_kind
def test_values_far_from_zero(measure, kind, rng):
    X, y = problem(rng, kind)
    for offset in (1e6, 1e10):
        far = y + offset
        expected = value(measure, gs.Gaussian(), X, far - offset)
        assert value(measure, gs.Gaussian(), X, far) == pytest.approx(expected, rel=1e-5), offset


@every_real_kind
def test_values_of_any_size(measure, kind, rng):
    X, y = problem(rng, kind)
    expected = value(measure, gs.Gaussian(), X, y)
    for factor in (2.0**-60, 1e-15, 1e15, 1e-50, 1e50):
        square = factor * factor if measure in ("polarity", "hsic", "hsic_unbiased") else 1.0
        found = value(measure, gs.Gaussian(), X, y * factor, task="regression")
        assert found == pytest.approx(expected * square, rel=1e-10, abs=0), factor


def test_a_constant_target_is_one_of_any_size():
    X = np.arange(6.0)[:, None]
    for y in (np.full(6, 1e-30), np.full(6, 3.3e20), np.zeros(6), 1e12 + 1e-4 * (np.arange(6) % 2)):
        with pytest.raises(ValueError, match="constant"):
            value("cka", gs.Gaussian(), X, y, task="regression")


@every_kind
def test_kernels_of_any_size(measure, kind, rng):
    X, y = problem(rng, kind)
    K = gs.Gaussian()(X)
    expected = value(measure, "precomputed", K, y)
    one = value(measure, gs.Gaussian(), X, y)
    for factor in (2.0**-40, 1e-9, 1e9, 2.0**40):
        by = 1.0 if MEASURES[measure].scale_invariant else factor
        found = value(measure, "precomputed", factor * K, y)
        assert found == pytest.approx(expected * by, rel=1e-10, abs=0), factor
        scaled = value(measure, gs.Gaussian(factor), factor * X, y)
        assert scaled == pytest.approx(one, rel=1e-10), factor


@every_kind
def test_duplicates_and_ties(measure, kind, rng):
    X, y = problem(rng, kind)
    for copies in (
        X[np.arange(ROWS) // 2 * 2],  # pairs
        np.unique(np.round(X), axis=0)[rng.integers(0, 4, size=ROWS)],  # few places
        np.round(X),  # a grid
    ):
        found = value(measure, gs.Gaussian(2.0), copies, y)
        expected = textbook_measure(measure, gs.Gaussian(2.0)(copies), y, kind)
        if expected > 1e6:  # the means agree but for rounding
            assert found > 1e6
        else:
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


@every_kind
def test_nearly_constant_kernels(measure, kind, rng):
    m = MEASURES[measure]
    if not (m.scale_invariant and m.translation_invariant):
        pytest.skip("a wide Gaussian is the linear kernel up to scale and shift")
    X, y = problem(rng, kind)
    expected = value(measure, gs.Linear(), X, y)
    for length in (1e3, 1e5):
        assert value(measure, gs.Gaussian(length), X, y) == pytest.approx(expected, rel=1e-3)


@every_kind
@a_constant_kernel_may_say_so
def test_nearly_diagonal_kernels(measure, kind, rng):
    X, y = problem(rng, kind)
    found = value(measure, gs.Gaussian(1e-6), X, y)
    if measure not in WITHOUT_DIAGONAL:
        expected = textbook_measure(measure, np.eye(ROWS), y, kind)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    else:
        assert found == pytest.approx(0.0, abs=1e-12) or found == np.inf


@pytest.mark.parametrize("measure", [m for m in KINDS if "classes" in KINDS[m]])
@pytest.mark.parametrize("sizes", [(1, 23), (1, 1, 22), (2, 1, 21), (1, 1)])
def test_a_class_of_one_row(measure, sizes, rng):
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(y), 3)) + y[:, None]
    spread = measure in ("fsm", "fsm_loo", "csm", "mmd_unbiased")
    few = len(y) < 4 and measure in ("cka_debiased", "hsic_unbiased")
    if spread or few or (measure, sizes) == ("cka_debiased", (1, 23)):
        with pytest.raises(Undefined):
            value(measure, gs.Gaussian(), X, y)
        return
    found = value(measure, gs.Gaussian(), X, y)
    expected = textbook_measure(measure, gs.Gaussian()(X), y, "classes")
    assert found == pytest.approx(expected, rel=1e-9)


@every_kind
@a_constant_kernel_may_say_so
def test_weights_of_very_different_size(measure, kind, rng):
    X, y = problem(rng, kind)
    for power in (3, 8, 14):
        weights = {
            "one": np.r_[1.0, np.full(ROWS - 1, 10.0**-power)],
            "half": np.where(np.arange(ROWS) < ROWS // 2, 1.0, 10.0**-power),
            "random": 10.0 ** -rng.uniform(0, power, size=ROWS),
        }
        for heavy, w in weights.items():
            found = value(measure, gs.Gaussian(2.0), X, y, sample_weight=w)
            assert not np.isnan(found), (heavy, power)
            assert value(measure, gs.Gaussian(2.0), X, y, sample_weight=w * 2.0**20) == found
            if power == 3 and heavy != "one":
                expected = tb.weighted_measure(measure, gs.Gaussian(2.0)(X), y, kind, w)
                assert found == pytest.approx(expected, rel=1e-6, abs=1e-9), heavy


def test_a_path_is_as_exact_as_its_kernels_alone(rng):
    cloud = rng.normal(size=(60, 3))
    clusters = np.where(np.arange(60)[:, None] < 30, cloud, cloud + 400.0)
    goal = make_target(np.arange(60) % 2)
    for X in (cloud, clusters):
        for dtype, rounding in ((np.float64, 5e-13), (np.float32, 2e-5)):
            Z = X.astype(dtype)
            D = ((Z[:, None].astype(float) - Z.astype(float)) ** 2).sum(axis=2)
            widest = 64.0 * np.sqrt(np.median(D))
            kernels = [gs.Gaussian(float(widest / np.sqrt(2.0) ** j)) for j in range(24)]
            path = gs.Gram(kernels, Z).moments(goal, cross=False)
            for k, kernel in enumerate(kernels):
                exact = np.exp(-D / (2.0 * kernel.length_scale**2)) @ goal.V
                alone = gs.Gram(kernel, Z).moments(goal)
                errors = [
                    np.abs(m.PV[j] + m.c[j] * goal.m - exact).max()
                    for m, j in ((path, k), (alone, 0))
                ]
                assert errors[0] <= 2.0 * errors[1] + rounding


def test_a_path_hides_no_indefinite_matrix(rng):
    X = rng.normal(size=(30, 2))
    kernels = {"wide": gs.Gaussian(2.0), "narrow": gs.Gaussian(np.sqrt(2.0)), "S": -np.eye(30)}
    table = gs.evaluate(kernels, X, X[:, 0] > 0, measures=["kta"])
    assert ("indefinite", "S") in [(a.code, a.kernel) for a in table.advice]
