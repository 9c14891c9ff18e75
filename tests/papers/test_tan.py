"""Tan et al.: mixtures from one sweep, interpolation, the printed tables."""

import numpy as np
import pytest

import gramsmith as gs
from papers import reproduce, tan


@pytest.fixture
def digits(rng):
    y = np.repeat([1, -1], 15)
    X = 120.0 * rng.standard_normal((30, 4)) + 60.0 * y[:, None]
    return tan.Digits(X, y, X[::3] + 1.0, y[::3])


def test_alignments_are_those_of_the_mixtures(digits):
    u, sigmas = np.array([0.0, 0.3, 0.9]), np.array([100.0, 450.0])
    for circle in (False, True):
        found = tan.alignments(digits, u, sigmas, circle=circle)
        for i, share in enumerate(u):
            for j, sigma in enumerate(sigmas):
                second = np.sqrt(1 - share**2) if circle else 1 - share
                K = share * gs.Gaussian(50.0)(digits.X) + second * gs.Gaussian(sigma)(digits.X)
                assert found[i, j] == pytest.approx(gs.kta(K, digits.y), abs=1e-12)


def test_recognition_is_interpolation(digits):
    rate = tan.recognition(digits, np.array([0.2]), np.array([200.0]))[0, 0]
    k = 0.2 * gs.Gaussian(50.0) + 0.8 * gs.Gaussian(200.0)
    f = k(digits.X_test, digits.X) @ np.linalg.solve(k(digits.X), digits.y)
    assert rate == np.mean(np.sign(f) == digits.y_test)


def test_printed_tables_are_complete():
    for table in (tan.TABLE_1, tan.TABLE_2):
        assert tan.parse(table).shape == (10, 9)
    assert len(tan.SWAPPED_1) == len(tan.SWAPPED_2) == 10


def test_every_cell_of_both_tables(data_dir):
    records = reproduce("tan/tables", data=data_dir, quick=True)
    assert len(records) == 200
    assert {record.verdict for record in records} == {"exact", "within tolerance", "new"}
    loose = [record for record in records if record.verdict == "within tolerance"]
    assert {record.note for record in loose} == {"rounded twice in print"}
    assert [record.cell for record in records if record.verdict == "new"] == [
        "u = 0.3, sigma = 100"
    ]
