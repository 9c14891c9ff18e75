"""Nguyen & Ho: kernels as LIBSVM has them, ranks, closed form of figure 3, table 1."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel, sigmoid_kernel

import gramsmith as gs
from papers import nguyen_ho
from papers.data import DataSet
from papers.generators import two_blobs


def test_kernels_are_those_of_libsvm(rng):
    X = rng.standard_normal((6, 4))
    ours = nguyen_ho.kernels(4)
    np.testing.assert_allclose(ours["linear"](X), X @ X.T)
    options = {"gamma": 0.25, "coef0": 0.0}
    np.testing.assert_allclose(ours["polynomial"](X), polynomial_kernel(X, degree=3, **options))
    np.testing.assert_allclose(ours["Gaussian"](X), rbf_kernel(X, gamma=0.25))
    np.testing.assert_allclose(ours["tanh"](X), sigmoid_kernel(X, **options))


def test_ranks():
    values = np.array([0.3, 0.1, 0.4, 0.2])
    assert nguyen_ho.rank_kernels_by(values, higher_is_better=True).tolist() == [2, 4, 1, 3]
    assert nguyen_ho.rank_kernels_by(values, higher_is_better=False).tolist() == [3, 1, 4, 2]


@pytest.mark.parametrize("angle", [30, 90, 180])
@pytest.mark.parametrize("spread", [0.5, 0.5 / np.sqrt(2)])
def test_closed_form_is_the_limit_of_many_points(angle, spread, rng):
    X, y = two_blobs(angle, spread, 20_000, rng)
    A = gs.kta(gs.Gram(gs.Linear(), X), y)
    assert nguyen_ho.closed_form(angle, spread) == pytest.approx(1 - A, abs=0.006)


@pytest.mark.parametrize("angle", [30, 90, 150])
def test_closed_forms_of_both_readings(angle):
    q = 1 - np.cos(np.deg2rad(angle))
    literal = 1 - (q / 2) / np.sqrt(1 + q**2)
    total = 1 - (q / 2) / np.sqrt((1 - q / 4) ** 2 + (3 * q / 4) ** 2)
    assert nguyen_ho.closed_form(angle, 0.5) == pytest.approx(literal, abs=1e-12)
    assert nguyen_ho.closed_form(angle, 0.5 / np.sqrt(2)) == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("classifier", ["C-SVC", "nu-SVC"])
def test_errors_are_those_of_an_easy_problem(classifier, rng):
    y = np.repeat([1, -1], 30)
    data = DataSet("easy", rng.standard_normal((60, 2)) + 4.0 * y[:, None], y)
    errors = nguyen_ho.cross_validated_errors(data, classifier, 1, 50)
    assert errors.shape == (4,)
    assert errors[[0, 2]].max() == 0.0


def test_printed_table_agrees_with_its_own_averages():
    ranks = np.array(list(nguyen_ho.PUBLISHED.values()))
    for k, (mean, deviation) in enumerate(nguyen_ho.AVERAGES):
        assert round(ranks[:, k].mean(), 2) == mean
        assert round(ranks[:, k].std(ddof=1), 2) == deviation


def test_some_kernel_has_the_printed_ranks(data_dir):
    from papers.data import DataFolder

    for name in ("heart", "ionosphere", "vehicle"):
        values = nguyen_ho.measure_set(DataFolder(data_dir).load(name))
        ranks = [nguyen_ho.rank_kernels_by(values[m], m == "kta") for m in nguyen_ho.MEASURES]
        assert nguyen_ho.PUBLISHED[name] in list(zip(*(r.tolist() for r in ranks), strict=True))
