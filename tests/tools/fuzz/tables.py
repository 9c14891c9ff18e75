"""Files of every format that is read, damaged at random, and what becomes of them."""

from __future__ import annotations

import io
import resource
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np

from gramsmith.tables import DataError, Limits, TableEncoder, read_table
from tools.corpus_of_tables import cases
from tools.fuzz import Hanging, judged, limited

SECONDS = 20
SPARE = 1 << 30  # bytes of addresses that reading a small file may take beside those in use
LIMITS = Limits(bytes=50_000_000)

TOKENS = [b'"', b'""', b"'", b"\r", b"\n", b"\r\n", b"\0", b",", b";", b"\t", b"|", b"\\", b"#"]
TOKENS += [b"1e999", b"-1e999", b"nan", b"inf", b"9" * 400, b"0x1p3", b"1_000", b"1,5", b"1.234,5"]
TOKENS += [b"\xef\xbb\xbf", b"\xff\xfe", b"\xc3", b"\x1b[2J", b"=cmd()", b"NA", b"-999", b"45%"]
TOKENS += ["٣".encode(), "é".encode(), b"2020-02-30", b"$1,234.56", b" " * 200, b">", b"1:1"]
TOKENS += [b"qid:"]

FASTA = b"".join(b">s%d a\nACGTACGTAC\nGGTT\n" % i for i in range(12))
SVM = b"".join(b"%d 1:%.2f 3:%.2f\n" % (i % 2, i / 7, -i / 3) for i in range(12))


def _sheet() -> bytes | None:
    """Return a workbook, None where nothing here writes one."""
    try:
        import openpyxl
    except ImportError:
        return None
    book = openpyxl.Workbook()
    for row in [["a", "b", "y"], *([i / 4, "xz"[i % 2], "pq"[i % 2]] for i in range(20))]:
        book.active.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


@cache
def seeds() -> list[tuple[str, bytes]]:
    """Return names and bytes of files to damage."""
    found = [(case.file, case.bytes) for case in cases() if len(case.bytes) < 200_000]
    found += [("t.fasta", FASTA), ("t.svm", SVM)] * 4
    sheet = _sheet()
    return found if sheet is None else found + [("t.xlsx", sheet)] * 4


def mutant(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a damaged copy: bytes, tokens, pieces moved, repeated or cut off."""
    made = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        size = len(made)
        a, b = sorted(rng.integers(0, size + 1, size=2))
        way = rng.integers(6)
        if way == 0 and size:
            for place in rng.integers(0, size, size=rng.integers(1, 6)):
                made[place] = rng.integers(256)
        elif way == 1:
            made[a:a] = TOKENS[rng.integers(len(TOKENS))]
        elif way == 2:
            made[a:b] = TOKENS[rng.integers(len(TOKENS))]
        elif way == 3:
            del made[a:b]
        elif way == 4 and b - a < 50_000:
            made[b:b] = made[a:b]
        else:
            del made[b:]
    return bytes(made)


def outcome(name: str, data: bytes, folder: Path) -> str:
    """Return "read", "refused" or a defect that begins with "!"."""
    path = folder / name
    path.write_bytes(data)
    matrix = path.suffix in (".npy", ".npz", ".svm", ".fasta")
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + SPARE, before[1]))
    try:
        with limited(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = read_table(path, target=None if matrix else "y", limits=LIMITS)
            if table.samples is None:
                TableEncoder().fit(table.inputs())
    except DataError as error:
        text = str(error)
        if "\x1b" in text or "\0" in text:
            return f"! a message with control characters: {text[:200]!r}"
        return "refused" if len(text) < 3000 else f"! a refusal of {len(text)} characters"
    except Hanging:
        return "! hangs"
    except MemoryError:
        return "! more memory than a small file is worth"
    except Exception as error:
        return judged(error)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    return "read"


def piece(rng: np.random.Generator) -> tuple[str, str]:
    """Return a file's name and what became of it, damaged."""
    name, data = seeds()[rng.integers(len(seeds()))]
    with tempfile.TemporaryDirectory() as folder:
        return name, outcome(name, mutant(data, rng), Path(folder))
