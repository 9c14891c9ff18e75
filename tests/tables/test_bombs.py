"""Small files that would fill the memory: each is refused by a process of 1 GB."""

import io
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

READ = """
import resource, sys
import numpy, pandas, pyarrow, scipy.sparse, sklearn
import pyarrow.parquet, pyarrow.csv, python_calamine
from gramsmith.tables import DataError, TableEncoder, read_table
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, resource.RLIM_INFINITY))
try:
    table = read_table(sys.argv[1])
    TableEncoder().fit(table.inputs())
except DataError as error:
    print("refused:", error)
"""


def workbook(cells, strings=()):
    """Return a workbook of one sheet with these cells."""
    parts = {
        "[Content_Types].xml": '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/'
        'package/2006/content-types"/>',
        "_rels/.rels": '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org'
        '/package/2006/relationships"/>',
        "xl/workbook.xml": '<?xml version="1.0"?><workbook xmlns:r="http://schemas.openxmlformats.org'
        '/officeDocument/2006/relationships"><sheets><sheet name="s" sheetId="1" r:id="rId1"/>'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": '<?xml version="1.0"?><Relationships><Relationship Id="rId1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" '
        'Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="http://schemas.'
        'openxmlformats.org/officeDocument/2006/relationships/sharedStrings" Target="sharedStrings'
        '.xml"/></Relationships>',
        "xl/sharedStrings.xml": "<sst>"
        + "".join(f"<si><t>{s}</t></si>" for s in strings)
        + "</sst>",
        "xl/worksheets/sheet1.xml": f"<worksheet><sheetData>{cells}</sheetData></worksheet>",
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return stream.getvalue()


def far_cell():
    first = '<row r="1"><c r="A1"><v>1</v></c></row>'
    last = '<row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    return "t.xlsx", workbook(first + last)


def repeated_text():
    rows = "".join(f'<row r="{i}"><c r="A{i}" t="s"><v>0</v></c></row>' for i in range(1, 20_001))
    return "t.xlsx", workbook(rows, ["x" * 2**20])


def parquet_dictionary():
    import pyarrow as pa
    from pyarrow import parquet

    codes = pa.array(np.zeros(20_000, dtype=np.int32))
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 2**20]))
    stream = io.BytesIO()
    # without Arrow's schema it reads back as plain strings
    parquet.write_table(pa.table({"a": column}), stream, store_schema=False)
    return "t.parquet", stream.getvalue()


def parquet_prefixes():
    import pyarrow as pa
    from pyarrow import parquet

    words = pa.chunked_array([pa.array(["x" * 2**20] * 1000)] * 3)
    stream = io.BytesIO()
    encoding = {"a": "DELTA_BYTE_ARRAY"}
    parquet.write_table(
        pa.table({"a": words}), stream, use_dictionary=False, column_encoding=encoding
    )
    return "t.parquet", stream.getvalue()


def feather_zeros():
    import pyarrow as pa
    from pyarrow import feather

    stream = io.BytesIO()
    table = pa.table(
        {"a": np.zeros(4_000_000), **{f"b{i}": np.zeros(4_000_000) for i in range(80)}}
    )
    feather.write_feather(table, stream, compression="zstd", chunksize=4_000_000)
    return "t.feather", stream.getvalue()


def feather_dictionary():
    import pyarrow as pa
    from pyarrow import feather

    codes = pa.array(np.zeros(20_000, dtype=np.int32))
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 2**20]))
    stream = io.BytesIO()
    feather.write_feather(pa.table({"a": column}), stream, compression="zstd")
    return "t.feather", stream.getvalue()


def npy_of_nothing():
    head = "{'descr':'<U0','fortran_order':False,'shape':(1000000000,)}"
    head = (head + " " * (117 - len(head)) + "\n").encode()
    return "t.npy", b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head


def commas():
    import gzip

    return "t.csv.gz", gzip.compress(
        (",".join(f"c{i}" for i in range(9000)) + "\n").encode() + (b"," * 8999 + b"\n") * 40_000, 1
    )


BOMBS = [
    far_cell,
    repeated_text,
    parquet_dictionary,
    parquet_prefixes,
    feather_zeros,
    feather_dictionary,
    npy_of_nothing,
    commas,
]


@pytest.mark.skipif(sys.platform != "linux", reason="limits the addresses of a process")
@pytest.mark.parametrize("make", BOMBS, ids=lambda make: make.__name__)
def test_a_small_file_cannot_fill_the_memory(make, tmp_path):
    name, data = make()
    (tmp_path / name).write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", READ, str(tmp_path / name)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"},  # others reserve addresses
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("refused:"), done.stdout
