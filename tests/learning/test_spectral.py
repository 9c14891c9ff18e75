from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import gramsmith as gs
from gramsmith.learning import SpectralMap
from oracle import golden
from oracle import textbook as tb

SpectralAligner = partial(gs.SpectralAligner, keep=1.0)  # as in the papers
KERNEL = gs.Gaussian(1.0)


@pytest.fixture
def parity(rng):
    X = rng.normal(size=(260, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1, -1)


@pytest.mark.parametrize("width", [0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_cholesky_at_full_rank_is_eigen(width, weighted, rng):
    X, Z = rng.normal(size=(120, 3)), rng.normal(size=(30, 3))
    y = X[:, 0] * X[:, 1] > 0
    w = rng.uniform(0.2, 3.0, 120) if weighted else None
    learners = [
        SpectralAligner(gs.Gaussian(width), method=method, max_rank=120).fit(X, y, w)
        for method in ("eigen", "cholesky")
    ]
    eigen, cholesky = learners
    np.testing.assert_allclose(cholesky.eigenvalues_, eigen.eigenvalues_, rtol=1e-8)
    assert cholesky.value_ == pytest.approx(eigen.value_, rel=1e-8)
    K = eigen.kernel_(Z)
    np.testing.assert_allclose(cholesky.kernel_(Z), K, atol=1e-7 * np.abs(K).max())


def test_golden_optimum():
    every = SpectralAligner(KERNEL, threshold=0.0).fit(golden.X, golden.y)
    assert every.value_ == pytest.approx(golden.GOLDEN["spectral_all"][0], abs=1e-8)
    top = SpectralAligner(KERNEL, threshold=0.0, n_components=5).fit(golden.X, golden.y)
    assert top.value_ == pytest.approx(golden.GOLDEN["spectral_top5"][0], abs=1e-8)


@pytest.mark.parametrize("method", ["eigen", "cholesky"])
def test_golden_inductive_blocks(method):
    learner = SpectralAligner(KERNEL, threshold=0.1, method=method)
    learner.fit(golden.X[:8], golden.y[:8])
    G = learner.kernel_(golden.X)
    assert len(learner.alphas_) == golden.GOLDEN["inductive_kept"][0]
    assert learner.value_ == pytest.approx(golden.GOLDEN["inductive_alignment"][0], abs=1e-8)
    assert G.sum() == pytest.approx(golden.GOLDEN["inductive_sum"][0], abs=1e-8)
    dense, _ = tb.inductive_blocks(golden.K, np.arange(8), golden.y[:8], 0.1)
    np.testing.assert_allclose(G, dense, atol=1e-10)
    Psi = learner.transform(golden.X)
    np.testing.assert_allclose(Psi @ Psi.T, G, atol=1e-10)


def test_blocks_of_algorithm_one():
    """G(I,I) = V a V', G(I,J) = V a D^-1 V'K(I,J), G(J,J) = K(J,I) V a D^-2 V'K(I,J)."""
    I, J = np.arange(8), np.arange(8, 12)
    learner = SpectralAligner(KERNEL, threshold=0.1).fit(golden.X[I], golden.y[I])
    values, V = np.linalg.eigh(golden.K[np.ix_(I, I)])
    keep = values > 0.1 * values[-1]
    D, V = values[keep], V[:, keep]
    a = (V.T @ golden.y[I]) ** 2
    G = learner.kernel_(golden.X)
    cross = V.T @ golden.K[np.ix_(I, J)]
    np.testing.assert_allclose(G[np.ix_(I, I)], (V * a) @ V.T, atol=1e-10)
    np.testing.assert_allclose(G[np.ix_(I, J)], (V * a / D) @ cross, atol=1e-10)
    np.testing.assert_allclose(G[np.ix_(J, J)], cross.T @ (cross * (a / D**2)[:, None]), atol=1e-10)


@pytest.mark.parametrize(
    "y", [golden.y, golden.lab, golden.yr], ids=["binary", "classes", "values"]
)
def test_no_other_weights_align_better(y, rng):
    learner = SpectralAligner(KERNEL, threshold=1e-2).fit(golden.X, y)
    assert gs.kta(learner.kernel_(golden.X), y) == pytest.approx(learner.value_, abs=1e-9)
    values, V = np.linalg.eigh(golden.K)
    V = V[:, values > 1e-2 * values[-1]]
    for alpha in rng.uniform(size=(50, V.shape[1])):
        assert gs.kta((V * alpha) @ V.T, y) <= learner.value_ + 1e-12


def test_partial_eigensolver_equals_the_whole(parity):
    X, y = parity
    few = SpectralAligner(KERNEL, threshold=0.0, n_components=6).fit(X, y)
    values, V = np.linalg.eigh(KERNEL(X))
    np.testing.assert_allclose(few.eigenvalues_, values[::-1][:6], rtol=1e-8)
    np.testing.assert_allclose(few.alphas_, ((V.T @ y) ** 2)[::-1][:6], rtol=1e-5, atol=1e-8)


def test_gram_schmidt_route_equals_eigenvectors(parity):
    X, y = parity
    dense = SpectralAligner(KERNEL, threshold=1e-2, method="eigen").fit(X, y)
    lazy = SpectralAligner(KERNEL, threshold=1e-2, method="cholesky").fit(X, y)
    assert lazy.value_ == pytest.approx(dense.value_, abs=1e-4)
    np.testing.assert_allclose(lazy.kernel_(X[:20]), dense.kernel_(X[:20]), atol=2e-2)
    assert len(lazy.kernel_.map.samples) < len(X)


def test_a_short_factor_is_reported(rng):
    X = rng.normal(size=(100, 5))
    with pytest.warns(ConvergenceWarning, match="Raise max_rank"):
        SpectralAligner(gs.Gaussian(0.5), method="cholesky", max_rank=5).fit(X, X[:, 0] > 0)


def test_threshold_by_held_out_alignment(parity):
    X, y = parity
    learner = SpectralAligner(KERNEL, threshold="auto", random_state=0).fit(X[:130], y[:130])
    assert learner.threshold_ == 10.0 ** -(1 + np.argmax(learner.held_out_))
    fixed = SpectralAligner(KERNEL, threshold=1e-9).fit(X[:130], y[:130])
    new = X[130:], y[130:]
    assert gs.kta(learner.kernel_(new[0]), new[1]) > gs.kta(fixed.kernel_(new[0]), new[1])
    few = SpectralAligner(KERNEL, threshold="auto").fit(golden.X, golden.y)
    assert few.threshold_ == 1e-3


def test_small_eigenvalues_explode(parity):
    """Weights alpha / D² of a generous threshold ruin the kernel of new points."""
    X, y = parity
    wild = SpectralAligner(KERNEL, threshold=1e-9).fit(X[:130], y[:130])
    calm = SpectralAligner(KERNEL).fit(X[:130], y[:130])
    assert np.abs(wild.kernel_(X)).max() > 10 * np.abs(calm.kernel_(X)).max()


def test_in_a_machine(parity):
    X, y = parity
    learner = SpectralAligner(KERNEL).fit(X[:200], y[:200])
    machine = SVC(kernel=learner.kernel_).fit(X[:200], y[:200])
    assert machine.score(X[200:], y[200:]) > 0.85


def test_strings():
    learner = SpectralAligner(gs.Spectrum(2)).fit(["abab", "baba", "aabb", "bbaa"], [0, 0, 1, 1])
    assert learner.transform(["abba"]).shape == (1, len(learner.alphas_))


def test_data_frames(parity):
    pd = pytest.importorskip("pandas")
    X, y = parity
    learner = SpectralAligner(KERNEL, n_components=2).set_output(transform="pandas")
    out = learner.fit(pd.DataFrame(X, columns=["a", "b"]), y).transform(
        pd.DataFrame(X, columns=["a", "b"])
    )
    assert out.columns.tolist() == ["spectralaligner0", "spectralaligner1"]


@pytest.mark.slow
def test_twenty_thousand_samples_without_the_matrix(rng):
    X = rng.normal(size=(20_000, 3))
    y = X[:, 0] * X[:, 1] > 0
    learner = SpectralAligner(gs.Gaussian(2.0), threshold=1e-2, max_rank=150, memory=256)
    learner.fit(X, y)
    assert learner.kernel_.map.coef.shape[0] <= 150
    assert learner.value_ > 0.3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 1.0}, "threshold"),
        ({"threshold": "best"}, "threshold"),
        ({"n_components": 0}, "n_components"),
        ({"n_components": 2.5}, "n_components"),
        ({"max_rank": 0}, "max_rank"),
        ({"validation_fraction": 0.0}, "validation_fraction"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        SpectralAligner(**options).fit(golden.X, golden.y)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "cholesky", "threshold": 0.01, "max_rank": 60},
        {"threshold": "auto", "random_state": 0},
    ],
    ids=["eigen", "cholesky", "auto"],
)
@pytest.mark.parametrize("least", [0, 1])
def test_a_matrix_gives_what_its_kernel_gives(options, least, parity):
    X, y = parity
    X, y, new = X[:80], y[:80], X[80:100]
    if "random_state" in options:
        least = 1  # rows of weight zero take part in the draw from a matrix
    w = np.maximum(np.arange(80) % 3, least)
    direct = SpectralAligner(KERNEL, **options).fit(X, y, sample_weight=w)
    matrix = SpectralAligner("precomputed", **options).fit(KERNEL(X), y, sample_weight=w)
    assert matrix.threshold_ == direct.threshold_
    assert matrix.value_ == pytest.approx(direct.value_, rel=1e-9)
    np.testing.assert_allclose(matrix.transform(KERNEL(new, X)), direct.transform(new), atol=1e-7)


def test_matrices_are_sliced_on_both_axes(parity):
    X, y = parity
    model = make_pipeline(SpectralAligner("precomputed"), SVC(kernel="linear"))
    direct = make_pipeline(SpectralAligner(KERNEL), SVC(kernel="linear"))
    by_matrix = cross_val_score(model, KERNEL(X), y, cv=3)
    np.testing.assert_allclose(by_matrix, cross_val_score(direct, X, y, cv=3))


def test_iterations_are_what_was_done(rng):
    X = rng.normal(size=(240, 2))
    y = X[:, 0] > 0
    assert SpectralAligner(KERNEL).fit(X, y).n_iter_ == 1
    factor = SpectralAligner(KERNEL, method="cholesky", threshold=0.1).fit(X, y)
    assert factor.n_iter_ == len(factor.kernel_.map.samples)


def test_the_callback_hears_of_a_dense_solution():
    rows = []
    SpectralAligner(KERNEL, callback=rows.append).fit(golden.X, golden.y)
    assert rows == [{"done": 1.0, "total": 1.0}]


def test_an_interrupted_factor_is_kept(parity):
    X, y = parity

    def stop(info):
        if info["done"] > 12:
            raise KeyboardInterrupt

    learner = SpectralAligner(KERNEL, method="cholesky", threshold=1e-6, callback=stop)
    with pytest.warns(ConvergenceWarning, match="interrupted after 12 columns"):
        learner.fit(X, y)
    assert learner.n_iter_ == 12
    whole = SpectralAligner(KERNEL, method="cholesky", threshold=1e-6).fit(X, y)
    assert 0.5 * whole.value_ < learner.value_ <= whole.value_


def test_map_is_a_combination_of_kernel_functions(rng):
    coef = rng.normal(size=(12, 3))
    psi = SpectralMap(gs.Gaussian(1.0), golden.X, coef)
    np.testing.assert_allclose(psi(golden.X[:5]), golden.K[:5] @ coef)
    assert psi(golden.X[:0]).shape == (0, 3)


def test_long_inputs_go_in_blocks(rng):
    samples = rng.normal(size=(2100, 2))
    coef = rng.normal(size=(2100, 1))
    psi = SpectralMap(gs.Linear(), samples, coef)
    X = rng.normal(size=(4500, 2))
    np.testing.assert_allclose(psi(X), X @ samples.T @ coef, rtol=1e-9)


def test_aligned_kernels_clone():
    kernel = gs.Linear() @ SpectralMap(gs.Gaussian(1.0), golden.X, np.eye(12))
    np.testing.assert_array_equal(clone(kernel)(golden.X), kernel(golden.X))
    assert not kernel.differentiable
    assert not SpectralMap(gs.Spectrum(2), ["ab"], np.eye(1)).requires_vector_input


def test_dense_and_sparse_rows_go_together(rng):
    X = rng.normal(size=(12, 4)) * (rng.random((12, 4)) < 0.5)
    coef = rng.normal(size=(8, 3))
    dense = SpectralMap(gs.Gaussian(1.0), X[:8], coef)
    sparse = SpectralMap(gs.Gaussian(1.0), sp.csr_array(X[:8]), coef)
    for rows in (X, sp.csr_array(X)):
        np.testing.assert_allclose(dense(rows), dense(X), atol=1e-12)
        np.testing.assert_allclose(sparse(rows), dense(X), atol=1e-12)
