"""The runner: names, isolation, output folder, progress."""

import os

import pytest

from papers import PAPERS, list_experiments, reproduce
from papers import runner as runner_module
from papers.experiment import Experiment, Findings
from papers.record import compare
from papers.runner import OutputError


def test_every_paper_has_experiments_with_names_of_their_own():
    names = [experiment.name for experiment in list_experiments()]
    assert len(names) == len(set(names))
    assert {name.split("/")[0] for name in names} == set(PAPERS)
    assert set(PAPERS) == {
        *("pothin-richard", "tan", "kandola-shawe-taylor", "lecture-notes", "nguyen-ho"),
    }


def test_papers_and_single_experiments_may_be_named():
    assert {e.paper for e in list_experiments("tan")} == {"tan"}
    assert [e.name for e in list_experiments(["tan/formulas"])] == ["tan/formulas"]
    both = list_experiments(["tan/formulas", "tan"])
    assert len(both) == len(list_experiments("tan"))


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("nguyen", "nguyen-ho"), ("pothin-richad", "pothin-richard"), ("tam", "tan"), ("al", "all")],
)
def test_unknown_name_offers_the_nearest(wrong, near):
    with pytest.raises(ValueError, match=f"Did you mean '{near}'"):
        reproduce(wrong)


def test_no_name_at_all():
    with pytest.raises(ValueError, match="got none"):
        list_experiments([])
    with pytest.raises(ValueError, match=r"got 'zzzzzz'\.$"):
        list_experiments("zzzzzz")


def test_missing_data_stop_one_experiment_only(tmp_path):
    records = reproduce(["tan/tables", "tan/formulas"], data=tmp_path, quick=True)
    missing = [record for record in records if record.verdict == "not run"]
    assert len(missing) == 1
    assert "usps" in missing[0].note
    assert sum(record.verdict == "corrected" for record in records) == 6


def test_an_error_of_ours_becomes_a_record(monkeypatch):
    def broken(run):
        raise ZeroDivisionError("one over nothing")

    def fine(run):
        return Findings([compare("t", "c", 1.0, 1.0)])

    experiments = [
        Experiment("tan", "broken", "Broken", broken),
        Experiment("tan", "fine", "Fine", fine),
    ]
    monkeypatch.setattr(runner_module, "list_experiments", lambda names: experiments)
    first, second = reproduce("tan")
    assert (first.verdict, first.note) == ("failed", "ZeroDivisionError: one over nothing")
    assert (second.verdict, second.paper) == ("exact", "tan")


def test_progress_counts_experiments():
    seen = []
    reproduce("lecture-notes/symbolic", quick=True, progress=lambda *event: seen.append(event))
    assert seen == [(0, 1, "lecture-notes/symbolic"), (1, 1, "")]


def test_data_folder_must_be_one(tmp_path):
    with pytest.raises(ValueError, match="is no folder"):
        reproduce("tan", data=tmp_path / "absent")


def test_output_below_a_file_is_refused_before_any_work(tmp_path):
    (tmp_path / "file").write_text("here first")
    with pytest.raises(OutputError, match="-o DIR"):
        reproduce(
            "all", output=tmp_path / "file" / "run", progress=lambda *event: pytest.fail("ran")
        )


def test_read_only_output_is_refused_before_any_work(tmp_path, monkeypatch):
    # root may write anywhere, so the refusal of the system is played
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(runner_module.tempfile, "mkstemp", refuse)
    with pytest.raises(OutputError, match="Permission denied"):
        reproduce("all", output=tmp_path, progress=lambda *event: pytest.fail("ran"))
    assert os.listdir(tmp_path) == []
