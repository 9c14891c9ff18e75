"""Runs and experiments: names, repetitions, generators that repeat."""

import pytest

from papers.data import DataError, DataFolder
from papers.experiment import Experiment, Findings, Run


def test_names_join_paper_and_part():
    experiment = Experiment("tan", "tables", "Tables", lambda run: Findings(), ("usps",))
    assert experiment.name == "tan/tables"


def test_quick_runs_repeat_less():
    folder = DataFolder("/no/such/folder")
    assert Run(folder).choose(10, 2) == 10
    assert Run(folder, quick=True).choose(10, 2) == 2
    with pytest.raises(DataError, match="heart"):
        Run(folder).load("heart")


def test_generators_repeat():
    run = Run(DataFolder())
    assert run.rng(3).random() == run.rng(3).random() != run.rng(4).random()


def test_findings_are_not_shared():
    first, second = Findings(), Findings()
    first.records.append(None)
    assert second.records == []
