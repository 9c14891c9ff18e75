"""TableEncoder: numbers standardised, categories as indicators, columns found by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramsmith.tables import TableEncoder


@parametrize_with_checks([TableEncoder(), TableEncoder(indicators=True)])
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

    @pytest.mark.parametrize("column", [[1.0, None, 2.0], ["x", None, "y"]])
    def test_missing_value_names_column_and_row(self, module, column):
        with pytest.raises(ValueError, match=r"NaN in column 'b', row 1.*impute"):
            TableEncoder().fit(module.DataFrame({"a": [1.0, 2.0, 3.0], "b": column}))

    def test_identifiers_are_refused(self, module):
        names = module.DataFrame({"id": [f"row {i}" for i in range(200)]})
        with pytest.raises(ValueError, match=r"'id'.*200 different texts"):
            TableEncoder().fit(names)


def test_numbers_that_became_text_are_refused():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(ValueError, match=r"column 'a'.*'two' in row 1"):
        encoder.transform(pd.DataFrame({"a": ["1", "two"]}))


def test_category_dtype_of_numbers_is_categorical():
    frame = pd.DataFrame({"a": pd.Series([1, 2, 1], dtype="category")})
    assert TableEncoder().fit(frame).get_feature_names_out().tolist() == ["a=1", "a=2"]


def test_dates_are_refused():
    with pytest.raises(ValueError, match="'when' of type datetime"):
        TableEncoder().fit(pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])}))


def test_duplicate_names_are_refused():
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match="a more than once"):
        TableEncoder().fit(frame)


def test_constant_column_becomes_zero():
    Z = TableEncoder().fit_transform([[1e9, 0.0], [1e9, 1.0]])
    assert Z[:, 0].tolist() == [0.0, 0.0]


def test_sparse_stays_sparse():
    X = sp.random_array((30, 4), density=0.4, rng=0, format="csr")
    Z = TableEncoder().fit_transform(X)
    assert sp.issparse(Z)
    np.testing.assert_allclose((Z.toarray() ** 2).mean(axis=0), 1.0)


def test_few_values_as_indicators():
    X = np.column_stack([np.arange(60) % 4 - 1.5, np.linspace(0, 1, 60)])
    encoder = TableEncoder(indicators=True).fit(X)
    assert encoder.level_counts_.tolist() == [4, 0]
    Z = encoder.transform([[-1.4, 0.5]])  # the nearest level
    assert Z.shape == (1, 5)
    assert Z[0, 1:].tolist() == [1, 0, 0, 0]


def test_infinity_names_its_column():
    with pytest.raises(ValueError, match="infinity in column 1, row 0"):
        TableEncoder().fit([[0.0, np.inf], [1.0, 2.0]])


def test_squares_that_overflow_are_refused():
    with pytest.raises(ValueError, match="column 0"):
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
    with pytest.raises(ValueError, match="row 1 of column 'bad'"):
        TableEncoder().fit(X)
