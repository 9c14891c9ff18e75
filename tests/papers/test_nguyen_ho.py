"""Nguyen & Ho: kernels as LIBSVM has them, ranks, closed form of figure 3, table 1."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel, sigmoid_kernel
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.svm import SVC, NuSVC

import gramsmith as gs
from papers import nguyen_ho
from papers.data import DataFolder, DataSet
from papers.experiment import Run
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
    for name in ("heart", "ionosphere", "vehicle"):
        values = nguyen_ho.measure_set(DataFolder(data_dir).load(name))
        ranks = [nguyen_ho.rank_kernels_by(values[m], m == "kta") for m in nguyen_ho.MEASURES]
        assert nguyen_ho.PUBLISHED[name] in list(zip(*(r.tolist() for r in ranks), strict=True))


def test_errors_are_those_of_libsvm(rng):
    X = rng.standard_normal((80, 3))
    y = np.where(X[:, 0] + rng.standard_normal(80) > 0, 1, -1)
    folds = list(RepeatedStratifiedKFold(n_splits=5, n_repeats=1, random_state=0).split(X, y))
    options = {"gamma": 1 / 3, "coef0": 0.0}
    for classifier, make in (
        ("C-SVC", lambda kernel: SVC(kernel=kernel, **options)),
        ("nu-SVC", lambda kernel: NuSVC(nu=0.2, kernel=kernel, **options)),
    ):
        ours = nguyen_ho.cross_validated_errors(DataSet("", X, y), classifier, 1, 1000)
        for k, name in enumerate(("linear", "poly", "rbf", "sigmoid")):
            errors = [np.mean(make(name).fit(X[i], y[i]).predict(X[j]) != y[j]) for i, j in folds]
            assert ours[k] == pytest.approx(np.mean(errors))


def test_one_grouping_of_seven_has_the_printed_ranks(data_dir):
    assert len(nguyen_ho.groupings()) == 7
    run = Run(DataFolder(data_dir))
    record = nguyen_ho._triple(
        "vehicle", nguyen_ho.rank_set(nguyen_ho.measure_set(run.load("vehicle"))), run
    )
    assert "1 of 7" in record.note
    assert "1 and 2 against the others" in record.note


def test_means_are_not_judged_while_sets_differ():
    printed = {
        name: dict(zip(nguyen_ho.MEASURES, triple, strict=True)) | dict.fromkeys(nguyen_ho.OURS, 1)
        for name, triple in nguyen_ho.PUBLISHED.items()
    }
    swapped = dict(printed, australian=printed["diabetes"], diabetes=printed["australian"])
    for ranks, verdict in ((printed, "exact"), (swapped, "new")):
        records = nguyen_ho._averages({"x": ranks})
        mean = next(record for record in records if record.cell == "mean, kta, x, 9 sets")
        assert (round(mean.ours, 2), mean.verdict) == (3.0, verdict)
    assert "australian, diabetes" in mean.note
