"""Lengths, alphabet and motifs of sequences as the report shows them."""

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.selection.sequences import motifs_of, sequences_of


@pytest.fixture
def sites(rng):
    letters = rng.choice(list("ACGT"), (120, 40))
    letters[::2, 15:21] = list("TTTCAG")
    return ["".join(row) for row in letters], np.arange(120) % 2


def test_a_planted_motif_is_found_first(sites):
    X, y = sites
    first = motifs_of(X, y, ["site", "decoy"])[0]
    assert (first.text, first.of, first.share) == ("TTTCAG", "site", 1.0)
    assert first.others < 0.1


def test_shares_are_those_of_the_definition(sites):
    X, y = sites
    for motif in motifs_of(X, y, ["site", "decoy"]):
        c = ["site", "decoy"].index(motif.of)
        has = np.array([motif.text in x for x in X])
        assert motif.share == pytest.approx(has[y == c].mean())
        assert motif.others == pytest.approx(has[y != c].mean())


def test_noise_has_no_motifs(rng):
    found = 0
    for _ in range(50):
        X = ["".join(row) for row in rng.choice(list("ACGT"), (80, 30))]
        found += bool(motifs_of(X, rng.integers(0, 2, 80), ["a", "b"]))
    # a level of 1 % over all substrings and classes: 50 sets have 4 with probability 0.0016
    assert found < 4


def test_reading(sites):
    X, y = sites
    rows = np.arange(1, len(X))
    reading = sequences_of([*X[:-1], X[-1][:7]], rows, y, ["site", "decoy"])
    assert (reading.shortest, reading.middle, reading.longest) == (7, 40, 40)
    assert set(reading.alphabet) == set("ACGT")
    assert sequences_of(np.zeros((3, 2)), np.arange(3), None, []) is None
    assert sequences_of(X, rows, None, []).motifs == []


def test_the_page_shows_them(sites, tmp_path):
    X, y = sites
    kernels = {"a": gs.Normalized(gs.Spectrum(2)), "b": gs.Normalized(gs.Spectrum(3))}
    ranking = gs.rank_kernels(X, np.array(["site", "decoy"])[y], kernels)
    page = ranking.write_html(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<code>TTTCAG</code>" in page
    assert "<dd>all 40</dd>" in page
    # of two equal classes the second is the positive one, as in scikit-learn
    assert [curve.name for curve in ranking.evidence.outcome.roc] == ["site"]
