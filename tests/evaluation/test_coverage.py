"""Intervals hold the average of a measure as often as they say; all of it: benchmarks.coverage."""

import pytest

from benchmarks.coverage import coverage


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["uneven", "regression"])
def test_intervals_hold_the_average(kind):
    shares = coverage(samples=300, sizes=(60,), kinds=(kind,), jobs=1)
    # 300 samples: three standard errors of 94 % are 4 %
    assert min(shares.values()) >= 0.90
    assert max(shares.values()) <= 0.985
