import numpy as np
import pytest

import gramsmith as gs
from gramsmith.learning.criterion import make_objective
from gramsmith.learning.map_search import MapSearch
from gramsmith.learning.start import deviations
from gramsmith.learning.watch import Watch
from gramsmith.targets import make_target


@pytest.fixture
def parity(rng):
    X = rng.normal(size=(120, 5))
    return X, X[:, 0] * X[:, 1] > 0


def make_search(X, y, measure="cka", **options):
    target = make_target(y)
    kernel = gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(np.ones(X.shape[1]))

    def objective(rows, name):
        return make_objective(name, X[rows], target.take(rows))

    rows = np.arange(len(X))
    return MapSearch(
        kernel, target, rows, objective, measure, deviations(X), np.random.RandomState(0), **options
    )


def test_prices_come_in_after_a_free_search(parity):
    """From a start of equal weights an early price could remove what is needed."""
    search, watch = make_search(*parity, l1=0.02), Watch("x")
    found, S = search.climb(np.ones(5), watch)
    assert found.converged
    assert (S[:2] > 0).all()
    assert (S[2:] == 0).all()
    assert max(found.history["value"]) > found.value  # of the search without the price


def test_a_price_that_was_asked_for_is_charged_in_time(parity):
    _, S = make_search(*parity, l1=10.0, max_iter=8).climb(np.ones(5), Watch("x"))
    assert not S.any()


def test_without_iterations_left_spreading_is_free(parity):
    found, S = make_search(*parity, spreading=1.0, max_iter=3).climb(np.ones(5), Watch("x"))
    assert found.status == "max_iter"
    assert np.count_nonzero(S) > 1


@pytest.mark.parametrize("factor", [1e-2, 8.0])
def test_the_best_of_several_widths(factor, parity):
    X, y = parity
    search = make_search(X, y)
    found = search.widened(np.full(5, factor), always=True)
    values = [gs.cka(gs.Gaussian.from_gamma(1.0)(X * s), y) for s in (factor, found[0])]
    assert values[1] > values[0]


def test_a_weight_near_the_limit(parity):
    search = make_search(*parity)
    found, _ = search.climb(np.ones(5), Watch("x"))
    assert not search.unbounded(found.theta)
    assert search.unbounded(np.full(5, 5e4))


def test_the_identity_is_no_start(rng):
    """A random projection tells little, and an alignment then likes the identity best."""
    X = rng.normal(size=(200, 6))
    y = X[:, 0] * X[:, 1] > 0
    learner = gs.TransformLearner(
        "laplacian", structure="low_rank", rank=2, early_stopping=False, random_state=0
    ).fit(X, y)
    assert learner.value_ > 0.2
