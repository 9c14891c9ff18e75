"""The verdicts of the quick run are pinned: a changed verdict fails."""

import importlib.util
import json
from pathlib import Path

import pytest

from papers import list_experiments

HERE = Path(__file__).parent
PINS = json.loads((HERE / "verdicts.json").read_text(encoding="utf-8"))
EXPERIMENTS = list_experiments()
FREE = [e.name for e in EXPERIMENTS if not e.sets]
WITH_DATA = [e.name for e in EXPERIMENTS if e.sets]


def run(name, data):
    spec = importlib.util.spec_from_file_location("pin_verdicts", HERE / "pin_verdicts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.verdicts([name], data)[name]


def test_every_experiment_is_pinned():
    assert list(PINS) == [experiment.name for experiment in EXPERIMENTS]
    assert not [name for name, cells in PINS.items() if {"failed", "not run"} & set(cells.values())]


@pytest.mark.parametrize("name", FREE)
def test_verdicts_without_a_data_folder(name, monkeypatch):
    monkeypatch.delenv("GRAMSMITH_DATA", raising=False)
    assert run(name, None) == PINS[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_DATA)
def test_verdicts_with_the_data_folder(name, data_dir):
    assert run(name, data_dir) == PINS[name]
