"""Feature weights learned for the selection."""

import numpy as np
import pytest

from gramsmith.selection import learned
from gramsmith.selection.candidates import default_candidates
from gramsmith.selection.judge import Judge
from gramsmith.selection.learned import learn_diagonal


@pytest.fixture
def task(rng):
    X = rng.normal(size=(100, 4))
    judge = Judge("classification", (X[:, 0] > 0).astype(int), np.array([0, 1]))
    source = next(c for c in default_candidates(X) if c.family == "gaussian" and c.step == 0)
    return X, judge, source


def test_learned_rows_are_a_part(task):
    X, judge, source = task
    found, rows = learn_diagonal(source, source, X, judge)
    assert 50 <= len(rows) <= 70
    assert len({shape.name for shape in found}) == len(found) == 3
    plain, soft, chosen = (shape.weights for shape in found)
    for weights in (plain, soft, chosen):
        assert weights[0] == weights.max()
    assert (plain**2 @ X.var(axis=0)) == pytest.approx(soft**2 @ X.var(axis=0))
    assert soft[1:].sum() / soft[0] > plain[1:].sum() / plain[0]
    assert set(chosen / chosen.max()) <= {0.0, 1.0}


def test_second_climb_where_samples_are_many(task, monkeypatch):
    X, judge, source = task
    monkeypatch.setattr(learned, "LEARN_TWICE", 50)
    found, _ = learn_diagonal(source, source, X, judge)
    assert len(found) == 6
    assert sum("second climb" in shape.name for shape in found) == 3


def test_width_of_a_shape_is_a_factor(task):
    X, judge, source = task
    shape = learn_diagonal(source, source, X, judge)[0][0]
    wide, narrow = shape.candidate(1.0), shape.candidate(2.0)
    assert narrow.name == f"{wide.name}, 2 times narrower"
    np.testing.assert_allclose(narrow.kernel(X), wide.kernel(X) ** 4)
