"""Random pipelines, saved, loaded, upgraded and exported: the same predictions all the way."""

import warnings

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import gramsmith as gs
from gramsmith.storage import inspect_model, upgrade_model
from gramsmith.tables import TableEncoder
from tools.machine_zoo import MACHINES, fixed
from tools.onnx_runs import METHODS, assert_equal

pd = pytest.importorskip("pandas")


def kernel_of(rng, depth=0):
    """Return a kernel of vectors: one of a list, or an expression of others."""
    length = float(np.exp(rng.normal()))
    leaves = [
        lambda: gs.Gaussian(2.0 * length),
        lambda: gs.Laplacian(2.0 * length, norm=str(rng.choice(["l1", "l2"]))),
        lambda: gs.Matern(2.0 * length, nu=float(rng.choice([0.5, 1.5, 2.5]))),
        lambda: gs.RationalQuadratic(length, alpha=0.7),
        lambda: gs.Linear(),
        lambda: gs.Polynomial(int(rng.integers(1, 4)), gamma=0.3, coef0=1.0),
        lambda: gs.as_kernel("rbf"),
        lambda: gs.Normalized(gs.Polynomial(2)),
        lambda: gs.Nystroem(gs.Gaussian(2.0 * length), n_landmarks=15),
        lambda: gs.RandomFourier(gs.Matern(2.0 * length), n_features=60),
    ]
    made = [
        lambda: kernel_of(rng, depth + 1) + kernel_of(rng, depth + 1),
        lambda: kernel_of(rng, depth + 1) * gs.Gaussian(4.0),
        lambda: float(rng.uniform(0.2, 3.0)) * kernel_of(rng, depth + 1),
        lambda: gs.Normalized(kernel_of(rng, depth + 1) + 1.0),
        lambda: gs.GaussianOf(kernel_of(rng, depth + 1), 1.5),
        lambda: gs.PolynomialOf(gs.Normalized(kernel_of(rng, depth + 1) + 1.0), [0.5, 1.0, 0.3]),
    ]
    chosen = leaves if depth > 1 or rng.random() < 0.6 else made
    return chosen[rng.integers(len(chosen))]()


def table_of(rng, n):
    """Return a table of numbers, levels and categories, and its target of values."""
    X = rng.normal(size=(n, 3))
    frame = pd.DataFrame(
        {
            "height": 100.0 * X[:, 0] + 1000.0,
            "weight": X[:, 1],
            "rooms": rng.integers(0, 5, size=n),
            "colour": rng.choice(["red", "green", "blue"], size=n),
        }
    )
    return frame, X[:, 0] * X[:, 1] + 0.5 * (frame["colour"] == "red") + 0.1 * X[:, 2]


def pipeline_of(number):
    """Return a fitted pipeline, and new rows to answer for."""
    rng = np.random.default_rng([20, number])
    frame, values = table_of(rng, 45)
    machine = fixed(MACHINES[number % len(MACHINES)], kernel_of(rng))
    target = np.asarray(values)
    if not is_regressor(machine):
        cuts = np.quantile(target, [0.5] if rng.random() < 0.5 else [0.33, 0.66])
        labels = [np.array(["no", "yes", "well"]), np.arange(3) + 5, np.array([0.0, 1.0, 2.0])]
        target = labels[rng.integers(3)][np.digitize(target, cuts)]
    numbers = rng.random() < 0.4
    rows = frame[["height", "weight", "rooms"]].to_numpy(dtype=float) if numbers else frame
    steps = [TableEncoder(indicators=bool(rng.random() < 0.5))]
    if numbers:
        choices = [steps, [StandardScaler()], [MinMaxScaler((-1, 1), clip=True)]]
        choices += [[StandardScaler(), gs.TransformLearner(max_iter=3, random_state=0)]]
        steps = choices[rng.integers(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (ConvergenceWarning, UserWarning))
        model = make_pipeline(*steps, machine).fit(rows, target)
        if hasattr(machine, "calibrate") and rng.random() < 0.7:
            machine.calibrate(model.decision_function(rows) + 0.1, target)
    if hasattr(machine, "threshold") and isinstance(machine.threshold, float):
        machine.threshold = float(rng.normal(scale=0.1))
    new, _ = table_of(rng, 25)
    return model, new[["height", "weight", "rooms"]].to_numpy(dtype=float) if numbers else new


def assert_same(model, again, new):
    """Assert that two models answer the same to the last bit."""
    for method in METHODS.values():
        assert hasattr(model, method) == hasattr(again, method)
        if hasattr(model, method):
            expected, found = getattr(model, method)(new), getattr(again, method)(new)
            assert found.dtype.kind == expected.dtype.kind
            assert found.tolist() == expected.tolist()


def travels(number, folder):
    """Assert that a pipeline answers the same after every journey; return what it was."""
    model, new = pipeline_of(number)
    saved, upgraded = folder / "saved.safetensors", folder / "upgraded.safetensors"
    gs.save_model(model, saved, about={"target": "y"})
    loaded = gs.load_model(saved)
    assert_same(model, loaded, new)
    assert upgrade_model(saved, upgraded) == len(model[-1].coefficients_)
    assert inspect_model(upgraded).about == {"target": "y"}
    again = gs.load_model(upgraded)
    assert_same(model, again, new)
    assert_equal(again, new, 1e-9)
    return model


@pytest.mark.parametrize("number", range(0, 100, 7))
def test_a_random_pipeline_travels(number, tmp_path):
    travels(number, tmp_path)


@pytest.mark.slow
def test_a_hundred_random_pipelines_travel(tmp_path):
    machines, steps, calibrated = set(), set(), 0
    for number in range(100):
        model = travels(number, tmp_path)
        machines.add(type(model[-1]))
        steps |= {type(step) for _, step in model.steps[:-1]}
        calibrated += hasattr(model[-1], "calibration_slope_")
    assert machines == set(MACHINES)
    assert steps == {TableEncoder, StandardScaler, MinMaxScaler, gs.TransformLearner}
    assert calibrated > 5
