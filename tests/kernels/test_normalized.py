"""The Gaussian of a kernel's own distance, where that distance has digits left."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gramsmith as gs


def test_digits_that_are_lost_are_not_made_up(rng):
    X = rng.normal(size=(12, 3))
    with pytest.raises(ValueError, match=r"GaussianOf.*Linear\(\) so large that the exponent"):
        gs.GaussianOf(gs.Linear())(X + 1e8)
    for offset in (0.0, 10.0, 1e3):
        assert_allclose(gs.GaussianOf(gs.Linear())(X + offset), gs.Gaussian()(X), atol=1e-8)
    # far apart is far apart, however many digits are lost
    far = 1e8 * np.arange(1.0, 5.0)[:, None]
    assert_allclose(gs.GaussianOf(gs.Linear())(far), np.eye(4))


def test_single_precision_gives_way(rng):
    X = rng.normal(size=(12, 3))
    G = gs.Gram(gs.GaussianOf(gs.Linear()), X + 100.0, dtype=np.float32)
    assert_allclose(G.toarray(), gs.Gaussian()(X), atol=1e-6)
    near = gs.Gram(gs.GaussianOf(gs.Linear()), X, dtype=np.float32)
    assert near.block(slice(4), slice(4)).dtype == np.float32
