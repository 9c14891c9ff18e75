"""Small files that would fill the memory: each is refused by a process of 1 GB."""

import io
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from gramsmith.tables import read_table

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


OPEN = "http://schemas.openxmlformats.org"
WORKSHEET = f"{OPEN}/officeDocument/2006/relationships"


def workbook(cells, strings=()):
    """Return a workbook of one sheet with these cells."""
    kinds = {"workbook.xml": "sheet.main", "worksheets/sheet1.xml": "worksheet"}
    kinds["sharedStrings.xml"] = "sharedStrings"
    types = "".join(
        f'<Override PartName="/xl/{name}" ContentType="application/vnd.openxmlformats-'
        f'officedocument.spreadsheetml.{kind}+xml"/>'
        for name, kind in kinds.items()
    )

    def relations(*targets):
        listed = "".join(
            f'<Relationship Id="rId{i}" Type="{WORKSHEET}/{kind}" Target="{target}"/>'
            for i, (kind, target) in enumerate(targets, 1)
        )
        return f'<Relationships xmlns="{OPEN}/package/2006/relationships">{listed}</Relationships>'

    main = f'xmlns="{OPEN}/spreadsheetml/2006/main" xmlns:r="{WORKSHEET}"'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{OPEN}/package/2006/content-types"><Default '
        f'Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{types}</Types>',
        "_rels/.rels": relations(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook {main}><sheets><sheet name="s" sheetId="1" r:id="rId1"/>'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": relations(
            ("worksheet", "worksheets/sheet1.xml"), ("sharedStrings", "sharedStrings.xml")
        ),
        "xl/sharedStrings.xml": f"<sst {main}>"
        + "".join(f"<si><t>{s}</t></si>" for s in strings)
        + "</sst>",
        "xl/worksheets/sheet1.xml": f"<worksheet {main}><sheetData>{cells}</sheetData></worksheet>",
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return stream.getvalue()


def test_the_workbooks_below_are_sound(tmp_path):
    rows = "".join(f'<row r="{i}"><c r="A{i}" t="s"><v>0</v></c></row>' for i in range(1, 4))
    (tmp_path / "t.xlsx").write_bytes(workbook(rows, ["word"]))
    assert read_table(tmp_path / "t.xlsx").columns["word"].tolist() == ["word"] * 2


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


def npz_zeros():
    head = "{'descr':'<f8','fortran_order':False,'shape':(1000000,300)}"
    head = (head + " " * (117 - len(head)) + "\n").encode()
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("X.npy", "w", force_zip64=True) as member,
    ):
        member.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head)
        for _ in range(300):
            member.write(bytes(8_000_000))
    return "t.npz", stream.getvalue()


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
    npz_zeros,
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
    assert "alloc" not in done.stdout, "words of a library about memory"
