"""The exponential function, in vector instructions where loops are compiled.

NumPy computes exp of float64 number by number unless the processor has AVX-512. Here

    exp(x) = 2^k p(r),    k = round(x / ln 2),    r = x - k ln 2,    |r| <= ln(2) / 2,

without a branch, so that the compiler works on as many numbers as fit a register. The result is
within 1.1 units in the last place for every x, also where it is subnormal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.kernels.compilation import compile_loop, on_compiled_route

Array = npt.NDArray[Any]

# p(r) = 1 + r + r² (c0 + c1 r + ...) with the smallest largest relative error: 4e-18 and 3e-9.
# After the coefficients: the range beyond which nothing changes; 1 / ln 2; the number that rounds
# what it is added to, to a whole number in its last bits; ln 2 in two parts, of which the first has
# so few digits that its products with k are exact; below what the result may be subnormal; then the
# factors by which 2^(k + 63) and 2^(k - 1) miss 2^k, so that no power of two over- or underflows.
NUMBERS = {
    np.dtype(np.float64): np.array(
        [
            *(0.5000000000000011, 0.16666666666666413, 0.04166666666653016, 0.008333333333494446),
            *(0.0013888888943629925, 0.0001984126950660702, 2.480149309902565e-05),
            *(2.755758635352228e-06, 2.763024836847288e-07, 2.5000066626477466e-08),
            *(-746.0, 710.0, 1.4426950408889634, 1.5 * 2.0**52),
            *(0.6931471803691238, 1.9082149292705877e-10, -700.0, 2.0**-63, 2.0, 1.0),
        ]
    ),
    np.dtype(np.float32): np.array(
        [
            *(0.49999993447061625, 0.1666652063055764, 0.04166838819960762),
            *(0.008368716997592644, 0.0013814591106556125),
            *(-104.0, 89.0, 1.4426950408889634, 1.5 * 2.0**23),
            *(0.693145751953125, 1.4286068203094172e-06, -80.0, 2.0**-63, 2.0, 1.0),
        ],
        dtype=np.float32,
    ),
}
# The bits of 2^63 and 2^-1, to which k is added in the exponent.
POWERS = {
    np.dtype(np.float64): np.array([(1023 + 63) << 52, (1023 - 1) << 52], dtype=np.int64),
    np.dtype(np.float32): np.array([(127 + 63) << 23, (127 - 1) << 23], dtype=np.int32),
}


def exp(x: Array) -> Array:
    """Return exp(x), written over x if that is an array of floating-point numbers.

    Parameters
    ----------
    x : array

    Returns
    -------
    array

    Examples
    --------
    >>> exp(np.array([0.0, -1.0])).round(6)
    array([1.      , 0.367879])
    """
    if not on_compiled_route() or x.dtype not in NUMBERS or not x.flags.c_contiguous:
        return np.asarray(np.exp(x, out=x))
    loop = double_exponentials if x.dtype == np.float64 else single_exponentials
    compile_loop(loop, "contract")(x.reshape(-1), NUMBERS[x.dtype], POWERS[x.dtype])
    return x


# The numbers come as arguments: as constants in the code each would be fetched by two instructions.
def double_exponentials(x: Any, numbers: Any, powers: Any) -> None:
    """Write exp(x) over x, float64."""
    c0, c1, c2, c3, c4 = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    c5, c6, c7, c8, c9 = numbers[5], numbers[6], numbers[7], numbers[8], numbers[9]
    least, most, per_octave, shift = numbers[10], numbers[11], numbers[12], numbers[13]
    octave, rest, limit = numbers[14], numbers[15], numbers[16]
    down, up, one = numbers[17], numbers[18], numbers[19]
    lifted, lowered = powers[0], powers[1]
    for i in range(len(x)):
        v = least if x[i] < least else x[i]  # nan stays
        v = most if v > most else v
        shifted = v * per_octave + shift
        k = shifted - shift
        r = (v - k * octave) - k * rest
        # even and odd powers apart: two short chains of operations instead of a long one
        s = r * r
        even = (((c8 * s + c6) * s + c4) * s + c2) * s + c0
        odd = (((c9 * s + c7) * s + c5) * s + c3) * s + c1
        p = ((odd * r + even) * s + r) + one
        small = v < limit
        bits = (np.float64(shifted).view(np.int64) << 52) + (lifted if small else lowered)
        x[i] = p * np.int64(bits).view(np.float64) * (down if small else up)


def single_exponentials(x: Any, numbers: Any, powers: Any) -> None:
    """Write exp(x) over x, float32."""
    c0, c1, c2, c3, c4 = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    least, most, per_octave, shift = numbers[5], numbers[6], numbers[7], numbers[8]
    octave, rest, limit = numbers[9], numbers[10], numbers[11]
    down, up, one = numbers[12], numbers[13], numbers[14]
    lifted, lowered = powers[0], powers[1]
    for i in range(len(x)):
        v = least if x[i] < least else x[i]
        v = most if v > most else v
        shifted = v * per_octave + shift
        k = shifted - shift
        r = (v - k * octave) - k * rest
        s = r * r
        p = (((c3 * s + c1) * r + ((c4 * s + c2) * s + c0)) * s + r) + one
        small = v < limit
        bits = (np.float32(shifted).view(np.int32) << 23) + (lifted if small else lowered)
        x[i] = p * np.int32(bits).view(np.float32) * (down if small else up)
