import numpy as np
import pytest

from gramsmith.kernels.symbolic import batched


@pytest.mark.parametrize("batch", [1, 7, 64])
@pytest.mark.parametrize("step", [1, 16])
def test_numbers_do_not_depend_on_how_pairs_are_batched(rng, monkeypatch, batch, step):
    lengths = rng.integers(0, 15, 12)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    codes = rng.integers(-1, 2, starts[-1]).astype(np.int32)
    I, J = np.triu_indices(12)
    calls = [
        (batched.subsequences, (3, 0.7, False)),
        (batched.subsequences, (3, 0.7, True)),
        (batched.runs, (np.array([0.0, 1.0, 1.5]), np.ones(20))),
        (batched.near_matches, (2, np.array([3.0, 1.0, 0.0]))),
    ]
    for loop, options in calls:
        want, got = np.zeros(len(I)), np.zeros(len(I))
        loop(codes, starts, codes, starts, I, J, *options, want)
        with monkeypatch.context() as patch:
            patch.setattr(batched, "BATCH", batch)
            patch.setattr(batched, "STEP", step)
            loop(codes, starts, codes, starts, I, J, *options, got)
        np.testing.assert_allclose(got, want, rtol=1e-12)
