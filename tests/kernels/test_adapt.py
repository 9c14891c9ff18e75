"""Kernels from elsewhere."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.metrics.pairwise import (
    PAIRWISE_KERNEL_FUNCTIONS,
    pairwise_kernels,
    rbf_kernel,
)

import gramsmith as gs
from gramsmith.kernels import Fixed, Kernel, column_moments, default_kernel
from gramsmith.kernels.embedding import rows
from gramsmith.measures import get_measure
from gramsmith.targets import make_target


def test_functions_of_matrices_and_of_pairs(rng):
    X, Z = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
    whole = gs.as_kernel(lambda A, B: A @ B.T)
    single = gs.as_kernel(lambda x, z: float(np.dot(x, z)))
    for kernel in (whole, single):
        assert_allclose(kernel(X, Z), X @ Z.T)
        assert_allclose(kernel.diag(X), np.sum(X**2, axis=1))
        assert_allclose(gs.Gram(kernel, X).toarray(), X @ X.T)
        assert not kernel.differentiable
    words = ["ab", "abc", "b"]
    common = gs.as_kernel(lambda s, t: len(set(s) & set(t)))
    assert_allclose(common(words), [[2, 2, 1], [2, 3, 1], [1, 1, 1]])
    assert gs.kta(gs.Gram(common, words), [0, 0, 1]) > 0


def test_functions_of_matrices_only(rng):
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 2
    G = gs.Gram(rbf_kernel, X)  # refuses single rows
    assert_allclose(G.diagonal(), 1.0)
    assert gs.kta(G, y) == pytest.approx(gs.kta(rbf_kernel(X), y), rel=1e-12)
    sparse = gs.as_kernel(lambda A, B: A @ B.T)
    assert_allclose(sparse(sp.coo_array(X)), X @ X.T)
    assert_allclose(sparse.diag(sp.csr_array(X)), np.sum(X**2, axis=1))


def test_a_function_of_rows_may_return_a_matrix_by_chance(rng):
    Z = rng.normal(size=(5, 5))
    kernel = gs.as_kernel(lambda x, z: np.dot(x, z))
    assert_allclose(kernel(Z), Z @ Z.T)
    assert_allclose(kernel(Z, 2 * Z), 2 * Z @ Z.T)
    assert_allclose(kernel.diag(Z), np.sum(Z**2, axis=1))


def test_functions_of_tables(rng):
    pd = pytest.importorskip("pandas")
    X = rng.normal(size=(6, 2))
    for function in (lambda A, B: A @ B.T, lambda x, z: float(np.dot(x, z))):
        assert_allclose(gs.as_kernel(function)(pd.DataFrame(X, columns=["a", "b"])), X @ X.T)
    words = pd.DataFrame({"a": ["x", "y", "x"], "b": ["u", "u", "v"]})
    matches = gs.as_kernel(lambda s, t: float((s == t).sum()))
    assert_allclose(matches(words), [[2, 1, 1], [1, 2, 0], [1, 0, 2]])


def test_a_function_that_is_no_kernel_says_so(rng):
    X = rng.normal(size=(6, 2))
    with pytest.raises(TypeError, match=r"got neither.* On two samples: Expected one number"):
        gs.as_kernel(lambda x, z: x * z)(X)
    centred = gs.as_kernel(lambda A, B: (A - A.mean(axis=0)) @ (B - B.mean(axis=0)).T)
    with pytest.raises(ValueError, match="whatever the other rows are"):
        centred(X)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, z, p=1.0, q=0.0: float(abs(x @ z) ** p + q),
        lambda A, B, p=1.0, q=0.0: np.abs(A @ B.T) ** p + q,
        lambda x, z, **options: float(abs(x @ z) ** options["p"] + options.get("q", 0.0)),
    ],
    ids=["rows", "matrices", "any"],
)
def test_parameters_beside_a_function_are_its_own(function, rng, tmp_path):
    X = rng.normal(size=(6, 2))
    expected = np.abs(X @ X.T) ** 2
    assert_allclose(gs.as_kernel(function, p=2.0)(X), expected)
    assert_allclose(clone(gs.as_kernel(function, p=2.0, q=1.0))(X), expected + 1.0)
    for p in (1.0, 2.0):  # values in a file are known by the parameters as well
        kept = gs.as_kernel(function, cache=tmp_path / "pairs", p=p)
        assert_allclose(kept(X), np.abs(X @ X.T) ** p)


@pytest.mark.parametrize(
    ("kernel", "advice"),
    [
        (lambda x, z, p=1.0: float(p), r"takes p"),
        (lambda x, z: float(x @ z), r"takes none"),
        (gs.Gaussian(), r"set_params"),
        (RBF(), r"set_params"),
        ("rbf", r"gamma, degree, coef0"),
        (None, r"gamma, degree, coef0"),
    ],
    ids=["parameter", "rows", "kernel", "sklearn", "name", "default"],
)
def test_parameters_that_nobody_takes_are_refused(kernel, advice, rng):
    with pytest.raises(TypeError, match=rf"got nonsense.*{advice}"):
        gs.as_kernel(kernel, rng.normal(size=(6, 2)), nonsense=3)


def test_nobody_knows_whether_a_function_is_positive_definite():
    assert not gs.as_kernel(lambda x, z: -float(x @ z)).positive_definite
    assert not (gs.as_kernel(rbf_kernel) + gs.Linear()).positive_definite


@pytest.mark.parametrize(
    "theirs",
    [RationalQuadratic(0.5, 2.0), ExpSineSquared(1.5, 2.0), DotProduct(0.5), DotProduct(0.0)],
)
def test_more_objects_of_scikit_learn(theirs, rng):
    X = rng.normal(size=(6, 1))
    assert_allclose(gs.as_kernel(theirs)(X), theirs(X), atol=1e-12)


def test_white_noise_lives_on_the_diagonal(rng):
    X = rng.normal(size=(30, 2))
    theirs = DotProduct(1.0) + WhiteKernel(0.7)
    ours = gs.as_kernel(theirs)
    assert_allclose(ours(X), theirs(X))
    assert_allclose(gs.Gram(ours, X).toarray(), theirs(X))
    assert_allclose(ours(X, X[:4]), theirs(X, X[:4]))


def test_gamma_from_the_data(rng):
    X = rng.normal(size=(20, 4)) * 3
    assert gs.as_kernel("rbf", X).length_scale == pytest.approx(np.sqrt(2.0))
    scale = gs.as_kernel("rbf", X, gamma="scale")
    assert 1 / (2 * scale.length_scale**2) == pytest.approx(1 / (4 * X.var()))
    with pytest.raises(ValueError, match="takes its gamma from the data"):
        gs.as_kernel("rbf", gamma="scale")
    with pytest.raises(ValueError, match="gamma"):
        gs.as_kernel("rbf", X, gamma="odd")
    with pytest.raises(ValueError, match="gamma > 0"):
        gs.Gaussian.from_gamma(-1.0)
    for name in ("rbf", "laplacian", "poly", "sigmoid", "chi2"):
        with pytest.raises(ValueError, match="gamma > 0, got"):
            gs.as_kernel(name, gamma=0.0)


@pytest.mark.parametrize("name", sorted(PAIRWISE_KERNEL_FUNCTIONS))
def test_names_of_pairwise_kernels(name, rng):
    X, Z = np.abs(rng.normal(size=(12, 5))), np.abs(rng.normal(size=(4, 5)))
    kernel = gs.as_kernel(name)
    assert_allclose(kernel(X), pairwise_kernels(X, metric=name), rtol=1e-12, atol=1e-14)
    assert_allclose(kernel(X, Z), pairwise_kernels(X, Z, metric=name), rtol=1e-12, atol=1e-14)
    assert_allclose(gs.as_kernel(name, X)(X), pairwise_kernels(X, metric=name), rtol=1e-12)
    assert_allclose(kernel.diag(X), np.diagonal(kernel(X)), atol=1e-14)
    assert_allclose(clone(kernel)(X), kernel(X))
    if kernel.accepts_sparse:
        assert_allclose(kernel(sp.csr_array(X)), kernel(X), rtol=1e-10)


def test_a_default_gamma_can_be_learned(rng):
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 2
    kernel, late = gs.as_kernel("rbf", X), gs.as_kernel("rbf")
    goal = make_target(y)
    slopes = []
    for k in (kernel, late):
        G = gs.Gram(k, X)
        moments = G.moments(goal)
        _, adjoint = get_measure("cka").value_and_adjoint(moments, goal)
        both = (G.pullback(adjoint, goal, moments, inputs=inputs)[0] for inputs in (True, False))
        name = next(iter(k.parameter_names()))
        slopes += [g.parameters[name] * k.get_params()[name] for g in both]
    assert_allclose(slopes, slopes[0], rtol=1e-9)


def test_fixed_parameters_stay_fixed(rng):
    X = rng.normal(size=(8, 2))
    theirs = (
        ConstantKernel(2.0, "fixed") * RBF([1.0, 2.0])
        + RationalQuadratic(0.5, 2.0, alpha_bounds="fixed")
        + Matern(0.7, "fixed", nu=1.5)
        + DotProduct(0.5, "fixed")
    )
    ours = gs.as_kernel(theirs)
    assert list(ours.parameter_names()) == [
        "k1__k1__k1__k2__length_scale",
        "k1__k1__k2__kernel__length_scale",
    ]
    assert_allclose(ours.theta, theirs.theta)
    K, slopes = ours(X, eval_gradient=True)
    assert_allclose(K, theirs(X))
    assert_allclose(slopes, theirs(X, eval_gradient=True)[1], atol=1e-12)
    goal = make_target(np.arange(8) % 2)
    G = gs.Gram(ours, X)
    moments = G.moments(goal)
    _, adjoint = get_measure("kta").value_and_adjoint(moments, goal)
    assert set(G.pullback(adjoint, goal, moments)[0].parameters) == set(ours.parameter_names())
    with pytest.raises(ValueError, match=r"Fixed: expected names .* got \['gamma'\]"):
        Fixed(gs.Gaussian(), ["gamma"])(X)


def test_sums_and_products_with_objects_of_scikit_learn(rng):
    X = rng.normal(size=(8, 2))
    white = WhiteKernel(0.5)
    expected = RBF()(X) + 0.5 * np.eye(8)
    for kernel in (gs.Gaussian() + white, gs.as_kernel(white + gs.Gaussian())):
        assert_allclose(kernel(X), expected)
        assert sorted(n.rpartition("__")[2] for n in kernel.parameter_names()) == [
            "length_scale",
            "noise",
        ]
    assert_allclose((gs.Gaussian() * DotProduct(0.5))(X), RBF()(X) * DotProduct(0.5)(X))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (gs.Gaussian(1.5) + WhiteKernel(1.0), RBF(1.5) + WhiteKernel(1.0)),
        (WhiteKernel(1.0) + gs.Gaussian(1.5), RBF(1.5) + WhiteKernel(1.0)),
        (1.0 * gs.Gaussian() + WhiteKernel(), ConstantKernel() * RBF() + WhiteKernel()),
        (gs.White() + gp.Matern(nu=1.7), WhiteKernel() + gp.Matern(nu=1.7)),
        (
            gs.White() + gp.PairwiseKernel(metric="laplacian"),
            WhiteKernel() + gp.PairwiseKernel(metric="laplacian"),
        ),
        (
            gs.White() + RBF([2.0, 2.0], length_scale_bounds=[(1, 3), (2, 9)]),
            WhiteKernel() + RBF([2.0, 2.0], length_scale_bounds=[(1, 3), (2, 9)]),
        ),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:The optimal value found:sklearn.exceptions.ConvergenceWarning")
def test_gaussian_processes_learn_what_a_foreign_kernel_brings(ours, theirs, rng):
    X = rng.uniform(-3, 3, size=(50, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=50)
    found, expected = (GaussianProcessRegressor(kernel).fit(X, y) for kernel in (ours, theirs))
    likelihood = expected.log_marginal_likelihood_value_
    assert found.log_marginal_likelihood_value_ == pytest.approx(likelihood, abs=1e-4)
    assert_allclose(found.predict(X), expected.predict(X), atol=1e-3)


def test_bounds_and_gradients_of_foreign_kernels_are_kept(rng):
    X, W = rng.normal(size=(6, 2)), rng.normal(size=(6, 6))
    kernel = gs.as_kernel(RBF(2, length_scale_bounds=(1, 3))) + gp.Matern([1.0, 2.0], nu=1.7)
    assert_allclose(np.exp(kernel.bounds), [[1, 3], [1e-5, 1e5], [1e-5, 1e5]])
    assert_allclose(kernel.range_of("k1__kernel__length_scale"), (1, 3))
    assert kernel.learnable
    assert not kernel.differentiable
    a = kernel.embed(X, kernel.reference(X))
    by_name = kernel.tile_vjp(a, rows(a, slice(1, 5)), W[:, :4], wants="parameters")
    h = 1e-6
    moved = clone(kernel).set_params(k2__source__length_scale=np.array([1.0, 2.0 + h]))
    expected = np.sum(W[:, :4] * (moved(X)[:, 1:5] - kernel(X)[:, 1:5])) / h
    assert by_name[2]["k2__source__length_scale"][1] == pytest.approx(expected, rel=1e-4)
    with pytest.raises(TypeError, match="give its kernel_"):
        gs.as_kernel(gs.KernelCombination([gs.Linear()]))
    with pytest.raises(TypeError, match="CompoundKernel of 2"):
        gs.as_kernel(gp.CompoundKernel([RBF(), RBF()]))
    with pytest.raises(ValueError, match="0 < low <= high"):
        gs.Bounded(gs.Gaussian(), {"length_scale": (3, 1)})(X)
    with pytest.raises(ValueError, match=r"positive parameters \(length_scale\)"):
        gs.Bounded(gs.Gaussian(), {"width": (1, 3)})(X)


class Rotation(Kernel):
    """A kernel whose arguments have the names of scikit-learn's own properties."""

    free = ("theta",)
    positive = ("bounds",)

    def __init__(self, theta, bounds=1.0, n_dims=2):
        self.theta = theta
        self.bounds = bounds
        self.n_dims = n_dims

    def tile(self, a, b):
        return np.cos((a - self.theta) @ np.ones((a.shape[1], b.shape[0])) * 0) * self.bounds

    def diagonal(self, a):
        return np.full(len(a), float(self.bounds))


def test_arguments_may_have_the_names_of_scikit_learn():
    kernel = Rotation(np.array([0.1, 0.2]), 2.0, 5)
    assert (kernel.bounds, kernel.n_dims) == (2.0, 5)
    assert_allclose(clone(kernel).set_params(theta=np.array([0.3, 0.4])).theta, [0.3, 0.4])
    X = np.ones((3, 2))
    assert_allclose(kernel(X), 2.0)
    assert list(kernel.parameter_names()) == ["bounds", "theta"]
    scaled = 3.0 * kernel
    assert_allclose(scaled.theta, np.log([3.0, 2.0]))
    assert_allclose(scaled.clone_with_theta(np.log([5.0, 7.0])).kernel.bounds, 7.0)
    assert_allclose(scaled(X, eval_gradient=True)[1], 6.0)
    with pytest.raises(TypeError, match=r"Use 1.0 \* kernel"):
        kernel(X, eval_gradient=True)
    with pytest.raises(TypeError, match="expected another name than 'features'"):

        class Clash(Kernel):
            def __init__(self, features):
                self.features = features


def counting(count):
    def function(x, z):
        count[0] += 1
        return float(np.exp(-np.sum((x - z) ** 2)))

    return function


@pytest.mark.parametrize(
    "use",
    [
        lambda f, X, y: gs.kta(gs.Gram(f, X), y),
        lambda f, X, y: gs.as_kernel(f)(X),
        lambda f, X, y: gs.evaluate([f], X, y, n_permutations=3),
        lambda f, X, y: gs.rank_kernels(X, y, kernels=[f, gs.Linear()], ensemble=False),
        lambda f, X, y: gs.rank_kernels(X, y, [k := gs.as_kernel(f), gs.Normalized(2.0 * k)]),
    ],
    ids=["kta", "matrix", "evaluate", "ranking", "composites"],
)
def test_a_function_is_asked_once_for_every_pair(use, rng):
    n, count = 40, [0]
    X = rng.normal(size=(n, 2))
    use(counting(count), X, (X[:, 0] * X[:, 1] > 0).astype(int))
    assert count[0] <= n * (n + 1) // 2 + 1  # the one with matrices, to see whether it takes them


def test_values_of_pairs_are_those_of_the_function_asked(rng):
    X, count = rng.normal(size=(6, 2)), [0]
    kernel = gs.as_kernel(counting(count))
    K = kernel(X)
    assert_allclose(K, gs.Gaussian.from_gamma(1.0)(X))
    before = count[0]
    assert_allclose(clone(kernel)(X[[4, 0]], X[1:]), K[np.ix_([4, 0], range(1, 6))])
    assert count[0] == before
    kernel.set_params(function=lambda x, z: float(x @ z))
    assert_allclose(kernel(X), X @ X.T)
    assert_allclose(pickle.loads(pickle.dumps(gs.as_kernel(one_product)))(X), X @ X.T)
    words = gs.as_kernel(lambda a, b: float(len(set(a) & set(b))))
    assert_allclose(words(["ab", "b", "ab"]), [[2, 1, 2], [1, 1, 1], [2, 1, 2]])
    lists = gs.as_kernel(lambda a, b: float(sum(a["v"]) * sum(b["v"])))
    assert_allclose(lists([{"v": [1, 2]}, {"v": [3]}]), [[9, 9], [9, 9]])


def test_pairs_beyond_those_that_are_kept(sizes, rng):
    sizes("kernels.pairs", KEPT=3)
    X, count = rng.normal(size=(6, 2)), [0]
    kernel = gs.as_kernel(counting(count))
    for _ in range(2):
        assert_allclose(kernel(X), gs.Gaussian.from_gamma(1.0)(X))
    assert count[0] == 1 + 21 + 15


def one_product(x, z):
    return float(x @ z)


@pytest.mark.parametrize("dense", [True, False])
def test_moments_of_columns(dense, rng):
    X = rng.normal(size=(20, 5)) * (rng.random((20, 5)) < 0.5) + np.arange(5)
    w = rng.integers(0, 3, size=20)
    mean, variance = column_moments(X if dense else sp.csr_array(X), w.astype(float))
    R = np.repeat(X, w, axis=0)
    np.testing.assert_allclose(mean, R.mean(axis=0))
    np.testing.assert_allclose(variance, R.var(axis=0))
    kernel = default_kernel(None, X if dense else sp.csr_array(X), w.astype(float))
    assert kernel.length_scale == pytest.approx(gs.as_kernel(None, R).length_scale)
