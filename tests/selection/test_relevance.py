"""Feature weights."""

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.relevance import feature_weights
from gramsmith.targets import make_target


def test_learned_weights_are_shares(rng):
    X = rng.normal(size=(40, 2))
    kernel = gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(np.array([2.0, 0.0]))
    weights, meaning = feature_weights(
        Candidate("l", kernel, "learned"), X, make_target(X[:, 0] > 0)
    )
    assert weights.tolist() == [1.0, 0.0]
    assert "learned" in meaning


def test_slope_is_that_of_the_alignment(rng):
    X = rng.normal(size=(40, 2))
    y = X[:, 0] > 0
    weights, _ = feature_weights(Candidate("g", gs.Gaussian(1.5), "gaussian"), X, make_target(y))

    def cka(logs):
        return gs.cka(gs.Gaussian(1.5 / np.exp(logs))(X), y)

    h = 1e-5
    numeric = [(cka(h * e) - cka(-h * e)) / (2 * h) for e in np.eye(2)]
    assert weights == pytest.approx(numeric, rel=1e-4)


def test_constant_features_have_no_weights():
    X = np.ones((10, 2))
    weights, meaning = feature_weights(
        Candidate("g", gs.Gaussian(1.0), "gaussian"), X, make_target([0, 1] * 5)
    )
    assert not len(weights)
    assert meaning == ""
