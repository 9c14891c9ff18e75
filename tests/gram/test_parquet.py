"""Rows of Parquet files, read where they are asked for."""

import numpy as np
import pytest

from gramsmith.gram.parquet import ParquetRows

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture
def table(rng, tmp_path):
    frame = pd.DataFrame(rng.normal(size=(1000, 3)), columns=list("abc"))
    frame["whole"] = np.arange(1000)
    frame["word"] = ["x", "y"] * 500
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=170)
    return frame, ParquetRows(tmp_path / "t.parquet", ["a", "b", "c", "whole"])


def test_rows_in_any_order_and_more_than_once(table, rng):
    frame, rows = table
    assert rows.shape == (1000, 4)
    some = rng.integers(1000, size=300)
    np.testing.assert_array_equal(rows[some], frame.to_numpy()[some, :4].astype(float))
    assert rows[np.array([], dtype=int)].shape == (0, 4)


def test_a_batch_is_shorter_than_a_row_group(table, rng, sizes):
    sizes("gram.parquet", BATCH=33)
    frame, rows = table
    some = rng.permutation(1000)
    np.testing.assert_array_equal(rows[some], frame.to_numpy()[some, :4].astype(float))


def test_columns(table):
    frame, rows = table
    assert rows.column("word").tolist() == frame["word"].tolist()
    assert rows.without("b").columns == ["a", "c", "whole"]


def test_what_cannot_be_read_is_said(table, tmp_path):
    _, rows = table
    for outside in ([1000], [-1], [-1, 5], [5, 1000]):
        with pytest.raises(IndexError, match="0 to 999"):
            rows[outside]
    with pytest.raises(ValueError, match=r"Expected columns of t.parquet .* got 'd'"):
        ParquetRows(rows.path, ["a", "d"])
    with pytest.raises(ValueError, match="Expected columns of numbers"):
        ParquetRows(rows.path)[[0]]
