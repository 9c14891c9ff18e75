"""`gramsmith inspect`."""

import json

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.machines.svm import KernelSVC


@pytest.fixture
def path(tmp_path):
    X = np.array([[0.0, 1.0], [1.0, 0.0]] * 4)
    trained = KernelSVC(gs.Gaussian(2.0) + gs.Linear()).fit(X, ["a", "b"] * 4)
    path = tmp_path / "m.safetensors"
    gs.save_model(trained, path, about={"target": "y\x1b[2J", "columns": list(range(500))})
    return path


def test_a_summary_of_eighty_columns(command, path):
    done = command("inspect", path)
    assert done.status == 0
    first, *lines = done.out.splitlines()
    assert first == f"{path} ({path.stat().st_size:,} bytes)"
    assert "kernel      Sum(Gaussian(length_scale=2), Linear())" in lines
    assert "task        classification, 2 classes: a, b" in lines
    assert "expects     2 columns of numbers" in lines
    assert "keeps       support_samples_ of KernelSVC: 2 x 2 numbers" in lines
    assert "training data" in done.out
    assert max(map(len, lines)) <= 80
    assert len(lines) < 20


def test_everything_as_json(command, path):
    found = json.loads(command("inspect", path, "--json").out)
    assert found["model"]["class"] == "KernelSVC"
    assert found["about"]["target"] == "y\x1b[2J"


def test_a_model_card(command, path):
    done = command("inspect", path, "--card")
    assert done.status == 0
    assert done.out.startswith("# Model card: m.safetensors\n")
    assert "## Limits" in done.out
    assert "\x1b" not in done.out


def test_one_answer_at_a_time(command, path):
    done = command("inspect", path, "--card", "--json")
    assert done.status == 2
    assert "Ask for one" in done.err


def test_files_that_are_no_models(command, tmp_path):
    (tmp_path / "m").write_bytes(b"nonsense, but long enough")
    done = command("inspect", tmp_path / "m")
    assert done.status == 3
    assert "no model file" in done.err
    assert command("inspect", tmp_path / "absent").status == 3


def test_inspecting_makes_no_model(command, tmp_path):
    from tools import forgery

    gs.save_model(gs.Gaussian(), tmp_path / "m")
    header, manifest, body = forgery.parts((tmp_path / "m").read_bytes())
    manifest["model"]["class"] = "Unheard"
    (tmp_path / "m").write_bytes(forgery.assemble(header, manifest, body))
    done = command("inspect", tmp_path / "m")
    assert done.status == 0
    assert "Unheard" in done.out
