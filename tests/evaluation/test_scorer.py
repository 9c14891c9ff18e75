"""alignment_scorer: the kernel an estimator was fitted with, on the task it was fitted for."""

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import gramsmith as gs
from gramsmith.measures import MEASURES, Measure

score = gs.alignment_scorer()


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 2))
    return X, np.digitize(X[:, 0], [-0.5, 0.5])


def test_whole_numbers_are_values_to_a_regressor(data):
    X, y = data
    expected = gs.cka(gs.Gram(gs.Gaussian.from_gamma(0.5), X), y, task="regression")
    ridge = KernelRidge(kernel="rbf", gamma=0.5).fit(X, y)
    assert score(ridge, X, y) == pytest.approx(expected)
    pipe = make_pipeline("passthrough", SVR(gamma=0.5)).fit(X, y)
    assert score(pipe, X, y) == pytest.approx(expected)
    forced = gs.alignment_scorer(task="classification")
    assert forced(ridge, X, y) == pytest.approx(gs.cka(gs.Gaussian.from_gamma(0.5)(X), y))
    assert score(SVC(gamma=0.5).fit(X, y), X, y) == pytest.approx(forced(ridge, X, y))


def test_a_measure_of_your_own(data):
    X, y = data
    mine = Measure("mine", lambda sums: 1 - MEASURES["cka"].formula(sums), higher_is_better=False)
    machine = SVC(gamma=0.5).fit(X, y)
    assert gs.alignment_scorer(mine)(machine, X, y) == pytest.approx(score(machine, X, y) - 1)


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid"])
def test_gamma_is_that_of_the_training_samples(kernel, gamma, data):
    X, y = data
    machine = SVC(kernel=kernel, gamma=gamma, coef0=0.5).fit(X, y)
    fitted = gs.as_kernel(kernel, gamma=machine._gamma, coef0=0.5)
    Z = 3.0 * X
    assert score(machine, Z, y) == pytest.approx(gs.cka(gs.Gram(fitted, Z), y))
    wide = np.hstack([X, X])
    pca = KernelPCA(kernel="rbf").fit(wide)
    expected = gs.cka(gs.Gram(gs.Gaussian.from_gamma(0.25), wide), y)
    assert score(pca, wide, y) == pytest.approx(expected)


def test_pipelines_in_pipelines(data):
    X, y = data
    inner = make_pipeline(StandardScaler(), SVC(gamma=0.5))
    outer = make_pipeline(StandardScaler(), inner).fit(X, y)
    flat = make_pipeline(StandardScaler(), StandardScaler(), SVC(gamma=0.5)).fit(X, y)
    assert score(outer, X, y) == pytest.approx(score(flat, X, y))


def test_one_kernel_per_class(data):
    X, y = data
    same = GaussianProcessClassifier(RBF(0.7), optimizer=None).fit(X, y)
    assert score(same, X, y) == pytest.approx(gs.cka(gs.Gaussian(0.7)(X), y))
    with pytest.raises(TypeError, match="3 different ones, one per class"):
        score(GaussianProcessClassifier(RBF(0.7)).fit(X, y), X, y)


def test_affinities_and_functions_with_parameters(data):
    X, y = data
    clusters = SpectralClustering(2, gamma=0.5)
    assert score(clusters, X, y) == pytest.approx(gs.cka(gs.Gaussian.from_gamma(0.5)(X), y))

    def power(x, z, degree=1):
        return float((1.0 + x @ z) ** degree)

    ridge = KernelRidge(kernel=power, kernel_params={"degree": 2})
    expected = gs.cka(gs.Polynomial(2)(X), y, task="regression")
    assert score(ridge, X, y) == pytest.approx(expected)


def test_precomputed_blocks_are_refused_even_if_square(data):
    X, y = data
    search = GridSearchCV(
        SVC(kernel="precomputed"), {"C": [1.0]}, scoring=score, cv=2, error_score="raise"
    )
    with pytest.raises(ValueError, match="not the square kernel matrix"):
        search.fit(gs.Gaussian()(X), y)
