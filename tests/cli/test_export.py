"""`gramsmith export`."""

import numpy as np
import pytest

import gramsmith as gs

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")

X = np.array([[0.0, 1.0], [1.0, 0.2]] * 4)


def test_a_model_for_other_programs(command, tmp_path):
    path, out = tmp_path / "m.safetensors", tmp_path / "m.onnx"
    gs.save_model(gs.KernelSVC(gs.Gaussian()).fit(X, ["a", "b"] * 4), path)
    done = command("export", path, out)
    assert done.status == 0
    assert "from X to prediction, decision_function" in done.err
    assert "training rows" in done.err
    assert onnx.load(out).producer_name == "gramsmith"
    assert command("export", path, out).status == 2
    assert command("export", path, out, "--force").status == 0


def test_what_cannot_be_exported(command, tmp_path):
    path = tmp_path / "m.safetensors"
    gs.save_model(gs.KernelSVC(gs.Spectrum(2)).fit(["AC", "GT", "AA", "GG"], [0, 1, 0, 1]), path)
    done = command("export", path, tmp_path / "m.onnx")
    assert done.status == 2
    assert "ONNX has no operators" in done.err
    assert not (tmp_path / "m.onnx").exists()
