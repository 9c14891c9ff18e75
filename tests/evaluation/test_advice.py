"""Advice on the task: numbers that look like quantities, reasons that are said once."""

import numpy as np
import pytest

import gramsmith as gs


def codes(y, **options):
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    table = gs.evaluate({"a": gs.Gaussian(), "b": gs.Gaussian(2.0)}, X, y, folds=0, **options)
    return [a.code for a in table.advice]


@pytest.mark.parametrize(
    ("y", "options", "found"),
    [
        (np.arange(120) % 30, {}, True),
        (np.arange(400) % 30, {}, False),
        (np.arange(400) % 30.0, {}, True),
        (np.arange(120) % 20, {}, False),
        (np.arange(120) % 30, {"task": "classification"}, False),
        (np.array([f"word {i}" for i in np.arange(120) % 30]), {}, False),
    ],
)
def test_many_classes_of_numbers_may_be_quantities(y, options, found):
    assert ("many-classes" in codes(y, **options)) == found


def test_what_is_undefined_for_all_kernels_is_said_once():
    y = np.r_[1, np.zeros(11)].astype(int)
    assert codes(y, measures=["cka", "fsm"]).count("undefined") == 1
    assert codes(y).count("undefined") == 4  # cka_debiased, fsm, fsm_loo, csm
