"""Words: warnings that are worth reading."""

import numpy as np

import gramsmith as gs
from gramsmith.selection.words import listed


def test_noise_is_called_noise(rng):
    found = gs.rank_kernels(rng.normal(size=(100, 3)), rng.integers(0, 2, 100), ["rbf", "linear"])
    assert any("No kernel does clearly better" in w for w in found.warnings)


def test_uneven_classes_are_mentioned(rng):
    y = np.r_[np.zeros(95, int), np.ones(5, int)]
    found = gs.rank_kernels(rng.normal(size=(100, 2)) + y[:, None], y, ["rbf", "linear"])
    assert any("smallest class" in w for w in found.warnings)


def test_listed():
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a", "b"], "or") == "a or b"
    assert listed([]) == ""
