"""Parquet and Feather tables."""

import numpy as np
import pytest

from gramsmith.tables.columnar import read_feather, read_parquet
from gramsmith.tables.convert import plain
from gramsmith.tables.streams import DataError, Limits

pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
pq = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")


def write(tmp_path, columns):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_numbers_flags_texts_and_gaps(tmp_path):
    path = write(
        tmp_path,
        {
            "i": pa.array([1, None, 3]),
            "f": pa.array([0.5, 1.5, None], pa.float32()),
            "b": [True, False, None],
            "s": ["x", None, "z"],
            "c": pa.array(["u", "v", "u"]).dictionary_encode(),
        },
    )
    table = read_parquet(path, Limits())
    assert table["i"][[0, 2]].tolist() == [1.0, 3.0]
    assert np.isnan(table["i"][1])
    assert np.isnan(table["f"][2])
    assert table["b"].tolist() == [True, False, None]
    assert table["s"].tolist() == ["x", None, "z"]
    assert table["c"].tolist() == ["u", "v", "u"]
    assert list(read_parquet(path, Limits(), drop=["i", "f"])) == ["b", "s", "c"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": pa.array([], pa.float64())}, "expected rows"),
        ({"a": [[1, 2]]}, "column 'a'.*list"),
        ({"a": pa.array([b"x"])}, "binary"),
    ],
)
def test_bad_columns(tmp_path, columns, words):
    with pytest.raises(DataError, match=words):
        read_parquet(write(tmp_path, columns), Limits())


def test_sizes_are_checked_before_reading(tmp_path):
    path = write(tmp_path, {"a": np.zeros(1_000_000)})
    assert path.stat().st_size < 50_000
    with pytest.raises(DataError, match="at most 1,000 rows"):
        read_parquet(path, Limits(rows=1000))
    with pytest.raises(DataError, match="bytes"):
        read_parquet(path, Limits(bytes=1000))


def test_other_bytes(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 nonsense PAR1")
    with pytest.raises(DataError, match="expected parquet"):
        read_parquet(tmp_path / "t.parquet", Limits())


def test_places_that_a_feather_file_lies_about_are_not_read(tmp_path):
    # Arrow believes the offsets of texts: reading at them ended the interpreter
    path = tmp_path / "t.feather"
    feather.write_feather(pa.table({"a": ["abc"] * 24}), path, compression="uncompressed")
    data = path.read_bytes()
    true = np.arange(0, 75, 3, dtype=np.int32).tobytes()
    assert true in data
    far = np.arange(25, dtype=np.int32) * 2**26
    path.write_bytes(data.replace(true, far.tobytes()))
    with pytest.raises(DataError, match="expected feather"):
        read_feather(path, Limits())


def test_dictionaries_that_differ_by_part_are_read(tmp_path):
    def coded(places, words):
        return pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), words)

    many = [f"w{i}" for i in range(200)]  # more than places of one byte tell apart
    for first, second, expected in (
        ([0, 1, None], [["a", None], ["b", None]], ["a", None, None, "b", None, None]),
        (range(100), [many[:100], many[100:]], many),
    ):
        parts = [pa.record_batch({"a": coded(first, words)}) for words in second]
        table = pa.Table.from_batches(parts)
        assert plain(table.column("a")).values.tolist() == expected
        path = tmp_path / "t.arrow"
        with pa.OSFile(str(path), "wb") as stream, pa.ipc.new_stream(stream, table.schema) as out:
            out.write_table(table)
        assert read_feather(path, Limits())["a"].tolist() == expected
