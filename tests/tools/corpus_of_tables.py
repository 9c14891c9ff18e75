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
    data: bytes | str | list  # a list: of the only column beside the target
    file: str = "t.csv"
    options: str = ""
    kinds: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)
    words: str = ""
    shell: str = ""  # more that the command says
    status: int = 3

    def __str__(self):
        return self.name

    @property
    def bytes(self):
        text = rows(["a"], self.data, mark=";") if isinstance(self.data, list) else self.data
        return text.encode() if isinstance(text, str) else text

    @property
    def args(self):
        return self.options.split()


N = 24
Y = ["p", "q"]


def rows(head, *columns, mark=",", end="\n", tail=""):
    """Return a table of N rows: every column is a list that is gone through again and again."""
    lines = [mark.join([*head, "y"])]
    for i in range(N):
        lines.append(mark.join([*(str(c[i % len(c)]) for c in columns), Y[i % 2]]))
    return end.join(lines) + end + tail


NUMBERS = [round(0.25 * i - 1, 2) for i in range(N)]
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


def npy_header(descr, shape):
    text = f"{{'descr':{descr},'fortran_order':False,'shape':{shape}}}"
    text += " " * (118 - len(text) - 1) + "\n"
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


def read(name, data, options="", *, file="t.csv", a=NUMBERS, **others):
    """Return a case that is read; of a column stands its kind, or the values it has."""
    given = {"a": a, **others}
    usual = {column: "number" if column == "a" else "category" for column in given}
    kinds = {c: said if isinstance(said, str) else usual[c] for c, said in given.items()}
    values = {c: said for c, said in given.items() if not isinstance(said, str)}
    return Case(name, data, file, options, kinds, values)


def refused(name, data, words, options="", *, file="t.csv", shell="", status=3):
    """Return a case that is refused with these words."""
    return Case(name, data, file, options, words=words, shell=shell, status=status)


def cases():
    """Return all cases."""
    return [
        read("plain", PLAIN, b="category"),
        read("crlf", PLAIN.replace("\n", "\r\n"), b="category"),
        read("old-mac", PLAIN.replace("\n", "\r"), b="category"),
        read("bom", b"\xef\xbb\xbf" + PLAIN.encode()),
        read("utf-16", PLAIN.encode("utf-16"), b="category"),
        read("utf-16-be", PLAIN.encode("utf-16-be"), "--encoding utf-16-be"),
        refused("utf-16-unsaid", PLAIN.encode("utf-16-le"), "NUL byte.*encoding"),
        read(
            "latin-1",
            PLAIN.replace("z", "é").encode("latin-1"),
            "--encoding latin-1",
            b=["x", "é", "é"],
        ),
        refused(
            "latin-1-unsaid",
            PLAIN.replace("z", "é").encode("latin-1"),
            "line 3: expected UTF-8 text, got the byte 0xe9.*encoding",
        ),
        refused("no-such-encoding", PLAIN, "such as latin-1", "--encoding klingon"),
        read("gzip", gzip.compress(PLAIN.encode()), file="t.csv.gz"),
        read("gzip-unsaid", gzip.compress(PLAIN.encode())),
        refused("gzip-cut", gzip.compress(PLAIN.encode())[:-12], "whole file", file="t.csv.gz"),
        read("zstandard", zstandard(PLAIN), file="t.csv.zst"),
        refused("zip", b"PK\x03\x04" + PLAIN.encode(), "zip archive. Unpack it"),
        refused("bzip2", b"BZh9" + PLAIN.encode(), "bzip2 archive"),
        refused("nul", PLAIN.replace("x", "x\0", 1), "line 2: expected text, got a NUL"),
        refused("empty", "", "empty file"),
        refused("blank", "\n\n\n", "empty file"),
        refused("header-only", "a,b,y\n", "expected rows below the header"),
        read("blank-lines", PLAIN.replace("\n", "\n\n")),
        read("comments", "# made by hand\n" + PLAIN, "--comment #"),
        read("comments-within", PLAIN.replace("\n", "\n# no\n", 3), "--comment #", b="category"),
        refused("comments-unsaid", PLAIN.replace("\n", "\n# no\n", 3), "row 1.*fields"),
        read(
            "rows-that-begin-like-comments",
            rows(["a", "b"], ["#N/A", 1.5, "#DIV/0!", 2.5], ["x", "z", "#1"]),
            a=[np.nan, 1.5, np.nan, 2.5],
            b=["x", "z", "#1"],
        ),
        read(
            "stray-word-in-a-dropped-column",
            rows(["a", "b"], NUMBERS, [*NUMBERS[:-1], "oops"]),
            "--drop b",
        ),
        refused("no-such-drop", PLAIN, "expected a column 'bb'", "--drop bb"),
        read("semicolons", PLAIN.replace(",", ";"), b="category"),
        read("tabs", PLAIN.replace(",", "\t"), b="category"),
        read("tabs-tsv", PLAIN.replace(",", "\t"), file="t.tsv"),
        read("bars", PLAIN.replace(",", "|"), b="category"),
        read("colons", PLAIN.replace(",", ":"), "--delimiter :", b="category"),
        refused("wrong-delimiter", PLAIN, "one character", "--delimiter ::", status=2),
        refused("long-row", PLAIN + "1,2,3,4\n", r"row 25 \(line 26\): expected 3 .* 4"),
        refused("short-row", PLAIN + "1,2\n", r"row 25 \(line 26\): expected 3 fields, got 2"),
        refused(
            "long-row-below-a-comment",
            "# note\n" + PLAIN + "1,2,3,4\n",
            r"row 25 \(line 27\): expected 3 fields",
            "--comment #",
        ),
        refused("trailing-delimiter", PLAIN.replace("\n", ",\n"), "name for column 4"),
        read("twice", PLAIN.replace("a,b", "a,a", 1), **{"a (2)": "category"}),
        refused("target-twice", PLAIN.replace("a,b", "y,b", 1), "one column 'y', got several"),
        refused("unnamed", PLAIN.replace("a,b", "a,", 1), "name for column 2"),
        refused(
            "no-names",
            PLAIN.split("\n", 1)[1]
            .replace("p", "1")
            .replace("q", "2")
            .replace("x", "3")
            .replace("z", "4"),
            "expected column names, got numbers",
        ),
        read(
            "row-names",
            rows(["", "a"], [f"r{i}" for i in range(N)], NUMBERS),
            **{"(row names)": "left out"},
        ),
        read(
            "row-numbers",
            rows(["Unnamed: 0", "a"], list(range(N)), NUMBERS),
            **{"Unnamed: 0": "left out"},
        ),
        read("quoted", rows(["a", "b"], NUMBERS, ['"x,1"', '"z ""q"""']), b=["x,1", 'z "q"']),
        read("quoted-lines", rows(["a", "b"], NUMBERS, ['"x\n1"', "z"]), b=["x\n1", "z"]),
        refused("open-quote", PLAIN + '1,"x\n', "quotation|fields"),
        read("padded", rows(["a", "b"], [f" {v} " for v in NUMBERS], [" x", "z "]), b=["x", "z"]),
        # numbers in disguise
        read("decimal-commas", rows(["a", "b"], COMMAS, ["x", "z"], mark=";")),
        read("decimal-commas-said", rows(["a", "b"], COMMAS, ["x", "z"], mark=";"), "--decimal ,"),
        read("german", ["1.234,50", "0,5", "12.000,25"], a=[1234.5, 0.5, 12000.25]),
        read("dollars", ['"$1,234.56"', "$0.50", "$7.00"], a=[1234.56, 0.5, 7.0]),
        read("euros", ["12,50 €", "3,00 €", "0,75 €"], a=[12.5, 3.0, 0.75]),
        read("percent", ["45%", "7%", "12.5%"], a=[45.0, 7.0, 12.5]),
        read("spaces", ["1 234", "22 000", "7"], a=[1234.0, 22000.0, 7.0]),
        refused("ambiguous", ["1,234", "2,500"], "comma a decimal mark"),
        read("decimal", ["1,234", "2,500"], "--decimal ,", a=[1.234, 2.5]),
        read("ambiguous-thousands", ["1,234", "2,500"], "--thousands ,", a=[1234.0, 2500.0]),
        read("ambiguous-category", ["1,234", "2,500"], "--role a=category", a="category"),
        read("sentinel", [1.5, -999, 3, 4, 5.5], a=[1.5, np.nan, 3.0]),
        read("sentinel-meant", [1.5, -999, 3, 4, 5.5], "--role a=number", a=[1.5, -999.0, 3.0]),
        refused(
            "stray-word",
            [*NUMBERS[:-1], "oops"],
            r"expected a number.*'oops'.*category",
            shell=r"row 24 \(line 25\), column 'a': .*--role a=category",
        ),
        read("stray-word-missing", [*NUMBERS[:-1], "oops"], "--na oops", a=NUMBERS[:-1]),
        read("codes", [4, 6, 8, "rotary"], a="category"),
        refused("too-large", [*NUMBERS[:-1], "1e999"], "row 2[34].*finite number"),
        read("underscores", ["1_000", "2_000"], a="category"),
        read(
            "texts-as-spreadsheets-are-told",
            rows(["a", "b"], NUMBERS, ['"=""02134"""', '"=""10001"""']),
            b=["02134", "10001"],
        ),
        # gaps
        read(
            "gaps",
            rows(["a", "b"], [1.5, "", "NA", "nan", "?", 2.5], ["x", "None", "z"]),
            a=[1.5, np.nan, np.nan, np.nan, np.nan, 2.5],
            b="category",
        ),
        refused(
            "gap-in-target",
            PLAIN + "1,x,\n",
            "row 25, column 'y'.*rows out",
            shell="--missing drop",
        ),
        refused(
            "gaps-refused",
            [1.5, "", 2.5],
            "row 2, column 'a'.*rows out",
            "--missing error",
            shell="--missing drop",
        ),
        read("all-gaps", rows(["a", "b"], NUMBERS, [""]), b="left out"),
        read("constant", rows(["a", "b"], NUMBERS, ["x"]), b="left out"),
        refused("nothing-but-constants", rows(["a", "b"], [1], ["x"]), "at least one column"),
        # other kinds
        read("dates", [f"2024-{m:02d}-11" for m in range(1, 13)], a="date"),
        read("times", [f"2024-01-11 {h:02d}:30:00" for h in range(N)], a="date"),
        read("german-dates", [f"{d:02d}.03.2024" for d in range(1, N + 1)], a="date"),
        read("american-dates", [f"3/{d}/2024" for d in range(1, N + 1)], a="date"),
        refused("ambiguous-dates", ["3/4/2024", "5/6/2024"], "day first.*date-dmy"),
        read("ambiguous-dates-said", ["3/4/2024", "5/6/2024"], "--role a=date-dmy", a="date"),
        read("flags", ["true", "false", "true"], a="boolean"),
        read("flags-with-gaps", ["True", "", "False"], a="boolean"),
        read(
            "identifiers", rows(["who", "a"], [f"k{i}" for i in range(N)], NUMBERS), who="left out"
        ),
        read(
            "id-numbers",
            rows(["customer_id", "a"], [7 * i + 3 for i in range(N)], NUMBERS),
            customer_id="left out",
        ),
        read(
            "texts",
            rows(["t", "a"], [f"the {i}th of many words" for i in range(N)], NUMBERS),
            t="text",
        ),
        read(
            "leading-zeros",
            rows(["zip", "a"], ["02134", "10001"], NUMBERS),
            "--role zip=category",
            zip=["02134", "10001"],
        ),
        refused("no-such-role", PLAIN, "--role COL=ROLE", "--role a=colour", status=2),
        refused("no-such-column", PLAIN, "expected a column 'aa'", "--role aa=number"),
        read(
            "escapes",
            rows(["a", "\x1b[31mred"], NUMBERS, ["x", "z"]),
            **{"\x1b[31mred": "category"},
        ),
        # other formats
        read(
            "parquet",
            parquet({"a": NUMBERS, "b": ["x", None, "z"] * 8, "y": Y * 12}),
            file="t.parquet",
            b="category",
        ),
        refused("parquet-nested", parquet({"a": [[1]] * 4, "y": Y * 2}), "list", file="t.parquet"),
        refused("parquet-damaged", b"PAR1 no PAR1", "expected parquet", file="t.parquet"),
        read("feather", feather({"a": NUMBERS, "y": Y * 12}), file="t.feather"),
        refused("feather-damaged", b"ARROW1 no", "expected feather", file="t.feather"),
        refused("xlsx-damaged", b"PK\x03\x04no", "expected an .xlsx file", file="t.xlsx"),
        refused("npy-objects", npy(np.array([{"a": 1}])), "pickle", file="t.npy"),
        refused(
            "npy-negative",
            npy_header("'<f8'", "(-2,-4)") + bytes(64),
            "expected an npy array",
            file="t.npy",
        ),
        refused("npy-huge", npy_header("'<f8'", "(9999999999,9)"), "expected 719,", file="t.npy"),
        refused("npy-nothing", npy_header("'<U0'", "(1000000000,)"), "empty array", file="t.npy"),
        refused(
            "npy-code",
            npy_header("__import__('os')", "(1,)"),
            "expected an npy array",
            file="t.npy",
        ),
        refused("npz-damaged", b"PK\x03\x04no", "expected an npz file", file="t.npz"),
        refused("npz-no-matrix", npz(u=np.ones(3)), "expected an array X", file="t.npz"),
        refused("svmlight-words", "1 1:0.5\n-1 2:x\n", "line 2: expected a number", file="t.svm"),
        refused("what-is-it", PLAIN, "Expected a file named like", file="t.doc"),
    ]


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
    gaps += ["N.A", "na.", "n. a.", "k. A.", "n.v.", "o. A.", "fehlt", "nicht bekannt", "n.c."]
    gaps += ["non renseigné", "non disponible", "ingen uppgift", "uppgift saknas", "no data", "TBC"]
    gaps += ["-----", "–––", "_", "??", "/", "**", "$ -", "- €", "€ –", "-%", "0000-00-00"]
    # the errors of workbooks in German, French and Swedish, of LibreOffice, and of C
    gaps += ["#NV", "#WERT!", "#BEZUG!", "#VALEUR!", "#SAKNAS!", "#VÄRDEFEL!", "#DIVISION/0!"]
    gaps += ["########", "#ERROR!", "Err:502", "1.#QNAN", "-1.#IND"]
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
        Column("days", ["1 day", "5 days", "12 days"], values=[1, 5, 12]),
        Column("Tage", ["5 Tage", "6,5 Tage", "12 Tage"], values=[5, 6.5, 12]),
        Column("weeks", ["1 week", "5 weeks", "12 Weeks"], values=[1, 5, 12]),
        Column("seconds", ["5s", "16s", "7.5s"], values=[5, 16, 7.5]),
        Column("Std.", ["5 Std.", "16 Std."], values=[5, 16]),
        Column("grams and kilos", ["500 g", "1.5 kg"], words="one unit"),
        Column("power", ["74 bhp", "103.52 bhp", "88 bhp"], values=[74, 103.52, 88]),
        Column("engines", ["1248 CC", "998 CC"], values=[1248, 998]),
        Column("rents", ["12,50 €/m²", "9,00 €/m²"], values=[12.5, 9]),
        Column("blood", ["93 mg/dL", "110 mg/dL", "-"], values=[93, 110, NAN]),
        Column("hours of flats", ["5h", "6h", "12h"], values=[5, 6, 12]),
        Column("stars of five", ["4.5/5", "3/5", "2.5/5"], values=[4.5, 3, 2.5]),
        Column("houses", ["12", "14", "12 A", "14 A"], "category"),
        Column("two words", ["5 apples", "6 pears", "7 apples"], "category"),
        Column("percent in words", ["5 percent", "6.5 percent"], values=[5, 6.5]),
        Column("tusen kronor", ["12 tkr", "3,5 tkr"], values=[12e3, 3.5e3]),
        Column("miljoner", ["12 MSEK", "3,5 MSEK"], values=[12e6, 3.5e6]),
        Column("TEUR", ["12,5 TEUR", "3 TEUR"], values=[12.5e3, 3e3]),
        Column("milliards", ["1,5 Md€", "3 Md€"], values=[1.5e9, 3e9]),
        Column("dollars in millions", ["$300m", "$1.2B", "$5K"], values=[300e6, 1.2e9, 5e3]),
        Column("Billion", ["1.5 Billion", "2 Million"], values=[1.5e9, 2e6]),
        Column("Lac", ["₹1.5 Lakh", "₹ 2 Lacs", "₹ 1 Crore"], values=[1.5e5, 2e5, 1e7]),
        Column("rupees only", ["₹ 1,50,000/-", "₹ 99/-"], values=[150000, 99]),
        Column("rupees of thousands", ["Rs. 1,500/-", "Rs. 99/-"], values=[1500, 99]),
        Column("dollars of thousands", ["$1,200", "$85"], values=[1200, 85]),
        Column("kronor of thousands", ["1.234:-", "99:-"], values=[1234, 99]),
        Column("euros of thousands", ["1.234 €", "99 €"], values=[1234, 99]),
        Column("accounting", ["$ 1,234.56", "$ -", "$ (12.00)"], values=[1234.56, NAN, -12]),
        # marks beside
        Column("footnotes", ["5.2*", "6.1", "7**", "8.5[1]", "9†"], values=[5.2, 6.1, 7, 8.5, 9]),
        Column("about", ["~5.5", "6.5", "≈ 7", "ca. 8"], values=[5.5, 6.5, 7, 8]),
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
        Column(
            "a sentinel among commas",
            ["1,5", "-999", "3,25", "4,5", "5,5"],
            values=[1.5, NAN, 3.25, 4.5, 5.5],
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
        Column("Uhr", ["14:30 Uhr", "8:05 Uhr"], values=[52200, 29100]),
        Column("heures", ["14h30", "8h05"], values=[52200, 29100]),
        Column("durations", ["36:30", "24:00", "8:15"], values=[131400, 86400, 29700]),
        Column(
            "durations of pandas",
            ["1 days 02:30:00", "0 days 00:00:03.700000", "-1 days +23:00:00"],
            values=[95400, 3.7, -3600],
        ),
        Column("durations of Python", ["1 day, 2:30:00", "3:30:00"], values=[95400, 12600]),
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
        Column(
            "German weekdays", ["Mo, 11.03.2024", "Di, 12.03.2024"], "date", [MARCH, MARCH + DAY]
        ),
        Column(
            "German clock",
            ["11.03.2024, 14:30 Uhr", "12.03.2024, 0:00 Uhr"],
            "date",
            [MARCH + 52200, MARCH + DAY],
        ),
        Column(
            "French ordinals",
            ["1er mars 2024", "lundi 11 mars 2024"],
            "date",
            [MARCH - 10 * DAY, MARCH],
        ),
        Column(
            "French unaccented", ["11 aout 2024", "3 fevrier 2024"], "date", [MARCH + 153 * DAY]
        ),
        Column(
            "French clock",
            ["11/03/2024 à 14h30", "25/03/2024 00h00"],
            "date",
            [MARCH + 52200, MARCH + 14 * DAY],
        ),
        Column(
            "Swedish den", ["den 11 mars 2024", "1 maj 2024"], "date", [MARCH, MARCH + 51 * DAY]
        ),
        Column(
            "Swedish clock",
            ["2024-03-11 kl. 14.30", "2024-03-12 00:00"],
            "date",
            [MARCH + 52200, MARCH + DAY],
        ),
        Column(
            "US ordinals", ["March 11th, 2024", "March 12th, 2024"], "date", [MARCH, MARCH + DAY]
        ),
        Column(
            "UK ordinals", ["11th March 2024", "12th of March 2024"], "date", [MARCH, MARCH + DAY]
        ),
        Column(
            "US weekdays",
            ["Monday, March 11, 2024", "Tuesday, March 12, 2024"],
            "date",
            [MARCH, MARCH + DAY],
        ),
        Column(
            "mail",
            ["Mon, 11 Mar 2024 14:30:00 GMT", "Tue, 12 Mar 2024 14:30:00 +0100"],
            "date",
            [MARCH + 52200, MARCH + DAY + 48600],
        ),
        Column(
            "named zones",
            ["2024-03-11 14:30:00 CET", "2024-03-12 14:30:00 EST"],
            "date",
            [MARCH + 48600, MARCH + DAY + 70200],
        ),
        Column(
            "months of years", ["2024-03", "2024-05"], "date", [MARCH - 10 * DAY, MARCH + 51 * DAY]
        ),
        Column("month, year", ["03/2024", "05/2024"], "date", [MARCH - 10 * DAY, MARCH + 51 * DAY]),
        Column("Mar-24", ["Mar-24", "May-24"], "date", [MARCH - 10 * DAY, MARCH + 51 * DAY]),
        Column(
            "März 2024", ["März 2024", "Mai 2024"], "date", [MARCH - 10 * DAY, MARCH + 51 * DAY]
        ),
        Column("seasons", ["2009-10", "2010-11", "2011-12", "2012-13"], "category"),
        Column("codes of two parts", ["1001-05", "1002-11", "1003-07"], "category"),
        Column("hashtags", ["#wow!", "#no"], "category", ["#wow!", "#no"]),
        Column("days without end", ["9" * 400 + " days 00:00", "1 day, 2:30:00"], "category"),
        Column("no months", ["Windows 98", "Windows 95", "Office 97"], "category"),
        Column("slashes", ["2024/03/11", "2024/03/12"], "date", [MARCH, MARCH + DAY]),
        Column("which day", ["3/4/2024", "5/6/2024"], words="day first"),
        Column(
            "a slip among dates",
            ["2024-03-11"] * 12 + ["2024-03-12"] * 8 + ["soon"],
            words="expected a date.*soon",
        ),
    ]
    return found
