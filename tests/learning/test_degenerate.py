import numpy as np
import pytest

import gramsmith as gs
from gramsmith.learning.degenerate import REMEDY, degenerate


@pytest.mark.parametrize(
    ("kernel", "verdict"),
    [
        (gs.Gaussian(1e-3), "the identity"),
        (gs.Gaussian(1e4), "constant"),
        (gs.Gaussian(1.0), None),
        (gs.Linear(), None),
    ],
)
def test_verdicts(kernel, verdict, rng):
    assert degenerate(kernel, rng.normal(size=(500, 2))) == verdict
    assert verdict is None or REMEDY[verdict]


def test_size_of_the_kernel_does_not_matter(rng):
    assert degenerate(1e-6 * gs.Gaussian(1.0), rng.normal(size=(50, 2))) is None
    assert degenerate(gs.Gaussian(1.0), np.zeros((2, 1))) is None
