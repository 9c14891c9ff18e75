"""Generated data: moments of the definitions, and the Titanic row by row."""

import numpy as np
import pytest

from papers.generators import (
    ringnorm,
    standardised,
    titanic,
    two_blobs,
    waveform,
)


def test_ringnorm_has_breimans_moments(rng):
    X, y = ringnorm(20_000, rng)
    assert X.shape == (20_000, 20)
    assert X[y > 0].std() == pytest.approx(2.0, abs=0.02)
    assert X[y < 0].std() == pytest.approx(1.0, abs=0.02)
    assert X[y < 0].mean() == pytest.approx(2 / np.sqrt(20), abs=0.02)
    assert X[y > 0].mean() == pytest.approx(0.0, abs=0.02)


def test_waveform_mixes_triangles(rng):
    X, y = waveform(30_000, rng)
    i = np.arange(1, 22)
    h = np.maximum(6 - np.abs(i - np.array([[11], [15]])), 0)
    np.testing.assert_allclose(X[y > 0].mean(axis=0), h.mean(axis=0), atol=0.06)
    assert np.mean(y > 0) == pytest.approx(1 / 3, abs=0.02)


def test_titanic_is_the_published_table():
    X, y = titanic()
    assert X.shape == (2201, 3)
    assert (y > 0).sum() == 711
    male_crew = (X == [3, 0, 1]).all(axis=1)
    assert (male_crew.sum(), (y[male_crew] > 0).sum()) == (862, 192)
    assert len(np.unique(np.column_stack([X, y]), axis=0)) == 24


def test_titanic_equals_the_file(data_dir):
    stored = np.load(data_dir / "titanic" / "titanic.npz")
    X, y = titanic()
    ours = np.column_stack([standardised(X).round(2), y])
    theirs = np.column_stack([stored["X"].round(2), stored["y"]])
    left, right = (np.unique(A, axis=0, return_counts=True) for A in (ours, theirs))
    np.testing.assert_allclose(left[0], right[0], atol=0.011)
    np.testing.assert_array_equal(left[1], right[1])


def test_blobs_stand_at_the_angle(rng):
    X, y = two_blobs(60.0, 0.01, 400, rng)
    np.testing.assert_allclose(X[y > 0].mean(axis=0), [1.0, 0.0], atol=0.01)
    np.testing.assert_allclose(X[y < 0].mean(axis=0), [0.5, np.sqrt(0.75)], atol=0.01)
