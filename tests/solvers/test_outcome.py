"""Outcome: silence when converged, a warning with advice when not."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from gramsmith.solvers import Outcome, warn_unless_converged


def test_converged_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_unless_converged(Outcome(status="converged"), "Machine")


def test_anything_else_warns_with_advice():
    with pytest.warns(ConvergenceWarning, match=r"Machine: .*'max_iter' after 7 .*Try more"):
        warn_unless_converged(Outcome(status="max_iter", advice="Try more.", n_iter=7), "Machine")
