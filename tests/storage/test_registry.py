"""Every learner and machine in a file: what comes back predicts the same to the last bit."""

import ast
import subprocess
import sys
import warnings
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramsmith as gs
from gramsmith import kernels, learning, machines, selection, storage
from gramsmith.kernels.symbolic import Spectrum
from gramsmith.machines.svm import KernelSVC, KernelSVR
from gramsmith.storage.registry import KEYS, REGISTRY
from gramsmith.tables import TableEncoder

RNG = np.random.default_rng(5)
X = RNG.normal(size=(48, 3))
NEW = RNG.normal(size=(17, 3))
BINARY = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.4, 0.4])]
VALUES = X[:, 0] ** 2 + X[:, 1]


def estimators(module):
    """The estimators that a module of gramsmith exports, by name."""
    return {
        name: item
        for name, item in vars(module).items()
        if isinstance(item, type) and issubclass(item, BaseEstimator) and hasattr(item, "fit")
    }


CLASSES = {KernelSVC, KernelSVR, *estimators(machines).values()}
MACHINES = [cls(kernel=gs.Gaussian(1.5)) for cls in sorted(CLASSES, key=lambda cls: cls.__name__)]
LEARNERS = [
    gs.TransformLearner(max_iter=3),
    gs.TransformLearner(structure="low_rank", rank=2, max_iter=3),
    gs.KernelLearner(gs.Gaussian(1.0) + gs.Linear(), max_iter=3),
    gs.TwoGaussianLearner(max_iter=3),
    gs.KernelCombination([gs.Gaussian(1.0), gs.Linear()]),
    gs.SpectralAligner(gs.Gaussian(1.0)),
    gs.ForestLearner(n_estimators=5, random_state=0),
    gs.ForestLearner("boosting", n_estimators=5, keep=0.5, random_state=0),
]


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def kept(model, tmp_path):
    gs.save_model(model, tmp_path / "m.safetensors")
    return gs.load_model(tmp_path / "m.safetensors")


def assert_same_answers(model, again, new):
    asked = 0
    for method in ("predict", "decision_function", "predict_proba", "transform"):
        if hasattr(model, method):
            expected, found = getattr(model, method)(new), getattr(again, method)(new)
            assert found.dtype.kind == expected.dtype.kind
            if expected.dtype.kind in "UO":
                assert found.tolist() == expected.tolist()
            else:
                assert found.tobytes() == expected.tobytes()
            asked += 1
    assert asked or hasattr(model, "kernel_")
    if hasattr(model, "kernel_") and not sp.issparse(new) and isinstance(new, np.ndarray):
        assert again.kernel_(new[:, : new.shape[1]]).tobytes() == model.kernel_(new).tobytes()


@pytest.mark.parametrize("model", MACHINES, ids=lambda m: type(m).__name__)
def test_machines(model, tmp_path):
    targets = [VALUES] if is_regressor(model) else [BINARY, THREE]
    for y in targets:
        trained = fitted(model, X, y)
        again = kept(trained, tmp_path)
        assert_same_answers(trained, again, NEW)
        assert sorted(vars(again)) == sorted(vars(trained))


@pytest.mark.parametrize("model", LEARNERS, ids=lambda m: f"{type(m).__name__}-{len(repr(m))}")
def test_learners(model, tmp_path):
    trained = fitted(model, X, BINARY)
    assert_same_answers(trained, kept(trained, tmp_path), NEW)


@pytest.mark.parametrize(
    "labels",
    [
        np.where(X[:, 0] > 0, "päron", "<b>"),
        np.where(X[:, 0] > 0, 7, -3),
        X[:, 0] > 0,
        np.where(X[:, 0] > 0, 1.5, 0.25),
        np.where(X[:, 0] > 0, 1, 0).astype(np.uint8),
        np.array(["x", "y"], dtype=object)[(X[:, 0] > 0) * 1],
    ],
    ids=lambda v: str(v.dtype),
)
def test_labels_of_every_type(labels, tmp_path):
    model = gs.KernelRidgeClassifier(gs.Gaussian(1.5), alpha=1.0)
    if labels.dtype.kind == "f":
        labels = np.round(labels)
    trained = fitted(model, X, labels)
    again = kept(trained, tmp_path)
    assert again.classes_.dtype == trained.classes_.dtype
    assert_same_answers(trained, again, NEW)


def test_string_samples(tmp_path):
    letters = RNG.choice(list("ACGT"), size=(30, 8))
    strings = np.array(["".join(row) for row in letters], dtype=object)
    strings[0] = "lone \ud800 surrogate and \x00"
    y = np.array([s.count("A") > 1 for s in strings])
    trained = fitted(KernelSVC(gs.Normalized(Spectrum(2))), strings, y)
    again = kept(trained, tmp_path)
    assert (
        again.decision_function(strings).tobytes() == trained.decision_function(strings).tobytes()
    )


def test_sparse_samples(tmp_path):
    rows = sp.random_array((40, 30), density=0.2, format="csr", rng=np.random.default_rng(1))
    trained = fitted(KernelSVC(gs.Gaussian(1.0)), rows, np.arange(40) % 2)
    again = kept(trained, tmp_path)
    assert sp.issparse(again.support_samples_)
    assert again.decision_function(rows).tobytes() == trained.decision_function(rows).tobytes()


def test_precomputed_matrices(tmp_path):
    K = gs.Gaussian(1.0)(X)
    trained = fitted(KernelSVC("precomputed"), K, BINARY)
    again = kept(trained, tmp_path)
    assert again.decision_function(K[:5]).tobytes() == trained.decision_function(K[:5]).tobytes()


def test_fortran_ordered_samples(tmp_path):
    trained = fitted(
        gs.KernelRidgeRegressor(gs.Polynomial(3), alpha=0.1), np.asfortranarray(X), VALUES
    )
    assert_same_answers(trained, kept(trained, tmp_path), NEW)


def test_pipelines_with_scaler(tmp_path):
    pipeline = make_pipeline(StandardScaler(), gs.TransformLearner(max_iter=3), KernelSVC())
    trained = fitted(pipeline, X * 100, THREE)
    assert_same_answers(trained, kept(trained, tmp_path), NEW * 100)


def test_pipelines_with_encoder(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": X[:, 0], "<script>": X[:, 1], "c": np.where(X[:, 2] > 0, "u", "v")})
    trained = fitted(make_pipeline(TableEncoder(), KernelSVC(gs.Gaussian(1.5))), frame, BINARY)
    again = kept(trained, tmp_path)
    assert again.decision_function(frame).tobytes() == trained.decision_function(frame).tobytes()
    turned = frame[["c", "<script>", "a"]]
    assert again.predict(turned).tolist() == trained.predict(frame).tolist()


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_selectors(task, tmp_path):
    y = BINARY if task == "classification" else VALUES
    trained = gs.KernelSelector(task=task, random_state=0).fit(X, y)
    again = kept(trained, tmp_path)
    with pytest.raises(AttributeError, match="See `summary_`"):
        again.ranking_  # noqa: B018
    assert_same_answers(trained, again, NEW)


def test_unfitted_machines(tmp_path):
    again = kept(gs.L2SVC(gs.Gaussian(0.5), C=3.0), tmp_path)
    assert repr(again) == repr(gs.L2SVC(gs.Gaussian(0.5), C=3.0))
    assert not hasattr(again, "kernel_")


def test_callbacks_are_refused_with_a_way_out():
    from gramsmith.storage import check_storable

    with pytest.raises(TypeError, match=r"set_params\(callback=None\)"):
        check_storable(gs.TransformLearner(callback=print))


def test_every_public_kernel_and_estimator_is_registered():
    made = {name: getattr(gs, name) for name in gs.__all__}
    made |= {**estimators(machines), **estimators(learning), **estimators(selection)}
    classes = {
        name
        for name, item in made.items()
        if isinstance(item, type) and issubclass(item, BaseEstimator)
    }
    assert classes - set(REGISTRY) == set()


def test_the_registry_holds_what_exists():
    for name, entry in REGISTRY.items():
        cls = entry.cls
        assert cls.__name__ == name.removeprefix("sklearn.")
        assert KEYS[cls] == name
        assert not entry.fitted.keys() & entry.arguments.keys()


def test_no_private_attribute_of_scikit_learn_is_needed():
    for name, entry in REGISTRY.items():
        if entry.cls.__module__.startswith("sklearn"):
            assert not [attribute for attribute in entry.fitted if attribute.startswith("_")], name


NEWCOMER = """
from typing import ClassVar
import sys
import numpy as np
import gramsmith.machines
from gramsmith.machines.base import KernelClassifier

class Newcomer(KernelClassifier):
    _stored: ClassVar[dict[str, str]] = {"spread_": "positive c"}

    def solve(self, K, y, w):
        self.spread_ = np.array([K[y == c].std() for c in (0, 1)])
        return y - 0.5, 0.0

    def _check_stored(self):
        super()._check_stored()
        if self.spread_[0] == self.spread_[1]:
            raise ValueError("Expected two spreads.")

gramsmith.machines.Newcomer = Newcomer  # what the list of the package does

import gramsmith as gs
X = np.random.default_rng(0).normal(size=(20, 2))
model = Newcomer(gs.Gaussian(1.5)).fit(X, X[:, 0] > 0)
gs.save_model(model, "m")
again = gs.load_model("m")
assert again.decision_function(X).tolist() == model.decision_function(X).tolist()
assert again.spread_.tolist() == model.spread_.tolist()
model.spread_ = np.ones(2)
gs.save_model(model, "m")
try:
    gs.load_model("m")
except gs.ModelFormatError as error:
    print(error)
"""


def test_a_new_machine_is_storable_by_its_own_file(tmp_path):
    # nothing outside of its class says what is kept of it, nor how it is checked
    done = subprocess.run(
        [sys.executable, "-c", NEWCOMER], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "Expected two spreads" in done.stdout, done.stderr


def test_machines_and_learners_are_named_nowhere_in_storage():

    ours = {*estimators(machines), *estimators(learning), *estimators(kernels)} - {"Kernel"}
    for path in Path(storage.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text())
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert names & ours <= {"FromCallable", "FromSklearn"}, path.name


def test_the_list_of_classes_is_closed():
    with pytest.raises(TypeError, match="item assignment"):
        REGISTRY["os.system"] = REGISTRY["Linear"]
    with pytest.raises(TypeError, match="item assignment"):
        REGISTRY["Linear"].fitted["code"] = "value"
    with pytest.raises(FrozenInstanceError):
        REGISTRY["Linear"].cls = subprocess.Popen


def test_arguments_of_a_class_and_whether_they_have_defaults():
    arguments = {name: dict(entry.arguments) for name, entry in REGISTRY.items()}
    assert arguments["Linear"] == {}
    assert arguments["Sum"] == {"k1": False, "k2": False}
    assert arguments["Gaussian"] == {"length_scale": True}
    assert arguments["sklearn.Sum"] == {"k1": False, "k2": False}
    assert arguments["Pipeline"].keys() >= {"steps", "memory", "verbose"}
    assert not {"self", "args", "kwargs"} & {name for found in arguments.values() for name in found}
    for name in ("KernelSVC", "KernelSelector", "TransformLearner", "TableEncoder", "Spectrum"):
        assert name in REGISTRY
    assert "Kernel" not in REGISTRY
    assert REGISTRY["ParzenClassifier"].params["engine"] == "none"
    assert "engine" not in REGISTRY["Gaussian"].params
