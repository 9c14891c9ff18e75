"""Concentration by simulation: what falls like n^-1/2 holds, what does not differs."""

import numpy as np

from papers.concentration import SIZES, concentration
from papers.data import DataFolder
from papers.experiment import Run

RUN = Run(DataFolder(), quick=True)


def test_a_mean_is_concentrated():
    found = concentration("t", "f", "a mean", lambda n, rng: rng.standard_normal(n).mean(), RUN)
    assert [record.verdict for record in found.records[:2]] == ["holds", "holds"]
    assert len(found.records) == 2 + len(SIZES)
    assert found.figures[0].name == "f"


def test_a_single_draw_is_not():
    found = concentration("t", "f", "a draw", lambda n, rng: rng.standard_normal(), RUN)
    assert [record.verdict for record in found.records[:2]] == ["differs", "differs"]


def test_samples_are_the_same_in_every_run():
    def sample(n, rng):
        return float(rng.random())

    first, second = (concentration("t", "f", "x", sample, RUN).records for _ in range(2))
    assert [r.ours for r in first] == [r.ours for r in second]
    assert np.isfinite([r.ours for r in first]).all()
