"""Model files: what goes in comes out, to the last bit."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.gaussian_process.kernels import Matern as SklearnMatern
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import gramsmith as gs
from gramsmith.kernels import KernelCenterer, KernelNormalizer
from gramsmith.kernels.symbolic import (
    AllSubstrings,
    Mismatch,
    Spectrum,
    Subsequence,
    WeightedDegree,
)
from gramsmith.machines.svm import KernelSVC
from gramsmith.storage import NotStorable, check_storable, inspect_model
from tools.registry import KERNELS

VECTORS = np.random.default_rng(3).uniform(0.1, 2.0, size=(12, 4))
STRINGS = ["ACGTACGT", "AACC", "GATTACA", "TTTT", "", "ACGTT"]

VECTOR_KERNELS = {
    **{name: kernel for name, (kernel, _) in KERNELS.items() if name != "rank one"},
    "all subsets": gs.AllSubsets(weights=[0.5, 1.0, 1.5]),
    "by feature count": gs.as_kernel("rbf"),
    "additive chi2": gs.as_kernel("additive_chi2"),
    "fixed": gs.as_kernel(RBF(2.0, "fixed") + RBF(0.5)),
    "white": gs.as_kernel(WhiteKernel(0.5)),
    "foreign": gs.as_kernel(SklearnMatern(2.0, nu=0.7) + WhiteKernel(0.1)),
}
STRING_KERNELS = [
    Spectrum(2),
    Spectrum((1, 3), presence=True, alphabet="ACGT"),
    AllSubstrings(max_length=4, decay=0.5),
    Mismatch(3, 1, alphabet="ACGT"),
    Subsequence(2, 0.3),
    WeightedDegree(3, shift=1),
    gs.Normalized(Spectrum(2) + Subsequence(2)),
]


def kept(model, tmp_path):
    path = tmp_path / "model.safetensors"
    gs.save_model(model, path)
    return gs.load_model(path)


@pytest.mark.parametrize("kernel", VECTOR_KERNELS.values(), ids=VECTOR_KERNELS)
def test_vector_kernels_return_bitwise(kernel, tmp_path):
    X = VECTORS[:, :3]
    again = kept(kernel, tmp_path)
    assert type(again) is type(kernel)
    assert repr(again) == repr(kernel)
    assert again(X).tobytes() == kernel(X).tobytes()


@pytest.mark.parametrize("kernel", STRING_KERNELS, ids=lambda k: k.formula()[:60])
def test_string_kernels_return_bitwise(kernel, tmp_path):
    again = kept(kernel, tmp_path)
    assert repr(again) == repr(kernel)
    assert again(STRINGS).tobytes() == kernel(STRINGS).tobytes()


@pytest.mark.parametrize(
    ("kernel", "argument"),
    [
        (gs.RankOne(lambda X: X[:, 0]), "RankOne.f"),
        (gs.Linear() @ np.abs, "Composed.map.function"),
        (gs.as_kernel(lambda x, z: float(x @ z)), "FromCallable.function"),
        (gs.Gaussian() + gs.Normalized(gs.RankOne(abs)), "Sum.k2.kernel.f"),
    ],
)
def test_functions_are_refused_before_anything_is_written(kernel, argument, tmp_path):
    with pytest.raises(NotStorable, match=argument) as caught:
        check_storable(kernel)
    assert "runs no code" in str(caught.value)
    with pytest.raises(NotStorable):
        gs.save_model(kernel, tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (LogisticRegression(), "LogisticRegression"),
        (make_pipeline(StandardScaler(), LogisticRegression()), r"steps\[1\]\[1\].*LogisticReg"),
        (np.zeros(3), "numpy.save"),
        ("rbf", "Expected a kernel"),
        (gs.Constant(1j), "complex"),
        (gs.Gaussian(np.array([1j])), "complex128"),
        (gs.Gaussian(np.ma.masked_array([1.0])), "plain array"),
        (Spectrum(alphabet=range(2)), "range"),
    ],
)
def test_what_has_no_place_in_a_file_is_refused(model, reason, tmp_path):
    with pytest.raises(TypeError, match=reason):
        gs.save_model(model, tmp_path / "model.safetensors")


def test_subclasses_of_registered_classes_are_other_classes(tmp_path):
    class Mine(gs.Gaussian):
        pass

    with pytest.raises(NotStorable, match="Mine"):
        gs.save_model(Mine(), tmp_path / "model.safetensors")


def test_endless_nesting_is_refused():
    kernel = gs.Linear()
    for _ in range(200):
        kernel = gs.Exp(kernel)
    with pytest.raises(NotStorable, match="levels"):
        check_storable(kernel)


def test_attributes_added_by_hand_are_refused():
    scaler = StandardScaler().fit(VECTORS)
    scaler.mine_ = 1
    with pytest.raises(NotStorable, match="mine_"):
        check_storable(scaler)


@pytest.mark.parametrize(
    "scaler", [StandardScaler(), StandardScaler(with_std=False), MinMaxScaler()]
)
def test_scalers_and_pipelines(scaler, tmp_path):
    pipeline = make_pipeline(scaler, MinMaxScaler((-1, 1))).fit(VECTORS)
    again = kept(pipeline, tmp_path)
    new = VECTORS[::-1] * 1.1
    assert again.transform(new).tobytes() == pipeline.transform(new).tobytes()
    assert [name for name, _ in again.steps] == [name for name, _ in pipeline.steps]


def test_caches_of_pipelines_are_refused(tmp_path):
    # joblib's cache is a folder of pickles, which fit would load
    from tools import forgery

    pipeline = make_pipeline(StandardScaler(), memory=str(tmp_path))
    with pytest.raises(NotStorable, match=r"Pipeline.memory.*set_params\(memory="):
        check_storable(pipeline)
    path = tmp_path / "m"
    gs.save_model(make_pipeline(StandardScaler()), path)
    header, manifest, body = forgery.parts(path.read_bytes())
    manifest["model"]["params"]["memory"] = "/tmp/elsewhere"
    path.write_bytes(forgery.assemble(header, manifest, body))
    with pytest.raises(gs.ModelFormatError, match=r"Pipeline.memory"):
        gs.load_model(path)
    manifest["model"]["params"]["memory"] = None
    manifest["model"]["params"]["steps"] = {"$": "list", "items": ["a"]}
    path.write_bytes(forgery.assemble(header, manifest, body))
    with pytest.raises(gs.ModelFormatError, match=r"Pipeline.steps"):
        gs.load_model(path)


def test_unfitted_models_return_unfitted(tmp_path):
    again = kept(make_pipeline(StandardScaler(with_mean=False)), tmp_path)
    assert not hasattr(again[0], "scale_")
    assert again[0].with_mean is False


@pytest.mark.parametrize(
    "transformer", [KernelCenterer(), KernelNormalizer(), gs.NearestPSD("flip")]
)
def test_matrix_transformers(transformer, tmp_path):
    K = gs.Polynomial(2)(VECTORS)
    again = kept(transformer.fit(K), tmp_path)
    assert again.transform(K).tobytes() == transformer.transform(K).tobytes()


def test_feature_names_are_kept(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(VECTORS, columns=["a", "β", "<script>", "d"])
    again = kept(StandardScaler().fit(frame), tmp_path)
    assert list(again.get_feature_names_out()) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        again.transform(frame[["d", "a", "β", "<script>"]])


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, -(2**70), 0.1, float("inf"), "text", "lone \ud800 surrogate", b"\x00\xff"),
        *(np.float32(0.1), np.int8(-3), np.uint64(2**63), np.bool_(True), np.str_("s")),
        *([1, [2.5, "x"]], (1, (2,)), {"a": [1], 2: None, (True): "b"}),
        *(np.array(["a", "bb", ""]), np.array(["a", 1, None, 2.5, b"x", (1, 2)], dtype=object)),
        *(np.array(3.5), np.zeros((0, 4)), np.array([True, False]), np.arange(3, dtype=np.uint8)),
        *(np.asfortranarray(VECTORS), VECTORS[::2, ::-1], VECTORS.T, VECTORS.astype(np.float32)),
        *(np.arange(4, dtype=">i4"), sp.csr_array(VECTORS), sp.csr_matrix((3, 5))),
    ],
    ids=repr,
)
def test_every_kind_of_value_returns_as_it_was(value, tmp_path):
    again = kept(KernelSVC(class_weight=value), tmp_path).class_weight
    same(again, value)


def same(again, value):
    if isinstance(value, np.str_):
        assert again == value
        return
    assert type(again) is type(value)
    if sp.issparse(value):
        assert again.shape == value.shape
        assert (again != value).nnz == 0
    elif isinstance(value, np.ndarray):
        assert again.dtype == value.dtype.newbyteorder("=")
        assert again.shape == value.shape
        assert again.tolist() == value.tolist()
        assert again.flags.writeable
        assert again.flags.f_contiguous >= (value.flags.f_contiguous and value.ndim > 1)
    else:
        assert again == value


def test_a_class_label_may_be_very_long(tmp_path):
    labels = np.array(["x" * 50_000] + ["y"] * 500)
    again = kept(KernelSVC(class_weight=labels), tmp_path).class_weight
    assert again.tolist() == labels.tolist()


def test_same_model_same_bytes(tmp_path):
    for name in ("a", "b"):
        gs.save_model(VECTOR_KERNELS["deep"], tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_about_and_the_privacy_note(tmp_path):
    path = tmp_path / "m.safetensors"
    gs.save_model(gs.Gaussian(np.ones(3)), path, about={"target": "y", "columns": ["a", "b"]})
    summary = inspect_model(path)
    assert summary.about == {"target": "y", "columns": ["a", "b"]}
    assert "training" in summary.note
    assert summary.gramsmith_version == gs.__version__
    assert summary.model["class"] == "Gaussian"
    assert summary.tensors == {"0": ("F64", (3,))}


def test_any_safetensors_reader_opens_the_file(tmp_path):
    from safetensors.numpy import load_file

    gs.save_model(gs.Gaussian(np.arange(1.0, 4.0)), tmp_path / "m.safetensors")
    assert load_file(tmp_path / "m.safetensors")["0"].tolist() == [1.0, 2.0, 3.0]


def test_loading_imports_nothing_outside_the_registry(tmp_path):
    path = tmp_path / "m.safetensors"
    gs.save_model(make_pipeline(StandardScaler().fit(VECTORS)), path)
    script = (
        "import sys; import sklearn.pipeline, sklearn.preprocessing, gramsmith.storage as s\n"
        "before = set(sys.modules)\n"
        f"s.load_model({str(path)!r})\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
