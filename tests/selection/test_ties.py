"""Ties: the simplest of the tied comes first where samples are many."""

import gramsmith as gs
from gramsmith.selection import sizes
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.ties import simplicity


def test_simple_families_come_before_rich_ones():
    families = ["linear", "polynomial, categories", "view 2: gaussian", "matern", "learned"]
    places = [simplicity(Candidate("c", gs.Linear(), family)) for family in families]
    assert places == sorted(places)
    assert len(set(places)) == 5
    assert simplicity(Candidate("c", gs.Linear(), "mine")) == places[2]


def test_simplest_wins_where_many_samples_leave_a_tie(rng, monkeypatch):
    X = rng.normal(size=(300, 3))
    y = (X.sum(axis=1) + 0.5 * rng.normal(size=300) > 0).astype(int)
    monkeypatch.setattr(sizes, "EXACT_ROWS", 100)
    records = gs.rank_kernels(X, y).records
    assert records[0]["family"] == "linear"
    assert sum(record["tied"] for record in records) > 1
