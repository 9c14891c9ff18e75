"""Permutations: p-values are those of all orders of the labels, within the memory budget."""

import tracemalloc
from itertools import permutations

import numpy as np
import pytest

import gramsmith as gs
import textbook as tb
from gramsmith.evaluation import permutations as module
from gramsmith.evaluation.permutations import p_value, shuffled_values
from gramsmith.measures import MEASURES
from gramsmith.targets import make_target


@pytest.mark.parametrize("scale", [1.0, 1e-13])
@pytest.mark.parametrize("measure", ["kta", "polarity"])
def test_shuffles_that_give_the_same_target_count_as_equal(measure, scale):
    Z = np.array([[0.1], [0.2], [0.35], [1.1], [1.4], [1.7]])
    y = np.array([0, 0, 0, 1, 1, 1])
    kernel = scale * gs.Gaussian(0.7)
    K = kernel(Z)
    textbook = {"kta": tb.kta, "polarity": tb.polarity}[measure]
    best = textbook(K, y)
    orders = [textbook(K, y[list(order)]) for order in permutations(range(6))]
    exact = np.mean([v >= best * (1 - 1e-9) for v in orders])
    table = gs.evaluate({"k": kernel}, Z, y, measures=[measure], permutations=2000)
    assert exact == 0.1
    assert table["k", measure].p_value == pytest.approx(exact, abs=0.02)


def test_p_value_of_every_orientation():
    shuffled = np.array([0.1, 0.2, 0.3, np.nan])
    assert p_value(MEASURES["cka"], 0.25, shuffled) == 3 / 5
    assert p_value(MEASURES["fsm"], 0.25, shuffled) == 4 / 5
    assert p_value(MEASURES["fsm"], np.inf, shuffled) == 1.0
    assert p_value(MEASURES["fsm"], 0.25, np.full(4, np.inf)) == 1 / 5


def test_values_are_those_of_the_shuffled_targets_however_they_are_cut(monkeypatch, rng):
    X = rng.normal(size=(30, 2))
    goal = make_target(X[:, 0] + 1.0, sample_weight=np.arange(30) % 3)
    measures = [MEASURES["cka"], MEASURES["kta"]]
    kernels, swept = [gs.Gaussian(), gs.Linear()], []
    forward = gs.Gram.moments
    monkeypatch.setattr(
        gs.Gram, "moments", lambda self, t, **o: swept.append(len(t)) or forward(self, t, **o)
    )
    whole, cut = (
        shuffled_values(
            gs.Gram(kernels, X, memory=m, n_jobs=1), goal, measures, 7, np.random.RandomState(0)
        )
        for m in (None, 0.04)
    )
    assert swept[0] == 7
    assert max(swept[1:]) < 7
    assert cut == pytest.approx(whole)
    first = next(module._shuffled(goal, 1, np.random.RandomState(0)))
    again = tb.repeated_rows(goal.w)
    T = tb.target_matrix(first.V[again, 1], "regression")
    assert whole[0, 0, 1] == pytest.approx(tb.kta(gs.Gaussian()(X[again]), T))


def test_memory_stays_within_the_budget(rng):
    X = rng.normal(size=(400, 2))
    y = rng.integers(0, 2, size=400)
    kernels = [gs.Gaussian(), gs.Laplacian(), gs.Matern()]
    gs.evaluate(kernels, X, y, measures=["cka"], permutations=2, memory=12, n_jobs=1)
    tracemalloc.start()
    gs.evaluate(kernels, X, y, measures=["cka"], permutations=800, memory=12, n_jobs=1, folds=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * 2**20  # all at once it would be 70


@pytest.mark.parametrize("count", [-5, 2.5, True])
def test_bad_counts(count, rng):
    with pytest.raises(ValueError, match="permutations to be a whole number >= 0"):
        gs.evaluate([gs.Gaussian()], rng.normal(size=(9, 2)), np.arange(9) % 2, permutations=count)
