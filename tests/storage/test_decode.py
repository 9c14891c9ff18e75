"""The loader against forgery, case by case; damage of every kind is in test_mutations.py."""

import json
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import DotProduct, Exponentiation, PairwiseKernel
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import gramsmith as gs
from gramsmith.kernels.adapt import FromSklearn
from gramsmith.kernels.symbolic import Spectrum
from gramsmith.machines.svm import KernelSVC
from gramsmith.selection import TakeView
from gramsmith.storage import NotStorable, encode
from gramsmith.storage.container import VERSION
from tools import forgery


@cache
def samples():
    """Files of three models that have, together, every kind of node."""
    import tempfile
    from pathlib import Path

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.repeat(["a", "b"], 10)
    texts, labels = np.array(["ACGT", "AACC", "GGTT", "TTTT"], dtype=object), ["no", "yes"] * 2
    models = [
        make_pipeline(StandardScaler(), KernelSVC(gs.Gaussian(2.0) + gs.Linear())).fit(X, y),
        KernelSVC(Spectrum(2, alphabet="ACGT")).fit(texts, labels),
        KernelSVC(gs.Linear(), class_weight={1: 2.0}).fit(sp.csr_array(X), y == "a"),
    ]
    folder = Path(tempfile.mkdtemp())
    for i, model in enumerate(models):
        gs.save_model(model, folder / str(i))
    return [(folder / str(i)).read_bytes() for i in range(len(models))]


@pytest.fixture
def target(tmp_path):
    return tmp_path / "model.safetensors"


def test_a_newer_format_says_upgrade(target):
    header, manifest, body = forgery.parts(samples()[0])
    manifest["gramsmith_version"] = "9.0"
    newer = {**manifest, "format_version": VERSION + 1}
    target.write_bytes(forgery.assemble(header, newer, body))
    with pytest.raises(gs.ModelFormatError, match=r"newer gramsmith \('9.0'\). Upgrade"):
        gs.load_model(target)


@pytest.mark.parametrize(
    ("path", "value", "word"),
    [
        (("model", "class"), "os.system", "knows"),
        (("model", "params", "kernel", "class"), "builtins.eval", "knows"),
        (("model", "fitted", "__class__"), "x", "unknown entries"),
        (("model", "params", "evil"), 1, "unknown entries"),
        (("extra",), 1, "manifest with"),
        (("format",), "other", "format"),
        (("model", "fitted", "classes_", "items"), ["a"], "items do not fill"),
        (("model", "fitted", "classes_", "shape"), [1, 2], "expected labels c"),
        (("model", "fitted", "intercept_", "dtype"), "complex128", "unknown type"),
        (("model", "fitted", "intercept_", "dtype"), "float32", "damaged"),
        (("model", "fitted", "intercept_", "tensor"), "99", "absent or used too often"),
        (("model", "fitted", "intercept_"), 1.0, "expected array t"),
        (("model", "fitted", "n_samples_fit_"), 1, "index n"),
        (("model", "fitted", "kernel_"), "rbf", "expected kernel"),
        (("model", "params", "kernel", "params", "k"), -3, "k"),
    ],
)
def test_forgeries_are_named(path, value, word, target):
    header, manifest, body = forgery.parts(samples()[1])
    *parents, key = path
    holder = manifest
    for step in parents:
        holder = holder[step]
    holder[key] = value
    target.write_bytes(forgery.assemble(header, manifest, body))
    with pytest.raises(gs.ModelFormatError, match=word):
        gs.load_model(target)


def forged(model, target, *path, value):
    """Write a model whose manifest has another value at a path below the model."""
    gs.save_model(model, target)
    header, manifest, body = forgery.parts(target.read_bytes())
    changed = forgery.changed(manifest, ("model", *path), value)
    target.write_bytes(forgery.assemble(header, changed, body))


VECTORS = np.arange(12.0).reshape(6, 2) / 12
HALVES = ["a", "b"] * 3
OBJECT = {"$": "object", "class": "StandardScaler", "params": {}, "fitted": {}}


@pytest.mark.parametrize(
    ("kernel", "part"),
    [
        (gs.Gaussian() + gs.Linear(), "k1"),
        (gs.Gaussian() * gs.Linear(), "k2"),
        (2.0 * gs.Linear(), "kernel"),
        (2.0 * gs.Linear(), "scale"),
        (gs.Linear() ** 2, "exponent"),
        (gs.Exp(gs.Linear()), "kernel"),
        (gs.PolynomialOf(gs.Linear(), [1.0, 1.0]), "kernel"),
        (gs.Normalized(gs.Polynomial()), "kernel"),
        (gs.GaussianOf(gs.Linear()), "kernel"),
        (gs.Gaussian() @ gs.LinearMap(np.ones(2)), "kernel"),
        (gs.Gaussian() @ gs.LinearMap(np.ones(2)), "map"),
        (FromSklearn(DotProduct()), "source"),
        (FromSklearn(Exponentiation(DotProduct(), 2)), "source"),
    ],
    ids=lambda v: str(v),
)
@pytest.mark.parametrize("value", ["x", OBJECT], ids=["text", "scaler"])
def test_parts_of_kernels_are_kernels(kernel, part, value, target):
    model = KernelSVC(kernel).fit(VECTORS, HALVES)
    forged(model, target, "fitted", "kernel_", "params", part, value=value)
    with pytest.raises(gs.ModelFormatError, match=f"kernel_.{part}: expected"):
        gs.load_model(target)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("params", "threshold"), "x"),
        (("params", "kernel"), 3),
        (("params", "kernel"), "precomputed"),
        (("fitted", "support_samples_"), None),
        (("fitted", "classes_", "items", 0), None),
    ],
)
def test_what_predictions_rest_on(path, value, target):
    forged(KernelSVC(gs.Linear()).fit(VECTORS, HALVES), target, *path, value=value)
    with pytest.raises(gs.ModelFormatError):
        gs.load_model(target)


def test_samples_are_such_as_the_kernel_takes(target):
    model = KernelSVC(Spectrum(2)).fit(["ACGT", "AACC", "GGTT", "TTTT"], [0, 1, 0, 1])
    forged(model, target, "fitted", "support_samples_", "items", 1, value=3)
    with pytest.raises(gs.ModelFormatError, match="Spectrum"):
        gs.load_model(target)


def test_names_of_features_are_texts(target):
    pd = pytest.importorskip("pandas")
    model = KernelSVC(gs.Linear()).fit(pd.DataFrame(VECTORS, columns=["a", "b"]), HALVES)
    forged(model, target, "fitted", "feature_names_in_", "items", 0, value=3)
    with pytest.raises(gs.ModelFormatError, match="feature_names_in_: expected names p"):
        gs.load_model(target)


def test_outputs_tell_the_classes_apart(target):
    model = KernelSVC(gs.Linear()).fit(VECTORS, [0, 0, 1, 1, 2, 2])
    model.classes_ = np.arange(5)
    gs.save_model(model, target)
    with pytest.raises(gs.ModelFormatError, match="Expected 10 outputs, got 3"):
        gs.load_model(target)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308])
def test_numbers_that_are_not_finite_are_refused(bad, target):
    header, manifest, body = forgery.parts(samples()[0])
    tensor = manifest["model"]["params"]["steps"]["items"][0]["items"][1]["fitted"]["mean_"][
        "tensor"
    ]
    begin, end = header[tensor]["data_offsets"]
    body = body[:begin] + np.full((end - begin) // 8, bad).tobytes() + body[end:]
    target.write_bytes(forgery.assemble(header, manifest, body))
    with pytest.raises(gs.ModelFormatError, match="NaN, infinity or numbers above"):
        gs.load_model(target)


@pytest.mark.parametrize("bad", [-1, 3, 2**30])
def test_sparse_indices_out_of_range_never_reach_scipy(bad, target):
    header, manifest, body = forgery.parts(samples()[2])
    node = manifest["model"]["fitted"]["support_samples_"]["indices"]
    begin, _ = header[node["tensor"]]["data_offsets"]
    raw = np.array([bad], dtype=node["dtype"]).tobytes()
    body = body[:begin] + raw + body[begin + len(raw) :]
    target.write_bytes(forgery.assemble(header, manifest, body))
    with pytest.raises(gs.ModelFormatError, match="out of range"):
        gs.load_model(target)


def test_sizes_are_checked_against_the_file_before_memory_is_taken(target):
    header, manifest, body = forgery.parts(samples()[0])
    tensor = next(name for name in header if name != "__metadata__")
    header[tensor]["shape"] = [2**40, 2**7]
    target.write_bytes(forgery.assemble(header, manifest, body))
    with pytest.raises(gs.ModelFormatError, match=r"invalid shape|TensorInvalidInfo"):
        gs.load_model(target)


def test_tensors_to_spare_and_repeated_keys_are_refused(target):
    header, manifest, body = forgery.parts(samples()[0])
    header["more"] = {"dtype": "U8", "shape": [1], "data_offsets": [len(body), len(body) + 1]}
    target.write_bytes(forgery.assemble(header, manifest, body + b"\0"))
    with pytest.raises(gs.ModelFormatError, match="to spare"):
        gs.load_model(target)
    header, manifest, body = forgery.parts(samples()[0])
    text = json.dumps(manifest)[:-1] + ', "format": "gramsmith-model"}'
    target.write_bytes(forgery.assemble(header, text, body))
    with pytest.raises(gs.ModelFormatError, match="repeated keys"):
        gs.load_model(target)


def test_deep_nesting_is_refused(target):
    header, manifest, body = forgery.parts(samples()[0])
    node = {"$": "object", "class": "Linear", "params": {}, "fitted": {}}
    for _ in range(100):
        node = {"$": "object", "class": "Exp", "params": {"kernel": node}, "fitted": {}}
    for model in (node, "[" * 100_000):
        forged = {**manifest, "model": model}
        text = json.dumps(forged) if isinstance(model, dict) else f'{{"model": {model}'
        target.write_bytes(forgery.assemble(header, text, body))
        with pytest.raises(gs.ModelFormatError):
            gs.load_model(target)


@pytest.mark.parametrize(
    ("items", "reason"),
    [([1, 1], "repeated ones"), ([{"$": "list", "items": []}], "unhashable"), (3, "list")],
)
def test_sets_hold_distinct_hashable_items(items, reason, target):
    model = gs.KernelRidgeClassifier(kernel=gs.AllSubsets())
    gs.save_model(model.fit([{1}, {2}, {1, 2}, {3}], [0, 1, 0, 1]), target)
    header, manifest, body = forgery.parts(target.read_bytes())
    samples = manifest["model"]["fitted"]["support_samples_"]["items"]
    samples[0]["items"] = items
    target.write_bytes(forgery.assemble(header, manifest, body))
    with pytest.raises(gs.ModelFormatError, match=reason):
        gs.load_model(target)


def test_one_tensor_cannot_become_any_number_of_arrays(target):
    gs.save_model(KernelSVC(class_weight=[np.zeros(1000)] * 3), target)
    assert len(gs.load_model(target).class_weight) == 3
    header, manifest, body = forgery.parts(target.read_bytes())
    assert len(body) == 8000
    items = manifest["model"]["params"]["class_weight"]["items"]
    items.extend(items * 3)
    target.write_bytes(forgery.assemble(header, manifest, body))
    with pytest.raises(gs.ModelFormatError, match="used too often"):
        gs.load_model(target)


def classifier():
    return KernelSVC(gs.Linear()).fit(VECTORS, HALVES)


def with_(model, **attributes):
    """Return a model with other attributes."""
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def fitted(model, y=HALVES):
    return model.fit(VECTORS, y)


NUMBERS = np.arange(6.0)
# What a file of ours never says, and other programs or people may: model, and a word of the refusal
HOSTILE = {
    "no classes": (lambda: with_(classifier(), classes_=np.array([])), "two classes"),
    "one class": (lambda: with_(classifier(), classes_=np.array(["a"])), "two classes"),
    "outputs": (lambda: with_(classifier(), coefficients_=np.zeros((6, 2))), "1 output, got 2"),
    "half calibrated": (lambda: with_(classifier(), calibration_slope_=1.0), "calibration"),
    "regressor outputs": (
        lambda: with_(fitted(gs.KernelSVR(), NUMBERS), intercept_=np.zeros(3)),
        "array t",
    ),
    "ridge outputs": (
        lambda: with_(fitted(gs.KernelRidgeRegressor(), NUMBERS), flat_=False, n_outputs_=2),
        "Expected 2 outputs",
    ),
    "covariance": (
        lambda: with_(
            fitted(gs.RelevanceVectorClassifier(gs.Gaussian())), covariance_=np.zeros((1, 9, 9))
        ),
        "covariance",
    ),
    "priors": (
        lambda: with_(fitted(gs.KernelFisherDiscriminant()), priors_=np.array([0.0, 1.0])),
        "positive c",
    ),
    "scale": (lambda: with_(fitted(StandardScaler()), scale_=np.zeros(2)), "positive p"),
    "feature range": (lambda: with_(fitted(MinMaxScaler(clip=True)), feature_range=1.0), "pair"),
    "lengths": (lambda: with_(classifier(), kernel_=gs.Gaussian(np.ones(5))), "length_scale"),
    "map": (
        lambda: with_(classifier(), kernel_=gs.Gaussian() @ gs.LinearMap(np.ones((5, 2)))),
        "5 features",
    ),
    "steps": (
        lambda: make_pipeline(fitted(StandardScaler()), KernelSVC().fit(np.eye(4), [0, 1, 0, 1])),
        "Expected 4 features",
    ),
    "pipeline of machines": (lambda: Pipeline([("a", classifier()), ("b", classifier())]), "steps"),
    "pairwise kernel": (lambda: FromSklearn(PairwiseKernel(metric="precomputed")), "choice"),
    "pairwise arguments": (
        lambda: FromSklearn(PairwiseKernel(pairwise_kernels_kwargs={"degree": "x"})),
        "none",
    ),
    "transform": (
        lambda: with_(fitted(gs.TransformLearner()), kernel_=gs.Gaussian()),
        "map",
    ),
    "view": (lambda: with_(TakeView(0).fit((VECTORS,)), index=7), "views"),
    "winner": (
        lambda: with_(
            gs.KernelSelector(),
            best_estimator_=fitted(StandardScaler()),
            best_kernel_=gs.Linear(),
        ),
        "winner",
    ),
    "huge": (lambda: with_(classifier(), coefficients_=np.full((6, 1), 1e308)), "1e.150"),
}


@pytest.mark.filterwarnings("ignore:TransformLearner")
@pytest.mark.parametrize("name", HOSTILE)
def test_what_loads_can_be_used(name, target, monkeypatch):
    make, word = HOSTILE[name]
    model = make()
    with monkeypatch.context() as patch:
        patch.setattr(encode.Encoder, "_check", lambda *_: None)  # as another program would write
        gs.save_model(model, target)
    with pytest.raises(gs.ModelFormatError, match=word):
        gs.load_model(target)


def test_functions_cannot_come_from_a_file(target):
    node = {"$": "object", "params": {}, "fitted": {}}
    for name, argument in [("FromCallable", "function"), ("RankOne", "f")]:
        gs.save_model(gs.Linear(), target)
        header, manifest, body = forgery.parts(target.read_bytes())
        manifest["model"] = {**node, "class": name, "params": {argument: "os.system"}}
        target.write_bytes(forgery.assemble(header, manifest, body))
        with pytest.raises(gs.ModelFormatError, match="expected code"):
            gs.load_model(target)


def test_what_could_not_be_loaded_is_not_saved(target):
    model = with_(classifier(), coefficients_=np.full((6, 1), 1e308))
    with pytest.raises(NotStorable, match="coefficients_: a file can keep array s t"):
        gs.save_model(model, target)


def test_a_prediction_that_overflows_is_refused():
    model = with_(classifier(), coefficients_=np.full((6, 1), 1e149))
    with pytest.raises(ValueError, match="expected predictions below"):
        model.predict(1e9 * VECTORS)
