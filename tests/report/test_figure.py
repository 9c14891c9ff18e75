"""Figures are plain values."""

import numpy as np

from gramsmith.report.figure import Curve, Figure, Panel


def test_arrays_are_those_of_all_curves():
    panel = Panel("p", "x", "y", [Curve("a", [0, 1], [1, 2]), Curve("b", [0], [np.nan])])
    arrays = Figure("f", "t", "c", [panel, panel]).arrays()
    assert [len(a) for a in arrays] == [2, 1, 2, 1]
    assert np.isnan(arrays[1]).all()
