"""Words: numbers as text, warnings that are worth reading, what to do next."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.report.words import (
    _interval_words,
    listed,
    next_steps,
    number,
    verdict,
    winner,
    with_error,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[(None, "–"), (float("nan"), "–"), (0.123456, "0.123"), (True, "yes"), (3, "3")],
        *[(5e-16, "0"), (2500.4, "2,500"), (1e7, "1e+07")],
    ],
)
def test_number(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.95, 0.011, "0.950 ± 0.011"),
        (12.3456, 0.5, "12.35 ± 0.50"),
        (0.5, None, "0.500"),
        (None, 0.1, "–"),
        (float("inf"), 0.1, "–"),
        (2.0, float("inf"), "2.000"),
    ],
)
def test_with_error(value, error, text):
    assert with_error(value, error) == text


def test_noise_is_called_noise(rng):
    found = gs.rank_kernels(rng.normal(size=(100, 3)), rng.integers(0, 2, 100), ["rbf", "linear"])
    assert found.verdict.level == "poor"
    assert found.verdict.text.startswith("Not clearly better than")
    assert found.warnings == []


@pytest.mark.parametrize(
    ("low", "high", "text"), [(0.43, 0.56, "43 to 56 %"), (0.987, 0.9912, "98.7 to 99.1 %")]
)
def test_ends_of_an_interval_differ(low, high, text):
    task = SimpleNamespace(score=SimpleNamespace(is_share=False, is_default=True), periods=None)
    estimate = SimpleNamespace(low=low, high=high, kind="bootstrap")
    assert text in _interval_words(estimate, task)


def test_an_interval_that_reaches_the_shown_baseline_is_mentioned(ranking):
    """Outer folds that look back have fewer rows, on which a constant may be worse."""
    shown = ranking.evidence.rivals[0].score
    low = replace(ranking.estimate, baseline=shown - 0.2, low=shown - 0.1, beats_baseline=True)
    said = verdict(ranking._findings, ranking.records, low, ranking.evidence)
    assert "The 95 % interval reaches down to" in said.text


def test_imbalanced_classes_are_mentioned(rng):
    y = np.r_[np.zeros(95, int), np.ones(5, int)]
    found = gs.rank_kernels(rng.normal(size=(100, 2)) + y[:, None], y, ["rbf", "linear"])
    [said] = [w for w in found.warnings if "smallest class" in w]
    assert 'scoring="balanced_accuracy"' in said


@pytest.mark.parametrize(
    "option", [{"scoring": "balanced_accuracy"}, {"class_weight": "balanced"}], ids=str
)
def test_imbalanced_classes_are_not_mentioned_again(rng, option):
    y = np.r_[np.zeros(95, int), np.ones(5, int)]
    X = rng.normal(size=(100, 2)) + y[:, None]
    found = gs.rank_kernels(X, y, ["rbf", "linear"], **option)
    assert not any("smallest class" in w for w in found.warnings)


def test_a_tie_of_many_is_one_list(ranking):
    records = [{**r, "tied": True, "weight": None} for r in ranking.records[:6]]
    said = winner(ranking._findings, records)
    assert re.search(r"“, “[^”]+” and 2 more are not clearly worse|”, “[^”]+” and 2 more are", said)
    assert " and “" not in said


def test_listed():
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a", "b"], "or") == "a or b"
    assert listed([]) == ""


def test_next_steps_are_code(ranking):
    steps = next_steps(ranking, None, None)
    assert any("KernelSelector" in code for _, code in steps)
    for _, code in steps:
        compile(code, "next step", "exec")
