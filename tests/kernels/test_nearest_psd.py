"""NearestPSD and TakeColumns: new rows as the training rows, columns as chosen."""

import numpy as np
import pytest

import gramsmith as gs


def indefinite(rng, n=40):
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 1, -1)
    noise = rng.normal(size=(n, n))
    return gs.Gaussian(1.0)(X) + 0.1 * (noise + noise.T), y


@pytest.mark.parametrize("method", ["clip", "flip"])
def test_training_rows_are_those_of_nearest_psd(method, rng):
    K, _ = indefinite(rng)
    repair = gs.NearestPSD(method).fit(K)
    np.testing.assert_allclose(repair.transform(K), gs.nearest_psd(K, method), atol=1e-12)
    np.testing.assert_allclose(repair.transform(K[:3]), gs.nearest_psd(K, method)[:3], atol=1e-12)


def test_a_machine_of_the_repaired_matrix_answers_alike_for_raw_training_rows(rng):
    K, y = indefinite(rng)
    repair = gs.NearestPSD().fit(K)
    machine = gs.KernelRidgeRegressor("precomputed", alpha=0.1).fit(
        repair.transform(K), y.astype(float)
    )
    expected = machine.predict(gs.nearest_psd(K))
    np.testing.assert_allclose(machine.predict(repair.transform(K)), expected, atol=1e-9)
    assert np.abs(machine.predict(K) - expected).max() > 0.01


def test_refused():
    with pytest.raises(ValueError, match="shift"):
        gs.NearestPSD("shift").fit(np.eye(2))
    with pytest.raises(ValueError, match="square"):
        gs.NearestPSD().fit(np.ones((2, 3)))
    with pytest.raises(ValueError, match="symmetric"):
        gs.NearestPSD().fit(np.array([[1.0, 0.5], [0.0, 1.0]]))


def test_columns_of_a_kernel(rng):
    X = rng.normal(size=(8, 4))
    k = gs.Gaussian(1.0) @ gs.TakeColumns([3, 1])
    np.testing.assert_allclose(k(X), gs.Gaussian(1.0)(X[:, [3, 1]]))
    for columns, words in (([4], "from 0 to 3"), ([-1], "from 0 to 3"), (["a"], "column numbers")):
        with pytest.raises(ValueError, match=words):
            (gs.Linear() @ gs.TakeColumns(columns))(X)
