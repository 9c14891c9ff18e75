"""Maps of sparse rows: what dense rows give, and nowhere an array of n x p."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import gramsmith as gs
from gramsmith.gram import Gram
from gramsmith.kernels import Composed, LinearMap
from gramsmith.kernels.base import NotDifferentiable
from gramsmith.learning import start
from gramsmith.learning.sparse_maps import make_map
from gramsmith.measures import MEASURES
from gramsmith.targets import make_target
from oracle.plain_learners import TransformLearner

KERNELS = [
    gs.Gaussian(0.8),
    gs.Gaussian(np.array([0.5, 1.0, 2.0, 1.0, 1.0, 3.0])),
    gs.Matern(1.0, nu=2.5),
    gs.RationalQuadratic(),
    gs.Laplacian(1.0, norm="l2"),
    gs.Linear(),
    gs.Polynomial(2),
]


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(70, 6)) * (rng.random((70, 6)) < 0.6)
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0, "up", "down")


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("measure", ["kta", "cka_debiased", "fsm"])
@pytest.mark.parametrize("diagonal", [True, False])
def test_derivatives_are_those_of_dense_rows(kernel, measure, diagonal, problem, rng):
    X, y = problem
    if not diagonal and np.ndim(getattr(kernel, "length_scale", 0.0)):
        pytest.skip("one length per feature, and three mapped features")
    S = rng.uniform(0.5, 1.5, size=6 if diagonal else (6, 3))
    if diagonal:
        S[3] = 0.0
    target = make_target(y, sample_weight=rng.integers(0, 3, size=70))
    found = []
    for k, rows in (
        (Composed(kernel, LinearMap(S)), X),
        (make_map(kernel, S, True), sp.csr_array(X)),
    ):
        G = Gram(k, rows)
        moments = G.moments(target)
        _, adjoint = MEASURES[measure].value_and_adjoint(moments, target)
        found.append(G.pullback(adjoint, target, moments, inputs=False)[0])
    dense, sparse = found
    size = np.abs(dense.parameters["map__S"]).max()
    np.testing.assert_allclose(
        sparse.parameters["map__S"], dense.parameters["map__S"], atol=1e-9 * size
    )
    assert sparse.inputs is None
    with pytest.raises(NotDifferentiable):
        G.pullback(adjoint, target, moments, inputs=True)


@pytest.mark.parametrize("kernel", [None, gs.Matern(nu=2.5), "linear"], ids=repr)
@pytest.mark.parametrize("structure", ["diagonal", "low_rank"])
@pytest.mark.parametrize("measure", ["cka", "radius_margin"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learns_what_dense_rows_teach(kernel, structure, measure, problem):
    X, y = problem
    rows = sp.csr_matrix(X)
    learner = TransformLearner(kernel, structure, measure=measure, random_state=0, max_iter=3)
    dense = learner.fit(X, y)
    S, value, share = dense.components_, dense.value_, dense.feature_importances_
    mapped, K = dense.transform(X), dense.kernel_(X)
    sparse = learner.fit(rows, y)
    # few steps: along many, rounding alone would part two climbs of the same function; and
    # the quadratic programs of the bound are solved to a tolerance
    assert sparse.value_ == pytest.approx(value, rel=1e-6 if measure == "cka" else 1e-4)
    assert sp.issparse(sparse.components_) == (structure == "diagonal")
    found = sparse.components_
    np.testing.assert_allclose(found.toarray() if sp.issparse(found) else found, S, atol=1e-3)
    np.testing.assert_allclose(sparse.feature_importances_, share, atol=1e-3)
    np.testing.assert_allclose(sparse.kernel_(rows), K, atol=1e-3 * np.abs(K).max())
    again = sparse.transform(rows)
    assert sp.issparse(again) == (structure == "diagonal")
    again = again.toarray() if sp.issparse(again) else again
    np.testing.assert_allclose(again, mapped, atol=1e-2)
    np.testing.assert_allclose(sparse.transform(X), again, atol=1e-12)
    assert sparse.get_feature_names_out().shape == (again.shape[1],)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_penalties_stopping_and_batches(problem, rng):
    X, y = problem
    w = rng.integers(1, 4, size=70)
    for options in (
        {"l1": 0.01, "max_iter": 3},
        {"early_stopping": True, "max_iter": 3},
        {"solver": "ascent", "batch_size": 40, "max_iter": 20},
    ):
        learner = TransformLearner(random_state=0, **options)
        value = learner.fit(X, y, sample_weight=w).value_
        sparse = learner.fit(sp.csr_array(X), y, sample_weight=w)
        assert sparse.value_ == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize(
    ("kernel", "structure"),
    [
        (None, "full"),
        ("laplacian", "diagonal"),
        ("laplacian", "low_rank"),
        ("cosine", "diagonal"),
        (gs.Gaussian(1.0) + gs.Linear(), "diagonal"),
    ],
    ids=["full", "city block", "city block, mapped", "normalized", "sum"],
)
def test_what_would_need_dense_rows_is_refused(kernel, structure, problem):
    X, y = problem
    learner = TransformLearner(kernel, structure, max_iter=2)
    with pytest.raises(ValueError, match=r"expected dense X, got sparse rows.*Use .*toarray"):
        learner.fit(sp.csr_array(X), y)
    assert not learner.__sklearn_tags__().input_tags.sparse


def test_sums_go_under_low_rank_maps(problem):
    X, y = problem
    kernel = gs.Gaussian(1.0) + gs.Linear()
    learner = TransformLearner(kernel, "low_rank", random_state=0, max_iter=3, tol=0.1)
    value = learner.fit(X, y).value_
    assert learner.fit(sp.csr_array(X), y).value_ == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("weighted", [True, False])
def test_start_of_many_features(weighted, rng, monkeypatch):
    """Lanczos finds the directions that the dense covariance has."""
    X = (rng.random((40, 30)) < 0.2) * rng.normal(size=(40, 30)) * np.linspace(3, 1, 30)
    w = rng.integers(1, 4, size=40).astype(float) if weighted else None
    dense = start.make_start(X, "low_rank", 3, None, 1.0, np.random.RandomState(0), w)
    monkeypatch.setattr(start, "DENSE", 10)
    lanczos = start.make_start(
        sp.csr_array(X), "low_rank", 3, None, 1.0, np.random.RandomState(0), w
    )
    np.testing.assert_allclose(lanczos, dense, atol=1e-8)


@pytest.mark.parametrize("structure", ["diagonal", "low_rank"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_never_become_dense(structure, rng):
    """Neither X, nor its derivative, nor S' takes the memory of a dense array."""
    n, p = 1000, 30_000
    X = sp.random_array((n, p), density=4e-4, rng=rng).tocsr()
    signal = sp.csr_array(rng.normal(size=(n, 1)))
    X = sp.hstack([X, signal]).tocsr()
    y = signal.toarray()[:, 0] > 0
    learner = TransformLearner(structure=structure, random_state=0, max_iter=3, n_jobs=1)
    tracemalloc.start()
    mapped = learner.fit(X, y).transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert mapped.shape[0] == n
    assert peak < 8 * n * p / 3


def test_sparse_maps_can_be_kept(problem, tmp_path):
    X, y = problem
    learner = TransformLearner(max_iter=3, tol=0.1).fit(sp.csr_array(X), y)
    gs.save_model(learner, tmp_path / "map.safetensors")
    again = gs.load_model(tmp_path / "map.safetensors")
    np.testing.assert_array_equal(again.transform(X), learner.transform(X))
    assert sp.issparse(again.components_)
