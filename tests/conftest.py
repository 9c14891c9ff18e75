"""What every test may ask for: a generator, the data folder, one small ranking of each kind."""

import inspect
import os
from functools import wraps
from pathlib import Path

# Several processes test at once: BLAS threads that wait for each other by spinning would take ten
# times as long. Must be said before NumPy is loaded.
for _library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
# Tests never open a window.
os.environ.setdefault("MPLBACKEND", "Agg")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

import gramsmith as gs  # noqa: E402

# The default run is repeatable; HYPOTHESIS_PROFILE=explore looks for new counter-examples.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("explore", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(scope="session")
def seed():
    """The seed of every random test; GRAMSMITH_SEED=7 runs the suite on other data."""
    return int(os.environ.get("GRAMSMITH_SEED", "0"))


@pytest.fixture
def rng(seed):
    """A fresh generator per test, so that no test depends on the order of the others."""
    return np.random.default_rng(seed)


@pytest.fixture
def blas_of_two():
    """BLAS with two threads, for tests that look at its limits."""
    with threadpool_limits(2, user_api="blas"):
        yield


@pytest.fixture
def sizes(monkeypatch):
    """Other bounds of a module, so that few rows count as many: sizes("gram.engine", ROOM=100)."""

    def given(home="selection.plan", **bounds):
        for name, bound in bounds.items():
            monkeypatch.setattr(f"gramsmith.{home}.{name}", bound)

    return given


@pytest.fixture
def watched(monkeypatch):
    """The arguments of every call from now on, by name: calls = watched(module, "function")."""
    originals = {}

    def given(home, name, most=None):
        original = originals.setdefault((home, name), getattr(home, name))
        signature, calls = inspect.signature(original), []

        @wraps(original)
        def function(*args, **options):
            if len(calls) == most:
                raise KeyboardInterrupt
            calls.append(signature.bind(*args, **options).arguments)
            return original(*args, **options)

        monkeypatch.setattr(home, name, function)
        return calls

    return given


@pytest.fixture
def small_tiles(monkeypatch):
    """Tiles of a few rows, so that small data meet every kind of tile: small_tiles(5)."""

    def given(rows):
        tiles = {np.dtype(np.float64): rows, np.dtype(np.float32): rows}
        monkeypatch.setattr("gramsmith.gram.plan.ROWS", tiles)

    return given


@pytest.fixture
def stored(tmp_path):
    """A model as a file gives it back: again = stored(model)."""

    def given(model):
        gs.save_model(model, tmp_path / "stored.safetensors")
        return gs.load_model(tmp_path / "stored.safetensors")

    return given


@pytest.fixture(scope="session")
def data_dir():
    """The folder of public data sets that GRAMSMITH_DATA names."""
    named = os.environ.get("GRAMSMITH_DATA", "")
    if not named or not Path(named).is_dir():
        pytest.skip(f"needs the data folder: GRAMSMITH_DATA is {named!r}, no folder")
    return Path(named)


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
