"""TableEncoder: numbers standardised, categories as indicators, columns found by name."""

import datetime as dt
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.model_selection import cross_val_score

import gramsmith as gs
from gramsmith.tables import TableEncoder, TakeColumn
from gramsmith.tables.blocks import TEXT_VARIANCE
from gramsmith.tables.convert import in_order, plain_table
from tools.contract import scikit_learn_checks


@scikit_learn_checks([TableEncoder(), TableEncoder(indicators=True)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def table(module):
    return module.DataFrame(
        {"a": [1.0, 2.0, 3.0], "city": ["x", "y", "x"], "flag": [True, False, True]}
    )


@pytest.mark.parametrize("module", [pd, pl], ids=["pandas", "polars"])
class TestFrames:
    def test_numbers_then_indicators(self, module):
        encoder = TableEncoder().fit(table(module))
        assert encoder.get_feature_names_out().tolist() == ["a", "flag", "city=x", "city=y"]
        Z = encoder.transform(table(module))
        np.testing.assert_allclose(Z[:, :2].mean(axis=0), 0.0, atol=1e-15)
        np.testing.assert_allclose(Z[:, :2].std(axis=0), 1.0)
        assert Z[:, 2:].tolist() == [[1, 0], [0, 1], [1, 0]]

    def test_reordered_columns_are_found_by_name(self, module):
        encoder = TableEncoder().fit(table(module))
        other = table(module)[["flag", "city", "a"]]
        assert (encoder.transform(other) == encoder.transform(table(module))).all()

    def test_missing_and_new_columns_are_named(self, module):
        encoder = TableEncoder().fit(table(module))
        other = module.DataFrame({"a": [1.0], "citty": ["x"], "flag": [True]})
        with pytest.raises(ValueError, match=r"Missing: 'city'.*Not seen before: 'citty'.*may be"):
            encoder.transform(other)

    def test_unknown_category_is_none_of_them(self, module):
        encoder = TableEncoder().fit(table(module))
        other = module.DataFrame({"a": [1.0], "city": ["z"], "flag": [True]})
        with pytest.warns(UserWarning, match=r"'city'.*'z'"):
            assert encoder.transform(other)[0, 2:].tolist() == [0, 0]

    def test_gaps_have_an_indicator(self, module):
        frame = module.DataFrame({"a": [1.0, None, 2.0, 6.0], "b": ["x", None, "y", "x"]})
        encoder = TableEncoder().fit(frame)
        names = ["a", "a missing", "b=x", "b=y", "b=missing"]
        assert encoder.get_feature_names_out().tolist() == names
        assert encoder.numbers_.fill_.tolist() == [2.0]
        Z = encoder.transform(frame)
        assert Z[:, 1].tolist() == [0, 1, 0, 0]
        assert Z[1, 0] == Z[2, 0]  # the median
        assert Z[:, 2:].tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]

    def test_identifiers_are_left_out(self, module):
        n = 40
        frame = module.DataFrame(
            {
                "id": [f"row{i}" for i in range(n)],
                "nr": list(range(n)),
                "a": [i % 7 for i in range(n)],
            }
        )
        encoder = TableEncoder().fit(frame)
        assert encoder.kinds_.tolist() == ["left out", "left out", "number"]
        assert encoder.transform(module.DataFrame({"a": [3]})).shape == (1, 1)

    def test_texts_are_near_that_are_alike(self, module):
        words = [f"{a} {b} street" for a in ("north", "south", "east") for b in range(60)]
        encoder = TableEncoder().fit(module.DataFrame({"where": words}))
        assert encoder.kinds_.tolist() == ["text"]
        new = ["north 7 street", "north 77 street", "south 7 avenue"]
        a, b, c = encoder.transform(module.DataFrame({"where": new}))
        assert np.linalg.norm(a - b) < np.linalg.norm(a - c)
        Z = encoder.transform(module.DataFrame({"where": words}))
        assert Z.var(axis=0).sum() == pytest.approx(TEXT_VARIANCE)


def test_category_dtype_of_numbers_is_categorical():
    frame = pd.DataFrame({"a": pd.Series([1, 2, 1], dtype="category")})
    assert TableEncoder().fit(frame).get_feature_names_out().tolist() == ["a=1", "a=2"]


def test_dates_have_trend_and_cycles():
    when = pd.date_range("2020-01-01", periods=800, freq="D")
    frame = pd.DataFrame({"when": when})
    encoder = TableEncoder().fit(frame)
    names = encoder.get_feature_names_out().tolist()
    assert names[0] == "when"
    assert [n.split(" the ")[1] for n in names[1:]] == ["year", "year", "week", "week"]
    Z = encoder.transform(frame)
    assert Z[:, 0].mean() == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(Z[0, 3:], Z[7, 3:], atol=1e-9)  # a week later
    texts = pd.DataFrame({"when": when.strftime("%Y-%m-%d")})
    np.testing.assert_allclose(TableEncoder().fit_transform(texts), Z)
    german = pd.DataFrame({"when": when.strftime("%d.%m.%Y")})
    np.testing.assert_allclose(TableEncoder().fit_transform(german), Z)


def test_duplicate_names_are_parted():
    frame = pd.DataFrame([[1.0, 2.0], [2.0, 4.5]], columns=["a", "a"])
    encoder = TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["a", "a (2)"]
    assert encoder.transform(frame).shape == (2, 2)
    assert "several columns named 'a'" in encoder.columns_[1].note


def test_constant_column_becomes_zero():
    Z = TableEncoder().fit_transform([[1e9, 0.0], [1e9, 1.0]])
    assert Z[:, 0].tolist() == [0.0, 0.0]


def test_sparse_stays_sparse():
    X = sp.random_array((30, 4), density=0.4, rng=0, format="csr")
    Z = TableEncoder().fit_transform(X)
    assert sp.issparse(Z)
    assert (Z.toarray() ** 2).mean() == pytest.approx(1.0)
    np.testing.assert_allclose(Z.toarray() / Z.max(), X.toarray() / X.max())  # one common factor


def test_few_values_as_indicators():
    X = np.column_stack([np.arange(60) % 4 - 1.5, np.linspace(0, 1, 60)])
    encoder = TableEncoder(indicators=True).fit(X)
    assert [len(levels) > 0 for levels in encoder.numbers_.levels_].index(True) == 0
    Z = encoder.transform([[-1.4, 0.5]])  # the nearest level
    assert Z.shape == (1, 5)
    assert Z[0, 1:].tolist() == [1, 0, 0, 0]


def test_infinity_names_its_column():
    with pytest.raises(ValueError, match=r"Column .x1., row 0.*infinity"):
        TableEncoder().fit([[0.0, np.inf], [1.0, 2.0]])


def test_squares_that_overflow_are_refused():
    with pytest.raises(ValueError, match="Column 'x0'"):
        TableEncoder().fit([[1e200], [-1e200]])


def test_columns_with_numbers_for_names_are_found_by_them(rng):
    X = pd.DataFrame(rng.normal(size=(20, 3)))
    encoder = TableEncoder().fit(X)
    np.testing.assert_array_equal(encoder.transform(X[[2, 0, 1]]), encoder.transform(X))
    with pytest.raises(ValueError, match="Missing: '0'"):
        encoder.transform(X.rename(columns={0: 7}))
    assert not hasattr(encoder, "feature_names_in_")


def test_values_past_all_measure_are_named():
    X = pd.DataFrame({"good": [1.0, 2.0, 3.0], "bad": [0.0, 1e300, 1.0]})
    with pytest.raises(ValueError, match="Column 'bad', row 1"):
        TableEncoder().fit(X)


@pytest.mark.filterwarnings("ignore:Column '.*' has missing cells")
def test_words_of_new_rows_that_mean_nothing_are_gaps():
    frame = pd.DataFrame(
        {
            "cylinders": [4.0, 6.0, 8.0, 4.0],
            "size": pd.Categorical(["S", "M", "S", "M"], ["S", "M"], ordered=True),
            "day": ["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"],
        }
    )
    encoder = TableEncoder().fit(frame)
    new = pd.DataFrame(
        {"cylinders": ["4", "rotary"], "size": ["S", "XL"], "day": ["2024-02-01"] * 2}
    )
    new.loc[1, "day"] = "soon"
    gaps = pd.DataFrame(
        {"cylinders": [4.0, None], "size": ["S", None], "day": ["2024-02-01", None]}
    )
    with pytest.warns(UserWarning, match="taken as missing") as said:
        found = encoder.transform(new)
    words = "\n".join(str(item.message) for item in said)
    for name, word in (("cylinders", "rotary"), ("size", "XL"), ("day", "soon")):
        assert re.search(f"column '{name}'.* got '{word}' in row 1 .*missing", words)
    assert np.array_equal(found, encoder.transform(gaps))


def test_numbers_of_new_rows_in_another_style_are_not_lost():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.5, 2.5, 3.5]}))
    with pytest.raises(ValueError, match=r"Column 'a', row 1.* got '1,5'"):
        encoder.transform(pd.DataFrame({"a": ["2.5", "1,5"]}))


@pytest.mark.filterwarnings("ignore:Column .* in fit")
@pytest.mark.parametrize("options", [{}, {"indicators": True}, {"power": True}], ids=str)
def test_what_some_rows_teach_is_what_they_teach_alone(options):
    rng = np.random.default_rng(0)
    n = 90
    frame = pd.DataFrame(
        {
            "number": np.where(rng.random(n) < 0.2, np.nan, rng.lognormal(size=n)),
            "late gap": np.r_[rng.normal(size=n - 1), np.nan],
            "few": rng.integers(0, 4, n).astype(float),
            "city": [*rng.choice(["Oslo", "Rome"], n - 1), "Bern"],
            "size": pd.Categorical(rng.choice(list("SML"), n), list("SML"), ordered=True),
            "since": pd.date_range("2023-01-01", periods=n, freq="9D").astype(str),
            "note": [f"word {i % 40} of {i % 7}" for i in range(n)],
        }
    )
    rows = np.arange(0, n - 1, 2)
    encoder = TableEncoder(**options).fit(frame)
    kinds = dict(zip(frame, encoder.kinds_, strict=True))
    found = encoder.encode_from(plain_table(frame), rows)
    assert found.shape == (n, len(encoder.get_feature_names_out()))
    alone = TableEncoder(roles=kinds, **options).fit(frame.iloc[rows])
    expected = alone.transform(frame)
    # the same samples in the same space, but for columns of zeros and the order of directions
    assert np.allclose(found @ found.T, expected @ expected.T)
    assert not np.allclose(found @ found.T, encoder.transform(frame) @ encoder.transform(frame).T)
    j = encoder.get_feature_names_out().tolist().index("city=Bern")
    assert not found[:, j].any()
    X = frame[["number", "few"]].to_numpy()
    encoder = TableEncoder(**options).fit(X)
    expected = TableEncoder(**options).fit(X[rows]).transform(X)
    found = encoder.encode_from(plain_table(X), rows)
    assert np.allclose(found @ found.T, expected @ expected.T)
    assert encoder.encode_from(plain_table(X), np.arange(n)) == pytest.approx(encoder.transform(X))


def test_sequences_beside_numbers_have_kernels_of_their_own(stored):
    rng = np.random.default_rng(0)
    sites = ["".join(rng.choice(list("ACGT"), 10)) for _ in range(60)]
    frame = pd.DataFrame({"depth": rng.normal(size=60), "site": sites})
    y = np.array(["GG" in site for site in sites]) ^ (frame["depth"].to_numpy() > 1)
    numbers, letters = gs.Gaussian(1.0), gs.Normalized(gs.Spectrum(2))
    encoder = TableEncoder(roles={"site": "drop"}).fit(frame)
    kernel = numbers @ encoder + letters @ TakeColumn("site").fit(frame)
    expected = numbers(encoder.transform(frame)) + letters(sites)
    assert np.allclose(kernel(frame), expected)
    model = gs.KernelSVC(kernel, C=10.0).fit(frame, y)
    same = gs.KernelSVC("precomputed", C=10.0).fit(expected, y)
    assert model.decision_function(frame) == pytest.approx(same.decision_function(expected))
    again = stored(model)
    assert again.predict(frame).tolist() == model.predict(frame).tolist()
    assert cross_val_score(gs.KernelSVC(kernel), frame, y, cv=3).shape == (3,)


@pytest.mark.parametrize("kind", [np.float64, np.int64, str])
def test_codes_of_many_digits_stay_apart(kind):
    codes = np.array([1234567, 1234568, 98765432101, 3] * 6)
    table = pd.DataFrame({"code": codes.astype(kind), "x": np.arange(24.0) % 5})
    encoder = TableEncoder(roles={"code": "category"}).fit(table)
    names = {name for name in encoder.get_feature_names_out() if name.startswith("code")}
    assert names == {"code=1234567", "code=1234568", "code=98765432101", "code=3"}
    assert (encoder.transform(table)[:, -4:] != 0).any(axis=1).all()


@pytest.mark.parametrize("kind", [np.float64, np.int64, str])
def test_ordered_numbers_are_ordered_by_size(kind):
    table = pd.DataFrame({"grade": np.array([2, 10, 9, 100] * 6).astype(kind)})
    rows = TableEncoder(roles={"grade": "ordered"}).fit_transform(table)[:4, 0]
    np.testing.assert_array_equal(np.argsort(rows), [0, 2, 1, 3])
    np.testing.assert_allclose(np.diff(np.sort(rows)), np.diff(np.sort(rows))[0])
    words = np.array(["10,0", "9,5"], dtype=object), np.array(["10%", "9%"], dtype=object)
    assert [in_order(column) for column in words] == [["9,5", "10,0"], ["9%", "10%"]]
    assert in_order(np.array(["2", "1.0", "1", "01"], dtype=object)) == ["01", "1", "1.0", "2"]


def test_powers_depend_neither_on_units_nor_on_rows_nor_where_no_logarithm_competes_on_offsets():
    rng = np.random.default_rng(0)
    n = 6000
    zeros = np.r_[np.zeros(1000), rng.exponential(size=n - 1000)]  # in front
    X = np.column_stack([rng.lognormal(0, 2, n), zeros, rng.exponential(size=n) - 1, -zeros])
    encoder = TableEncoder(power=True).fit(X)
    assert encoder.numbers_.logs_.tolist() == [True, False, False, False]
    Z = encoder.transform(X)
    for unit in (1e-6, 1e6):
        again = TableEncoder(power=True).fit_transform(unit * X)
        np.testing.assert_allclose(again, Z, atol=1e-9)
    order = rng.permutation(n)
    np.testing.assert_allclose(TableEncoder(power=True).fit(X[order]).transform(X), Z, atol=1e-9)
    moved = TableEncoder(power=True).fit_transform(X[:, 1:] - 1e6)
    np.testing.assert_allclose(moved, Z[:, 1:], atol=1e-6)


def test_sentinels_are_missing_in_arrays_too():
    frame = pd.DataFrame({"a": [1.5, -999.0, 3.0, 4.0] * 6, "b": np.arange(24.0) % 5})
    encoder = TableEncoder().fit(frame)
    np.testing.assert_array_equal(encoder.transform(frame.to_numpy()), encoder.transform(frame))
    Z = TableEncoder().fit_transform(frame.to_numpy())
    np.testing.assert_array_equal(Z, encoder.transform(frame))


def test_durations_and_times_are_seconds_whatever_they_come_in():
    import pyarrow as pa

    spans = pd.to_timedelta([90, 30, 60, 45] * 3, unit="s")
    frames = [pd.DataFrame({"a": spans}), pl.DataFrame({"a": spans.to_pytimedelta().tolist()})]
    frames += [pa.table({"a": pa.array(spans, pa.duration(unit))}) for unit in ("s", "ms", "ns")]
    clock = [dt.time(0, 1, 30), dt.time(0, 0, 30), dt.time(0, 1), dt.time(0, 0, 45)]
    frames.append(pd.DataFrame({"a": clock * 3}))
    expected = TableEncoder().fit_transform(pd.DataFrame({"a": [90.0, 30.0, 60.0, 45.0] * 3}))
    encoder = TableEncoder().fit(frames[0])
    for frame in frames:
        np.testing.assert_allclose(encoder.transform(frame), expected)


def test_a_category_called_missing_is_no_gap():
    frame = pd.DataFrame({"a": pd.Categorical(["missing", "x", None, "x"])})
    encoder = TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["a=missing", "a=x", "a missing"]
    assert encoder.transform(frame).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]]


def test_intervals_are_ordered():
    ages = pd.cut(pd.Series([5.0, 15.0, 25.0, 15.0, 5.0]), [0, 10, 20, 30])
    plain = pd.Series(pd.arrays.IntervalArray.from_breaks([0, 10, 20, 30]))
    for column in (ages, plain):
        encoder = TableEncoder().fit(pd.DataFrame({"age": column}))
        assert encoder.kinds_.tolist() == ["ordered"]
        first, second, third = encoder.transform(pd.DataFrame({"age": column}))[:3, 0]
        assert first < second < third
