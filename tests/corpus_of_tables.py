"""Dirty tables, each with what must happen: the kinds and values of its columns, or the message.

A case is a name, the file's name, its bytes, the options of the reader (as those of the command),
and the outcome: `kinds` and `values` of columns, or `words` of the error.
"""

from __future__ import annotations

import gzip
import io
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Case:
    """One dirty table."""

    name: str
    data: bytes | str
    file: str = "t.csv"
    args: tuple = ()
    kinds: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)
    words: str = ""
    status: int = 3

    def __str__(self):
        return self.name

    @property
    def bytes(self):
        return self.data.encode() if isinstance(self.data, str) else self.data


N = 24
Y = ["p", "q"]


def rows(head, *columns, mark=",", end="\n", tail=""):
    """Return a table of N rows: every column is a list that is gone through again and again."""
    lines = [mark.join([*head, "y"])]
    for i in range(N):
        lines.append(mark.join([*(str(c[i % len(c)]) for c in columns), Y[i % 2]]))
    return end.join(lines) + end + tail


NUMBERS = [round(0.25 * i - 1, 2) for i in range(N)]
A = {"a": NUMBERS}
PLAIN = rows(["a", "b"], NUMBERS, ["x", "z", "z"])
COMMAS = [f"{v:.2f}".replace(".", ",") for v in NUMBERS]


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def npy_header(text):
    text = text + " " * (118 - len(text) - 1) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def parquet(columns):
    import pyarrow as pa
    from pyarrow import parquet as pq

    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def feather(columns):
    import pyarrow as pa
    from pyarrow import feather as fe

    stream = io.BytesIO()
    fe.write_feather(pa.table(columns), stream)
    return stream.getvalue()


def zstandard(data):
    import pyarrow as pa

    return pa.Codec("zstd").compress(data.encode(), asbytes=True)


def cases():
    """Return all cases."""
    b = {"b": "category"}
    found = [
        Case("plain", PLAIN, kinds={"a": "number", **b}, values=A),
        Case("crlf", PLAIN.replace("\n", "\r\n"), kinds={"a": "number", **b}, values=A),
        Case("old-mac", PLAIN.replace("\n", "\r"), kinds={"a": "number", **b}, values=A),
        Case("bom", b"\xef\xbb\xbf" + PLAIN.encode(), kinds={"a": "number"}, values=A),
        Case("utf-16", PLAIN.encode("utf-16"), kinds={"a": "number", **b}, values=A),
        Case(
            "utf-16-be",
            PLAIN.encode("utf-16-be"),
            args=("--encoding", "utf-16-be"),
            kinds={"a": "number"},
            values=A,
        ),
        Case("utf-16-unsaid", PLAIN.encode("utf-16-le"), words="NUL byte.*--encoding"),
        Case(
            "latin-1",
            PLAIN.replace("z", "é").encode("latin-1"),
            args=("--encoding", "latin-1"),
            kinds=b,
            values={"b": ["x", "é", "é"]},
        ),
        Case(
            "latin-1-unsaid",
            PLAIN.replace("z", "é").encode("latin-1"),
            words="line 3: expected UTF-8 text, got the byte 0xe9.*--encoding",
        ),
        Case("no-such-encoding", PLAIN, args=("--encoding", "klingon"), words="such as latin-1"),
        Case("gzip", gzip.compress(PLAIN.encode()), "t.csv.gz", kinds={"a": "number"}, values=A),
        Case("gzip-unsaid", gzip.compress(PLAIN.encode()), kinds={"a": "number"}, values=A),
        Case("gzip-cut", gzip.compress(PLAIN.encode())[:-12], "t.csv.gz", words="whole file"),
        Case("zstandard", zstandard(PLAIN), "t.csv.zst", kinds={"a": "number"}, values=A),
        Case("zip", b"PK\x03\x04" + PLAIN.encode(), words="zip archive. Unpack it"),
        Case("bzip2", b"BZh9" + PLAIN.encode(), words="bzip2 archive"),
        Case("nul", PLAIN.replace("x", "x\0", 1), words="line 2: expected text, got a NUL"),
        Case("empty", "", words="empty file"),
        Case("blank", "\n\n\n", words="empty file"),
        Case("header-only", "a,b,y\n", words="expected rows below the header"),
        Case("blank-lines", PLAIN.replace("\n", "\n\n"), kinds={"a": "number"}, values=A),
        Case("comments", "# made by hand\n" + PLAIN, kinds={"a": "number"}, values=A),
        Case("comments-within", PLAIN.replace("\n", "\n# no\n", 3), kinds=b, values=A),
        Case("semicolons", PLAIN.replace(",", ";"), kinds={"a": "number", **b}, values=A),
        Case("tabs", PLAIN.replace(",", "\t"), kinds={"a": "number", **b}, values=A),
        Case("tabs-tsv", PLAIN.replace(",", "\t"), "t.tsv", kinds={"a": "number"}, values=A),
        Case("bars", PLAIN.replace(",", "|"), kinds={"a": "number", **b}, values=A),
        Case("colons", PLAIN.replace(",", ":"), args=("--delimiter", ":"), kinds=b, values=A),
        Case("wrong-delimiter", PLAIN, args=("--delimiter", "::"), words="one character", status=2),
        Case("long-row", PLAIN + "1,2,3,4\n", words=r"row 25 \(line 26\): expected 3 .* 4"),
        Case("short-row", PLAIN + "1,2\n", words=r"row 25 \(line 26\): expected 3 fields, got 2"),
        Case(
            "long-row-below-a-comment",
            "# note\n" + PLAIN + "1,2,3,4\n",
            words=r"row 25 \(line 27\): expected 3 fields",
        ),
        Case("trailing-delimiter", PLAIN.replace("\n", ",\n"), words="name for column 4"),
        Case("twice", PLAIN.replace("a,b", "a,a", 1), words="'a' in columns 1, 2"),
        Case("unnamed", PLAIN.replace("a,b", "a,", 1), words="name for column 2"),
        Case(
            "no-names",
            PLAIN.split("\n", 1)[1]
            .replace("p", "1")
            .replace("q", "2")
            .replace("x", "3")
            .replace("z", "4"),
            words="expected column names, got numbers",
        ),
        Case(
            "row-names",
            rows(["", "a"], [f"r{i}" for i in range(N)], NUMBERS),
            kinds={"(row names)": "left out", "a": "number"},
            values=A,
        ),
        Case(
            "row-numbers",
            rows(["Unnamed: 0", "a"], list(range(N)), NUMBERS),
            kinds={"Unnamed: 0": "left out", "a": "number"},
        ),
        Case(
            "quoted",
            rows(["a", "b"], NUMBERS, ['"x,1"', '"z ""q"""']),
            kinds=b,
            values={"b": ["x,1", 'z "q"']},
        ),
        Case(
            "quoted-lines",
            rows(["a", "b"], NUMBERS, ['"x\n1"', "z"]),
            kinds=b,
            values={"b": ["x\n1", "z"]},
        ),
        Case("open-quote", PLAIN + '1,"x\n', words="quotation|fields"),
        Case(
            "padded",
            rows(["a", "b"], [f" {v} " for v in NUMBERS], [" x", "z "]),
            kinds={"a": "number", **b},
            values={**A, "b": ["x", "z"]},
        ),
        # numbers in disguise
        Case(
            "decimal-commas",
            rows(["a", "b"], COMMAS, ["x", "z"], mark=";"),
            kinds={"a": "number"},
            values=A,
        ),
        Case(
            "decimal-commas-said",
            rows(["a", "b"], COMMAS, ["x", "z"], mark=";"),
            args=("--decimal", ","),
            kinds={"a": "number"},
            values=A,
        ),
        Case(
            "german",
            rows(["a"], ["1.234,50", "0,5", "12.000,25"], mark=";"),
            kinds={"a": "number"},
            values={"a": [1234.5, 0.5, 12000.25]},
        ),
        Case(
            "dollars",
            rows(["a"], ['"$1,234.56"', "$0.50", "$7.00"]),
            kinds={"a": "number"},
            values={"a": [1234.56, 0.5, 7.0]},
        ),
        Case(
            "euros",
            rows(["a"], ["12,50 €", "3,00 €", "0,75 €"], mark=";"),
            kinds={"a": "number"},
            values={"a": [12.5, 3.0, 0.75]},
        ),
        Case(
            "percent",
            rows(["a"], ["45%", "7%", "12.5%"]),
            kinds={"a": "number"},
            values={"a": [45.0, 7.0, 12.5]},
        ),
        Case(
            "spaces",
            rows(["a"], ["1 234", "22 000", "7"]),
            kinds={"a": "number"},
            values={"a": [1234.0, 22000.0, 7.0]},
        ),
        Case("ambiguous", rows(["a"], ["1,234", "2,500"], mark=";"), words="comma a decimal mark"),
        Case(
            "decimal",
            rows(["a"], ["1,234", "2,500"], mark=";"),
            args=("--decimal", ","),
            kinds={"a": "number"},
            values={"a": [1.234, 2.5]},
        ),
        Case(
            "ambiguous-thousands",
            rows(["a"], ["1,234", "2,500"], mark=";"),
            args=("--thousands", ","),
            kinds={"a": "number"},
            values={"a": [1234.0, 2500.0]},
        ),
        Case(
            "ambiguous-category",
            rows(["a"], ["1,234", "2,500"], mark=";"),
            args=("--role", "a=category"),
            kinds={"a": "category"},
        ),
        Case(
            "sentinel",
            rows(["a"], [1.5, -999, 3, 4, 5.5]),
            kinds={"a": "number"},
            values={"a": [1.5, np.nan, 3.0]},
        ),
        Case(
            "sentinel-meant",
            rows(["a"], [1.5, -999, 3, 4, 5.5]),
            args=("--role", "a=number"),
            kinds={"a": "number"},
            values={"a": [1.5, -999.0, 3.0]},
        ),
        Case(
            "stray-word",
            rows(["a"], [*NUMBERS[:-1], "oops"]),
            words=r"row 24 \(line 25\), column 'a': expected a number.*'oops'.*--role a=category",
        ),
        Case(
            "stray-word-missing",
            rows(["a"], [*NUMBERS[:-1], "oops"]),
            args=("--na", "oops"),
            kinds={"a": "number"},
            values={"a": NUMBERS[:-1]},
        ),
        Case("codes", rows(["a"], [4, 6, 8, "rotary"]), kinds={"a": "category"}),
        Case("too-large", rows(["a"], [*NUMBERS[:-1], "1e999"]), words="row 24.*finite number"),
        Case("underscores", rows(["a"], ["1_000", "2_000"]), kinds={"a": "category"}),
        # gaps
        Case(
            "gaps",
            rows(["a", "b"], [1.5, "", "NA", "nan", "?", 2.5], ["x", "None", "z"]),
            kinds={"a": "number", **b},
            values={"a": [1.5, np.nan, np.nan, np.nan, np.nan, 2.5]},
        ),
        Case("gap-in-target", PLAIN + "1,x,\n", words="row 25, column 'y'.*--missing drop"),
        Case(
            "gaps-refused",
            rows(["a"], [1.5, "", 2.5]),
            args=("--missing", "error"),
            words="row 2, column 'a'.*--missing drop",
        ),
        Case("all-gaps", rows(["a", "b"], NUMBERS, [""]), kinds={"a": "number", "b": "left out"}),
        Case("constant", rows(["a", "b"], NUMBERS, ["x"]), kinds={"b": "left out"}),
        Case("nothing-but-constants", rows(["a", "b"], [1], ["x"]), words="at least one column"),
        # other kinds
        Case("dates", rows(["a"], [f"2024-{m:02d}-11" for m in range(1, 13)]), kinds={"a": "date"}),
        Case(
            "times",
            rows(["a"], [f"2024-01-11 {h:02d}:30:00" for h in range(N)]),
            kinds={"a": "date"},
        ),
        Case(
            "german-dates",
            rows(["a"], [f"{d:02d}.03.2024" for d in range(1, N + 1)]),
            kinds={"a": "date"},
        ),
        Case(
            "american-dates",
            rows(["a"], [f"3/{d}/2024" for d in range(1, N + 1)]),
            kinds={"a": "date"},
        ),
        Case("ambiguous-dates", rows(["a"], ["3/4/2024", "5/6/2024"]), words="day first.*date-dmy"),
        Case(
            "ambiguous-dates-said",
            rows(["a"], ["3/4/2024", "5/6/2024"]),
            args=("--role", "a=date-dmy"),
            kinds={"a": "date"},
        ),
        Case("flags", rows(["a"], ["true", "false", "true"]), kinds={"a": "boolean"}),
        Case("flags-with-gaps", rows(["a"], ["True", "", "False"]), kinds={"a": "boolean"}),
        Case(
            "identifiers",
            rows(["who", "a"], [f"k{i}" for i in range(N)], NUMBERS),
            kinds={"who": "left out", "a": "number"},
        ),
        Case(
            "id-numbers",
            rows(["customer_id", "a"], [7 * i + 3 for i in range(N)], NUMBERS),
            kinds={"customer_id": "left out"},
        ),
        Case(
            "texts",
            rows(["t", "a"], [f"the {i}th of many words" for i in range(N)], NUMBERS),
            kinds={"t": "text", "a": "number"},
        ),
        Case(
            "leading-zeros",
            rows(["zip", "a"], ["02134", "10001"], NUMBERS),
            args=("--role", "zip=category"),
            kinds={"zip": "category"},
            values={"zip": ["02134", "10001"]},
        ),
        Case("no-such-role", PLAIN, args=("--role", "a=colour"), words="--role COL=ROLE", status=2),
        Case("no-such-column", PLAIN, args=("--role", "aa=number"), words="expected a column 'aa'"),
        Case(
            "escapes",
            rows(["a", "\x1b[31mred"], NUMBERS, ["x", "z"]),
            kinds={"\x1b[31mred": "category"},
        ),
        # other formats
        Case(
            "parquet",
            parquet({"a": NUMBERS, "b": ["x", None, "z"] * 8, "y": Y * 12}),
            "t.parquet",
            kinds={"a": "number", **b},
            values=A,
        ),
        Case("parquet-nested", parquet({"a": [[1]] * 4, "y": Y * 2}), "t.parquet", words="list"),
        Case("parquet-damaged", b"PAR1 no PAR1", "t.parquet", words="expected parquet"),
        Case(
            "feather",
            feather({"a": NUMBERS, "y": Y * 12}),
            "t.feather",
            kinds={"a": "number"},
            values=A,
        ),
        Case("feather-damaged", b"ARROW1 no", "t.feather", words="expected feather"),
        Case("xlsx-damaged", b"PK\x03\x04no", "t.xlsx", words="expected an .xlsx file"),
        Case("npy-objects", npy(np.array([{"a": 1}])), "t.npy", words="pickle"),
        Case(
            "npy-negative",
            npy_header("{'descr':'<f8','fortran_order':False,'shape':(-2,-4)}") + bytes(64),
            "t.npy",
            words="expected an npy array",
        ),
        Case(
            "npy-huge",
            npy_header("{'descr':'<f8','fortran_order':False,'shape':(9999999999,9)}"),
            "t.npy",
            words="expected 719,",
        ),
        Case(
            "npy-code",
            npy_header("{'descr':__import__('os'),'shape':(1,)}"),
            "t.npy",
            words="expected an npy array",
        ),
        Case("npz-damaged", b"PK\x03\x04no", "t.npz", words="expected an npz file"),
        Case("npz-no-matrix", npz(u=np.ones(3)), "t.npz", words="expected an array X"),
        Case("svmlight-words", "1 1:0.5\n-1 2:x\n", "t.svm", words="line 2: expected a number"),
        Case("what-is-it", PLAIN, "t.doc", words="Expected a file named like"),
    ]
    return found
