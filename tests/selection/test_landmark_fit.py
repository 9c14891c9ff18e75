"""Fitting on landmarks in blocks equals fitting at once."""

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.selection import landmark_fit
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.samples import Samples
from gramsmith.selection.task import Task


@pytest.mark.parametrize("block", [1000, 37])
def test_blocks_change_nothing(rng, monkeypatch, block):
    monkeypatch.setattr(landmark_fit, "BLOCK", block)
    X = rng.normal(size=(150, 2))
    y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=150)
    candidate = Candidate("g", gs.Gaussian(1.0), "g")
    machine = gs.KernelRidgeRegressor(candidate.kernel, solver="nystroem", n_landmarks=150)
    landmark_fit.fit_on_landmarks(machine, candidate, Samples((X,)), Task("regression", y))
    exact = gs.KernelRidgeRegressor(gs.Gaussian(1.0), alpha=machine.alpha_).fit(X, y)
    np.testing.assert_allclose(machine.predict(X), exact.predict(X), atol=1e-4)
    assert machine.n_samples_fit_ == 150
    assert machine.loo_errors_.min() < np.var(y)


def test_strings_on_landmarks():
    X = ["abab", "baba", "abba", "cdcd", "dcdc", "cddc"] * 5
    y = np.array([0, 0, 0, 1, 1, 1] * 5)
    candidate = Candidate("s", gs.Normalized(gs.Spectrum(2)), "s")
    task = Task("classification", y, np.array(["ab", "cd"]))
    machine = gs.KernelRidgeClassifier(candidate.kernel, solver="nystroem", n_landmarks=10)
    landmark_fit.fit_on_landmarks(machine, candidate, Samples((X,)), task)
    assert machine.predict(["ababab", "cdcd"]).tolist() == ["ab", "cd"]


def test_threshold_and_probabilities_on_landmarks(rng):
    X = np.sort(rng.normal(size=(300, 1)), axis=0)  # classes one after the other
    y = (X[:, 0] + 0.3 * rng.normal(size=300) > 1.0).astype(int)
    candidate = Candidate("g", gs.Gaussian(1.0), "g")
    errors, shares = [], []
    for scoring in (None, "balanced_accuracy"):
        task = Task("classification", y, np.array([0, 1]), scoring=scoring)
        machine = gs.KernelRidgeClassifier(candidate.kernel, solver="nystroem", n_landmarks=60)
        landmark_fit.fit_on_landmarks(machine, candidate, Samples((X,)), task)
        guess = machine.predict(X)
        errors.append([np.mean(guess[y == c] != c) for c in (0, 1)])
        shares.append(machine.predict_proba(X)[:, 1])
    assert np.mean(errors[1]) < np.mean(errors[0])  # the rare class counts as much
    for share in shares:  # the threshold moves the decision, not the probability
        assert share.mean() == pytest.approx(y.mean(), abs=0.02)
