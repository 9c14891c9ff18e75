"""Explanation: warnings that are worth reading, the contents of the page, feature weights."""

import re

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.report.contents import next_steps
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.evidence import feature_weights
from gramsmith.selection.explanation import listed, verdict
from gramsmith.targets import make_target


def test_noise_is_called_noise(rng):
    found = gs.rank_kernels(rng.normal(size=(100, 3)), rng.integers(0, 2, 100), ["rbf", "linear"])
    assert any("No kernel does clearly better" in w for w in found.warnings)


def test_uneven_classes_are_mentioned(rng):
    y = np.r_[np.zeros(95, int), np.ones(5, int)]
    found = gs.rank_kernels(rng.normal(size=(100, 2)) + y[:, None], y, ["rbf", "linear"])
    [said] = [w for w in found.warnings if "smallest class" in w]
    assert 'scoring="balanced_accuracy"' in said


@pytest.mark.parametrize(
    "option", [{"scoring": "balanced_accuracy"}, {"class_weight": "balanced"}], ids=str
)
def test_uneven_classes_are_not_mentioned_again(rng, option):
    y = np.r_[np.zeros(95, int), np.ones(5, int)]
    X = rng.normal(size=(100, 2)) + y[:, None]
    found = gs.rank_kernels(X, y, ["rbf", "linear"], **option)
    assert not any("smallest class" in w for w in found.warnings)


def test_a_tie_of_many_is_one_list(ranking):
    records = [{**r, "tied": True, "weight": None} for r in ranking.records[:6]]
    said = verdict(ranking._findings, records, ranking.estimate)
    assert re.search(r"“, “[^”]+” and 2 more are not clearly worse|”, “[^”]+” and 2 more are", said)
    assert " and “" not in said


def test_listed():
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a", "b"], "or") == "a or b"
    assert listed([]) == ""


def test_contents_of_a_classification(ranking):
    assert ranking.evidence.gram.shape == (150, 150)
    assert [name for name, _ in ranking.evidence.blocks] == ["in", "out"]
    assert ranking.evidence.map.shape == (150, 2)
    assert {path.family for path in ranking.paths} == {"gaussian", "laplacian", "matern"}
    for path in ranking.paths:
        assert (np.diff(path.steps) > 0).all()
        assert np.isfinite(path.scores).all()


def test_useful_features_weigh_more(ranking):
    weights = dict(ranking.evidence.weights)
    assert set(weights) == {"first", "second", "noise"}
    assert min(weights["first"], weights["second"]) > weights["noise"]


def test_next_steps_are_code(ranking):
    steps = next_steps(ranking, None, None)
    assert any("KernelSelector" in code for _, code in steps)
    for _, code in steps:
        compile(code, "next step", "exec")


def test_contents_of_a_regression(regression):
    assert regression.evidence.blocks == []
    assert regression.classes is None
    assert len(regression.evidence.map_colours) == 120


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
