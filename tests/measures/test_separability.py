"""FSM and CSM with many classes: the textbook's pairs, all at once; and what they cannot do."""

import sys

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.measures import MEASURES, Undefined
from gramsmith.targets import make_target
from oracle import textbook as tb


@pytest.fixture
def classes(rng):
    y = np.r_[np.arange(12), np.arange(12), rng.integers(0, 12, size=36)]
    X = rng.normal(size=(60, 3)) + 0.7 * y[:, None]
    return gs.Gaussian(4.0)(X), y


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("leave_one_out", [False, True])
def test_all_pairs_of_classes_are_those_of_the_textbook(leave_one_out, ddof, classes):
    K, y = classes
    F = gs.fsm(K, y, leave_one_out=leave_one_out, ddof=ddof, aggregate="matrix")
    expected = tb.fsm_pairwise(K, y, ddof, leave_one_out)
    assert (np.isinf(F) == np.isinf(expected)).all()
    finite = np.isfinite(expected)
    np.testing.assert_allclose(F[finite], expected[finite], rtol=1e-8)
    mean = gs.fsm(K, y, leave_one_out=leave_one_out, ddof=ddof)
    assert mean == pytest.approx(tb.fsm(K, y, ddof, leave_one_out=leave_one_out), rel=1e-8)


@pytest.mark.parametrize("ddof", [0, 1])
def test_many_classes_in_csm_and_mmd(ddof, classes):
    K, y = classes
    assert gs.csm(K, y, ddof=ddof) == pytest.approx(tb.csm(K, y, ddof=ddof), rel=1e-9)
    members = [np.flatnonzero(y == c) for c in range(12)]
    total = weight = 0.0
    for a in range(12):
        for b in range(a):
            rows = np.r_[members[a], members[b]]
            own = tb.mmd(K[np.ix_(rows, rows)], y[rows], unbiased=bool(ddof))
            total, weight = total + len(rows) * own, weight + len(rows)
    assert gs.mmd(K, y, unbiased=bool(ddof)) == pytest.approx(total / weight, rel=1e-10)


@pytest.mark.parametrize("name", ["fsm", "fsm_loo", "csm"])
def test_there_is_no_loop_over_pairs_of_classes(name):
    """Ten times the classes take at most ten times the calls; their pairs are 110 times as many."""
    assert calls(name, 100) < 10 * calls(name, 10)


def calls(name, classes):
    """Return the number of functions called for a measure and its adjoint."""
    rng = np.random.default_rng(0)
    y = np.arange(1000) % classes
    X = rng.normal(size=(1000, 5)) + 3.0 * rng.normal(size=(classes, 5))[y]
    goal = make_target(y)
    moments = gs.Gram(gs.Gaussian(3.0), X).moments(goal)
    MEASURES[name].value_and_adjoint(moments, goal)  # what is imported or kept at first use
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        MEASURES[name].value_and_adjoint(moments, goal)
    finally:
        sys.setprofile(None)
    return count


def test_classes_of_one_are_named_plainly_with_advice_that_helps():
    K, y = np.eye(5), np.array([0, 0, 0, 0, 1])
    for call in (gs.fsm, gs.csm):
        with pytest.raises(Undefined, match=r"got 1 of class 1\. Add samples, or use ddof=0\."):
            call(K, y)
        assert call(K, y, ddof=0) >= 0
    with pytest.raises(Undefined, match=r"leave-one-out FSM, got 1 of class 1\. Add samples\.$"):
        gs.fsm(K, y, leave_one_out=True)
    with pytest.raises(Undefined, match=r"of class 'b'\. Add samples\.$"):
        gs.mmd(K, ["a", "a", "a", "a", "b"], unbiased=True)


def test_weights_of_zero_leave_a_class_out(classes):
    K, y = classes
    w = np.where(y < 9, 1.0, 0.0)
    rest = y < 9
    for leave_one_out in (False, True):
        value = gs.fsm(K, y, leave_one_out=leave_one_out, sample_weight=w)
        part = gs.fsm(K[np.ix_(rest, rest)], y[rest], leave_one_out=leave_one_out)
        assert value == pytest.approx(part, rel=1e-9)
