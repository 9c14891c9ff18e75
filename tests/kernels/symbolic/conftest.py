"""Random strings, and the two routes of the loops over pairs."""

from importlib.util import find_spec

import numpy as np
import pytest


@pytest.fixture(params=["compiled", "numpy"])
def route(request, monkeypatch):
    """Run a test once with compiled loops and once with NumPy alone."""
    if request.param == "compiled" and find_spec("numba") is None:
        pytest.skip("needs numba, the extra `fast`")
    monkeypatch.setenv("GRAMSMITH_NUMBA", "1" if request.param == "compiled" else "0")
    return request.param


@pytest.fixture
def strings(rng):
    """Return a maker of random strings, some of them empty, repetitive or odd."""

    def make(n, longest=7, letters="aab\0é\ud800\U0001f600"):
        lengths = rng.integers(0, longest + 1, n)
        return ["".join(rng.choice(list(letters), size)) for size in lengths]

    return make


@pytest.fixture
def dna(rng):
    """Return a maker of random DNA of fixed length."""

    def make(n, length=30):
        return ["".join(row) for row in rng.choice(list("ACGT"), (n, length))]

    return make


@pytest.fixture
def dense():
    """Return the matrix of a function of two samples."""

    def matrix(function, X, Y):
        return np.array([[function(x, y) for y in Y] for x in X], dtype=float)

    return matrix
