"""Model files of every version that was released load and answer as they did."""

import json
from pathlib import Path

import numpy as np
import pytest

import gramsmith as gs
import gramsmith.storage
from machine_zoo import MACHINES
from models.write_models import answers

MODELS = Path(__file__).parents[1] / "models"
FILES = sorted(MODELS.glob("*/*.safetensors"))


def inputs_of(folder):
    with np.load(folder / "inputs.npz") as stored:
        return dict(stored), json.loads((folder / "table.json").read_text())


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_saved_model_answers_as_it_did(path):
    kind = json.loads((path.parent / "kinds.json").read_text())[path.stem]
    found = answers(gs.load_model(path), kind, *inputs_of(path.parent))
    with np.load(path.with_suffix(".npz")) as stored:
        assert set(found) >= set(stored)
        for method, expected in stored.items():
            if expected.dtype.kind in "fc":
                np.testing.assert_allclose(found[method], expected, rtol=1e-9, atol=1e-9)
            else:
                np.testing.assert_array_equal(found[method], expected)


def test_every_storable_class_of_the_first_release_is_kept():
    written = {name for path in FILES for name in classes_in(gs.storage.inspect_model(path).model)}
    learners = {"TransformLearner", "KernelLearner", "TwoGaussianLearner", "KernelCombination"}
    machines = {machine.__name__ for machine in MACHINES} - {"KernelLossClassifier"}
    others = {"SpectralAligner", "SpectralMap", "KernelSelector", "TableEncoder", "TakeView"}
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
