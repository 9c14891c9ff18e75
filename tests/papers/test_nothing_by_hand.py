"""No prediction and no number is altered after a machine gave it."""

import ast
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

import gramsmith as gs
import papers
from papers import reproduce
from papers.data import DataFolder
from papers.kandola_shawe_taylor import splits
from papers.record import compare

SOURCES = sorted(Path(papers.__file__).parent.glob("*.py"))
# Here predictions become a number at once; there the outputs of two machines are compared or drawn.
PREDICT = {"experiment.py", "lecture_notes_machines.py"}


def calls(path, names):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        f"{path.name}:{node.lineno}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in names
    ]


def imports_replace(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(
        alias.name == "replace"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        for alias in node.names
    )


def test_no_experiment_holds_predictions_in_its_hands():
    names = {"predict", "decision_function", "predict_proba"}
    found = [call for path in SOURCES if path.name not in PREDICT for call in calls(path, names)]
    assert not found, "use error_rate, mean_f1 or squared_error of papers.experiment"
    assert any(calls(path, names) for path in SOURCES)  # the search finds what there is


def test_records_are_made_once_and_stay():
    found = [
        call for path in SOURCES if path.name != "record.py" for call in calls(path, {"Record"})
    ]
    assert not found, "use compare, check, timed or absent"
    importing = [path.name for path in SOURCES if imports_replace(path)]
    assert importing == ["data.py", "record.py"], "vehicle's labels, the name of a paper, no more"
    with pytest.raises(FrozenInstanceError):
        compare("t", "c", 1.0, 2.0).ours = 1.0


def witnessed(monkeypatch, machine):
    """Record what a class predicts, and hand it on read-only."""
    seen = []
    original = machine.predict

    def predict(self, X):
        raw = original(self, X)
        raw.setflags(write=False)
        seen.append(raw.copy())
        return raw

    monkeypatch.setattr(machine, "predict", predict)
    return seen


def test_titanic_shows_what_the_machine_gives(data_dir, monkeypatch):
    seen = witnessed(monkeypatch, gs.L2SVC)
    records = reproduce("pothin-richard/table-2-titanic", data=data_dir, quick=True)
    y = DataFolder(data_dir).load("titanic").split(0)[3]
    errors = {round(100.0 * float(np.mean(raw != y)), 10) for raw in seen if len(raw) == len(y)}
    shown = [r for r in records if r.table == "Table 2" and r.cell.endswith("error")]
    assert len(shown) >= 5
    assert {round(r.ours, 10) for r in shown} <= errors
    assert {r.verdict for r in shown if r.published is not None} == {"differs"}
    assert "failed" not in {r.verdict for r in records}


def test_documents_show_what_the_machines_give(data_dir, monkeypatch):
    seen = witnessed(monkeypatch, gs.ParzenClassifier)
    records = reproduce("kandola-shawe-taylor/medline", data=data_dir, quick=True)
    y = DataFolder(data_dir).load("med").y
    rows = [J for _, J in splits(len(y), 20, 10)]
    # per split K and the two G, of each the "SVC", the Parzen window, and the "SVC" again for F1
    raw = [predicted for predicted in seen if len(predicted) == len(rows[0])]
    assert len(raw) == 90
    shown = {record.cell: record.ours for record in records if record.table == "Table 2"}
    for cell, first in (("K20, SVC error", 0), ("K20, Parzen error", 1), ("G20, SVC error", 6)):
        errors = [np.mean(raw[9 * k + first] != y[J]) for k, J in enumerate(rows)]
        assert shown[cell] == pytest.approx(np.mean(errors), abs=1e-12)
