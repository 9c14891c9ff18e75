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

import gramsmith as gs
from gramsmith.storage.encode import NotStorable, attributes
from gramsmith.storage.registry import REGISTRY
from tools import forgery

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
ROWS = np.arange(N) // 12  # five values, each in twelve rows
Y = np.where(FRAME["b"] > 1, "high", "low")

CASES = {
    "means": (SimpleImputer(), ["a", "b"]),
    "single precision": (SimpleImputer(), FRAME[["a", "b"]].astype(np.float32)),
    "indicators": (SimpleImputer(strategy="median", add_indicator=True), FRAME[["a", "b"]].values),
    "words": (SimpleImputer(strategy="most_frequent"), ["c", "d"]),
    "a constant": (SimpleImputer(strategy="constant", fill_value="none"), ["c"]),
    "a constant number": (SimpleImputer(strategy="constant", fill_value=7), ["e"]),
    "gaps of numbers": (SimpleImputer(strategy="constant", keep_empty_features=True), ["a", "b"]),
    "ones": (SimpleImputer(missing_values=1, strategy="most_frequent", add_indicator=True), ["e"]),
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
    "all of one column rare": (OneHotEncoder(min_frequency=14), FRAME[["d", "e"]].assign(f=ROWS)),
    "all rare": (OneHotEncoder(max_categories=1, sparse_output=False), ["c", "e"]),
    "none rare": (OrdinalEncoder(min_frequency=1), ["c", "a"]),
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


def test_forged_files_are_refused(tmp_path):
    gs.save_model(OneHotEncoder().fit(FRAME[["d"]]), tmp_path / "m")
    header, manifest, body = forgery.parts((tmp_path / "m").read_bytes())
    words = {"$": "objects", "dtype": "object", "shape": [3], "items": ["u", "u", "w"]}
    manifest["model"]["fitted"]["categories_"] = {"$": "list", "items": [words]}
    (tmp_path / "m").write_bytes(forgery.assemble(header, manifest, body))
    with pytest.raises(gs.ModelFormatError, match="duplicate"):
        gs.load_model(tmp_path / "m")


def test_numbers_out_of_order_are_refused(tmp_path):
    """They are found by bisection, which would point beyond the end of the list."""
    model = OneHotEncoder().fit(FRAME[["e"]])
    model.categories_ = [model.categories_[0][::-1].copy()]
    gs.save_model(model, tmp_path / "m")
    with pytest.raises(gs.ModelFormatError, match="Unsorted categories"):
        gs.load_model(tmp_path / "m")


def kept(model):
    """Return what a file keeps of a transformer."""
    entry = REGISTRY[type(model).__name__]
    params = {name: getattr(model, name) for name in entry.arguments}
    fitted = {name: value for name, value in attributes(model).items() if name not in params}
    return entry, *map(dict, entry.keep(model, params, fitted))


WORDS = FRAME[["c", "d"]].astype(str)
RARE = OneHotEncoder(max_categories=2)
COLUMNS = ColumnTransformer(
    [("n", StandardScaler(), ["a", "b"]), ("c", "passthrough", ["e"]), ("none", "drop", [])],
    transformer_weights={"n": 2.0},
)


def ints(*values):
    return np.array(values, dtype=np.int64)


RARE_NUMBERS = [ints(0, 3), ints(-1, 0), ints(0, 0), ints(), ints(0, 1)[None], np.array([0.0]), [0]]
ORDER = "Unsorted|duplicate|Nan should be"
GAPPED = SimpleImputer(add_indicator=True)
# What is kept of a transformer, changed: two columns of three categories, u v w and nan x y, of
# which two are rare in each.
UNFIT = [
    (OneHotEncoder(), {"categories_": [np.array(["u"])]}, "for every column"),
    (OneHotEncoder(), {"categories_": [np.array(["u", "u"])] * 2}, "duplicate"),
    *(
        (OneHotEncoder(), {"categories_": [values] * 2}, "list of categories")
        for values in (np.array([["u"]]), np.array([1j]), ["u"], np.array([]))
    ),
    (OneHotEncoder(), {"infrequent": [None] * 2}, "where asked for"),
    (RARE, {"infrequent": None}, "where asked for"),
    *(
        (OrdinalEncoder(), {"categories_": [np.array(values)] * 2}, ORDER)
        for values in ([0, 2, 1], [0, 0], [0.0, np.nan, 1.0], [1.0, 0.0, np.nan])
    ),
    (RARE, {"infrequent": [ints(0, 1)]}, "rare categories for every column"),
    *((RARE, {"infrequent": [rare] * 2}, "numbers of rare") for rare in RARE_NUMBERS),
    (PowerTransformer(), {"scaler": None}, "a scaler if asked for"),
    (PowerTransformer(standardize=False), {"scaler": StandardScaler()}, "a scaler if asked for"),
    (PowerTransformer(), {"scaler": StandardScaler().fit([[1.0]])}, "a scaler of these columns"),
    (GAPPED, {"indicator": ints(1, 0)}, "columns with missing values in order"),
    (GAPPED, {"indicator": ints(0, 0)}, "columns with missing values in order"),
    (GAPPED, {"indicator": None}, "where they were asked"),
    (SimpleImputer(), {"indicator": ints(0)}, "indicators where they were asked"),
    (SimpleImputer(), {"statistics_": np.array(["a", "b"])}, "could not convert"),
    (COLUMNS, {"n_features_in_": None}, "the number of columns"),
    *(
        (COLUMNS, {"widths": widths}, "a width per transformer")
        for widths in (
            {"n": 2},
            {"n": 2, "c": 1, "z": 1},
            {"n": 2, "c": -1},
            {"n": 2, "c": 1.0},
            [2],
        )
    ),
    (COLUMNS, {"widths": {"n": 3, "c": 1}}, "as many columns"),
    (COLUMNS, {"transformers_": []}, "for each that was given"),
]


def table(model):
    if isinstance(model, ColumnTransformer):
        return FRAME
    return FRAME[["a", "b"]] if isinstance(model, PowerTransformer | SimpleImputer) else WORDS


def test_parts_that_do_not_fit_together():
    for model, change, words in UNFIT:
        model = clone(model)
        entry, params, fitted = kept(model.fit(table(model)))
        entry.make(dict(params), dict(fitted))
        with pytest.raises(ValueError, match=words):
            entry.make(params, {**fitted, **change})


def test_many_categories():
    words = np.array([f"w{i:03}" for i in range(400)] * 2 + ["often"] * 9, dtype=object)[:, None]
    for model in (
        OneHotEncoder(max_categories=2),
        ColumnTransformer([("c", OneHotEncoder(), [0])], sparse_threshold=1.0),
    ):
        entry, params, fitted = kept(model.fit(words))
        assert (entry.make(params, fitted).transform(words) != model.transform(words)).nnz == 0


PASS = ("a", "passthrough", [0])


def test_columns_that_mean_nothing():
    entry, known, _ = kept(ColumnTransformer([PASS]))
    assert entry.make(known, {}).transformers == [PASS]
    slices = ({"slice": [1.5, None, None]}, {"slice": [1, 2]}, {"slice": [1, 2, 1], "x": 1}, {})
    parts = {
        "every name once": [[PASS, PASS]],
        "a name, a transformer and columns": [[list(PASS)], [PASS[:2]]],
        "by its name": [[(1, *PASS[1:])], [("a", "other", [0])], [("a", gs.Linear(), [0])]],
        "a slice": [[("a", "drop", columns)] for columns in slices],
    }
    wrong = [("transformers", v, words) for words, values in parts.items() for v in values]
    weights = ({"a": "x"}, {1: 2.0}, [1.0])
    wrong += [("transformer_weights", v, "weights by name") for v in weights]
    for name, value, words in wrong:
        with pytest.raises(ValueError, match=words):
            entry.make({**known, name: value}, {})


def test_what_is_made_again_is_what_there_was():
    """Also what scikit-learn notes for itself and a transform need not show."""
    cases = [
        (RARE, WORDS),
        (OneHotEncoder(drop="first", max_categories=2), WORDS),
        (OneHotEncoder(drop="if_binary"), WORDS),
        (OrdinalEncoder(max_categories=2), WORDS),
        (OrdinalEncoder(), FRAME[["a", "e"]]),
        (SimpleImputer(add_indicator=True), FRAME[["a", "b"]]),
        (PowerTransformer(), FRAME[["a", "b"]]),
        (COLUMNS, FRAME),
        (
            ColumnTransformer([("n", StandardScaler(), [0])], remainder="passthrough"),
            FRAME[["a", "b"]],
        ),
    ]
    for model, X in cases:
        model = clone(model).fit(X)
        entry, params, fitted = kept(model)
        made = entry.make(params, fitted)
        for name in vars(model).keys() & vars(made).keys():
            old, new = (vars(m)[name] for m in (model, made))
            if isinstance(old, dict):  # their order is nobody's business
                old, new = sorted(old.items()), sorted(new.items())
            assert repr(new) == repr(old), (model, name)
