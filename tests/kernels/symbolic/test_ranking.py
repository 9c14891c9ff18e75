"""Kernels of symbols through selection, combination, learning and storage."""

import csv
import gzip

import numpy as np
import pandas as pd
import polars as pl
import pytest

import gramsmith as gs


@pytest.fixture
def sites(rng):
    """Return DNA of two classes; one has a motif in its middle."""
    letters = rng.choice(list("ACGT"), (80, 24))
    y = np.arange(80) % 2
    letters[y == 1, 10:15] = list("TTCAG")
    return ["".join(row) for row in letters], np.array(["decoy", "true"])[y]


def test_rank_kernels_on_strings_by_default(sites):
    X, y = sites
    ranking = gs.rank_kernels(X, y)
    families = {record["family"] for record in ranking.records}
    assert {"spectrum", "mismatch", "weighted degree"} <= families
    assert ranking.best_estimator.score(X, y) > 0.9


@pytest.mark.parametrize("column", [np.array, pd.Series, pl.Series, list], ids=str)
def test_rank_kernels_on_columns(sites, column):
    X, y = sites
    kernels = {"wd": gs.Normalized(gs.WeightedDegree(4)), "letters": gs.Normalized(gs.Spectrum(1))}
    ranking = gs.rank_kernels(column(X), y, kernels)
    assert ranking.best_estimator.score(column(X), y) > 0.9
    assert [record["kernel"] for record in ranking.records] == ["wd", "letters"]


def test_columns_are_read_by_place_not_by_index(sites, rng):
    X, y = sites
    kernels = {"wd": gs.Normalized(gs.WeightedDegree(4))}
    shuffled = pd.Series(X, index=rng.permutation(len(X)))
    want = gs.rank_kernels(X, y, kernels)
    got = gs.rank_kernels(shuffled, pd.Series(y, index=rng.permutation(len(X))), kernels)
    assert got.records[0]["score"] == want.records[0]["score"]
    for machine in (gs.L2SVC, gs.ParzenClassifier, gs.KernelLogisticRegression):
        weight = rng.integers(0, 2, len(X))
        fitted = machine(kernel=kernels["wd"]).fit(shuffled, y, sample_weight=weight)
        plain = machine(kernel=kernels["wd"]).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(fitted.predict(shuffled[:9]), plain.predict(X[:9]))


def test_rank_kernels_on_words_sets_and_trees(sites):
    X, y = sites
    words = [[x[i : i + 2] for i in range(0, 24, 2)] for x in X]
    ranking = gs.rank_kernels(
        words, y, [gs.Normalized(gs.Spectrum(1)), gs.Normalized(gs.Spectrum(2))]
    )
    assert ranking.best_estimator.predict(words[:3]).shape == (3,)
    sets = [{(i, c) for i, c in enumerate(x)} for x in X]
    ranking = gs.rank_kernels(sets, y, {"sets": gs.AllSubsets(output="normalized")})
    assert ranking.best_estimator.score(sets, y) > 0.9
    trees = [("S", ("L", *x[9:12]), ("R", *x[12:15])) for x in X]
    ranking = gs.rank_kernels(trees, y, [gs.Normalized(gs.Subtree(0.5))])
    assert ranking.best_estimator.score(trees, y) > 0.9


def test_sequence_and_covariates_are_two_views(sites, rng):
    X, y = sites
    Z = rng.normal(size=(80, 2)) + (y == "true")[:, None]
    kernels = [gs.Normalized(gs.WeightedDegree(4)), gs.Gaussian(1.0)]
    both = gs.KernelCombination(kernels, keep=1.0).fit((X, Z), y)
    assert (both.weights_ > 0).all()
    # the weights of the views are those of their precomputed matrices
    matrices = [kernel(view) for kernel, view in zip(kernels, (X, Z), strict=True)]
    by_matrix = gs.KernelCombination(keep=1.0).fit(matrices, y)
    np.testing.assert_allclose(by_matrix.weights_, both.weights_)


def test_learners_take_strings(rng):
    y = np.arange(80) % 2
    odds = ([0.4, 0.1, 0.1, 0.4], [0.2, 0.3, 0.3, 0.2])
    X = ["".join(rng.choice(list("ACGT"), 25, p=odds[label])) for label in y]
    start = gs.Normalized(gs.Subsequence(2, 0.3))
    learned = gs.KernelLearner(start, measure="cka").fit(X, y).kernel_
    assert 0 < learned.kernel.decay <= 1
    assert gs.cka(learned(X), y) > gs.cka(start(X), y)
    aligned = gs.SpectralAligner(gs.Normalized(gs.Spectrum(3))).fit(X, y)
    assert aligned.kernel_(X[:4]).shape == (4, 4)


def test_learning_stops_at_the_end_of_the_range(rng):
    # any shared letters count, however far apart: the best decay is none
    y = np.arange(60) % 2
    X = ["".join(rng.permutation(list("AB" * 3 + "X" * 20 + "CD"[i] * 6))) for i in y]
    learner = gs.KernelLearner(gs.Normalized(gs.Subsequence(2, 0.5)), measure="cka").fit(X, y)
    assert learner.kernel_.kernel.decay <= 1.0


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x,
        lambda x: x.encode(),
        lambda x: x + "\0\ud800é",
        list,
        lambda x: ("S", ("L", *x[:3]), x[3]),
        lambda x: set(x[8:14]),
        lambda x: frozenset(enumerate(x)),
    ],
    ids=["text", "bytes", "odd characters", "tokens", "trees", "sets", "sets of pairs"],
)
def test_models_of_strings_are_kept(sites, make, stored):
    X, y = sites
    X = [make(x) for x in X]
    kernels = {tuple: gs.Subtree(0.5), set: gs.AllSubsets(), frozenset: gs.AllSubsets()}
    kernel = kernels.get(type(X[0]), gs.Spectrum((1, 2), presence=True))
    model = gs.KernelRidgeClassifier(kernel=gs.Normalized(kernel)).fit(X, y)
    again = stored(model)
    assert (again.predict(X) == model.predict(X)).all()
    assert again.kernel_.kernel.get_params() == model.kernel_.kernel.get_params()


@pytest.mark.slow
def test_splice_sites(data_dir):
    data = np.load(data_dir / "more" / "ida-splice" / "ida-splice.npz")
    X = np.array(["".join(row) for row in np.array(list("ACGT"))[data["X"].astype(int) - 1]])
    y, train, test = data["y"], data["train"][0], data["test"][0]
    kernels = {
        "spectrum": gs.Normalized(gs.Spectrum((3, 6))),
        "mismatch": gs.Normalized(gs.Mismatch(5, 1, alphabet="ACGT")),
        "subsequence": gs.Normalized(gs.Subsequence(3, 0.5)),
        "weighted degree": gs.Normalized(gs.WeightedDegree(10)),
    }
    ranking = gs.rank_kernels(X[train], y[train], kernels)
    assert ranking.records[0]["kernel"] == "weighted degree"
    assert np.mean(ranking.best_estimator.predict(X[test]) != y[test]) < 0.05


@pytest.mark.slow
def test_acceptor_sites(data_dir):
    path = data_dir / "more" / "celegans-acceptor" / "celegans-acceptor.csv.gz"
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    X = np.array([row["sequence"] for row in rows])
    y = np.array([int(row["label"]) for row in rows])
    half = np.arange(len(X)) % 2 == 0
    kernels = {
        "spectrum": gs.Normalized(gs.Spectrum((3, 6))),
        "weighted degree": gs.Normalized(gs.WeightedDegree(10, shift=2)),
    }
    ranking = gs.rank_kernels(X[half], y[half], kernels)
    assert ranking.records[0]["kernel"] == "weighted degree"
    assert np.mean(ranking.best_estimator.predict(X[~half]) != y[~half]) < 0.05
