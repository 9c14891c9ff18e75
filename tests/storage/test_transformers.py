"""Pipelines with scikit-learn's imputer, encoders and column transformer are kept to the bit."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

import forgery
import gramsmith as gs
from gramsmith.storage.encode import NotStorable
from gramsmith.storage.transformers import positions

rng = np.random.default_rng(0)
N = 60
FRAME = pd.DataFrame(
    {
        "a": np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N)),
        "b": rng.lognormal(size=N),
        "c": rng.choice(np.array(["x", "y", np.nan], dtype=object), N),
        "d": rng.choice(list("uvvwwww"), N),
        "e": rng.integers(0, 4, N),
    }
)
Y = np.where(FRAME["b"] > 1, "high", "low")

CASES = {
    "means": (SimpleImputer(), ["a", "b"]),
    "single precision": (SimpleImputer(), FRAME[["a", "b"]].astype(np.float32)),
    "indicators": (SimpleImputer(strategy="median", add_indicator=True), FRAME[["a", "b"]].values),
    "words": (SimpleImputer(strategy="most_frequent"), ["c", "d"]),
    "a constant": (SimpleImputer(strategy="constant", fill_value="none"), ["c"]),
    "minus one": (SimpleImputer(missing_values=-1, strategy="median"), ["e"]),
    "one-hot": (OneHotEncoder(handle_unknown="ignore"), ["c", "d"]),
    "one-hot numbers": (OneHotEncoder(sparse_output=False, dtype=np.float32), ["e"]),
    "one-hot with gaps": (OneHotEncoder(), FRAME[["a"]].round()),
    "dropped": (OneHotEncoder(drop="first", min_frequency=15), ["d"]),
    "dropped if binary": (OneHotEncoder(drop="if_binary"), ["c", "d"]),
    "dropped by name": (OneHotEncoder(drop=["w"], max_categories=2), ["d"]),
    "categories given": (OneHotEncoder(categories=[["u", "v", "w"]]), ["d"]),
    "rare ones": (
        OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=2),
        ["c", "d"],
    ),
    "ordinal": (OrdinalEncoder(), ["c", "d", "e"]),
    "ordinal, unknown": (
        OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, min_frequency=10, dtype=np.float32
        ),
        ["c", "d"],
    ),
    "powers": (PowerTransformer(), ["a", "b"]),
    "box-cox": (PowerTransformer("box-cox", standardize=False), ["b"]),
    "by name": (
        ColumnTransformer(
            [
                ("n", make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]),
                ("c", OneHotEncoder(), ["d"]),
                ("x", "drop", ["c"]),
                ("none", StandardScaler(), []),
            ],
            remainder="passthrough",
        ),
        list(FRAME),
    ),
    "by number": (
        ColumnTransformer([("n", SimpleImputer(), slice(0, 1)), ("c", OneHotEncoder(), [-1, 3])]),
        list(FRAME),
    ),
    "by a function": (
        ColumnTransformer(
            [("n", PowerTransformer(), make_column_selector(dtype_include=float))],
            remainder=OneHotEncoder(sparse_output=False),
        ),
        ["a", "b", "d"],
    ),
    "by flags and names": (
        ColumnTransformer(
            [("n", "passthrough", slice("a", "b")), ("c", OneHotEncoder(), [False, False, True])],
            transformer_weights={"n": 2.0},
            verbose_feature_names_out=False,
        ),
        ["a", "b", "d"],
    ),
    "of an array": (
        ColumnTransformer([("n", StandardScaler(), [0])], remainder=StandardScaler()),
        FRAME[["a", "b"]].values,
    ),
}


def again(model, path):
    gs.save_model(model, path)
    return gs.load_model(path)


def dense(values):
    return values.toarray() if sp.issparse(values) else np.asarray(values)


def samples(given):
    return FRAME[given] if isinstance(given, list) else given


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_round_trip(case, tmp_path):
    model, X = clone(case[0]), samples(case[1])
    chosen = "make_column_selector" in repr(model)
    if not chosen:
        assert repr(again(model, tmp_path / "unfitted")) == repr(model)
    model.fit(X)
    found = again(model, tmp_path / "m")
    expected, seen = model.transform(X), found.transform(X)
    assert expected.dtype == seen.dtype
    assert sp.issparse(expected) == sp.issparse(seen)
    assert np.array_equal(dense(expected), dense(seen), equal_nan=expected.dtype != object)
    assert found.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    assert chosen or repr(found.get_params()) == repr(model.get_params())
    # what was loaded is as good as what was saved, and can be saved and fitted anew
    third = again(found, tmp_path / "third")
    assert np.array_equal(
        dense(third.transform(X)), dense(expected), equal_nan=expected.dtype != object
    )
    refitted = dense(clone(found).fit(X).transform(X))
    assert np.array_equal(refitted, dense(expected), equal_nan=expected.dtype != object)


def test_a_pipeline_of_a_user(tmp_path):
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(SimpleImputer(add_indicator=True), PowerTransformer()),
                ["a"],
            ),
            ("words", words, ["c", "d"]),
        ],
        remainder="passthrough",
    )
    model = make_pipeline(columns, gs.KernelSVC(gs.Gaussian(2.0))).fit(FRAME, Y)
    found = again(model, tmp_path / "m")
    assert found.decision_function(FRAME).tolist() == model.decision_function(FRAME).tolist()
    turned = FRAME[list(FRAME)[::-1]]
    assert found.decision_function(turned).tolist() == model.decision_function(FRAME).tolist()
    with pytest.raises(ValueError, match="columns are missing"):
        found.predict(FRAME.drop(columns="a"))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (SimpleImputer(strategy=np.mean), "no code|functions cannot be stored|a function"),
        (OneHotEncoder(feature_name_combiner=lambda a, b: a), "a function"),
        (ColumnTransformer([("n", RobustScaler(), [0])]), "RobustScaler"),
        (ColumnTransformer([("n", "drop", make_column_selector("x"))]), "make_column_selector"),
    ],
    ids=["strategy", "names", "another class", "columns"],
)
def test_what_no_file_can_keep(model, words, tmp_path):
    with pytest.raises(NotStorable, match=words):
        gs.save_model(model, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_function_of_columns_is_kept_as_the_columns_it_chose(tmp_path):
    model = ColumnTransformer([("n", StandardScaler(), make_column_selector("[ab]"))])
    found = again(model.fit(FRAME), tmp_path / "m")
    assert found.transformers[0][2] == ["a", "b"]


def changed(node, path, value):
    """Change a part of a node of a manifest in place."""
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value


def node(*items):
    return {"$": "list", "items": list(items)}


def texts(*items):
    return {"$": "objects", "dtype": "object", "shape": [len(items)], "items": list(items)}


FORGERIES = {
    "categories twice": (OneHotEncoder(), ("categories_",), node(texts("u", "u", "w"))),
    "no categories": (OneHotEncoder(), ("categories_",), node(texts())),
    "too many columns": (OneHotEncoder(), ("categories_",), node(texts("u"), texts("v"))),
    "dropped beyond": (OneHotEncoder(drop="first"), ("drop_idx_",), texts(7)),
    "dropped unasked": (OneHotEncoder(), ("drop_idx_",), texts(0)),
    "rare unasked": (OneHotEncoder(), ("infrequent",), node(None)),
    "no rare ones": (OneHotEncoder(max_categories=2), ("infrequent",), None),
    "odd categories": (
        OrdinalEncoder(),
        ("categories_",),
        node(texts({"$": "tuple", "items": []})),
    ),
    "another type": (SimpleImputer(strategy="most_frequent"), ("fill_dtype",), "float64"),
    "an unknown type": (SimpleImputer(strategy="most_frequent"), ("fit_dtype",), "datetime64[ns]"),
    "indicators unasked": (
        SimpleImputer(strategy="most_frequent"),
        ("indicator",),
        {"$": "list", "items": [0]},
    ),
}


@pytest.mark.parametrize("case", FORGERIES.values(), ids=FORGERIES)
def test_forged_files_are_refused(case, tmp_path):
    model, place, value = case
    gs.save_model(clone(model).fit(FRAME[["d"]]), tmp_path / "m")
    header, manifest, body = forgery.parts((tmp_path / "m").read_bytes())
    changed(manifest["model"]["fitted"], place, value)
    (tmp_path / "m").write_bytes(forgery.assemble(header, manifest, body))
    with pytest.raises(gs.ModelFormatError):
        gs.load_model(tmp_path / "m")


def test_numbers_out_of_order_are_refused(tmp_path):
    """They are found by bisection, which would point beyond the end of the list."""
    model = OneHotEncoder().fit(FRAME[["e"]])
    model.categories_ = [model.categories_[0][::-1].copy()]
    gs.save_model(model, tmp_path / "m")
    with pytest.raises(gs.ModelFormatError, match="numbers in order"):
        gs.load_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("fitted", "transformers_"), node()),
        (("fitted", "widths"), {"$": "dict", "items": [["n", 5]]}),
        (("fitted", "widths"), {"$": "dict", "items": []}),
        (("fitted", "n_features_in_"), 1),
        (("params", "transformers"), node("x")),
        (("params", "transformer_weights"), {"$": "dict", "items": [["n", "x"]]}),
        (("params", "remainder"), "os.system"),
    ],
    ids=str,
)
def test_forged_columns_are_refused(place, value, tmp_path):
    model = ColumnTransformer([("n", StandardScaler(), ["a", "b"])]).fit(FRAME)
    gs.save_model(model, tmp_path / "m")
    header, manifest, body = forgery.parts((tmp_path / "m").read_bytes())
    changed(manifest["model"], place, value)
    (tmp_path / "m").write_bytes(forgery.assemble(header, manifest, body))
    with pytest.raises(gs.ModelFormatError):
        gs.load_model(tmp_path / "m")


def test_positions():
    names = ["a", "b", "c"]
    for columns, expected in [
        ("b", [1]),
        (["c", "a"], [2, 0]),
        (-1, [2]),
        ([0, -2], [0, 1]),
        (slice(None, 2), [0, 1]),
        (slice("b", None), [1, 2]),
        ([True, False, True], [0, 2]),
        (np.array(["a"]), [0]),
        ([], []),
    ]:
        assert positions(columns, names, 3) == expected
    for columns in ("z", 3, [True], [None], slice("z", None), 1.5):
        with pytest.raises(ValueError, match="Expected"):
            positions(columns, names, 3)
