"""The criteria that FSM is compared with, against brute force."""

import numpy as np
import pytest

import gramsmith as gs
from papers.data import DataFolder
from papers.experiment import Run
from papers.nguyen_ho_theory import fisher_criterion, formulas, minimax_ratio


@pytest.fixture
def problem(rng):
    y = np.where(rng.random(60) < 0.4, 1, -1)
    X = rng.standard_normal((60, 2)) * [1.0, 3.0] + np.outer(y, [1.0, 0.8])
    return X, y


def test_minimax_is_the_best_direction(problem):
    X, y = problem
    angles = np.linspace(0, np.pi, 20_001)
    A = np.column_stack([np.cos(angles), np.sin(angles)])
    spread = sum(np.sqrt(np.einsum("ij,jk,ik->i", A, np.cov(X[y == s].T), A)) for s in (1, -1))
    distance = np.abs(A @ (X[y == 1].mean(axis=0) - X[y == -1].mean(axis=0)))
    assert minimax_ratio(X, y) == pytest.approx((spread / distance).min(), rel=1e-6)


def test_criteria_are_ordered(problem):
    X, y = problem
    F = gs.fsm(gs.Gram(gs.Linear(), X), y)
    assert 1 / np.sqrt(fisher_criterion(X, y)) <= minimax_ratio(X, y) <= F


def test_formulas_hold_or_are_corrected():
    verdicts = [record.verdict for record in formulas(Run(DataFolder(), quick=True)).records]
    assert set(verdicts) == {"holds", "corrected"}
    assert verdicts.count("corrected") == 2
