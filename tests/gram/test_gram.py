"""Gram: the matrix nobody holds, its routes, its budget and its threads."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_info

import gramsmith as gs
from gramsmith.gram import Gram, as_views, plan
from gramsmith.gram.embedded import Unembedded, embed_kernels
from gramsmith.kernels.embedding import width
from gramsmith.measures import MEASURES, get_measure
from gramsmith.moments import Adjoint
from gramsmith.targets import make_target


@pytest.fixture
def X(rng):
    return rng.normal(size=(60, 4))


def test_as_a_matrix(X, rng):
    G = Gram(gs.Gaussian(), X)
    K = gs.Gaussian()(X)
    assert_allclose(G.toarray(), K, rtol=1e-13)
    assert_allclose(G.diagonal(), 1.0)
    v, V = rng.normal(size=60), rng.normal(size=(60, 3))
    assert_allclose(G @ v, K @ v)
    assert_allclose(G @ V, K @ V)
    assert_allclose(G.block(slice(3, 9), np.array([1, 5])), K[3:9][:, [1, 5]], rtol=1e-13)
    assert G.shape == (60, 60)
    assert repr(G) == "Gram(Gaussian(length_scale=1); 60 samples, float64 tiles)"
    assert len(G) == 60


@pytest.mark.parametrize("kernel", [gs.Gaussian(), gs.Laplacian(), gs.Polynomial(3)], ids=str)
@pytest.mark.parametrize("n", [1, 530])
def test_the_whole_matrix_from_several_tiles(kernel, n, rng):
    X = rng.normal(size=(n, 3))
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-4)):
        K = Gram(kernel, X, dtype=dtype).toarray()
        assert K.dtype == dtype
        assert_allclose(K, kernel(X), rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal(K, K.T)


def test_names_and_views(X):
    G = Gram("rbf", X)
    assert_allclose(G.toarray(), gs.Gaussian.from_gamma(0.25)(X))
    both = Gram([gs.Gaussian(), gs.Linear()], (X[:, :2], X[:, 2:]))
    goal = make_target(np.arange(60) % 2)
    moments = both.moments(goal)
    for k, (kernel, view) in enumerate(((gs.Gaussian(), X[:, :2]), (gs.Linear(), X[:, 2:]))):
        alone = Gram(kernel, view).moments(goal)
        left, right = (MEASURES["cka"].value(m, goal) for m in (moments.of(k), alone))
        assert left == pytest.approx(right, rel=1e-12)


def test_explicit_route_equals_tiles(X, monkeypatch):
    y = np.arange(60) % 3
    goal = make_target(y, sample_weight=1 + np.arange(60) % 2)
    fold = np.repeat(np.arange(4), 15)
    kernels = [gs.Linear(), 2.0 * gs.Linear() + gs.Constant(3.0), gs.Normalized(gs.Linear())]
    shifted = X + 5.0
    quick = Gram(kernels, shifted).moments(goal, fold=fold, cross=True)
    assert quick.h.any()
    monkeypatch.setattr("gramsmith.gram.features.cheaper_than_tiles", lambda *_: False)
    slow = Gram(kernels, shifted).moments(goal, fold=fold, cross=True)
    assert not slow.h.any()
    for k in range(3):
        for measure in MEASURES.values():
            a, b = (measure.value(m.of(k), goal) for m in (quick, slow))
            assert a == pytest.approx(b, rel=1e-9)
    for weights in ([1, 0, 0], [0.2, 0.3, 0.5]):
        a, b = (MEASURES["cka"].value(m.mix(weights), goal) for m in (quick, slow))
        assert a == pytest.approx(b, rel=1e-9)


def test_explicit_and_tiled_kernels_in_one_call(X):
    goal = make_target(np.arange(60) % 2)
    kernels = [gs.Linear(), 2.0 * gs.Linear(), gs.Gaussian(), gs.Matern(), gs.Linear() + 1.0]
    moments = Gram(kernels, X).moments(goal, cross=False)
    assert moments.centred.tolist() == [True, True, False, False, True]
    for k, kernel in enumerate(kernels):
        alone = Gram(kernel, X).moments(goal)
        for measure in MEASURES.values():
            left, right = measure.value(moments.of(k), goal), measure.value(alone, goal)
            assert left == pytest.approx(right, rel=1e-10)


@pytest.mark.parametrize(
    "kernel",
    [gs.Gaussian(2.0), gs.Linear(), gs.Polynomial(2), gs.Tanimoto(), gs.Laplacian(2.0, "l2")],
    ids=str,
)
def test_sparse_rows_stay_sparse(kernel, rng):
    dense = rng.poisson(0.3, size=(40, 30)).astype(float)
    rows = sp.csr_array(dense)
    y = np.arange(40) % 2
    rows.toarray = None  # making it dense would fail
    goal = make_target(y)
    G = Gram(kernel, rows)
    moments = G.moments(goal)
    value, adjoint = get_measure("cka").value_and_adjoint(moments, goal)
    assert value == pytest.approx(gs.cka(Gram(kernel, dense), y), rel=1e-10)
    there = Gram(kernel, dense)
    moments_there = there.moments(goal)
    _, adjoint_there = get_measure("cka").value_and_adjoint(moments_there, goal)
    mine = G.pullback(adjoint, goal, moments)[0]
    theirs = there.pullback(adjoint_there, goal, moments_there)[0]
    for name, expected in theirs.parameters.items():
        assert_allclose(mine.parameters[name], expected, rtol=1e-8, atol=1e-12)
    assert_allclose(mine.inputs, theirs.inputs, rtol=1e-7, atol=1e-10)


def test_sparse_input_is_refused_where_it_would_become_dense(X):
    with pytest.raises(TypeError, match="expected dense input, got a sparse matrix"):
        Gram(gs.Laplacian(), sp.csr_array(X))


@pytest.mark.parametrize(
    "path",
    [
        [gs.Gaussian(4.0 / np.sqrt(2) ** j) for j in range(18)],
        [gs.Laplacian(64.0 / 2.0**j) for j in range(18)],
        [gs.Laplacian(64.0 / 2.0**j, norm="l2") for j in range(18)],
    ],
    ids=["gaussian", "city block", "euclidean"],
)
def test_bandwidths_by_repeated_squaring(X, path):
    goal = make_target(np.arange(60) % 2)
    for dtype, tolerance, squarings in ((np.float64, 1e-11, 8), (np.float32, 1e-5, 4)):
        G = Gram(path, X, dtype=dtype)
        assert len(G._members[0].kernels) == squarings + 1  # one exponential for so many
        moments = G.moments(goal, cross=False)
        for k, kernel in enumerate(path):
            alone = Gram(kernel, X).moments(goal)
            left, right = (MEASURES["cka"].value(m, goal) for m in (moments.of(k), alone))
            assert left == pytest.approx(right, rel=tolerance)
        # a path begins wherever the one before ends
        found = [kernel for member in G._members for kernel in member.kernels]
        assert found == path
        assert len(G._members[1].kernels) > 2
    crossed = Gram(path[:3], X).moments(goal, cross=True)
    Ks = [kernel(X) for kernel in path[:3]]
    from gramsmith.measures.alignment import kernel_products

    expected = [[np.sum(a * b) for b in Ks] for a in Ks]
    assert_allclose(kernel_products(crossed, goal), expected, rtol=1e-11)


def test_paths_stand_anywhere_among_kernels(X):
    goal = make_target(np.arange(60) % 2)
    kernels = [gs.Matern(), gs.Polynomial(2), gs.Laplacian(4.0), gs.Laplacian(2.0), gs.Matern(2.0)]
    G = Gram(kernels, X)
    assert [len(member.kernels) for member in G._members] == [1, 1, 2, 1]
    moments = G.moments(goal, cross=False)
    for k, kernel in enumerate(kernels):
        left, right = (
            MEASURES["cka"].value(m, goal) for m in (moments.of(k), Gram(kernel, X).moments(goal))
        )
        assert left == pytest.approx(right, rel=1e-11)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_taken_off_is_the_median_of_nearly_equal_values(dtype, X):
    goal = make_target(np.arange(60) % 2)
    pairs = ~np.eye(60, dtype=bool)
    for width_, constant in [(0.5, False), (1.0, False), (30.0, True), (60.0, True)]:
        kernel = gs.Gaussian(width_)
        (found,) = Gram(kernel, X, dtype=dtype).moments(goal).c
        expected = np.median(kernel(X)[pairs]) if constant else 0.0
        assert found == pytest.approx(expected, rel=1e-4)


def test_a_budget_too_small_is_refused_before_work(X):
    big = np.zeros((3000, 2))
    with pytest.raises(MemoryError, match=r"at least .* MiB for tiles in work, got 1 MiB"):
        Gram(gs.Gaussian(), big, memory=1)
    with pytest.raises(ValueError, match="memory > 0"):
        Gram(gs.Gaussian(), X, memory=0)


def test_plan_covers_the_triangle_once_and_respects_folds():
    fold = np.repeat([0, 1, 2], [700, 5, 1300])
    blocks = plan.make_plan(2005, np.float64, fold).blocks
    seen = np.zeros((2005, 2005), dtype=int)
    for i, j in plan.make_plan(2005, np.float64, fold).tiles:
        seen[blocks[i].rows, blocks[j].rows] += 1
        if i != j:
            seen[blocks[j].rows, blocks[i].rows] += 1
    assert (seen == 1).all()
    assert all(len(set(fold[b.rows])) == 1 and fold[b.rows.start] == b.fold for b in blocks)


def blas_threads():
    return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]


def test_threads_are_given_back_when_two_sweeps_overlap(blas_of_two):
    before = blas_threads()
    assert set(before) == {2}
    X = np.random.default_rng(0).normal(size=(1500, 5))
    y = np.arange(1500) % 2
    inside, failures = [], []

    def work(seed):
        try:
            for _ in range(3 + seed):
                G = Gram(
                    gs.Gaussian(1.0 + seed), X, progress=lambda *_: inside.append(blas_threads())
                )
                gs.cka(G, y)
        except Exception as error:
            failures.append(error)

    pool = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    assert not failures
    assert blas_threads() == before
    assert {n for now in inside for n in now} == {1}


@pytest.mark.parametrize("width", [3, 500])  # explicit features, or more of them than tiles cost
def test_products_build_features_once(width, watched):
    X = np.random.default_rng(0).normal(size=(200, width))
    made = watched(gs.Linear, "features")
    G = Gram(gs.Linear(), X)
    for v in np.eye(200)[:5]:
        np.testing.assert_allclose(G @ v, X @ (X.T @ v), atol=1e-12)
    assert len(made) == 1


def test_progress_and_interruption(X, blas_of_two):
    seen = []
    gs.cka(Gram(gs.Gaussian(), X, progress=lambda done, total: seen.append((done, total))), X[:, 0])
    assert seen[-1][0] == seen[-1][1] == len(seen)

    def stop(done, total):
        raise KeyboardInterrupt

    before = blas_threads()
    with pytest.raises(KeyboardInterrupt):
        gs.cka(Gram(gs.Gaussian(), X, progress=stop), X[:, 0])
    assert blas_threads() == before


@pytest.mark.parametrize(
    ("kernel", "X", "error", "message"),
    [
        (gs.Gaussian(), [[1.0, np.nan], [2.0, 1.0]], ValueError, "NaN in column 1"),
        (gs.Gaussian(), [[1.0, 2.0], [np.inf, 1.0]], ValueError, "infinity in column 0"),
        (gs.Gaussian(), [[1j, 2.0]], ValueError, "complex"),
        (gs.Gaussian(), [["a"], ["b"]], ValueError, "convert"),
        (gs.Gaussian(), [1.0, 2.0], ValueError, "2D"),
        (gs.Gaussian(-1.0), [[1.0]], ValueError, "length_scale > 0, got -1.0"),
        (gs.Chi2(), [[-1.0]], ValueError, "non-negative"),
        (gs.Bilinear([[1.0, 2.0], [2.0, 1.0]]), [[1.0, 2.0]], ValueError, "smallest eigenvalue"),
        ("odd", [[1.0]], ValueError, "kernel name"),
        (3.5, [[1.0]], TypeError, "Expected a kernel"),
        ([], [[1.0]], ValueError, "at least one kernel"),
        ("precomputed", np.ones((2, 3)), ValueError, "square"),
    ],
    ids=str,
)
def test_bad_input_is_refused_before_work(kernel, X, error, message):
    with pytest.raises(error, match=message):
        Gram(kernel, X)


def test_other_refusals(X):
    G = Gram(gs.Gaussian(), X)
    with pytest.raises(ValueError, match="rows to multiply"):
        G @ np.ones(3)
    with pytest.raises(ValueError, match="one target per sample"):
        G.moments(make_target([0, 1, 0]))
    with pytest.raises(ValueError, match="dtype"):
        Gram(gs.Gaussian(), X, dtype=int)
    with pytest.raises(ValueError, match="n_jobs"):
        Gram(gs.Gaussian(), X, n_jobs=0)
    with pytest.raises(ValueError, match="single kernel"):
        Gram([gs.Gaussian(), gs.Linear()], X).toarray()
    with pytest.raises(ValueError, match="same samples"):
        Gram([gs.Gaussian(), gs.Linear()], (X, X[:10]))
    kernel = gs.RankOne(lambda A: A[:, 0])
    other = Gram(kernel, X)
    goal = make_target(np.arange(60) % 2)
    moments = other.moments(goal)
    _, adjoint = get_measure("kta").value_and_adjoint(moments, goal)
    with pytest.raises(TypeError, match="got RankOne"):
        other.pullback(adjoint, goal, moments)


def test_one_far_sample_is_no_variety(rng):
    """In float32 a kernel that is nearly constant but for one sample keeps its digits."""
    X = rng.normal(size=(400, 2))
    X[0] = 2000.0
    y = (X[:, 0] > 0).astype(int)
    double, single = (
        gs.cka(Gram(gs.Gaussian(100.0), X, dtype=dtype), y, debiased=True)
        for dtype in (np.float64, np.float32)
    )
    assert single == pytest.approx(double, rel=0.1)  # a third less without the pivot


def test_blocks_of_folds_fit_the_budget(rng):
    X, y = rng.normal(size=(1500, 2)), np.arange(1500) % 2
    G = Gram(gs.Gaussian(1.0), X, memory=10, n_jobs=1)
    with pytest.raises(MemoryError, match="memory budget"):
        G.moments(make_target(y), fold=np.arange(1500) // 750)


def test_overflow_between_kernels_names_the_one(rng):
    X = rng.normal(size=(50, 2))
    X[3] = 1e100
    kernels = [gs.Gaussian(), gs.Polynomial(4), gs.Laplacian()]
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="Polynomial"):
        Gram(kernels, X).moments(make_target(np.arange(50) % 2), cross=True)


@pytest.mark.parametrize("odd", [0, 1])
def test_values_that_are_no_numbers_between_kernels_are_named(odd, X):
    kernels = [gs.Gaussian(), gs.Matern()]
    kernels[odd] = lambda A, B: np.full((len(A), len(B)), np.nan)
    with pytest.raises(ValueError, match="got NaN in FromCallable"):
        Gram(kernels, X).moments(make_target(np.arange(60) % 2), cross=True)


def test_two_kernels_are_multiplied_without_being_asked(X):
    goal = make_target(np.arange(60) % 2)
    kernels = [gs.Gaussian(), gs.Matern(), gs.Laplacian()]
    for count, asked, made in [
        *((2, None, True), (3, None, False), (2, False, False), (3, True, True)),
    ]:
        sums = Gram(kernels[:count], X).moments(goal, cross=asked)
        assert sums.cross == made
        assert bool(sums.squares[0, 1]) == made


@pytest.mark.parametrize("folds", [1, 2, 3])
def test_features_are_taken_within_the_budget(folds, rng):
    """Their squares stand side by side, one for each fold and one more."""
    X, fold = rng.normal(size=(30, 40)), np.arange(30) * folds // 30
    goal = make_target(np.arange(30) % 2)
    need = 8 * 40 * 40 * (folds + 1)
    for spare, explicit in [(0, True), (-1, False)]:
        G = Gram(gs.Linear(), X, memory=(need + spare) / plan.MIB, n_jobs=1)
        assert G.moments(goal, fold=fold).h.any() == explicit


@pytest.mark.parametrize("weighted", [False, True])
def test_derivatives_of_a_mixture_against_differences(weighted, rng):
    """Products between kernels on and off the diagonal of tiles."""
    X = rng.normal(size=(530, 2))
    w = rng.uniform(0.5, 2.0, size=530) if weighted else None
    goal = make_target(X[:, 0] * X[:, 1] > 0, sample_weight=w)
    share = np.array([0.7, 0.3])

    def mixed(a, b):
        return Gram([gs.Gaussian(a), gs.Matern(b)], X)

    def value(a, b):
        return MEASURES["cka"].value(mixed(a, b).moments(goal, cross=True).mix(share), goal)

    G = mixed(1.0, 1.5)
    assert len(G.plan().blocks) == 2
    moments = G.moments(goal, cross=True)
    _, one = MEASURES["cka"].value_and_adjoint(moments.mix(share), goal)
    adjoint = Adjoint(
        share[:, None, None] * one.A, share[:, None] * one.delta, np.outer(share, share) * one.nu
    )
    found = [d.parameters["length_scale"] for d in G.pullback(adjoint, goal, moments)]
    step = 1e-5
    expected = [
        (value(1.0 + step, 1.5) - value(1.0 - step, 1.5)) / (2 * step),
        (value(1.0, 1.5 + step) - value(1.0, 1.5 - step)) / (2 * step),
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_embeddings_past_their_share_are_made_when_needed(rng):
    X = rng.normal(size=(40, 3))
    views = as_views([gs.Gaussian(1.0), gs.Matern(2.0), gs.Laplacian(3.0, "l2")], X)
    sizes = [len(m.X) * width(m.E) * 8 for m in embed_kernels(views, np.float64, 10**9)]
    for fit in (1, 2, 3):
        budget = 4 * sum(sizes[:fit])
        late = [isinstance(m.E, Unembedded) for m in embed_kernels(views, np.float64, budget)]
        assert late == [k >= fit for k in range(3)]
        late = [isinstance(m.E, Unembedded) for m in embed_kernels(views, np.float64, budget - 1)]
        assert late == [k >= fit - 1 for k in range(3)]


def test_blocks_of_any_rows():
    X = np.random.default_rng(0).normal(size=(12, 2))
    K = gs.Gaussian()(X)
    for G in (Gram(gs.Gaussian(), X), Gram("precomputed", K)):
        for i in (slice(None, None, -1), slice(-100, None), [], [0, 2, 1, 3], [0, 0, 2], [-1, 3]):
            found = G.block(i, [0, 2, 1, 3])
            assert_allclose(
                found, K[i if isinstance(i, slice) else np.array(i, int)][:, [0, 2, 1, 3]]
            )
        mask = np.arange(12) % 3 == 0
        assert_allclose(G.block(mask, ~mask), K[mask][:, ~mask])
        bad = (slice(0, 2, 0), slice("a"), [12], [-13], [0.5], mask[:11], [[0, 1]], True, 3, None)
        for i in bad:
            with pytest.raises(ValueError, match="Expected a slice"):
                G.block(i, [0])
