"""KernelRanking: records, words, tables, pages."""

import json
import math

import pytest

MEASURES = {"cka", "cka_debiased", "kta", "fsm_loo", "csm", "fsm"}


def test_records_are_flat_and_ordered(ranking):
    rows = ranking.records
    assert [r["rank"] for r in rows] == list(range(1, len(rows) + 1))
    assert {"kernel", "tied", "score", "score_error", "verified", *MEASURES} <= set(rows[0])
    json.dumps(rows)


def test_verified_kernels_come_first(ranking):
    kinds = [r["verified"] for r in ranking.records]
    assert kinds == sorted(kinds, key=lambda kind: kind != "cross-validation")
    assert kinds[0] == "cross-validation"
    assert kinds[-1] == "leave-one-out"


def test_short_list_has_error_bars(ranking):
    best = ranking.records[0]
    assert all(best[f"{m}_error"] > 0 for m in ("cka", "kta"))
    assert math.isfinite(best["score_error"])


def test_frame(ranking):
    frame = ranking.frame()
    assert frame.index.name == "rank"
    assert len(frame) == len(ranking.records)


def test_verdict_is_one_sentence_with_ties_called_ties(ranking):
    assert ranking.verdict.count(". ") == 0
    assert ranking.records[0]["kernel"] in ranking.verdict
    tied = [r for r in ranking.records[1:] if r["tied"]]
    assert ("a tie" in ranking.verdict) == bool(tied)


def test_tied_means_within_the_noise(ranking):
    rows = [r for r in ranking.records if r["verified"] == "cross-validation"]
    best = max(r["score"] for r in rows)
    for r in rows:
        if r["tied"]:
            assert best - r["score"] <= 4 * r["score_error"]


def test_printed_table(ranking):
    text = repr(ranking)
    assert ranking.verdict in text
    assert "cka ↑" in text
    assert "fsm_loo ↓" in text
    assert "more kernels" in text


def test_explain(ranking):
    assert "Rank 1 of" in ranking.explain()
    last = ranking.records[-1]["kernel"]
    assert last in ranking.explain(last)
    with pytest.raises(ValueError, match="'linear'"):
        ranking.explain("linaer")


def test_notebook_table_escapes(ranking, monkeypatch):
    hostile = [{**r, "kernel": "<script>"} for r in ranking.records]
    monkeypatch.setitem(ranking.__dict__, "records", hostile)
    page = ranking._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_regression_is_told_in_r2(regression):
    assert "r2" in regression.verdict
    assert 0 < regression.records[0]["score"] <= 1


def test_plot_returns_a_display(ranking):
    display = ranking.plot()
    assert display.ax_.get_xlabel() == "accuracy"
