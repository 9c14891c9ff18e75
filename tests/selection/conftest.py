"""One small ranking of each kind, shared by the tests of this folder."""

import numpy as np
import pandas as pd
import pytest

import gramsmith as gs


@pytest.fixture(scope="session")
def circle():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(150, 3)), columns=["first", "second", "noise"])
    y = np.where(X["first"] ** 2 + X["second"] ** 2 > 1.4, "out", "in")
    return X, y


@pytest.fixture(scope="session")
def ranking(circle):
    return gs.rank_kernels(*circle)


@pytest.fixture(scope="session")
def wave():
    rng = np.random.default_rng(2)
    X = rng.uniform(-3, 3, size=(120, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=120)


@pytest.fixture(scope="session")
def regression(wave):
    return gs.rank_kernels(*wave)
