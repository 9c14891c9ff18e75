"""Where numbers are missing: messages that name the column."""

import numpy as np
import pytest

import gramsmith as gs


def test_text_is_named_with_its_column():
    X = np.array([[1.0, 2.0], [3.0, "x"]], dtype=object)
    with pytest.raises(ValueError, match=r"got 'x' in column 1 \(first in row 1; .*OneHotEncoder"):
        gs.Gaussian()(X)
    with pytest.raises(ValueError, match="Expected rows of one length"):
        gs.Gaussian()([[1.0], [1.0, 2.0]])


def test_columns_of_tables_have_names():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.nan]})
    with pytest.raises(ValueError, match="got NaN in column 'b'"):
        gs.Gram(gs.Gaussian(), table)
    with pytest.raises(ValueError, match=r"got 'x' in column 'c' \(first in row 0"):
        gs.Gaussian()(table.fillna(0.0).assign(c=["x", "y"]))
