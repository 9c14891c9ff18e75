"""Derivatives of measures: by parameters, samples and entries, against differences."""

import numpy as np
import pytest
from sklearn.base import clone

import gramsmith as gs
from gramsmith.kernels import Kernel
from gramsmith.measures.alignment import ConstantKernelWarning

S = np.array([[1.0, 0.2], [0.3, 0.5]])
KERNEL = 2.0 * gs.Gaussian(np.array([0.8, 1.5])) + gs.Gaussian(1.0) @ gs.LinearMap(S)


def difference(function, x, step=1e-5):
    x = np.asarray(x, dtype=float)
    found = np.empty(x.shape)
    for i in np.ndindex(x.shape):
        moved = [x.copy(), x.copy()]
        moved[0][i] += step
        moved[1][i] -= step
        found[i] = (function(moved[0]) - function(moved[1])) / (2 * step)
    return found


@pytest.mark.parametrize("measure", ["cka", "cka_debiased", "kta", "fsm", "csm", "hsic"])
def test_by_parameters_and_samples(measure, rng):
    X = rng.normal(size=(24, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=24) > 0).astype(int)
    value, gradient = gs.value_and_gradient(measure, KERNEL, X, y, inputs=True)

    def of(kernel, X):
        return gs.evaluate([kernel], X, y, measures=measure, folds=0).values(measure)[0]

    assert value == pytest.approx(of(KERNEL, X), rel=1e-12)
    for name in KERNEL.parameter_names():
        slope = difference(
            lambda v, n=name: of(clone(KERNEL).set_params(**{n: v}), X), KERNEL._lookup(name)
        )
        np.testing.assert_allclose(gradient[name], slope, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(
        gradient["X"], difference(lambda Z: of(KERNEL, Z), X), rtol=1e-4, atol=1e-7
    )


def test_flat_is_in_the_order_of_theta(rng):
    X = rng.normal(size=(30, 2))
    y = X[:, 0] ** 2
    value, slope = gs.value_and_gradient("cka", KERNEL, X, y, flat=True)
    by_theta = difference(lambda t: gs.cka(KERNEL.clone_with_theta(t)(X), y), KERNEL.theta)
    np.testing.assert_allclose(slope[: len(by_theta)], by_theta, rtol=1e-5, atol=1e-9)
    assert len(slope) == len(by_theta) + 4  # and the matrix S, which is free
    assert value == gs.value_and_gradient("cka", KERNEL, X, y)[0]


@pytest.mark.parametrize("measure", ["cka", "cka_debiased", "kta"])
@pytest.mark.parametrize("weighted", [False, True])
def test_by_the_entries_of_a_matrix(measure, weighted, rng):
    X, y = rng.normal(size=(9, 2)), np.arange(9) % 2
    K, w = gs.Gaussian()(X), rng.uniform(0.5, 2.0, 9) if weighted else None
    value, gradient = gs.value_and_gradient(measure, "precomputed", K, y, sample_weight=w)
    options = {"sample_weight": w}
    function = {
        "cka": lambda A: gs.cka(A, y, **options),
        "cka_debiased": lambda A: gs.cka(A, y, debiased=True, **options),
        "kta": lambda A: gs.kta(A, y, **options),
    }[measure]
    assert value == pytest.approx(function(K), rel=1e-12)
    E = rng.normal(size=(9, 9))
    E = E + E.T
    slope = (function(K + 1e-6 * E) - function(K - 1e-6 * E)) / 2e-6
    assert np.sum(gradient["K"] * E) == pytest.approx(slope, rel=1e-5)
    np.testing.assert_allclose(gradient["K"], gradient["K"].T)


def test_refused(rng):
    X, y = rng.normal(size=(10, 2)), np.arange(10) % 2
    with pytest.raises(TypeError, match="derivative"):
        gs.value_and_gradient("cka", lambda A, B: A @ B.T, X, y)
    with pytest.raises(ValueError, match=r"abs\(K\) \*\* 2"):
        gs.value_and_gradient("cka", "precomputed", np.eye(10) * 1j, y)


class Quadratic(Kernel):
    """(x'z + p)^2 with the derivatives that a test returns in its place."""

    free = ("p",)

    def __init__(self, p=1.0):
        self.p = p

    def tile(self, a, b):
        return (a @ b.T + self.p) ** 2

    def diagonal(self, a):
        return (np.sum(a * a, axis=1) + self.p) ** 2

    def tile_vjp(self, a, b, W, K=None, wants="samples"):
        V = 2.0 * W * (a @ b.T + self.p)
        return V @ b, V.T @ a, {"p": V.sum()}

    def diagonal_vjp(self, a, w):
        v = 2.0 * w * (np.sum(a * a, axis=1) + self.p)
        return 2.0 * v[:, None] * a, {"p": v.sum()}


class OtherName(Quadratic):
    def tile_vjp(self, *args, **options):
        da, db, named = super().tile_vjp(*args, **options)
        return da, db, {"q": named["p"]}


class Undeclared(Quadratic):
    free = ()


class NoBlocks(Quadratic):
    def tile_vjp(self, *args, **options):
        return None, None, super().tile_vjp(*args, **options)[2]


class NoDiagonal(Quadratic):
    diagonal_vjp = Kernel.diagonal_vjp


class NoPullback(Quadratic):
    tile_vjp = Kernel.tile_vjp


class Weighted(Kernel):
    """exp(-Σ w²(x - z)²) with one weight per column, which may be nought."""

    free = ("w",)

    def __init__(self, w):
        self.w = w

    def tile(self, a, b, out=None):
        return np.exp(-np.sum(((a[:, None] - b) * self.w) ** 2, axis=2))

    def diagonal(self, a):
        return np.ones(len(a))

    def tile_vjp(self, a, b, W, K=None, wants=None):
        squares = (a[:, None] - b) ** 2
        slope = -2.0 * np.asarray(self.w) * np.einsum("ij,ijk->k", W * self.tile(a, b), squares)
        return None, None, {"w": slope}

    def diagonal_vjp(self, a, w):
        return None, {}


class Summed(Weighted):
    def tile_vjp(self, *args, **options):
        named = super().tile_vjp(*args, **options)[2]
        return None, None, {"w": named["w"].sum()}


@pytest.fixture
def ring(rng):
    X = rng.normal(size=(20, 2))
    return X, (np.sum(X**2, axis=1) > 1.0).astype(int)


def test_a_kernel_of_your_own(ring):
    X, y = ring
    _, gradient = gs.value_and_gradient("kta", Quadratic(2.0), X, y, inputs=True)
    slope = difference(lambda p: gs.kta(Quadratic(float(p))(X), y), 2.0)
    assert gradient["p"] == pytest.approx(float(slope), rel=1e-6)
    by_rows = difference(lambda Z: gs.kta(Quadratic(2.0)(Z), y), X)
    np.testing.assert_allclose(gradient["X"], by_rows, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (OtherName, "'q' from OtherName, whose declared parameters are p"),
        (Undeclared, "'p' from Undeclared, whose declared parameters are none.*positive"),
    ],
)
def test_derivatives_are_by_the_parameters_declared(kind, words, wrapped, ring):
    X, y = ring
    kernel = gs.Gaussian() + 2.0 * kind() if wrapped else kind()
    with pytest.raises(ValueError, match=words):
        gs.value_and_gradient("cka", kernel, X, y)
    for measure in ("cka", "ridge_loo"):  # two sweeps, and the dense matrix
        if wrapped or kind is not Undeclared:  # which has nothing to learn
            with pytest.raises(ValueError, match=words):
                gs.KernelLearner(kernel, measure, keep=1.0).fit(X, y)


def test_derivatives_have_the_shape_of_their_parameters(ring):
    X, y = ring
    w = np.array([0.7, 1.2])
    _, gradient = gs.value_and_gradient("cka", Weighted(w), X, y)
    slope = difference(lambda v: gs.cka(Weighted(v)(X), y), w)
    np.testing.assert_allclose(gradient["w"], slope, rtol=1e-6)
    # without weights the kernel is constant, and CKA has no slope
    with pytest.warns(ConstantKernelWarning):
        _, flat = gs.value_and_gradient("cka", Weighted(np.zeros(2)), X, y, flat=True)
    np.testing.assert_array_equal(flat, np.zeros(2))
    for kernel in (Summed(w), gs.Gaussian() + 2.0 * Summed(w)):
        with pytest.raises(ValueError, match=r"w of its shape \(2,\), got one of shape \(\)"):
            gs.value_and_gradient("cka", kernel, X, y)
        with pytest.raises(ValueError, match="of its shape"):
            gs.KernelLearner(kernel, "cka", keep=1.0).fit(X, y)


def test_blocks_without_a_derivative_are_none_by_the_samples(ring):
    X, y = ring
    assert set(gs.value_and_gradient("cka", NoBlocks(), X, y)[1]) == {"p"}
    for kernel in (NoBlocks(), gs.Gaussian() + NoBlocks()):
        with pytest.raises(TypeError, match=r"by the samples.*NoBlocks.*inputs=False"):
            gs.value_and_gradient("cka", kernel, X, y, inputs=True)
    _, gradient = gs.value_and_gradient("kta", gs.Constant(2.0), X, y, inputs=True)
    np.testing.assert_array_equal(gradient["X"], np.zeros_like(X))


@pytest.mark.parametrize(
    ("kernel", "missing"),
    [
        (NoPullback(), "tile_vjp"),
        (NoDiagonal(), "diagonal_vjp"),
        (lambda A, B: A @ B.T, "tile_vjp"),
    ],
)
def test_what_to_write_for_a_derivative(kernel, missing, ring):
    X, y = ring
    with pytest.raises(TypeError, match=rf"gramsmith.kernels.Kernel with {missing}.*positive"):
        gs.value_and_gradient("cka_debiased", kernel, X, y)
