"""Every machine of vectors as ONNX, with encoders, calibration and thresholds."""

import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

import gramsmith as gs
from gramsmith.export import NotExportable
from gramsmith.machines.base import KernelClassifier
from gramsmith.selection import AveragedRegressor, LabelsClassifier
from gramsmith.tables import TableEncoder
from tools.machine_zoo import CLASSIFIERS, MACHINES, fixed, points
from tools.onnx_runs import METHODS, assert_equal

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 3))
NEW = RNG.normal(size=(40, 3))
TWO = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
FOUR = np.digitize(X[:, 0], [-0.6, 0.0, 0.6])
VALUES = X[:, 0] ** 2 + X[:, 1]


def fitted(model, X=X, y=TWO):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


@pytest.mark.parametrize("kernel", [gs.Gaussian(1.5), gs.Linear() + 1.0, None], ids=str)
@pytest.mark.parametrize("machine", MACHINES)
def test_machines(machine, kernel):
    for y in [VALUES] if is_regressor(machine()) else [TWO, FOUR]:
        assert_equal(fitted(fixed(machine, kernel), y=y), NEW)


@pytest.mark.parametrize("machine", CLASSIFIERS)
def test_machines_of_gram_matrices(machine):
    K = gs.Gaussian(1.0)(X)
    assert_equal(fitted(fixed(machine, "precomputed"), K), gs.Gaussian(1.0)(NEW, X))
    centred = make_pipeline(gs.KernelCenterer(), fixed(machine, "precomputed"))
    assert_equal(fitted(centred, K), gs.Gaussian(1.0)(NEW, X))


@pytest.mark.parametrize("machine", [gs.KernelSVC, gs.KernelRidgeClassifier])
@pytest.mark.parametrize("y", [TWO, FOUR], ids=["two", "four"])
def test_calibration(machine, y):
    model = fitted(machine(gs.Gaussian(1.5)), y=y)
    found = assert_equal(model.calibrate(model.decision_function(X) + 0.2, y), NEW)
    np.testing.assert_allclose(found["probabilities"].sum(axis=1), 1.0)


def test_thresholds():
    model = fitted(gs.KernelSVC(gs.Gaussian(1.5)))
    before = model.predict(NEW)
    model.threshold = float(np.median(model.decision_function(NEW)))
    assert (model.predict(NEW) != before).any()
    assert_equal(model, NEW)
    assert_equal(fitted(gs.ParzenClassifier(threshold="prior"), y=FOUR), NEW)


@pytest.mark.parametrize(
    "labels",
    [X[:, 0] > 0, (X[:, 0] > 0) * 7 - 3, np.where(X[:, 0] > 0, 1.0, 0.0), TWO.astype(object)],
    ids=lambda v: str(v.dtype),
)
def test_labels_of_every_type(labels):
    found = assert_equal(fitted(gs.KernelSVC(), y=labels), NEW)
    kind = found["prediction"].dtype.kind
    assert kind == labels.dtype.kind


def test_several_outputs_and_landmarks():
    Y = np.column_stack([VALUES, X[:, 2]])
    assert_equal(fitted(gs.KernelRidgeRegressor(alpha=0.1), y=Y), NEW)
    landmarks = gs.KernelRidgeRegressor(solver="nystroem", n_landmarks=6, random_state=0)
    assert_equal(fitted(landmarks, y=VALUES), NEW)


def test_machines_without_any_sample():
    constant = fitted(gs.KernelSVR(epsilon=100.0), y=VALUES)
    assert not len(constant.coefficients_)
    assert_equal(constant, NEW)


def test_one_row_one_feature_and_no_rows():
    model = fitted(gs.KernelSVC(gs.Laplacian()), X[:, :1])
    assert_equal(model, NEW[:1, :1])
    assert_equal(fitted(gs.KernelSVC(gs.Gaussian())), NEW[:1])


def test_sparse_rows_and_float32():
    rows = sp.random_array((40, 6), density=0.3, format="csr", rng=np.random.default_rng(1))
    assert_equal(fitted(gs.KernelSVC(gs.Gaussian(1.0)), rows, np.arange(40) % 2), rows)
    assert_equal(fitted(gs.KernelSVC(), X.astype(np.float32)), NEW)


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False)],
        [StandardScaler(with_std=False), MinMaxScaler((-1, 1))],
        [MinMaxScaler(clip=True)],
        [TableEncoder()],
        [TableEncoder(indicators=True)],
        ["passthrough", gs.TransformLearner(max_iter=3)],
        [gs.TransformLearner(structure="low_rank", rank=2, max_iter=3)],
        [gs.SpectralAligner(gs.Gaussian(1.0))],
    ],
    ids=str,
)
def test_steps(steps):
    rows, new = 50.0 * X + 1000.0, 50.0 * NEW + 1000.0
    rows[:, 2], new[:, 2] = np.arange(60) % 4, RNG.uniform(-1, 5, size=40)
    assert_equal(fitted(make_pipeline(*steps, gs.KernelSVC()), rows), new)


def table(X):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(
        {
            "colour": np.array(["red", "gréen", "blue"])[np.arange(len(X)) % 3],
            "height": X[:, 0],
            "<width>": 100 * X[:, 1],
            "rooms": np.arange(len(X)) % 5,
            "shape": np.where(X[:, 2] > 0, "round", ""),
        }
    )


@pytest.mark.parametrize("indicators", [False, True])
def test_tables_with_categories(indicators):
    model = make_pipeline(TableEncoder(indicators=indicators), gs.KernelSVC(gs.Gaussian(1.5)))
    model = fitted(model, table(X))
    new = table(NEW)
    assert_equal(model, new)
    new.loc[3, "colour"] = "violet"  # is none of the known ones, as the warning says
    with pytest.warns(UserWarning, match="violet"):
        assert_equal(model, new)
    texts = fitted(make_pipeline(TableEncoder(), gs.KernelSVC()), table(X)[["colour", "shape"]])
    assert_equal(texts, table(NEW)[["colour", "shape"]])


@pytest.mark.parametrize("y", [TWO, VALUES], ids=["classes", "values"])
def test_selectors(y):
    selector = gs.KernelSelector([gs.Gaussian(2.0), gs.Linear()], random_state=0)
    assert_equal(selector.fit(X, y), NEW)
    assert_equal(selector.fit(table(X), y), table(NEW))


@pytest.mark.parametrize("y", [TWO, FOUR, np.sin(2 * X[:, 0])], ids=["two", "four", "values"])
def test_averages_on_landmarks(y, sizes):
    sizes(EXACT_ROWS=30, LANDMARKS=20)
    kernels = [gs.Gaussian(3.0), gs.Gaussian(0.8), gs.Laplacian(3.0), gs.Polynomial(2)]
    model = gs.rank_kernels(X, y, kernels).best_estimator
    assert len(model.machines_) > 1
    assert_equal(model, NEW)


class Own(KernelClassifier):
    """A machine of one's own that inherits its predictions."""

    def solve(self, K, y, w):
        return y - 0.5, 0.0


class Contrary(Own):
    """A machine that predicts in its own way."""

    def predict(self, X):
        return self.classes_[(self.decision_function(X) <= 0).astype(int)]


class Shifted(Own):
    """A machine with a decision function of its own."""

    def decision_function(self, X):
        return super().decision_function(X) + 1.0


def test_a_machine_of_ones_own():
    assert_equal(fitted(Own(gs.Gaussian())), NEW)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (Contrary(), "inherit predict"),
        (Shifted(), "inherit decision_function"),
        (make_pipeline(RobustScaler(), gs.KernelSVC()), "RobustScaler"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "Expected an estimator"),
        (StandardScaler(), "Expected an estimator"),
    ],
    ids=str,
)
def test_refusals(model, reason):
    with pytest.raises(NotExportable, match=reason):
        gs.to_onnx(fitted(model))


def test_views_and_mixed_labels_are_refused():
    views = gs.KernelSelector(kernels=[gs.Gaussian(2.0), gs.Linear()], random_state=0)
    with pytest.raises(NotExportable, match="several views"):
        gs.to_onnx(views.fit((X, X[:, :2]), TWO))
    model = fitted(gs.KernelSVC())
    model.classes_ = np.array(["a", 1], dtype=object)
    with pytest.raises(NotExportable, match="one type"):
        gs.to_onnx(model)


def test_unfitted_models_are_refused():
    with pytest.raises(ValueError, match="not fitted"):
        gs.to_onnx(gs.KernelSVC())


def test_the_graph_in_a_file(tmp_path):
    import onnx

    made = gs.to_onnx(fitted(gs.KernelSVC()), path=tmp_path / "m.onnx")
    again = onnx.load(tmp_path / "m.onnx")
    assert again == made
    assert "training data" in again.doc_string
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


PROGRAM = """
import sys
import numpy as np
import onnxruntime
session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
names = [value.name for value in session.get_outputs()]
found = dict(zip(names, session.run(names, {"X": np.load("rows.npy")})))
np.savez("found.npz", **{k: v.astype(str) if v.dtype == object else v for k, v in found.items()})
assert not {"gramsmith", "sklearn", "scipy", "onnx"} & set(sys.modules)
try:
    import gramsmith
except ModuleNotFoundError:
    print("no gramsmith here")
"""


def test_a_graph_runs_where_gramsmith_is_not_installed(tmp_path):
    # an interpreter whose only packages are NumPy and onnxruntime
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("numpy", "onnxruntime"):
        home = Path(find_spec(name).submodule_search_locations[0])
        for part in home.parent.glob(f"{home.name}*"):
            (packages / part.name).symlink_to(part)
    model = fitted(make_pipeline(StandardScaler(), gs.KernelLogisticRegression(gs.Gaussian(1.5))))
    gs.to_onnx(model, path=tmp_path / "model.onnx")
    np.save(tmp_path / "rows.npy", NEW)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append('packages')\n{PROGRAM}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "no gramsmith here", done.stderr
    with np.load(tmp_path / "found.npz") as found:
        assert found["prediction"].tolist() == model.predict(NEW).tolist()
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(NEW), atol=1e-9)


def test_large_classes_are_told_apart():
    rows, codes = points(60, classes=3)
    for machine in CLASSIFIERS:
        assert_equal(fitted(fixed(machine, gs.Gaussian(2.0)), rows, codes), rows + 0.05)


def test_rows_that_the_model_does_not_take_are_told(tmp_path):
    machine = gs.KernelSVC(gs.Gaussian(2.0)).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert gs.to_onnx(machine, [[1.5]]) == gs.to_onnx(machine)
    with pytest.raises(ValueError, match="features"):
        gs.to_onnx(machine, [[1.5, 2.0]], path=tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()


def test_several_outputs_and_labels():
    Y = np.column_stack([X[:, 0] ** 2, X[:, 1] + 0.5])
    machines = [gs.KernelRidgeRegressor(gs.Gaussian(s), alpha=0.1) for s in (1.0, 3.0)]
    average = AveragedRegressor(machines, [0.3, 0.7])
    assert_equal(average.fit(X, Y), NEW)
    for labels in ((Y > 0.5).astype(int), Y > 0.5):
        model = LabelsClassifier(average).fit(X, labels)
        assert_equal(model, NEW)
        assert_equal(model.calibrate(model.decision_function(X) + 0.2, labels), NEW)
        assert_equal(gs.KernelSelector([gs.Gaussian(1.0)]).fit(X, labels), NEW)


def raw_table(n, seed, gaps=True):
    """Return a table with everything but free text: gaps, identifiers, dates, powers, codes."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": [f"row{seed}{i}" for i in range(n)],
            "income": rng.lognormal(3.0, 1.0, n),
            "change": rng.exponential(2.0, n) - 1.0,
            "age": np.where(rng.random(n) < 0.1, -999.0, rng.integers(20, 80, n).astype(float)),
            "rooms": rng.integers(1, 5, n).astype(float),
            "height": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "city": rng.choice(["Oslo", "Bern", "Rome"], n).astype(object),
            "size": pd.Categorical(rng.choice(list("SML"), n), list("SML"), ordered=True),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.uniform(0, 9e7, n), unit="s"),
            "flag": rng.random(n) < 0.5,
            "same": 3.0,
        }
    )
    if gaps:
        frame.loc[::7, "city"] = None
        frame.loc[3::9, "since"] = None
        frame.loc[2::11, "size"] = None
    return frame


def of_raw_table(frame, encoder):
    """Return the inputs of a graph: texts, and numbers with NaN; dates as seconds since 1970."""
    inputs = {}
    for name, kind in zip(encoder.feature_names_in_, encoder.kinds_, strict=True):
        if kind in ("category", "ordered"):
            inputs[name] = frame[name].astype(object).where(frame[name].notna(), "").to_numpy()
        elif kind == "date":
            seconds = frame[name].to_numpy("datetime64[us]").astype(np.int64) / 1e6
            inputs[name] = np.where(frame[name].isna(), np.nan, seconds)
        elif kind != "left out":
            inputs[name] = frame[name].to_numpy(np.float64)
    return inputs


@pytest.mark.filterwarnings("ignore:Column .* has missing cells")
@pytest.mark.parametrize("options", [{}, {"indicators": True}, {"power": True}], ids=str)
def test_raw_tables(options):
    runtime = pytest.importorskip("onnxruntime")
    train, new = raw_table(120, 0), raw_table(40, 1)
    rng = np.random.default_rng(2)
    values = rng.normal(size=120)
    targets = {True: [values], False: [values > 0, np.digitize(values, [0, 1])]}
    for machine, y in [(m, y) for m in MACHINES for y in targets[is_regressor(m())]]:
        model = fitted(make_pipeline(TableEncoder(**options), machine(gs.Gaussian(2.0))), train, y)
        encoder = model[0]
        assert encoder.kinds_.tolist().count("left out") == 2
        assert encoder.numbers_.unskews == options.get("power", False)
        session = runtime.InferenceSession(gs.to_onnx(model, new).SerializeToString())
        inputs = of_raw_table(new, encoder)
        assert {given.name for given in session.get_inputs()} == set(inputs)
        names = [output.name for output in session.get_outputs()]
        for name, value in zip(names, session.run(None, inputs), strict=True):
            expected = getattr(model, METHODS[name])(new)
            if name == "prediction" and not is_regressor(model):
                assert (value == expected).all(), machine
            else:
                np.testing.assert_allclose(value, expected, atol=1e-9, err_msg=str(machine))


def test_free_text_is_refused():
    pd = pytest.importorskip("pandas")
    notes = pd.DataFrame({"a": X[:, 0], "note": [f"the {i}th of words" for i in range(len(X))]})
    model = fitted(make_pipeline(TableEncoder(), gs.KernelSVC()), notes)
    with pytest.raises(NotExportable, match="texts of column 'note'"):
        gs.to_onnx(model)
