"""`upgrade_model`, versions of classes, and files without training rows."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramsmith as gs
from gramsmith.storage import decode, inspect_model, models, upgrade_model
from gramsmith.storage.registry import REGISTRY
from tools import forgery

MODELS = Path(__file__).parents[1] / "models"
X = np.random.default_rng(2).normal(size=(40, 3))
Y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "yes", "no")


def test_an_old_file_becomes_a_new_one(tmp_path):
    old, new = MODELS / "format-2" / "KernelLogisticRegression.safetensors", tmp_path / "new"
    assert inspect_model(old).format_version == 2
    assert upgrade_model(old, new) == 24
    assert inspect_model(new).format_version == 3
    assert {name.name for name in tmp_path.iterdir()} == {"new"}
    before = new.read_bytes()
    assert upgrade_model(new) == 24
    assert new.read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        lambda model: {"coefficients_": model.coefficients_ * (1 + 1e-15)},
        lambda model: {"C": 2.0 * model.C},
    ],
    ids=["an array", "a parameter"],
)
def test_nothing_is_written_unless_predictions_are_equal(change, tmp_path, monkeypatch):
    path = tmp_path / "m"
    gs.save_model(gs.KernelSVC().fit(X, Y), path, about={"target": "y"})
    before = path.read_bytes()
    honest = models.load_model

    def other(path):
        model = honest(path)
        if Path(path).name != "m":
            vars(model).update(change(model))
        return model

    monkeypatch.setattr(models, "load_model", other)
    with pytest.raises(gs.ModelFormatError, match="same model"):
        upgrade_model(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_what_came_with_a_model_stays(tmp_path):
    gs.save_model(gs.KernelSVC().fit(X, Y), tmp_path / "m", about={"target": "y"})
    upgrade_model(tmp_path / "m")
    assert inspect_model(tmp_path / "m").about == {"target": "y"}


def test_a_class_that_changed_loads_its_old_files(tmp_path, monkeypatch):
    # format 2 called the kernel `Bell` and its length `width`
    def renamed(state):
        return {**state, "class": "Gaussian", "params": {"length_scale": state["params"]["width"]}}

    entry = REGISTRY["Gaussian"]
    monkeypatch.setitem(entry.__dict__, "upgrades", {2: renamed})
    monkeypatch.setattr(decode, "FORMER_NAMES", {"Bell": "Gaussian"})
    gs.save_model(gs.Gaussian(2.0), tmp_path / "m")
    header, manifest, body = forgery.parts((tmp_path / "m").read_bytes())
    assert manifest["format_version"] == 3
    manifest["model"] |= {"class": "Bell", "version": 1, "params": {"width": 2.0}}
    manifest["format_version"] = 2
    (tmp_path / "m").write_bytes(forgery.assemble(header, manifest, body))
    assert gs.load_model(tmp_path / "m").length_scale == 2.0
    upgrade_model(tmp_path / "m")
    assert inspect_model(tmp_path / "m").model["params"] == {"length_scale": 2.0}


@pytest.mark.parametrize(
    "kernel",
    [gs.Linear(), 2.0 * gs.Linear() + 1.0, gs.Normalized(gs.Linear() + 0.5)],
    ids=str,
)
@pytest.mark.parametrize("machine", [gs.KernelSVC, gs.KernelRidgeClassifier, gs.ParzenClassifier])
def test_explicit_features_do_without_training_rows(kernel, machine, tmp_path):
    trained = make_pipeline(StandardScaler(), machine(kernel)).fit(X, Y)
    gs.save_model(trained, tmp_path / "m", rows=False)
    assert inspect_model(tmp_path / "m").training_rows == []
    again = gs.load_model(tmp_path / "m")
    assert again[-1].support_samples_.tolist() == np.vstack([np.eye(3), np.zeros(3)]).tolist()
    new = np.random.default_rng(0).normal(size=(30, 3))
    np.testing.assert_allclose(
        again.decision_function(new), trained.decision_function(new), rtol=1e-9, atol=1e-11
    )
    assert again[-1].predict(X).tolist() == trained[-1].predict(X).tolist()


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (gs.KernelSVC(gs.Gaussian()), "compares with them"),
        (gs.KernelSVC(gs.Polynomial(2)), "compares with them"),
        (gs.RelevanceVectorClassifier(gs.Linear()), "of every one"),
        (gs.L2SVC(gs.Linear()), "dual_variables_"),
        (gs.KernelSVC("precomputed"), "compares with them"),
        (gs.SpectralAligner(gs.Linear()), "samples of SpectralMap"),
    ],
    ids=str,
)
def test_rows_that_are_needed_are_not_left_out(model, reason, tmp_path):
    pairwise = model.kernel == "precomputed"
    trained = model.fit(gs.Gaussian()(X) if pairwise else X, Y)
    with pytest.raises(ValueError, match=reason):
        gs.save_model(trained, tmp_path / "m", rows=False)
    assert not list(tmp_path.iterdir())


def test_training_rows_are_said(tmp_path):
    aligner = gs.SpectralAligner(gs.Gaussian()).fit(X, Y)
    trained = make_pipeline(StandardScaler(), gs.KernelSVC(aligner.kernel_)).fit(X, Y)
    gs.save_model(trained, tmp_path / "m")
    held = sorted(inspect_model(tmp_path / "m").training_rows)
    support = len(trained[-1].support_)
    assert held == [
        "samples of SpectralMap: 40 x 3 numbers",
        f"support_samples_ of KernelSVC: {support} x 3 numbers",
    ]
    # the kernel as given and as used share their samples
    assert (tmp_path / "m").stat().st_size < 2 * (X.nbytes + aligner.kernel_.map.coef.nbytes) + 6000


def test_a_selector_keeps_what_predictions_need(tmp_path):
    K = gs.Gaussian()(X)
    selector = gs.KernelSelector(
        [K, gs.Linear()(X)], scoring=lambda m, A, b: 1.0, random_state=np.random.RandomState(0)
    )
    selector.fit(None, Y)
    gs.save_model(selector, tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < K.nbytes
    again = gs.load_model(tmp_path / "m")
    assert again.predict(K[:5]).tolist() == selector.predict(K[:5]).tolist()
    assert json.dumps(inspect_model(tmp_path / "m").model).count('"support_samples_"') == 1


def test_a_selector_keeps_no_record_of_training_rows(tmp_path):
    selector = gs.KernelSelector(gs.Gaussian(2.0), random_state=0).fit(X, X[:, 0])
    assert len(selector.best_estimator_[-1].loo_residuals_) == 40
    gs.save_model(make_pipeline("passthrough", selector), tmp_path / "m")
    assert "loo_residuals_" not in json.dumps(inspect_model(tmp_path / "m").model)
    again = gs.load_model(tmp_path / "m")
    assert again.predict(X).tolist() == selector.predict(X).tolist()
    assert hasattr(selector.best_estimator_[-1], "loo_residuals_")  # the model itself keeps it
    assert upgrade_model(tmp_path / "m") == 40
    machine = gs.KernelRidgeRegressor(gs.Linear()).fit(X, X[:, 0])
    gs.save_model(machine, tmp_path / "m")
    assert gs.load_model(tmp_path / "m").loo_residuals_.tolist() == machine.loo_residuals_.tolist()
    for less in ({"rows": False}, {"records": False}):
        gs.save_model(machine, tmp_path / "m", **less)
        assert not hasattr(gs.load_model(tmp_path / "m"), "loo_residuals_")


def test_predictions_that_differ_are_noticed():
    machine, other = (gs.KernelSVC(gs.Linear()).fit(X, Y) for _ in range(2))
    support = len(machine.support_)
    assert models.compare_predictions(machine, other, 0.0) == support
    other.intercept_ = other.intercept_ + 1e-7
    with pytest.raises(gs.ModelFormatError, match="same decision_function"):
        models.compare_predictions(machine, other, 0.0)
    with pytest.raises(gs.ModelFormatError, match="same decision_function"):
        models.compare_predictions(machine, other, 1e-9)
    assert models.compare_predictions(machine, other, 1e-5) == support
    other.intercept_ = other.intercept_ + 100.0
    with pytest.raises(gs.ModelFormatError, match="same predict"):
        models.compare_predictions(machine, other, 1e3)
    both = [make_pipeline(StandardScaler().fit(X), machine)] * 2
    assert models.compare_predictions(*both, 0.0) == support
    assert models.compare_predictions(gs.Linear(), gs.Linear(), 0.0) == 0
    assert models.compare_predictions(gs.KernelSVC(), gs.KernelSVC(), 0.0) == 0
    flat = gs.KernelSVR(gs.Linear(), epsilon=1e3).fit(X, X[:, 0])  # one that needs no sample
    assert flat.support_samples_.shape == (0, 3)
    assert models.compare_predictions(flat, flat, 0.0) == 0
    K = gs.Gaussian()(np.vstack([X, X, X]))
    given = gs.KernelRidgeClassifier("precomputed").fit(K, [*Y, *Y, *Y])
    assert models.compare_predictions(given, given, 0.0) == 100  # of 120


def test_a_file_may_lose_its_rows_but_not_its_predictions(tmp_path, monkeypatch):
    path = tmp_path / "m"
    gs.save_model(gs.KernelSVR(gs.Linear()).fit(X, X[:, 0]), path)
    honest = models.load_model

    def other(path):
        model = honest(path)
        if Path(path).name != "m":
            model.intercept_ = model.intercept_ + 1e-6
        return model

    monkeypatch.setattr(models, "load_model", other)
    before = path.read_bytes()
    with pytest.raises(gs.ModelFormatError, match="same predict"):
        upgrade_model(path, rows=False)
    assert path.read_bytes() == before
    monkeypatch.setattr(models, "load_model", honest)
    upgrade_model(path, rows=False)
    assert inspect_model(path).training_rows == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"extra": 1}, "a manifest with about, format"),
        ({"note": None}, "version and note as text"),
        ({"gramsmith_version": 1}, "version and note as text"),
        ({"about": []}, "`about` as an object"),
        ({"model": []}, "a model of a known class"),
        ({"model": {"$": "list", "class": "Linear"}}, "a model of a known class"),
        ({"model": {"$": "object", "class": 3}}, "a model of a known class"),
    ],
)
def test_manifests_that_are_not_ours(change, words, tmp_path):
    gs.save_model(gs.Linear(), tmp_path / "m")
    header, manifest, body = forgery.parts((tmp_path / "m").read_bytes())
    (tmp_path / "m").write_bytes(forgery.assemble(header, {**manifest, **change}, body))
    for read in (gs.load_model, inspect_model):
        with pytest.raises(gs.ModelFormatError, match=words):
            read(tmp_path / "m")
    del manifest["note"]
    (tmp_path / "m").write_bytes(forgery.assemble(header, manifest, body))
    with pytest.raises(gs.ModelFormatError, match="a manifest with about, format"):
        inspect_model(tmp_path / "m")


def test_only_models_and_plain_notes(tmp_path):
    for model in (3, None, [gs.Linear()], {"a": gs.Linear()}):
        with pytest.raises(TypeError, match="Expected a kernel, an estimator or a pipeline"):
            gs.save_model(model, tmp_path / "m")
    for about in ([], "x", 0):
        with pytest.raises(TypeError, match="Expected a dictionary as about"):
            gs.save_model(gs.Linear(), tmp_path / "m", about=about)
    gs.save_model(gs.Linear(), tmp_path / "m", about=None)
    assert inspect_model(tmp_path / "m").about == {}


def test_rows_are_said_of_whatever_holds_them():
    def rows(**fitted):
        tree = {"$": "object", "class": "KernelSVC", "params": {}, "fitted": fitted}
        return models.ModelSummary(2, "0", "", {}, tree, {}).training_rows

    def samples(**parts):
        return {"$": "array", **parts}

    assert rows(support_samples_=samples(shape=[5, 2])) == [
        "support_samples_ of KernelSVC: 5 x 2 numbers"
    ]
    assert rows(support_samples_=samples(items=["a", "b"], shape=[2])) == [
        "support_samples_ of KernelSVC: 2 objects"
    ]
    assert rows(support_samples_=samples(items=["a", "b"])) == [
        "support_samples_ of KernelSVC: 2 objects"
    ]
    assert rows(support_samples_=samples(shape=[])) == ["support_samples_ of KernelSVC: ? objects"]
    assert rows(support_samples_=samples(shape=[5, 2]), support_=None) == []
    assert rows(support_samples_=None) == []
    assert rows(coefficients_=samples(shape=[5, 2])) == []
