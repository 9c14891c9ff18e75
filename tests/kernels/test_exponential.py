from decimal import Decimal, localcontext

import numpy as np
import pytest

from gramsmith.kernels.compilation import compiled_route
from gramsmith.kernels.exponential import (
    NUMBERS,
    POWERS,
    double_exponentials,
    exp,
    single_exponentials,
)

TYPES = [np.float64, np.float32]


@pytest.fixture(params=["compiled", "numpy"])
def computed(request):
    """Return exp by one of the two routes."""
    if request.param == "compiled":
        pytest.importorskip("numba")

    def values(x):
        x = np.array(x)
        with compiled_route(request.param == "compiled"), np.errstate(over="ignore"):
            assert exp(x) is x
        return x

    return values


def units(value, exact, dtype):
    """The error of a value in units of the last place of the exact one, which is a Decimal."""
    place = Decimal(float(np.spacing(dtype(float(exact)))))
    return float(abs(Decimal(float(value)) - exact) / place)


def least(dtype):
    """The smallest x whose exp is not 0."""
    return np.log(np.finfo(dtype).smallest_subnormal.astype(np.longdouble)) - np.log(2.0)


@pytest.mark.parametrize("dtype", TYPES)
def test_two_units_in_the_last_place(rng, computed, dtype):
    low = float(least(dtype))
    normal = float(np.log(np.finfo(dtype).tiny))
    x = np.concatenate(
        [
            np.linspace(low, 0.0, 1000),
            np.linspace(low, normal + 1.0, 300),  # subnormal results
            rng.uniform(-2.0, 0.0, 700),
            -np.logspace(-20, 0, 200),
            # where k changes, and r is largest
            np.nextafter((np.arange(0.5, 30.5) * -np.log(2.0)), 0.0),
            np.arange(0.5, 30.5) * -np.log(2.0),
        ]
    ).astype(dtype)
    with localcontext() as context:
        context.prec = 40
        worst = max(
            units(y, Decimal(float(v)).exp(), dtype)
            for v, y in zip(x, computed(x), strict=True)
            if v > low
        )
    assert worst <= 2.0


@pytest.mark.parametrize("dtype", TYPES)
def test_the_ends_of_the_range(computed, dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    highest = np.log(np.finfo(dtype).max, dtype=dtype)
    if np.exp(highest.astype(np.longdouble)) > np.finfo(dtype).max:
        highest = np.nextafter(highest, dtype(0))
    x = [0.0, -0.0, least(dtype) + 0.1, least(dtype) - 0.1, -1e30, -np.inf, np.nan]
    x += [highest, highest + 0.1, 1e30, np.inf]
    got = computed(np.array(x, dtype=dtype))
    assert got[:2].tolist() == [1.0, 1.0]
    assert got[2] == tiny
    assert got[3:6].tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(got[6])
    assert np.finfo(dtype).max * 0.99 < got[7] < np.inf
    assert got[8:].tolist() == [np.inf] * 3


@pytest.mark.parametrize("dtype", TYPES)
def test_every_place_of_an_array_is_computed(rng, computed, dtype):
    # vector instructions take several at once; what is left over goes another way
    for size in (0, 1, 7, 8, 9, 31, 33):
        x = rng.uniform(-20.0, 0.0, size).astype(dtype)
        np.testing.assert_allclose(
            computed(x), np.exp(x), rtol=4 * np.finfo(dtype).eps, strict=True
        )


def test_any_shape_and_order(rng, computed):
    x = rng.normal(size=(6, 8))
    np.testing.assert_allclose(computed(x), np.exp(x), rtol=1e-15)
    np.testing.assert_allclose(computed(np.asfortranarray(x)), np.exp(x), rtol=1e-15)


@pytest.mark.parametrize(
    ("loop", "dtype"), [(double_exponentials, np.float64), (single_exponentials, np.float32)]
)
def test_machine_code_is_of_vectors(loop, dtype):
    numba = pytest.importorskip("numba")
    made = numba.njit(fastmath={"contract"})(loop)  # code that was kept cannot be read
    made(np.zeros(4, dtype), NUMBERS[np.dtype(dtype)], POWERS[np.dtype(dtype)])
    code = "".join(made.inspect_asm().values())
    if "vfmadd" not in code:
        pytest.skip("the processor has no fused multiply-add of x86")
    operation = "pd" if dtype is np.float64 else "ps"
    lines = [line for line in code.splitlines() if "vfmadd" in line and operation in line]
    assert any("ymm" in line or "zmm" in line for line in lines)
