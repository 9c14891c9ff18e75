"""Words in cells: missing ones, numbers in disguise, dates; what a word is, and its value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from gramsmith.tables.streams import Array, short

TRUTH = {"true": "1", "false": "0"}
MISSING = frozenset(
    {"", "na", "n/a", "nan", "null", "none", "?", "-nan", "<na>", "#n/a", "missing", "nat"}
)
PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# digits with marks between them, perhaps with a currency or a percent sign
MARKED = re.compile(r"[+-]?\d[\d.,'\u2019 \u00a0\u202f]*\d|[+-]?\d")
SIGNS = re.compile(
    r"([+-]?)\s*(?:[$€£¥]|USD|EUR|GBP|CHF)?\s*([+-]?[\d.,].*?)\s*(?:[$€£¥%]|USD|EUR|GBP|CHF)?"
)
GROUPS = " '\u2019\u00a0\u202f"
DATE = {
    "iso": re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)?Z?"),
    "slashes": re.compile(r"(\d{1,2})[/.](\d{1,2})[/.](\d{4})([ T]\d{1,2}:\d{2}(:\d{2})?)?"),
}


class Style(NamedTuple):
    """How numbers are written: the decimal mark, and what groups the digits."""

    decimal: str = "."
    thousands: str = ""


def is_missing(cell: str) -> bool:
    """Return whether a cell says that its value is missing."""
    return cell.strip().lower() in MISSING


def _without_signs(word: str) -> str:
    match = SIGNS.fullmatch(word)
    return f"{match.group(1)}{match.group(2)}" if match else word


def number_of(word: str, style: Style) -> float | None:
    """Return the number that a word stands for, signs of currency and percent taken off."""
    bare = _without_signs(word.strip())
    if style.thousands:
        for mark in GROUPS if style.thousands in GROUPS else style.thousands:
            bare = bare.replace(mark, "")
    if style.decimal != ".":
        if "." in bare:
            return None
        bare = bare.replace(style.decimal, ".")
    return float(bare) if PLAIN.fullmatch(bare) else None


def plain_numbers(column: Array, style: Style) -> Array | None:
    """Return a column of words as numbers, or None if any is none."""
    known: dict[str | None, float] = {None: np.nan}
    for word in dict.fromkeys(column):
        if word is not None:
            found = number_of(word, style)
            if found is None:
                return None
            known[word] = found
    return np.array([known[word] for word in column], dtype=np.float64)


def word_rows(column: Array, style: Style) -> tuple[list[int], int | None]:
    """Return the rows of words in a column of numbers, which mean that the number is not known.

    The second is the first row with a number in another style, such as ``1,5`` among points: that
    one is known, and taking it as missing would lose it. Flags count as numbers.
    """
    odd = {
        word: bool(MARKED.fullmatch(_without_signs(word)))
        for word in dict.fromkeys(column)
        if word is not None and number_of(TRUTH.get(word.lower(), word), style) is None
    }
    rows = [i for i, word in enumerate(column) if word in odd]
    return rows, next((i for i in rows if odd[column[i]]), None)


def said_words(column: Array, rows: list[int]) -> str:
    """Return the words in some rows of a column, the first with its row."""
    more = f" and {len(rows) - 1:,} more like it" if len(rows) > 1 else ""
    return f"{short(column[rows[0]])} in row {rows[0]} (counted from 0){more}"


def stray_word(column: Array) -> int | None:
    """Return the first row of a word among numbers; None if the column is not mostly numbers.

    Few numbers that are often repeated, such as 3, 4, 6 and rotary, are the names of categories.
    """
    distinct = set(column) - {None}
    if not any(map(PLAIN.fullmatch, distinct)):
        return None
    counts = Counter(word for word in column if word is not None)
    odd = {word for word in counts if not PLAIN.fullmatch(word) and not MARKED.search(word)}
    total = sum(counts.values())
    numbers = sum(count for word, count in counts.items() if PLAIN.fullmatch(word))
    pointed = sum(n for word, n in counts.items() if "." in word and PLAIN.fullmatch(word))
    if 2 * pointed > numbers:
        # 7O.5 or 70.5kg among such numbers is a slip; 12a among whole ones may be a code
        odd |= {
            word
            for word in counts
            if not PLAIN.fullmatch(word) and not MARKED.fullmatch(_without_signs(word))
        }
    names = len(counts) <= 12 and 4 * len(counts) <= total
    if not odd or names or 2 * numbers <= total or len(odd) + numbers < 3:
        return None
    return next(i for i, word in enumerate(column) if word in odd)


def number_style(words: Iterable[str]) -> Style | str | None:
    """Return how a column of words writes numbers, "ambiguous", or None if they are words.

    ``0,6`` and ``1.234,50`` have decimal commas; ``$1,234.56`` groups digits by commas. Where every
    comma has three digits behind it (``1,234``) both readings are possible.
    """
    bare = []
    for word in words:
        inner = _without_signs(word)
        if not PLAIN.fullmatch(inner) and not MARKED.fullmatch(inner):
            return None
        bare.append(inner.lstrip("+-"))
    if not bare:
        return None
    if all(map(PLAIN.fullmatch, bare)):
        return Style()
    for group in GROUPS:
        if any(group in word for word in bare) and not _grouped(bare, group):
            return None
    spaces = any(group in word for word in bare for group in GROUPS)
    comma = [word for word in bare if "," in word]
    both = [word for word in comma if "." in word]
    if not comma:
        dotted = any(word.count(".") > 1 for word in bare)  # 1.234.567
        if dotted:
            return Style(",", ".") if _grouped(bare, ".") else None
        return Style(".", " ") if spaces else None
    if both:
        last = {"," if word.rfind(",") > word.rfind(".") else "." for word in both}
        if len(last) > 1:
            return None
        mark = last.pop()
        other = "." if mark == "," else ","
        sound = all(word.count(mark) <= 1 for word in bare) and _grouped(
            [word.partition(mark)[0] for word in bare], other
        )
        return Style(mark, other) if sound else None
    if any("." in word for word in bare):  # 1,234 beside 56.78
        return Style(".", ",") if _grouped([w.partition(".")[0] for w in bare], ",") else None
    if any(word.count(",") > 1 for word in bare):
        return Style(".", ",") if _grouped(bare, ",") else None
    if all(re.fullmatch(r"[1-9]\d{0,2},\d{3}", word) for word in comma):
        return "ambiguous"
    return Style(",", " " if spaces else "")


def _grouped(words: list[str], mark: str) -> bool:
    """Return whether a mark parts digits into groups of three."""
    form = re.compile(rf"\d{{1,3}}({re.escape(mark)}\d{{3}})*([.,]\d+)?|\d+([.,]\d+)?")
    return all(form.fullmatch(word) for word in words)


def date_style(words: Iterable[str]) -> str | None:
    """Return how dates are written: "iso", "dmy", "mdy", "ambiguous", or None if they are words."""
    words = list(words)
    if not words:
        return None
    if all(DATE["iso"].fullmatch(word) for word in words):
        return "iso"
    found = [DATE["slashes"].fullmatch(word) for word in words]
    if not all(found):
        return None
    first = max(int(match.group(1)) for match in found if match)
    second = max(int(match.group(2)) for match in found if match)
    if first > 12 and second > 12:
        return None
    if any("." in word for word in words) or first > 12:
        return "dmy"
    return "mdy" if second > 12 else "ambiguous"


def dates_of(column: Array, style: str) -> Array:
    """Return words as datetime64[us], NaT where they are missing or no date."""
    known: dict[str | None, np.datetime64] = {None: np.datetime64("NaT", "us")}
    for word in dict.fromkeys(column):
        if word is not None:
            known[word] = _date(word, style)
    return np.array([known[word] for word in column], dtype="datetime64[us]")


def _date(word: str, style: str) -> np.datetime64:
    match = DATE["iso" if style == "iso" else "slashes"].fullmatch(word)
    if match is None:
        return np.datetime64("NaT", "us")
    a, b, c, time = (match.group(i) for i in (1, 2, 3, 4))
    year, month, day = {"iso": (a, b, c), "dmy": (c, b, a), "mdy": (c, a, b)}[style]
    clock = "" if time is None else "T" + time[1:].rjust(5, "0")
    try:
        return np.datetime64(f"{year}-{int(month):02d}-{int(day):02d}{clock}", "us")
    except ValueError:
        return np.datetime64("NaT", "us")
