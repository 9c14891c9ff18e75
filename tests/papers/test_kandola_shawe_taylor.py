"""Kandola & Shawe-Taylor: the kernel of documents, algorithm 1, the columns of the tables."""

import numpy as np
import pytest

import gramsmith as gs
from papers import kandola_shawe_taylor as paper
from papers.data import DataFolder


def test_bag_of_words_has_unit_rows_and_relative_frequencies():
    texts = ["kernels align kernels", "kernels of graphs", "trees and graphs"]
    K = paper.bag_of_words(texts)
    np.testing.assert_allclose(np.diag(K), 1.0)
    # by hand: kernel has share 2/3 of document 0 and 1/2 of document 1; df 2, align 1, graph 2
    first = np.array([np.log1p(2 / 3) * np.log(1.5), np.log1p(1 / 3) * np.log(3.0)])
    second = np.log1p(1 / 2) * np.log(1.5) * np.ones(2)
    expected = first[0] * second[0] / np.linalg.norm(first) / np.linalg.norm(second)
    assert K[0, 1] == pytest.approx(expected)


def test_inductive_is_algorithm_1(rng):
    X = rng.standard_normal((30, 3))
    K = gs.Gaussian(1.0)(X)
    y = np.where(X[:, 0] > 0, 1, -1)
    I, J = np.arange(20), np.arange(20, 30)
    D, V = np.linalg.eigh(K[np.ix_(I, I)])
    t = np.where(y[I] > 0, 1.0 / np.sum(y[I] > 0), -1.0 / np.sum(y[I] < 0))
    alpha = (V.T @ t) ** 2
    B = V.T @ K[np.ix_(I, J)]
    G = ((V * alpha) @ V.T, (V * (alpha / D)) @ B, (B.T * (alpha / D**2)) @ B)
    for ours, theirs in zip(paper.inductive(K, y, I, J), G, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-7)


def test_score_is_sgn_of_the_weighted_sum(rng):
    X = rng.standard_normal((40, 2)) + 2.0
    y = np.where(np.arange(40) % 4 == 0, 1, -1)
    X[y > 0] += 3.0
    K = gs.Linear()(X)
    I, J = np.arange(30), np.arange(30, 40)
    values = paper.score(paper.blocks(K, I, J), y, I, J)
    t = np.where(y[I] > 0, 1.0 / np.sum(y[I] > 0), -1.0 / np.sum(y[I] < 0))
    assert values[3] == np.mean(np.where((t * np.abs(t)) @ K[:30, 30:] > 0, 1, -1) != y[J])
    mean = X[I][y[I] > 0].mean(axis=0) - X[I][y[I] < 0].mean(axis=0)
    assert values[2] == np.mean(np.where(X[J] @ mean > 0, 1, -1) != y[J])
    assert values[0] == pytest.approx(gs.kta(K[:30, :30], y[:30], target="imbalanced"))


def test_splits_are_partitions():
    for I, J in paper.splits(50, 80, 3):
        assert len(I) == 40
        assert sorted([*I, *J]) == list(range(50))


def test_every_direction_keeps_the_eigenvectors_of_zero(rng):
    X = rng.standard_normal((12, 2))
    V = np.linalg.eigh(X @ X.T)[1]
    t = rng.standard_normal(8)
    G = paper.every_direction(V, t, np.arange(8), np.arange(8, 12))
    assert np.linalg.matrix_rank(G[0]) > 2
    np.testing.assert_allclose(np.diag(G[0]), 1.0)


def test_least_squares_error_without_the_worst_rows():
    X = np.arange(8.0)[:, None]
    y = 2 * X[:, 0] + 1
    y[[2, 5]] += 7.0, -9.0
    whole, rest = paper.least_squares_error(X, y, drop=2)
    assert whole > 5.0
    assert rest == pytest.approx(0.0, abs=1e-20)


def test_the_paper_may_have_left_out_other_rows(data_dir):
    data = DataFolder(data_dir).load("auto-mpg")
    whole, rest = paper.least_squares_error(data.X, data.y, drop=39)
    assert (round(whole, 2), round(rest, 2)) == (11.59, 5.68)


def test_tolerance_is_two_errors_of_the_difference():
    values = np.array([[0.1], [0.2], [0.3]])
    printed = ((0.26, 0.05),)
    far = paper.summarise("Table 2", "K80", printed, values, ["SVC error"], "Why", {})[0]
    assert far.tolerance == pytest.approx(2 * np.sqrt(0.01 / 3 + 0.05**2 / 10))
    assert far.verdict == "within tolerance"
    fitted = paper.summarise("Table 2", "K80", printed, values, ["F1"], "Why", {"F1": "by hand"})[0]
    assert (fitted.verdict, "by hand" in fitted.note) == ("fitted", True)


def test_the_printed_deviation_of_k20_is_shown_and_not_used():
    values = np.array([[0.10], [0.11], [0.12]])
    printed = (paper.TABLE_2["K20"][1],)
    record = paper.summarise("Table 2", "K20", printed, values, ["test alignment"], "Why")[0]
    assert "printed 0.096" in record.note
    assert record.tolerance == pytest.approx(2 * np.sqrt(1e-4 / 3 + 1e-4 / 10))
