"""Model files of every version that was released load and answer as they did."""

import json
from pathlib import Path

import numpy as np
import pytest

import gramsmith as gs
import gramsmith.storage
from gramsmith.storage.container import VERSION
from machine_zoo import MACHINES
from models.write_models import answers

MODELS = Path(__file__).parents[1] / "models"
FILES = sorted(MODELS.glob("*/*.safetensors"))
OLD = [path for path in FILES if path.parent.name == "0.1"]


def inputs_of(folder):
    with np.load(folder / "inputs.npz") as stored:
        return dict(stored), json.loads((folder / "table.json").read_text())


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_saved_model_answers_as_it_did(path):
    assert_answers(path, path)


def assert_answers(path, recorded):
    """Assert that a model file answers what was recorded when a file was first written."""
    kind = json.loads((recorded.parent / "kinds.json").read_text())[recorded.stem]
    found = answers(gs.load_model(path), kind, *inputs_of(recorded.parent))
    with np.load(recorded.with_suffix(".npz")) as stored:
        assert set(found) >= set(stored)
        for method, expected in stored.items():
            if expected.dtype.kind in "fc":
                np.testing.assert_allclose(found[method], expected, rtol=1e-9, atol=1e-9)
            else:
                np.testing.assert_array_equal(found[method], expected)


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_an_upgraded_model_answers_as_it_did(path, tmp_path):
    gs.storage.upgrade_model(path, tmp_path / path.name)
    assert gs.storage.inspect_model(tmp_path / path.name).format_version == VERSION
    assert_answers(tmp_path / path.name, path)


@pytest.mark.parametrize("folder", ["0.1", "format-2"])
def test_every_storable_class_is_kept(folder):
    files = (MODELS / folder).glob("*.safetensors")
    written = {name for path in files for name in classes_in(gs.storage.inspect_model(path).model)}
    learners = {"TransformLearner", "KernelLearner", "TwoGaussianLearner", "KernelCombination"}
    machines = {machine.__name__ for machine in MACHINES}
    machines -= {"KernelLossClassifier"} if folder == "0.1" else set()
    others = {"SpectralAligner", "SpectralMap", "KernelSelector", "TableEncoder", "TakeView"}
    if folder == "format-2":
        others |= {"ColumnTransformer", "SimpleImputer", "PowerTransformer"}
        others |= {"OneHotEncoder", "OrdinalEncoder"}
    assert written >= learners | machines | others | {"Pipeline", "KernelNormalizer"}


def classes_in(tree):
    """Yield the name of every class in the tree of a model file."""
    if isinstance(tree, dict):
        if "class" in tree:
            yield tree["class"]
        for branch in tree.values():
            yield from classes_in(branch)
    elif isinstance(tree, list):
        for branch in tree:
            yield from classes_in(branch)
