"""Files of every kind, damaged and forged, are refused, or they give finite numbers."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest

import gramsmith as gs
from tools import forgery
from tools.fuzz import models as mutations
from tools.fuzz.models import FILES, KINDS, outcome


def examine(count, seed):
    """Assert that no mutant shows a defect; return how often what happened."""
    table, defects = Counter(), []
    for number, original, kind, found, _ in mutations.campaign(count, seed):
        table[found] += 1
        if found.startswith("!"):
            defects.append(f"{number} {original.parent.name}/{original.stem} {kind}: {found}")
    assert not defects, "\n".join(defects)
    return table


def test_mutants_of_every_file():
    table = examine(2 * len(FILES), seed=0)
    # the forger is worth something: much is refused, and much gets past the loader
    assert table["refused"] > 100
    assert table["answers"] > 40


@pytest.mark.slow
def test_many_mutants_of_every_file():
    examine(20_000, seed=1)


def test_an_honest_file_answers(tmp_path):
    for original in FILES[::10]:
        assert outcome(original.read_bytes(), original, tmp_path / "m") == "answers"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_mutation_changes_the_file(kind):
    data = FILES[0].read_bytes()
    made = [KINDS[kind](data, np.random.default_rng(seed)) for seed in range(5)]
    assert any(one != data for one in made)


def test_defects_are_found(tmp_path, monkeypatch):
    original = next(path for path in FILES if path.stem == "KernelSVR")
    data, path = original.read_bytes(), tmp_path / "m"

    def wrong(error):
        def load(path):
            raise error

        return load

    monkeypatch.setattr(mutations.gs, "load_model", wrong(KeyError("x")))
    assert outcome(data, original, path).startswith("! load: KeyError")
    monkeypatch.undo()
    monkeypatch.setattr(gs.KernelSVR, "predict", lambda self, X: np.array([np.nan]))
    assert outcome(data, original, path) == "! KernelSVR.predict: not finite"
    monkeypatch.setattr(gs.KernelSVR, "predict", lambda self, X: np.zeros(10**8)[:1])
    assert "bytes" in outcome(data, original, path)
    monkeypatch.setattr(mutations, "SECONDS", 1)

    def endless(self, X):
        while True:
            pass

    monkeypatch.setattr(gs.KernelSVR, "predict", endless)
    assert outcome(data, original, path) == "! hangs"


def test_memory_is_a_few_times_the_file(tmp_path):
    rng = np.random.default_rng(0)
    model = gs.KernelSVR(gs.Gaussian(3.0)).fit(rng.normal(size=(10, 50)), np.arange(10.0))
    model.n_samples_fit_, model.support_ = 4000, np.arange(4000)
    model.support_samples_ = rng.normal(size=(4000, 50))
    model.coefficients_ = rng.normal(size=(4000, 1))
    path = tmp_path / "m"
    gs.save_model(model, path)
    size = path.stat().st_size
    assert size > 1_600_000
    assert peak_of(path) < 3 * size
    # one tensor in the place of many
    header, manifest, body = forgery.parts(path.read_bytes())
    node = manifest["model"]["fitted"]["support_samples_"]
    manifest["model"]["params"]["C"] = {"$": "list", "items": [node] * 1000}
    path.write_bytes(forgery.assemble(header, manifest, body))
    assert peak_of(path) < 10 * path.stat().st_size
    for number in range(10):
        _, data = mutations.mutant(path.read_bytes(), np.random.default_rng([3, number]))
        (tmp_path / "mutant").write_bytes(data)
        assert peak_of(tmp_path / "mutant") < 10 * size


def peak_of(path):
    """Return the most memory that loading a file takes, refused or not."""
    tracemalloc.start()
    try:
        gs.load_model(path)
    except gs.ModelFormatError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak
