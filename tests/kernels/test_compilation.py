import pytest

from gramsmith.kernels import compilation
from gramsmith.kernels.compilation import worthwhile


def test_switches(monkeypatch):
    monkeypatch.setattr(compilation, "find_spec", lambda name: name)
    assert compilation.available()
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert not compilation.available()
    monkeypatch.delenv("NUMBA_DISABLE_JIT")
    monkeypatch.setenv("GRAMSMITH_NUMBA", "0")
    assert not compilation.available()
    monkeypatch.delenv("GRAMSMITH_NUMBA")
    monkeypatch.setattr(compilation, "find_spec", lambda name: None)
    assert not compilation.available()


def test_the_number_of_samples_decides(monkeypatch):
    monkeypatch.setattr(compilation, "find_spec", lambda name: name)
    assert not worthwhile(compilation.SAMPLES - 1)
    assert worthwhile(compilation.SAMPLES)
    monkeypatch.setenv("GRAMSMITH_NUMBA", "0")
    assert not worthwhile(compilation.SAMPLES)


def nothing():
    """A loop that is never run."""


def test_loops_are_compiled_without_a_folder_to_keep_them_in(monkeypatch):
    numba = pytest.importorskip("numba")
    seen = []

    def njit(**options):
        seen.append(options.get("cache", False))
        if seen[-1]:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda loop: loop

    monkeypatch.setattr(numba, "njit", njit)
    assert (
        compilation._compiled.__wrapped__(nothing, frozenset(), frozenset(), True, None) is nothing
    )
    assert seen == [True, False]
