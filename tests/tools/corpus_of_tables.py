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
    shell: str = ""  # more that the command says
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
        Case("utf-16-unsaid", PLAIN.encode("utf-16-le"), words="NUL byte.*encoding"),
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
            words="line 3: expected UTF-8 text, got the byte 0xe9.*encoding",
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
        Case(
            "comments",
            "# made by hand\n" + PLAIN,
            args=("--comment", "#"),
            kinds={"a": "number"},
            values=A,
        ),
        Case(
            "comments-within",
            PLAIN.replace("\n", "\n# no\n", 3),
            args=("--comment", "#"),
            kinds=b,
            values=A,
        ),
        Case("comments-unsaid", PLAIN.replace("\n", "\n# no\n", 3), words="row 1.*fields"),
        Case(
            "rows-that-begin-like-comments",
            rows(["a", "b"], ["#N/A", 1.5, "#DIV/0!", 2.5], ["x", "z", "#1"]),
            kinds={"a": "number", **b},
            values={"a": [np.nan, 1.5, np.nan, 2.5], "b": ["x", "z", "#1"]},
        ),
        Case(
            "stray-word-in-a-dropped-column",
            rows(["a", "b"], NUMBERS, [*NUMBERS[:-1], "oops"]),
            args=("--drop", "b"),
            kinds={"a": "number"},
            values=A,
        ),
        Case("no-such-drop", PLAIN, args=("--drop", "bb"), words="expected a column 'bb'"),
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
            args=("--comment", "#"),
            words=r"row 25 \(line 27\): expected 3 fields",
        ),
        Case("trailing-delimiter", PLAIN.replace("\n", ",\n"), words="name for column 4"),
        Case(
            "twice",
            PLAIN.replace("a,b", "a,a", 1),
            kinds={"a": "number", "a (2)": "category"},
            values=A,
        ),
        Case("target-twice", PLAIN.replace("a,b", "y,b", 1), words="one column 'y', got several"),
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
            words=r"expected a number.*'oops'.*category",
            shell=r"row 24 \(line 25\), column 'a': .*--role a=category",
        ),
        Case(
            "stray-word-missing",
            rows(["a"], [*NUMBERS[:-1], "oops"]),
            args=("--na", "oops"),
            kinds={"a": "number"},
            values={"a": NUMBERS[:-1]},
        ),
        Case("codes", rows(["a"], [4, 6, 8, "rotary"]), kinds={"a": "category"}),
        Case("too-large", rows(["a"], [*NUMBERS[:-1], "1e999"]), words="row 2[34].*finite number"),
        Case("underscores", rows(["a"], ["1_000", "2_000"]), kinds={"a": "category"}),
        # gaps
        Case(
            "gaps",
            rows(["a", "b"], [1.5, "", "NA", "nan", "?", 2.5], ["x", "None", "z"]),
            kinds={"a": "number", **b},
            values={"a": [1.5, np.nan, np.nan, np.nan, np.nan, 2.5]},
        ),
        Case(
            "gap-in-target",
            PLAIN + "1,x,\n",
            words="row 25, column 'y'.*rows out",
            shell="--missing drop",
        ),
        Case(
            "gaps-refused",
            rows(["a"], [1.5, "", 2.5]),
            args=("--missing", "error"),
            words="row 2, column 'a'.*rows out",
            shell="--missing drop",
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
            "npy-nothing",
            npy_header("{'descr':'<U0','fortran_order':False,'shape':(1000000000,)}"),
            "t.npy",
            words="empty array",
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


@dataclass
class Column:
    """A column as people write it, with what it is: read alike from whatever it comes in."""

    name: str
    cells: list
    kind: str = "number"
    values: list = field(default_factory=list)
    beside: list = field(default_factory=list)  # another column of the same table
    words: str = ""  # of the error
    column: str = "a"  # its name

    def __str__(self):
        return self.name


NAN = np.nan
DAY = 86400.0
MARCH = 19793 * DAY  # 2024-03-11


def columns():
    """Return columns of numbers and dates as they are written in public data."""
    money = ["$1,103.68", "$20.50", "$7.00", "$3.25"]
    dollars = [1103.68, 20.5, 7.0, 3.25]

    def gap(word):
        return Column(f"gap {word}", [*money, word], values=[*dollars, NAN])

    gaps = ["-", "--", "—", ".", "N.A.", "k.A.", "unknown", "nil", "(blank)", "#VALUE!", "#DIV/0!"]
    gaps += ["Unknown", "NIL", "n/a", "#REF!", "…", "unbekannt", "keine Angabe", "okänd", "inconnu"]
    found = [gap(word) for word in gaps]
    found += [
        Column("percent with a dash", ["45%", "-", "7.5%", "12%"], values=[45, NAN, 7.5, 12]),
        Column("commas with a dash", ["4,5", "-", "7,25", "12,0"], values=[4.5, NAN, 7.25, 12]),
        Column("plain with nil", ["4.5", "nil", "7.25", "12"], values=[4.5, NAN, 7.25, 12]),
        Column(
            "dates with unknown",
            ["2024-03-11", "unknown", "2024-03-12"],
            "date",
            [MARCH, NAN, MARCH + DAY],
        ),
        Column(
            "unknown as a category",
            ["red", "unknown", "-", "blue"],
            "category",
            ["red", "unknown", "-", "blue"],
        ),
        # signs
        Column("accountants", ["167.52", "(167.52)", "20.00"], values=[167.52, -167.52, 20]),
        Column("minus behind", ["167.52", "167.52-", "20.00"], values=[167.52, -167.52, 20]),
        Column("true minus", ["167.52", "−167.52", "20.00"], values=[167.52, -167.52, 20]),
        Column("dollars lost", ["$5.00", "($5.00)", "-$2.00", "$-3.00"], values=[5, -5, -2, -3]),
        Column("plus", ["+5.5", "-5.5", "+7"], values=[5.5, -5.5, 7]),
        # currencies
        Column("kronor", ["1 234,50 kr", "20,00 kr", "7,25 kr"], values=[1234.5, 20, 7.25]),
        Column("kronor before", ["kr 1.234,50", "kr 20,00"], values=[1234.5, 20]),
        Column("kronor and a dash", ["199:-", "20:-", "7:-"], values=[199, 20, 7]),
        Column("SEK", ["SEK 1 234", "20 sek", "7 SEK"], values=[1234, 20, 7]),
        Column("pesos", ["12,50 mxn", "1.234,50 MXN", "Mxn 7"], values=[12.5, 1234.5, 7]),
        Column("złoty", ["1 234,50 zł", "20,00 zł", "7,25 zł"], values=[1234.5, 20, 7.25]),
        Column("reais", ["R$ 1.234,50", "R$ 20,00"], values=[1234.5, 20]),
        Column("francs", ["Fr. 1'234.50", "Fr. 20.00"], values=[1234.5, 20]),
        Column("CHF", ["CHF 1’234.50", "CHF 20.00"], values=[1234.5, 20]),
        Column("euros before", ["€ 1.234,50", "€ 20,00"], values=[1234.5, 20]),
        Column("euros round", ["12,- €", "1.250,- €"], values=[12, 1250]),
        Column("pounds", ["£1,234.50", "£20.00"], values=[1234.5, 20]),
        Column("yen", ["¥1,234,500", "¥20"], values=[1234500, 20]),
        Column("rupees", ["₹12,34,567.50", "₹1,23,456", "₹99"], values=[1234567.5, 123456, 99]),
        Column("Rs", ["Rs. 12,34,567", "Rs. 99"], values=[1234567, 99]),
        Column("two currencies", ["$5.00", "€7.00", "$8.00", "€9.50"], words="one unit.*[$€]"),
        # units and sizes
        Column("kilograms", ["70 kg", "81.5 kg", "64kg"], values=[70, 81.5, 64]),
        Column("thousands", ["1.2k", "950", "3M"], values=[1200, 950, 3e6]),
        Column("Mio.", ["1,2 Mio. €", "0,5 Mio. €"], values=[1.2e6, 5e5]),
        Column("Mrd.", ["1,2 Mrd.", "0,5 Mrd."], values=[1.2e9, 5e8]),
        Column("lakh and crore", ["1.5 lakh", "2 crore"], values=[1.5e5, 2e7]),
        Column("degrees", ["21,5 °C", "-3,0 °C"], values=[21.5, -3]),
        Column("speed", ["120 km/h", "50 km/h"], values=[120, 50]),
        Column("two units", ["5 kg", "700 mg", "8 kg", "9 kg"], words="one unit"),
        # grouping
        Column("US", ["1,234,567.89", "20.5"], values=[1234567.89, 20.5]),
        Column("German", ["1.234.567,89", "20,5"], values=[1234567.89, 20.5]),
        Column("French", ["1\u202f234\u202f567,89", "20,5"], values=[1234567.89, 20.5]),
        Column("French of old", ["1\u00a0234,5", "20,5"], values=[1234.5, 20.5]),
        Column("Swedish", ["1 234 567,89", "20,5"], values=[1234567.89, 20.5]),
        Column("Swiss", ["1'234'567.89", "20.5"], values=[1234567.89, 20.5]),
        Column("Indian", ["12,34,567", "1,23,456", "99"], values=[1234567, 123456, 99]),
        Column("points group", ["1.234.567", "20"], values=[1234567, 20]),
        Column(
            "points beside decimal commas",
            ["950", "1.050"],
            values=[950, 1050],
            beside=["0,5", "1,25"],
        ),
        Column(
            "commas beside decimal points",
            ["950", "1,050"],
            values=[950, 1050],
            beside=["0.5", "1.25"],
        ),
        Column(
            "commas beside decimal commas",
            ["0,950", "1,050"],
            values=[0.95, 1.05],
            beside=["0,5", "1,25"],
        ),
        Column("which comma", ["1,234", "2,500"], words="comma a decimal mark"),
        Column("exponents", ["1.5e-3", "2E4", "7"], values=[1.5e-3, 2e4, 7]),
        Column("German exponents", ["1,5E-03", "2,0E+04"], values=[1.5e-3, 2e4]),
        Column("no zero", [".5", "-.25", "1."], values=[0.5, -0.25, 1]),
        Column("two writings", ["1.5"] * 10 + ["1,5"], words="expected a number.*1,5"),
        Column(
            "a slip in ten",
            ["1,5"] * 5 + ["2,5"] * 5 + ["3,5", "4,5", "oops", "7,25"] + ["8,5"] * 9,
            words="expected a number.*oops",
        ),
        Column("codes of houses", ["12", "14", "12a", "7b", "9", "3c", "11"], "category"),
        # codes
        Column("postcodes", ["02134", "10001", "94103"], "category", ["02134", "10001", "94103"]),
        Column("accounts", [str(123456789012345678 + i) for i in range(24)], "left out"),
        Column(
            "accounts again",
            ["123456789012345678", "123456789012345679"],
            "category",
            ["123456789012345678", "123456789012345679"],
        ),
        Column(
            "customers", [str(1000000 + 7 * i) for i in range(24)], "left out", column="Kunden-Nr"
        ),
        Column("in a row", [str(1000000 + i) for i in range(24)], "left out"),
        Column("months", ["01", "07", "12"], values=[1, 7, 12]),
        # times and dates
        Column("times of day", ["08:30", "17:05", "23:59"], values=[30600, 61500, 86340]),
        Column("with seconds", ["08:30:10", "17:05:00"], values=[30610, 61500]),
        Column("with fractions", ["08:30:10.25", "17:05:00.5"], values=[30610.25, 61500.5]),
        Column("AM", ["8:30 AM", "12:05 am", "5:05p.m."], values=[30600, 300, 61500]),
        Column("no hour", ["8:30 AM", "13:05 PM", "5:05 PM"], "category"),
        Column(
            "offset",
            ["2024-03-11T10:00:00+01:00", "2024-03-11T10:00:00+02:00"],
            "date",
            [MARCH + 9 * 3600, MARCH + 8 * 3600],
        ),
        Column(
            "Zulu",
            ["2024-03-11T10:00:00Z", "2024-03-11T11:30:00.5Z"],
            "date",
            [MARCH + 36000, MARCH + 41400.5],
        ),
        Column("German dates", ["11.03.2024", "12.3.2024"], "date", [MARCH, MARCH + DAY]),
        Column("German short", ["11.03.24", "13.03.24"], "date", [MARCH, MARCH + 2 * DAY]),
        Column("German long", ["11. März 2024", "12. März 2024"], "date", [MARCH, MARCH + DAY]),
        Column("French dates", ["11/03/2024", "25/03/2024"], "date", [MARCH, MARCH + 14 * DAY]),
        Column("French long", ["11 mars 2024", "12 mars 2024"], "date", [MARCH, MARCH + DAY]),
        Column("Swedish dates", ["2024-03-11", "2024-03-12"], "date", [MARCH, MARCH + DAY]),
        Column("Swedish long", ["11 mars 2024", "1 maj 2024"], "date", [MARCH, MARCH + 51 * DAY]),
        Column("Indian dates", ["11-03-2024", "25-03-2024"], "date", [MARCH, MARCH + 14 * DAY]),
        Column("Indian names", ["11-Mar-2024", "25-Mar-2024"], "date", [MARCH, MARCH + 14 * DAY]),
        Column("US dates", ["3/11/2024", "3/25/2024"], "date", [MARCH, MARCH + 14 * DAY]),
        Column("US short", ["3/11/24", "3/25/24"], "date", [MARCH, MARCH + 14 * DAY]),
        Column("US long", ["Mar 11, 2024", "March 12, 2024"], "date", [MARCH, MARCH + DAY]),
        Column(
            "US clock",
            ["3/11/2024 4:05 PM", "3/25/2024 12:30 AM"],
            "date",
            [MARCH + 57900, MARCH + 14 * DAY + 1800],
        ),
        Column("slashes", ["2024/03/11", "2024/03/12"], "date", [MARCH, MARCH + DAY]),
        Column("which day", ["3/4/2024", "5/6/2024"], words="day first"),
        Column(
            "a slip among dates",
            ["2024-03-11"] * 12 + ["2024-03-12"] * 8 + ["soon"],
            words="expected a date.*soon",
        ),
    ]
    return found
