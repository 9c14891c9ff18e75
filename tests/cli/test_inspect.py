"""`gramsmith inspect`."""

import json

import numpy as np

import gramsmith as gs
from gramsmith.machines.svm import KernelSVC


def test_the_tree_of_a_model(command, tmp_path):
    X = np.array([[0.0, 1.0], [1.0, 0.0]] * 4)
    path = tmp_path / "m.safetensors"
    trained = KernelSVC(gs.Gaussian(2.0) + gs.Linear()).fit(X, ["a", "b"] * 4)
    gs.save_model(trained, path, about={"target": "y\x1b[2J", "columns": list(range(500))})
    done = command("inspect", path)
    assert done.status == 0
    assert "KernelSVC" in done.out
    assert "length_scale: 2.0" in done.out
    assert "support_samples_: float64 array of shape [" in done.out
    assert "target: 'y\\x1b[2J'" in done.out
    assert "training data" in done.out
    assert "\x1b" not in done.out
    assert max(map(len, done.out.splitlines())) < 250
    found = json.loads(command("inspect", path, "--json").out)
    assert found["model"]["class"] == "KernelSVC"
    assert found["about"]["target"] == "y\x1b[2J"


def test_files_that_are_no_models(command, tmp_path):
    (tmp_path / "m").write_bytes(b"nonsense, but long enough")
    done = command("inspect", tmp_path / "m")
    assert done.status == 3
    assert "no model file" in done.err
    assert command("inspect", tmp_path / "absent").status == 3


def test_inspecting_makes_no_model(command, tmp_path):
    import forgery

    gs.save_model(gs.Gaussian(), tmp_path / "m")
    header, manifest, body = forgery.parts((tmp_path / "m").read_bytes())
    manifest["model"]["class"] = "Unheard"
    (tmp_path / "m").write_bytes(forgery.assemble(header, manifest, body))
    done = command("inspect", tmp_path / "m")
    assert done.status == 0
    assert "Unheard" in done.out
