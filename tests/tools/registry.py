"""Every kernel, target and measure that the laws are checked on: a new one is one line here."""

import numpy as np

import gramsmith as gs
from gramsmith.kernels import Kernel
from oracle import textbook as tb

S = np.array([[1.0, 0.3], [-0.4, 0.8], [0.2, -0.6]])
B = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.5]])


def first(X):
    return np.asarray(X)[:, 0]


#: name -> (kernel, dense textbook function of (X, Z))
KERNELS: dict[str, tuple[Kernel, object]] = {
    "gaussian": (gs.Gaussian(1.3), lambda X, Z: tb.gaussian(X, Z, 1.3)),
    "gaussian ard": (
        gs.Gaussian([1.0, 2.0, 0.7]),
        lambda X, Z: tb.gaussian(X, Z, np.array([1.0, 2.0, 0.7])),
    ),
    "laplacian l1": (gs.Laplacian(1.2), lambda X, Z: tb.laplacian(X, Z, 1.2)),
    "laplacian l2": (gs.Laplacian(1.2, "l2"), lambda X, Z: tb.laplacian(X, Z, 1.2, "l2")),
    "laplacian ard": (
        gs.Laplacian([1.0, 2.0, 0.5]),
        lambda X, Z: tb.laplacian(X, Z, np.array([1.0, 2.0, 0.5])),
    ),
    "matern 1/2": (gs.Matern(0.7, 0.5), lambda X, Z: tb.matern(X, Z, 0.7, 0.5)),
    "matern 3/2": (gs.Matern(0.9, 1.5), lambda X, Z: tb.matern(X, Z, 0.9, 1.5)),
    "matern 5/2": (gs.Matern(1.1, 2.5), lambda X, Z: tb.matern(X, Z, 1.1, 2.5)),
    "power exponential": (
        gs.PowerExponential([1.0, 2.0, 0.7], 0.8, 1.4),
        lambda X, Z: tb.power_exponential(X, Z, np.array([1.0, 2.0, 0.7]), 0.8, 1.4),
    ),
    "rational quadratic": (
        gs.RationalQuadratic(1.1, 0.7),
        lambda X, Z: tb.rational_quadratic(X, Z, 1.1, 0.7),
    ),
    "mixed": (
        gs.Mixed([0, 1, 1], [1.2, 0.7]),
        lambda X, Z: tb.mixed(X, Z, [0, 1, 1], [1.2, 0.7]),
    ),
    "mixed product": (
        gs.Mixed(None, 1.3, "product"),
        lambda X, Z: tb.mixed(X, Z, [0, 1, 2], [1.3] * 3, product=True),
    ),
    "periodic": (gs.Periodic(1.2, 12.0), lambda X, Z: tb.periodic(X, Z, 1.2, 12.0)),
    "constant": (gs.Constant(2.0), lambda X, Z: tb.constant(X, Z, 2.0)),
    "linear": (gs.Linear(), tb.linear),
    "polynomial": (gs.Polynomial(3, 0.5, 1.2), lambda X, Z: tb.polynomial(X, Z, 3, 0.5, 1.2)),
    "sigmoid": (gs.Sigmoid(0.3, 0.1), lambda X, Z: tb.sigmoid(X, Z, 0.3, 0.1)),
    "chi2": (gs.Chi2(0.6), lambda X, Z: tb.chi2(X, Z, 0.6)),
    "tanimoto": (gs.Tanimoto(), tb.tanimoto),
    "bilinear": (gs.Bilinear(B), lambda X, Z: tb.bilinear(X, Z, B)),
    "rank one": (gs.RankOne(first), lambda X, Z: np.outer(first(X), first(Z))),
    "sum": (gs.Gaussian() + gs.Linear(), lambda X, Z: tb.gaussian(X, Z) + tb.linear(X, Z)),
    "scaled": (2.5 * gs.Gaussian(), lambda X, Z: 2.5 * tb.gaussian(X, Z)),
    "product": (
        gs.Gaussian(2.0) * gs.Polynomial(2, 0.3),
        lambda X, Z: tb.gaussian(X, Z, 2.0) * tb.polynomial(X, Z, 2, 0.3),
    ),
    "power": (gs.Gaussian() ** 3, lambda X, Z: tb.gaussian(X, Z) ** 3),
    "polynomial of": (
        gs.PolynomialOf(gs.Gaussian(), [0.5, 1.0, 2.0]),
        lambda X, Z: tb.polynomial_of(tb.gaussian(X, Z), [0.5, 1.0, 2.0]),
    ),
    "negated": (
        gs.Linear() + gs.Negated(0.2 * gs.Gaussian()),
        lambda X, Z: tb.linear(X, Z) - 0.2 * tb.gaussian(X, Z),
    ),
    "exp": (gs.Exp(0.5 * gs.Gaussian()), lambda X, Z: np.exp(0.5 * tb.gaussian(X, Z))),
    "linear map": (
        gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(S),
        lambda X, Z: tb.gaussian(X @ S, Z @ S, np.sqrt(0.5)),
    ),
    "columns": (
        gs.Gaussian(1.5) @ gs.TakeColumns([2, 0]) + gs.Linear() @ gs.TakeColumns(np.array([1])),
        lambda X, Z: tb.gaussian(X[:, [2, 0]], Z[:, [2, 0]], 1.5) + tb.linear(X[:, [1]], Z[:, [1]]),
    ),
    "diagonal map": (
        gs.Polynomial(2, 0.3) @ gs.LinearMap(np.array([1.0, 2.0, 0.5])),
        lambda X, Z: tb.polynomial(X * [1.0, 2.0, 0.5], Z * [1.0, 2.0, 0.5], 2, 0.3),
    ),
    "gaussian of": (
        gs.GaussianOf(gs.Polynomial(2, 0.3), 1.5),
        lambda X, Z: tb.gaussian_of(lambda A, C: tb.polynomial(A, C, 2, 0.3), X, Z, 1.5),
    ),
    "normalized": (
        gs.Normalized(gs.Polynomial(2, 0.3)),
        lambda X, Z: tb.normalized(lambda A, C: tb.polynomial(A, C, 2, 0.3), X, Z),
    ),
    "deep": (
        gs.Normalized(gs.Gaussian() + 0.5 * gs.Linear()) @ gs.LinearMap(S),
        lambda X, Z: tb.normalized(
            lambda A, C: tb.gaussian(A, C) + 0.5 * tb.linear(A, C), X @ S, Z @ S
        ),
    ),
}

L = np.array([[0.0, 0.5, -1.0], [1.0, -0.5, 0.2], [-0.8, 0.3, 0.9], [0.4, 1.2, 0.1]])


def nystroem(k):
    """Return the textbook form of a kernel that is known by landmarks."""
    return lambda X, Z: k(X, L) @ np.linalg.solve(k(L, L), k(L, Z))


def waves(X, Z, length_scale, count, seed):
    """Return the mean cosine of random frequencies times the difference of two samples."""
    omega = np.random.default_rng(seed).standard_normal((X.shape[1], count)) / length_scale
    return np.cos((X[:, None, :] - Z[None, :, :]) @ omega).mean(axis=2)


KERNELS |= {
    "nystroem": (
        gs.Nystroem(gs.Gaussian(1.3), landmarks=L),
        nystroem(lambda X, Z: tb.gaussian(X, Z, 1.3)),
    ),
    "nystroem ard": (
        gs.Nystroem(gs.Matern([1.0, 2.0, 0.7], 2.5) + gs.Linear(), landmarks=L),
        nystroem(
            lambda X, Z: (
                tb.matern(X / [1.0, 2.0, 0.7], Z / [1.0, 2.0, 0.7], 1.0, 2.5) + tb.linear(X, Z)
            )
        ),
    ),
    "random fourier": (
        gs.RandomFourier(gs.Gaussian(1.3), n_features=40, random_state=3),
        lambda X, Z: waves(X, Z, 1.3, 20, 3),
    ),
}

# x0 > 0.2, then x2 > -0.5 or x1 > 0; and x1 > 0.4 alone. A leaf leads to itself.
FOREST = gs.Leaves(
    feature=[0, 2, 0, 0, 1, 0, 0, 1, 0, 0],
    threshold=[0.2, -0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.4, 0.0, 0.0],
    left=[1, 2, 2, 3, 5, 5, 6, 8, 8, 9],
    right=[4, 3, 2, 3, 6, 5, 6, 9, 8, 9],
    roots=[0, 7],
)


def same_leaf(X, Z):
    """Return the share of the two trees of `FOREST` in which two samples meet."""

    def leaf(x):
        side = x[2] > -0.5 if x[0] <= 0.2 else x[1] > 0.0
        return (x[0] > 0.2, side), x[1] > 0.4

    def share(x, z):
        return np.mean([a == b for a, b in zip(leaf(x), leaf(z), strict=True)])

    return np.array([[share(x, z) for z in Z] for x in X])


KERNELS |= {"leaves": (FOREST, same_leaf)}

#: kernels whose tiles are arrays of their own, with the reason
NOT_WRITTEN = {
    ("mixed", np.float32): "its distances, and so its tiles, are float64 whatever is asked for",
    ("mixed product", np.float32): "the same",
}

POSITIVE_DEFINITE = [name for name in KERNELS if name not in ("sigmoid", "periodic", "negated")]
DIFFERENTIABLE = [name for name in KERNELS if name not in ("rank one", "leaves")]


#: measure -> the kinds of y, see `targets`, for which it has a value
KINDS = {
    **dict.fromkeys(
        ("kta", "cka", "cka_debiased", "polarity", "hsic", "hsic_unbiased", "csm_scatter"),
        ("binary", "classes", "values", "outputs", "labels"),
    ),
    **dict.fromkeys(("fsm_loo", "mmd", "mmd_unbiased"), ("binary", "classes")),
    "fsm": ("binary", "classes", "values"),
    "csm": ("binary", "classes", "values", "outputs"),
}


def samples(kernel, rng, n):
    """Return n rows that the kernel accepts."""
    X = rng.normal(size=(n, 3))
    return np.abs(X) if kernel.requires_nonnegative_input else X


def targets(rng, X):
    """Return one y of every kind."""
    n = len(X)
    return {
        "binary": np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.2, "yes", "no"),
        "classes": rng.permutation(np.arange(n) % 3),
        "values": X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.normal(size=n),
        "outputs": np.column_stack([X[:, 0], X[:, 1] ** 2]) + 0.1 * rng.normal(size=(n, 2)),
        "labels": np.column_stack([X[:, 0] > 0, X[:, 1] > 0, X[:, 2] > 0.5]).astype(int),
    }


def textbook_measure(name, K, y, kind):
    """Return the dense value of a measure."""
    real = kind in ("values", "outputs")
    kinds = {"values": "regression", "outputs": "multioutput", "labels": "multilabel"}
    scheme = kinds.get(kind, "simplex")
    if name in ("kta", "cka", "cka_debiased", "polarity"):
        return getattr(tb, name)(K, tb.target_matrix(y, scheme))
    if name.startswith("hsic"):
        return tb.hsic(K, tb.target_matrix(y, scheme), unbiased=name.endswith("unbiased"))
    if name.startswith("mmd"):
        return pairwise_mmd(K, y, name.endswith("unbiased"))
    if name in ("fsm", "fsm_loo"):
        return tb.fsm_regression(K, y) if real else tb.fsm(K, y, leave_one_out=name == "fsm_loo")
    if real:
        return projector_csm(K, y)
    if kind == "labels":
        return projector_csm(K, np.asarray(y, dtype=float))
    return tb.csm(K, y, form="scatter" if name == "csm_scatter" else "covariance")


def pairwise_mmd(K, y, unbiased):
    """Return the MMD² of all pairs of classes, weighted by their sizes."""
    classes, sizes = np.unique(y, return_counts=True)
    total = weight = 0.0
    for a in range(len(classes)):
        for b in range(a + 1, len(classes)):
            rows = np.isin(y, classes[[a, b]])
            value = tb.mmd(K[np.ix_(rows, rows)], y[rows], unbiased=unbiased)
            total += (sizes[a] + sizes[b]) * value
            weight += sizes[a] + sizes[b]
    return total / weight


def projector_csm(K, Y):
    """Return tr S_W / tr S_B with the projector on the centred columns of Y."""
    n = len(K)
    Y = np.asarray(Y, dtype=float).reshape(n, -1)
    H = np.eye(n) - 1 / n
    P = H @ Y @ np.linalg.pinv(H @ Y)
    return np.trace(H @ K) / np.sum(K * P) - 1


def dense_adjoint(adjoint, moments, goal, K):
    """Return df/dK, shape (n, n), of the adjoint of one kernel matrix K."""
    adjoint = adjoint.unpivoted(moments, goal)
    low = adjoint.A[0] @ (goal.w[:, None] * goal.V).T
    quadratic = 2.0 * adjoint.nu[0, 0] * np.outer(goal.w, goal.w) * K
    return 0.5 * (low + low.T) + np.diag(adjoint.delta[0]) + quadratic


# Measures that a multiple of the identity, added to the kernel, does not change.
WITHOUT_DIAGONAL = ("cka_debiased", "fsm_loo", "hsic_unbiased", "mmd_unbiased")
