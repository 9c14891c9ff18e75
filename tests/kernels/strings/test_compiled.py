import numpy as np
import pytest

from gramsmith.kernels.strings import batched, compiled

LOOPS = {
    "subsequences": [(3, 0.7, False), (3, 0.7, True), (1, 1.0, True)],
    "runs": [(np.array([0.0, 1.0, 1.5, 4.0]), np.array([1.0, 0.25, 0.5]))],
    "near_matches": [(3, np.array([5.0, 3.0, 1.0, 0.0])), (1, np.array([2.0, 1.0]))],
}


def many_pairs(rng):
    lengths = np.concatenate([rng.integers(0, 25, 30), [0, 1]])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    codes = rng.integers(-1, 3, starts[-1]).astype(np.int32)  # -1 is a gap
    I, J = rng.integers(0, len(lengths), (2, 100))
    return codes, starts, codes, starts, I, J


@pytest.mark.parametrize("loop", LOOPS)
def test_both_routes_and_plain_python_give_the_same_numbers(rng, loop):
    pytest.importorskip("numba")
    pairs = many_pairs(rng)
    for options in LOOPS[loop]:
        out = np.zeros((3, 100))
        compiled.compile_loop(getattr(compiled, loop))(*pairs, *options, out[0])
        getattr(compiled, loop)(*pairs, *options, out[1])
        getattr(batched, loop)(*pairs, *options, out[2])
        assert out[0].any()
        np.testing.assert_allclose(out[0], out[1], rtol=1e-12)
        np.testing.assert_allclose(out[0], out[2], rtol=1e-12)


def test_switch(monkeypatch):
    monkeypatch.setenv("GRAMSMITH_NUMBA", "0")
    assert not compiled.available()
    monkeypatch.delenv("GRAMSMITH_NUMBA")
    monkeypatch.setattr(compiled, "find_spec", lambda name: None)
    assert not compiled.available()


def fill(values, out):
    for i in range(len(values)):
        out[i] = 2 * values[i]
    return len(values)


def test_run_fills_arrays_without_numba(monkeypatch):
    monkeypatch.setenv("GRAMSMITH_NUMBA", "0")
    out = np.zeros(3, dtype=np.int64)
    assert compiled.run(fill, np.arange(3), out) == 3
    assert out.tolist() == [0, 2, 4]


def test_loops_are_compiled_without_a_folder_to_keep_them_in(monkeypatch):
    numba = pytest.importorskip("numba")
    seen = []

    def njit(**options):
        seen.append(options.get("cache", False))
        if seen[-1]:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda loop: loop

    monkeypatch.setattr(numba, "njit", njit)
    assert compiled._compiled.__wrapped__(fill) is fill
    assert seen == [True, False]
