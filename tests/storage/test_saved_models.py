"""Model files of the release before this one load and answer as they did."""

import json
from pathlib import Path

import numpy as np
import pytest

import gramsmith as gs
import gramsmith.storage
from gramsmith.storage.container import OLDEST, VERSION
from gramsmith.storage.registry import FORMER_NAMES, REGISTRY
from models.write_models import answers

FOLDER = Path(__file__).parents[1] / "models" / f"format-{OLDEST}"
KINDS = json.loads((FOLDER / "kinds.json").read_text())


@pytest.fixture(scope="module")
def recorded():
    with np.load(FOLDER / "answers.npz") as stored:
        return dict(stored)


@pytest.fixture(scope="module")
def inputs():
    with np.load(FOLDER / "inputs.npz") as stored:
        return dict(stored), json.loads((FOLDER / "table.json").read_text())


@pytest.mark.parametrize("name", KINDS)
def test_a_model_answers_as_it_did_also_when_upgraded(name, recorded, inputs, tmp_path):
    path, new = FOLDER / f"{name}.safetensors", tmp_path / "new"
    gs.storage.upgrade_model(path, new)
    assert gs.storage.inspect_model(new).format_version == VERSION
    expected = {k.split(":")[1]: v for k, v in recorded.items() if k.split(":")[0] == name}
    assert expected
    for file in (path, new):
        found = answers(gs.load_model(file), KINDS[name], *inputs)
        assert found.keys() >= expected.keys()
        for method, values in expected.items():
            if values.dtype.kind == "f":
                np.testing.assert_allclose(found[method], values, rtol=1e-9, atol=1e-9)
            else:
                np.testing.assert_array_equal(found[method], values)


@pytest.mark.parametrize("version", range(OLDEST, VERSION + 1))
def test_every_storable_class_is_there(version):
    files = (FOLDER.parent / f"format-{version}").glob("*.safetensors")
    written = {name for path in files for name in classes_in(gs.storage.inspect_model(path).model)}
    code = {"FromCallable", "RankOne"}  # hold functions, which no file keeps
    since = {
        "Bounded",
        "Categories",
        "Dates",
        "ForestLearner",
        "Leaves",
        "NearestPSD",
        "Numbers",
        "TakeColumns",
        "Texts",
        "White",
    }  # classes that no file of the last release can hold
    later = since if version < VERSION else set()
    assert {FORMER_NAMES.get(name, name) for name in written} == set(REGISTRY) - code - later


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
