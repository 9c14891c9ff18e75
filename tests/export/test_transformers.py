"""Pipelines of scikit-learn's transformers on raw tables as ONNX: equal to predict to 1e-9."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    StandardScaler,
)

import gramsmith as gs
from gramsmith.export import NotExportable
from gramsmith.storage.transformers import TRANSFORMERS
from gramsmith.tables import TableEncoder
from storage.test_transformers import CASES, FRAME, Y, dense, samples
from tools.onnx_runs import METHODS, run

VALUES = FRAME["b"].to_numpy() + FRAME["e"].to_numpy()
UNSEEN = FRAME.assign(d=np.where(np.arange(len(FRAME)) % 5 == 0, "new", FRAME["d"]))


def feed(made, table):
    """Return a raw table as the inputs of a graph: numbers with NaN, texts with "" for gaps."""
    given = {}
    for value in made.graph.input:
        if value.name == "X":
            return {"X": np.asarray(table, dtype=np.float64)}
        column = pd.DataFrame(table)[value.name]
        text = value.type.tensor_type.elem_type == 8  # onnx.TensorProto.STRING
        words = column.astype(object).where(column.notna(), "").to_numpy()
        given[value.name] = words if text else column.to_numpy(np.float64)
    return given


def assert_equal(model, table, tolerance=1e-9):
    made = gs.to_onnx(model, table)
    for name, value in run(made.SerializeToString(), feed(made, table)).items():
        expected = getattr(model, METHODS[name])(table)
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(value, expected, rtol=0, atol=tolerance, err_msg=name)
        else:
            assert value.tolist() == expected.tolist()
    return made


def completed(step, table):
    """Return steps to finite numbers: some leave texts or gaps, which are encoded or filled."""
    Z = dense(clone(step).fit(table).transform(table))
    if Z.dtype == object and any(isinstance(value, str) for value in Z.ravel()):
        return [step, OneHotEncoder()]
    return [step, SimpleImputer()] if np.isnan(Z.astype(float)).any() else [step]


@pytest.mark.parametrize(
    "machine", [gs.KernelSVC(gs.Gaussian(2.0)), gs.KernelRidgeRegressor(alpha=1.0)]
)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_case_that_is_stored(case, machine):
    table = samples(case[1])
    steps = completed(clone(case[0]), table)
    y = Y if hasattr(machine, "decision_function") else VALUES
    model = make_pipeline(*steps, clone(machine)).fit(table, y)
    # the graph computes in float64 where scikit-learn hands float32 on
    single = dense(model[:-1].transform(table)).dtype == np.float32
    assert_equal(model, table, 1e-4 if single else 1e-9)


def test_the_cases_have_every_transformer():
    shown = {type(step) for step, _ in CASES.values()}
    assert shown >= {entry[0] for entry in TRANSFORMERS}


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=15),
        OneHotEncoder(handle_unknown="ignore", min_frequency=15),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=15, drop="first"),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-3),
        OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=-3,
            encoded_missing_value=-5,
            max_categories=2,
        ),
    ],
    ids=str,
)
def test_unseen_categories(encoder):
    columns = ColumnTransformer(
        [
            ("words", encoder, ["c", "d"]),
            ("numbers", make_pipeline(SimpleImputer(), MinMaxScaler(clip=True)), ["a", "e"]),
        ]
    )
    steps = [columns, SimpleImputer(), StandardScaler()]
    model = make_pipeline(*steps, gs.KernelRidgeClassifier(gs.Gaussian(2.0))).fit(FRAME, Y)
    made = assert_equal(model, UNSEEN)
    assert {value.name for value in made.graph.input} == {"a", "c", "d", "e"}


def test_nested_steps_and_columns_that_pass():
    """Texts may pass one step to be encoded by the next; names, places and flags choose."""
    first = ColumnTransformer(
        [
            ("gaps", SimpleImputer(strategy="most_frequent"), ["c"]),
            ("numbers", make_pipeline(PowerTransformer(), SimpleImputer()), slice("a", "b")),
            ("texts", "passthrough", ["d"]),
        ]
    )
    second = ColumnTransformer([("words", OneHotEncoder(), [0, 3])], remainder="passthrough")
    model = make_pipeline(make_pipeline(first, second), gs.KernelSVC(gs.Gaussian(2.0)))
    assert_equal(model.fit(FRAME, Y), FRAME)
    encoder = ColumnTransformer([("table", TableEncoder(), ["a", "c"])], remainder="drop")
    assert_equal(make_pipeline(encoder, gs.KernelSVC()).fit(FRAME, Y), FRAME)


def test_a_column_of_both_kinds_is_refused():
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0] * 5})
    both = ColumnTransformer(
        [("n", StandardScaler(), ["a"]), ("w", OneHotEncoder(categories=[["x"]]), ["a"])]
    )
    both.set_params(w__handle_unknown="ignore", w__categories="auto")
    model = make_pipeline(both, gs.KernelSVC()).fit(table, [0, 1] * 10)
    model[0].named_transformers_["w"].categories_ = [np.array(["x", "y", "z", "u"], dtype=object)]
    with pytest.raises(NotExportable, match="taken for both"):
        gs.to_onnx(model)
