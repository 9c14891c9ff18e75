"""`gramsmith upgrade`."""

from pathlib import Path

import numpy as np

import gramsmith as gs
from gramsmith.storage import inspect_model

OLD = Path(__file__).parents[1] / "models" / "format-2" / "Pipeline.safetensors"
X = np.array([[0.0, 1.0], [1.0, 0.2]] * 4)


def test_a_file_of_an_old_version(command, tmp_path):
    path = tmp_path / "m.safetensors"
    done = command("upgrade", OLD, "-o", path)
    assert done.status == 0
    assert "format 2 -> 3, the same predictions for 24 samples" in done.err
    assert inspect_model(path).format_version == 3
    assert command("upgrade", OLD, "-o", path).status == 2
    assert command("upgrade", path).status == 0


def test_training_rows_left_out(command, tmp_path):
    path = tmp_path / "m.safetensors"
    gs.save_model(gs.KernelSVC(gs.Linear()).fit(X, [0, 1] * 4), path)
    assert command("upgrade", path, "--no-rows").status == 0
    assert inspect_model(path).training_rows == []
    gs.save_model(gs.KernelSVC(gs.Gaussian()).fit(X, [0, 1] * 4), path)
    before = path.read_bytes()
    done = command("upgrade", path, "--no-rows")
    assert done.status == 2
    assert "compares with them" in done.err
    assert path.read_bytes() == before


def test_files_that_are_no_models(command, tmp_path):
    (tmp_path / "m").write_bytes(b"nonsense")
    assert command("upgrade", tmp_path / "m").status == 3
