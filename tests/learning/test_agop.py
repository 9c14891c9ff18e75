"""Maps from the gradients of ridge regressions."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import gramsmith as gs
from gramsmith.gram.outer import BLOCK
from gramsmith.gram.outer import outer_products as outer_products_on
from gramsmith.learning.agop import leading_directions, symmetric_root

SHAPE = np.array([[1.0, 0.2], [0.0, 1.0], [0.3, 0.0]])
KERNELS = [
    gs.Gaussian(1.3),
    gs.Laplacian(1.1),
    gs.Laplacian(1.1, norm="l2"),
    gs.PowerExponential(1.2, power=0.8, norm=1.3),
    gs.PowerExponential(1.2, power=1.0, norm=1.0) @ gs.LinearMap(np.array([1.0, 0.3, 2.0])),
    gs.Matern(nu=1.5),
    gs.RationalQuadratic(),
    gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(SHAPE),
    gs.Polynomial(3) + gs.Linear(),
]


def outer_products(kernel, X, Z, c, w, diagonal, engine=None):
    return outer_products_on(kernel, X, Z, c, w, diagonal, engine or gs.Serial())


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_outer_products_of_finite_differences(kernel, rng):
    X, Z = rng.normal(size=(30, 3)), rng.normal(size=(10, 3))
    c, w, h = rng.normal(size=(10, 2)), rng.uniform(1.0, 2.0, 30), 1e-6
    J = [(kernel(X + h * e, Z) - kernel(X - h * e, Z)) @ c / (2.0 * h) for e in np.eye(3)]
    wanted = np.einsum("i,aiq,biq->ab", w, J, J) / w.sum()
    found = outer_products(kernel, X, Z, c, w, diagonal=False)
    np.testing.assert_allclose(found, wanted, atol=1e-7 * np.abs(wanted).max())
    diagonal = outer_products(kernel, X, Z, c, w, diagonal=True)
    np.testing.assert_allclose(diagonal, wanted.diagonal(), rtol=1e-6)


def test_blocks_add_up(rng):
    X = rng.normal(size=(BLOCK + 7, 2))
    c, w = rng.normal(size=(5, 1)), np.ones(len(X))
    whole = outer_products(gs.Gaussian(1.0), X, X[:5], c, w, diagonal=False)
    first, rest = (
        outer_products(gs.Gaussian(1.0), part, X[:5], c, np.ones(len(part)), diagonal=False)
        for part in (X[:100], X[100:])
    )
    np.testing.assert_allclose(whole * len(X), 100 * first + (len(X) - 100) * rest, rtol=1e-9)


def test_same_bits_on_any_number_of_threads(rng):
    X = rng.normal(size=(3 * BLOCK, 4))
    c, w = rng.normal(size=(50, 2)), rng.uniform(size=len(X))
    one, three = (
        outer_products(gs.Matern(1.0), X, X[:50], c, w, diagonal=False, engine=engine)
        for engine in (gs.Serial(), gs.Threads(3))
    )
    assert (one == three).all()


def test_weights_find_the_two_that_matter(rng):
    X = rng.normal(size=(200, 8))
    y = X[:, 0] * X[:, 1] > 0
    learner = gs.TransformLearner(solver="outer_product").fit(X, y)
    assert learner.feature_importances_[:2].sum() > 0.9
    assert learner.n_iter_ == 3
    errors = learner.history_["value"]
    assert errors[-1] < errors[0]


@pytest.mark.parametrize(("structure", "rank"), [("full", None), ("low_rank", 1)])
def test_an_oblique_direction(structure, rank, rng):
    X = rng.normal(size=(250, 6))
    direction = np.ones(6) / np.sqrt(6.0)
    y = np.sin(2.0 * X @ direction)
    learner = gs.TransformLearner(structure=structure, rank=rank, solver="outer_product")
    S = learner.set_params(keep=1.0).fit(X, y).components_.T
    U = np.linalg.eigh(S @ S.T)[1]
    assert abs(U[:, -1] @ direction) > 0.95
    assert S.shape == (6, 6 if rank is None else 1)


def test_the_rank_is_the_one_that_serves_other_rows(rng):
    X = rng.normal(size=(120, 4))
    one = np.sin(2.0 * X @ np.ones(4) / 2.0)
    alike = np.square(X).sum(axis=1) > 4.0
    learner = gs.TransformLearner(structure="low_rank", random_state=0)
    assert len(learner.fit(X, one).components_) <= 2
    assert len(learner.fit(X, alike).components_) == 4
    for options in ({"rank": 3}, {"keep": 1.0, "max_iter": 5}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = gs.TransformLearner(structure="low_rank", **options).fit(X, one)
        assert len(found.components_) == options.get("rank", 2)
    too_few = gs.TransformLearner(structure="low_rank")
    with pytest.warns(UserWarning, match="expected rows enough"):
        assert len(too_few.fit(X[:9], [1, *[0] * 8]).components_) == 2


def test_leading_directions_hold_their_share(rng):
    U = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    S = symmetric_root((U * [9.0, 4.0, 1.0, 1e-4, 0.0]) @ U.T)  # shares .643, .929, 1
    for share, rank in ((0.5, 1), (0.7, 2), (0.95, 3), (1.0 - 1e-7, 4)):
        found = leading_directions(S, share)
        assert found.shape == (5, rank)
        np.testing.assert_allclose(found @ found.T, (S @ U[:, :rank]) @ (S @ U[:, :rank]).T)


def test_a_full_map_of_one_direction_is_climbed_as_such(rng):
    """As free as it is, it would follow the labels that are wrong."""
    X = rng.normal(size=(250, 7))
    v = np.ones(7) / np.sqrt(7.0)
    y = (np.sin(2.0 * X @ v) > 0) ^ (rng.random(250) < 0.05)
    learner = gs.TransformLearner(structure="full", keep="cross_fit", random_state=0)
    S = learner.fit(X, y).components_.T
    values, U = np.linalg.eigh(S @ S.T)
    assert abs(U[:, -1] @ v) > 0.98
    assert learner.keep_ >= 0.5
    assert values[-2] < 2e-3 * values[-1]


@pytest.mark.parametrize(
    "kernel", [gs.Laplacian(), gs.Laplacian(norm="l2"), gs.PowerExponential(1.0, 1.2, 1.5)], ids=str
)
def test_other_kernels_find_the_features_too(kernel, rng):
    X = rng.normal(size=(150, 6))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1]
    learner = gs.TransformLearner(kernel, solver="outer_product", random_state=0).fit(X, y)
    assert learner.feature_importances_[:2].sum() > 0.7
    assert learner.keep_ > 0


def test_the_units_of_columns_follow(rng):
    """Gradients are by the columns as they are: a column in other units has other weights."""
    X = rng.normal(size=(150, 3))
    y = np.sin(X[:, 0]) + X[:, 1]
    plain, scaled = (
        gs.TransformLearner(solver="outer_product", keep=1.0, max_iter=6).fit(X * u, y)
        for u in (1.0, np.array([1.0, 3.0, 1.0]))
    )
    np.testing.assert_allclose(plain.feature_importances_, scaled.feature_importances_, atol=0.1)


def test_interrupts(rng):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2

    def stop(info):
        raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning):
        learner = gs.TransformLearner(solver="outer_product", callback=stop).fit(X, y)
    assert learner.keep_ == 0.25
