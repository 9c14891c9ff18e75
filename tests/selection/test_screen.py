"""The screen: the same measures as `evaluate`, errors for those who ask."""

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.selection.candidates import default_candidates
from gramsmith.selection.judge import Judge
from gramsmith.selection.samples import Samples
from gramsmith.selection.screen import Screen


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(3).normal(size=(60, 2))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.fixture(scope="module")
def screen(data):
    X, y = data
    judge = Judge("classification", y, np.array([0, 1]))
    return Screen(default_candidates(X), Samples((X,)), judge, np.arange(60))


def test_values_are_those_of_evaluate(screen, data):
    table = screen.table()
    kernels = {c.name: c.kernel for c in screen.candidates[:6]}
    known = gs.evaluate(kernels, *data, measures=["cka", "fsm_loo"], folds=0)
    for name in kernels:
        for measure in ("cka", "fsm_loo"):
            value = known[name, measure].value
            # infinity says "undefined here", and no number is promised then
            expected = pytest.approx(value, rel=1e-8) if np.isfinite(value) else None
            assert table[name, measure].value == expected


def test_every_adviser_has_a_favourite(screen):
    assert set(screen.favourites()) == {"cka", "cka_debiased", "kta", "fsm_loo", "csm"}


def test_errors_on_request(screen):
    name = screen.candidates[5].name
    assert screen.table()[name, "cka"].error is None
    screen.add_errors([name])
    assert screen.table()[name, "cka"].error > 0


def test_values_have_fewer_measures(rng):
    X = rng.normal(size=(40, 2))
    judge = Judge("regression", X[:, 0])
    found = Screen(default_candidates(X)[:4], Samples((X,)), judge, np.arange(40))
    assert "cka" in found.favourites()
    assert "fsm_loo" not in found.favourites()


def test_errors_of_a_regression_are_those_of_the_rest_on_its_own(rng):
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + 3.0
    candidates = default_candidates(X)[:3]
    screen = Screen(candidates, Samples((X,)), Judge("regression", y), np.arange(40))
    name = candidates[0].name
    screen.add_errors([name])
    known = screen.table()[name, "cka"].folds
    for f, value in enumerate(known):
        _, index = screen.moments.without(f)
        # the samples of the sweep are in the order of its folds: find them by their values
        rows = [int(np.argmin(np.abs(y - y.mean() - v))) for v in screen.goal.V[index, 1]]
        direct = gs.cka(gs.Gram(candidates[0].kernel, X[rows]), y[rows], task="regression")
        assert value == pytest.approx(direct, rel=1e-8)
