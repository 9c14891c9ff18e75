import numpy as np
import pytest

from gramsmith.kernels.compilation import compile_loop
from gramsmith.kernels.symbolic import batched, compiled

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
        compile_loop(getattr(compiled, loop))(*pairs, *options, out[0])
        getattr(compiled, loop)(*pairs, *options, out[1])
        getattr(batched, loop)(*pairs, *options, out[2])
        assert out[0].any()
        np.testing.assert_allclose(out[0], out[1], rtol=1e-12)
        np.testing.assert_allclose(out[0], out[2], rtol=1e-12)


def fill(values, out):
    for i in range(len(values)):
        out[i] = 2 * values[i]
    return len(values)


def test_run_fills_arrays_without_numba(monkeypatch):
    monkeypatch.setenv("GRAMSMITH_NUMBA", "0")
    out = np.zeros(3, dtype=np.int64)
    assert compiled.run(fill, np.arange(3), out) == 3
    assert out.tolist() == [0, 2, 4]
