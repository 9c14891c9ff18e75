import numpy as np
import pytest

from gramsmith.kernels.symbolic import loops
from gramsmith.kernels.symbolic.loops import diagonal_of_pairs, tile_of_pairs

EQUAL_SYMBOLS = (np.array([0.0, 1.0]), np.array([1.0]))  # matches at the same place, each counts 1
LOOPS = {
    "subsequences": [(3, 0.7, False), (3, 0.7, True), (1, 1.0, True)],
    "runs": [(np.array([0.0, 1.0, 1.5, 4.0]), np.array([1.0, 0.25, 0.5]))],
    "windows": [(3, np.array([5.0, 3.0, 1.0, 0.0])), (1, np.array([2.0, 1.0]))],
}


def embedded(*strings):
    E = np.empty(len(strings), dtype=object)
    for i, string in enumerate(strings):
        E[i] = np.array(string, dtype=np.int32)
    return E


@pytest.mark.parametrize("loop", LOOPS)
def test_numba_python_and_numpy_give_the_same_numbers_however_pairs_are_batched(
    rng, monkeypatch, loop
):
    pytest.importorskip("numba")
    a = embedded(*(rng.integers(-1, 3, size) for size in rng.integers(0, 25, 12)), [], [1])
    b = a[::-1][:9]
    for options in LOOPS[loop]:
        want = [tile_of_pairs(loop, a, other, *options) for other in (a, b)]
        assert want[0].any()
        np.testing.assert_allclose(diagonal_of_pairs(loop, a, *options), np.diagonal(want[0]))
        with monkeypatch.context() as patch:  # the plain functions that are compiled
            patch.setattr(loops, "compile_loop", lambda function: function)
            np.testing.assert_allclose(tile_of_pairs(loop, a, b, *options), want[1], rtol=1e-12)
        for batch, lanes, step in ((1 << 17, 64, 512), (1, 1, 1), (7, 3, 16)):
            with monkeypatch.context() as patch:
                patch.setenv("GRAMSMITH_NUMBA", "0")
                for name, value in (("BATCH", batch), ("LANES", lanes), ("STEP", step)):
                    patch.setattr(loops, name, value)
                for other, K in zip((a, b), want, strict=True):
                    got = tile_of_pairs(loop, a, other, *options)
                    np.testing.assert_allclose(got, K, rtol=1e-12)


def test_tile_puts_pairs_where_they_belong(route):
    # lengths out of order: pairs are sorted for speed and must come back
    a, b = embedded([0, 1, 2, 3], [], [0, 1]), embedded([1, 1], [0, 1, 1, 3])
    assert tile_of_pairs("runs", a, b, *EQUAL_SYMBOLS).tolist() == [[1, 3], [0, 0], [1, 2]]
    K = tile_of_pairs("runs", a, a, *EQUAL_SYMBOLS)
    assert K.tolist() == [[4, 0, 2], [0, 0, 0], [2, 0, 2]]
    none = a[:0]
    assert tile_of_pairs("runs", a, none, *EQUAL_SYMBOLS).shape == (3, 0)
    assert tile_of_pairs("runs", none, none, *EQUAL_SYMBOLS).shape == (0, 0)
    assert diagonal_of_pairs("runs", none, *EQUAL_SYMBOLS).shape == (0,)


def fill(values, out):
    for i in range(len(values)):
        out[i] = 2 * values[i]
    return len(values)


def test_run_fills_arrays(route):
    out = np.zeros(3, dtype=np.int64)
    assert loops.run_loop(fill, np.arange(3), out) == 3
    assert out.tolist() == [0, 2, 4]
