"""Every kernel of vectors as ONNX operators, equal to gramsmith's own or refused with a reason."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

import gramsmith as gs
from gramsmith.export import NotExportable
from gramsmith.kernels import Kernel
from gramsmith.kernels.geometry import InnerProduct, PairKernel
from tools.onnx_runs import assert_equal
from tools.registry import KERNELS, samples

REFUSED = {"rank one"}
MORE = {
    "additive chi2": gs.as_kernel("additive_chi2"),
    "by feature count": gs.as_kernel("poly"),
    "cosine": gs.as_kernel("cosine"),
    "normalized by feature count": gs.Normalized(gs.as_kernel("poly")),
    "fixed": gs.as_kernel(RBF(2.0, "fixed") + RBF(0.5)),
    "normalized tanimoto": gs.Normalized(gs.Tanimoto() + 0.5 * gs.Constant(2.0)),
    "gaussian of products": gs.GaussianOf(gs.Linear() * gs.Bilinear(np.diag([1.0, 2.0, 0.5])), 2.0),
    "gaussian of normalized": gs.GaussianOf(gs.Normalized(gs.GaussianOf(gs.Linear()))),
    "maps in maps": (gs.Polynomial(2) @ gs.LinearMap(np.ones((2, 2))))
    @ gs.LinearMap(np.array([[1.0, 0.3], [-0.4, 0.8], [0.2, -0.6]])),
    "normalized map": gs.Normalized(gs.Polynomial(2) @ gs.LinearMap(np.array([1.0, 2.0, 0.5]))),
}
EXPORTED = {**{name: kernel for name, (kernel, _) in KERNELS.items()}, **MORE}


def machine(kernel, X):
    return gs.ParzenClassifier(kernel).fit(X, X[:, 0] > np.median(X[:, 0]))


@pytest.mark.parametrize("name", [name for name in EXPORTED if name not in REFUSED])
def test_equal(name):
    rng = np.random.default_rng(1)
    X = samples(EXPORTED[name], rng, 40)
    new = np.vstack([samples(EXPORTED[name], rng, 25), X[:5], np.zeros((1, 3))])
    assert_equal(machine(EXPORTED[name], X), new)


@pytest.mark.parametrize("name", ["gaussian", "laplacian l2", "matern 1/2", "linear map"])
def test_digits_of_far_and_of_close_rows(name):
    # at an offset and with a short length the expansion of squares would lose all digits
    rng = np.random.default_rng(2)
    X = 1e6 + rng.normal(size=(30, 3))
    assert_equal(machine(EXPORTED[name], X), X + 1e-3 * rng.normal(size=X.shape))
    narrow = gs.Gaussian(1e-3)
    assert_equal(machine(narrow, X - 1e6), X - 1e6 + 1e-4 * rng.normal(size=X.shape))


def test_a_kernel_of_ones_own_brings_its_formula():
    class Cauchy(PairKernel):
        geometry = InnerProduct()

        def value(self, s):
            return np.exp(-(np.log(1.0 + s * s)))

    X = np.random.default_rng(0).normal(size=(20, 3))
    assert_equal(machine(Cauchy(), X), X[::-1] + 0.1)


def test_spectral_maps():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = X[:, 0] * X[:, 1] > 0
    kernel = gs.SpectralAligner(gs.Gaussian(1.0)).fit(X, y).kernel_
    assert_equal(gs.KernelSVC(kernel).fit(X, y), X + 0.1)


class Mine(Kernel):
    """A kernel known to Python only."""

    def tile(self, a, b):
        return np.minimum(a[:, None, :], b[None, :, :]).sum(axis=2)

    def diagonal(self, a):
        return a.sum(axis=1)


class Squashed(gs.LinearMap):
    """A map derived from one that ONNX knows, which is another one."""

    def __call__(self, X):
        return np.tanh(super().__call__(X))


class Squared(gs.Gaussian):
    """A kernel derived from one that ONNX knows, which is another one."""

    def tile(self, a, b):
        return super().tile(a, b) ** 2


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (gs.Gaussian() @ Squashed(np.ones(3)), "Squashed"),
        (Squared(), "Squared"),
        (gs.RankOne(lambda X: X[:, 0]), "known to Python only"),
        (gs.Linear() @ np.abs, "function of Python"),
        (gs.as_kernel(lambda x, z: float(x @ z)), "known to Python only"),
        (gs.as_kernel(Matern(nu=1.7)), "known to Python only"),
        (gs.AllSubsets(), "product over items or columns"),
        (Mine(), "Mine"),
        (gs.Normalized(Mine()), "Mine"),
    ],
)
def test_refused_with_a_reason(kernel, reason):
    X = np.abs(np.random.default_rng(0).normal(size=(20, 3)))
    with pytest.raises(NotExportable, match=reason):
        gs.to_onnx(machine(kernel, X))


def test_strings_are_refused_with_a_reason():
    model = gs.KernelSVC(gs.Spectrum(2)).fit(["ACGT", "AACC", "GGTT", "TTTT"], [0, 1, 0, 1])
    with pytest.raises(NotExportable, match="strings, sets or several views"):
        gs.to_onnx(model)
