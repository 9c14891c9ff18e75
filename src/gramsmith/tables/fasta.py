"""Sequences from FASTA files, plain or gzipped, one at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gramsmith.tables.streams import DataError, Limits, open_capped, text_lines

# Letters of nucleotides and amino acids, and the marks for a stop and for gaps of an alignment.
WRONG = re.compile(r"[^A-Za-z*.\-]")


class FastaRecord(NamedTuple):
    """One sequence of a FASTA file, with the first word of its header and the rest of it."""

    identifier: str
    sequence: str
    description: str = ""


def read_fasta(path: str | Path, max_bytes: int | None = None) -> Iterator[FastaRecord]:
    r"""Yield the records of a FASTA file, plain or gzipped, without holding the file in memory.

    Parameters
    ----------
    path : str or Path
        The file; whether it is gzipped is seen from its first bytes.
    max_bytes : int, optional
        How many bytes may come out of the file, after decompression. Default: 2 GiB.

    Yields
    ------
    FastaRecord
        Tuples (identifier, sequence, description), in the order of the file.

    Raises
    ------
    ValueError
        If the file is malformed; the message names the line. Or if it is larger than `max_bytes`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import gramsmith as gs
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "sites.fa")
    ...     written = path.write_text(">site1 an acceptor\nACGT\nGGTA\n>site2\nTTAG\n")
    ...     names, sequences, _ = zip(*gs.read_fasta(path))
    >>> sequences
    ('ACGTGGTA', 'TTAG')
    """
    path = Path(path)
    limits = Limits() if max_bytes is None else Limits(bytes=max_bytes)
    header: str | None = None
    at = 0
    parts: list[str] = []
    with open_capped(path, limits) as stream:
        for number, raw in enumerate(text_lines(stream, path.name), 1):
            line = raw.strip()
            if not line or line.startswith(";"):
                continue
            if line.startswith(">"):
                if header is not None:
                    yield _record(header, parts, path.name, at)
                header, at, parts = line[1:].strip(), number, []
                if not header:
                    raise DataError(
                        f"{path.name}, line {number}: expected a name after '>', got none. "
                        "Give every sequence a name."
                    )
            elif header is None:
                raise DataError(
                    f"{path.name}, line {number}: expected a header that starts with '>', got "
                    f"{line[:30]!r}. Is this a FASTA file?"
                )
            else:
                parts.append(_checked(line, path.name, number))
    if header is None:
        raise DataError(f"{path.name}: expected FASTA records, got none. Is the file empty?")
    yield _record(header, parts, path.name, at)


def _checked(line: str, where: str, number: int) -> str:
    joined = "".join(line.split())
    wrong = WRONG.search(joined)
    if wrong:
        raise DataError(
            f"{where}, line {number}: expected letters, '*', '-' or '.' in a sequence, got "
            f"{wrong.group()!r} at position {wrong.start() + 1}. Is this a FASTA file?"
        )
    return joined


def _record(header: str, parts: list[str], where: str, at: int) -> FastaRecord:
    if not parts:
        raise DataError(
            f"{where}, line {at}: expected a sequence below the header {header[:30]!r}, got none. "
            "Remove the record, or add its sequence."
        )
    identifier, _, description = header.partition(" ")
    return FastaRecord(identifier, "".join(parts), description.strip())
