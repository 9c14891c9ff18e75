"""Parameters that are no numbers."""

import numpy as np
import pytest

import gramsmith as gs


@pytest.mark.parametrize("value", ["a", "2", None, np.nan, [1.0, "b"], object()])
def test_lengths_are_positive_numbers(value):
    with pytest.raises(ValueError, match=r"Gaussian: expected length_scale > 0, got .*=1"):
        gs.Gaussian(value)(np.eye(2))


@pytest.mark.parametrize("gamma", ["scale", None, 0.0, -1.0, np.nan])
def test_gamma_is_a_positive_number(gamma):
    with pytest.raises(ValueError, match="Expected gamma > 0, got"):
        gs.Gaussian.from_gamma(gamma)
    for kernel in (gs.Polynomial(2, gamma), gs.Sigmoid(gamma), gs.Chi2(gamma)):
        with pytest.raises(ValueError, match="gamma > 0, got"):
            kernel(np.eye(2))
