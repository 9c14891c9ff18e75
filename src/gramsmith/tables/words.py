"""Words in cells: missing ones, numbers and dates as people write them, and what each is worth."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gramsmith.tables.streams import Array

TRUTH = {"true": "1", "false": "0"}
# A missing cell in a column of any kind.
MISSING = frozenset(
    {
        *("", "na", "n/a", "n.a.", "k.a.", "nan", "-nan", "null", "<null>", "none", "?", "<na>"),
        *("missing", "nat", "(blank)", "\\n", "#n/a", "#na", "#value!", "#div/0!", "#ref!"),
        *("#name?", "#num!", "#null!", "#n/a n/a"),
    }
)
# Among numbers and dates also these are missing; elsewhere they may be the name of a category.
UNKNOWN = frozenset(
    {
        *("-", "--", "---", "–", "—", ".", "..", "...", "…", ":", "*", "unknown", "nil", "n.d."),
        *("nd", "n/d", "s.d.", "tbd", "tba", "unbekannt", "keine angabe", "inconnu", "okänd"),
        *("saknas", "not available", "not reported", "not applicable", "undefined", "(null)"),
    }
)

PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# Leading zeros, or more digits than a double holds: a code (postcode, account), not a number. Two
# digits, such as 07, may be a month or an hour and stay numbers.
CODE = re.compile(r"0\d{2,}|\d{16,}")
CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(\.\d+)?)?(?:\s*([AaPp])\.?[Mm]\.?)?")
BLANKS = " \u00a0\u202f\u2009"
# Currencies that are letters, in any case.
CODES = (
    "USD EUR GBP CHF SEK NOK DKK ISK JPY INR CNY AUD CAD NZD SGD HKD KRW TWD THB PLN CZK HUF RON"
    " BGN RUB UAH TRY ILS AED BRL MXN ZAR kr"
).split()
CURRENCY = rf"US\$|A\$|C\$|R\$|[$€£¥₹₩₽₺₪₫฿₴₦]|(?i:{'|'.join(CODES)})\.?|Rs\.?|S?Fr\.|Kč|Ft|zł|lei"
SPELLINGS = {code.lower(): code for code in CODES}
# A unit of one letter has a blank before it: 12A may be a seat or a house.
UNIT = (
    rf"{CURRENCY}|%|‰|°C|°F|°|kg|mg|µg|km/h|mph|m/s|km|cm|mm|m²|m2|m³|m3|sqft|sq ft|ft|ha|ml|cl|dl"
    r"|kWh|MWh|kW|MW|mA|Hz|kHz|MHz|GHz|kB|KB|MB|GB|TB|hPa|bar|mbar|lbs?|oz|hp|PS|hrs?|min|sec|ms"
    r"|days?|years?|yrs?|Jahre|ans|år|px|(?<=[ \u00a0\u202f])[gtmlLWVAhs]"
)
# what follows a number and multiplies it
MAGNITUDE = {
    **{"k": 1e3, "K": 1e3, "Tsd": 1e3, "Tsd.": 1e3, "M": 1e6, "mn": 1e6, "Mio": 1e6, "Mio.": 1e6},
    **{"million": 1e6, "millions": 1e6, "Mrd": 1e9, "Mrd.": 1e9, "bn": 1e9},
    **{"billion": 1e9, "lakh": 1e5, "lakhs": 1e5, "crore": 1e7, "crores": 1e7},
    **{"Cr": 1e7, "cr": 1e7},
}
_SIZES = "|".join(re.escape(word) for word in sorted(MAGNITUDE, key=len, reverse=True))
WRITTEN = re.compile(
    rf"(?P<open>\()?(?P<sign>[+\-−–]?)\s*(?P<before>{CURRENCY})?\s*(?P<open2>\()?"
    rf"(?P<sign2>[+\-−–]?)\s*(?P<core>[\d.,][\d.,'\u2019{BLANKS}]*(?:[eE][+-]?\d+)?)"
    rf"(?P<end>:-|,-{{1,2}}|,–|,—)?\s*(?P<size>(?:{_SIZES})(?![A-Za-z]))?\s*"
    rf"(?P<after>{UNIT})?(?P<minus>[-−])?(?P<close>\))?"
)
APOSTROPHES = "'\u2019"


class Style(NamedTuple):
    """How numbers are written: the decimal mark, what groups the digits, and the unit."""

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    def __str__(self) -> str:
        """Return the style as a model keeps it; nothing for plain numbers."""
        if self == Style():
            return ""
        return self.decimal + (self.thousands or ("_" if self.unit else "")) + self.unit

    @classmethod
    def of(cls, text: str) -> Style:
        """Return the style that a text stands for."""
        if not text:
            return cls()
        return cls(text[0], text[1:2].replace("_", ""), text[2:])


# From the plainest to the rarest; `" "` stands for all blanks, `"'"` for all apostrophes.
STYLES = tuple(Style(d, t) for t in ("", ",", ".", " ", "'") for d in ".," if d != t)


class Written(NamedTuple):
    """A number as it was written: sign, digits with their marks, its factor and its unit."""

    sign: float
    core: str
    factor: float
    unit: str


def is_missing(cell: str) -> bool:
    """Return whether a cell says that its value is missing, whatever its column is."""
    return cell.strip().lower() in MISSING


def is_unknown(cell: str) -> bool:
    """Return whether a cell among numbers or dates says that its value is missing."""
    lower = cell.strip().lower()
    return lower in UNKNOWN or lower in MISSING


@lru_cache(maxsize=200_000)
def written(word: str) -> Written | None:
    """Return the parts of a word that is a number with its sign, currency and unit, or None."""
    match = WRITTEN.fullmatch(word.strip())
    if match is None:
        return None
    part = match.groupdict()
    opened = (part["open"] is not None) + (part["open2"] is not None)
    signs = [s for s in (part["sign"], part["sign2"], part["minus"]) if s]
    units = [u for u in (part["before"], part["after"]) if u]
    core = part["core"].rstrip(BLANKS)
    core += "," if (part["end"] or "").startswith(",") else ""  # 1.250,- has a decimal comma
    if opened != (part["close"] is not None) or opened + len(signs) > 1 or len(units) > 1:
        return None
    if not any(c.isdigit() for c in core):
        return None
    if part["minus"] and core.endswith(","):  # 12,- is a price with a decimal comma
        signs.remove(part["minus"])
    negative = opened or (signs and signs[0] != "+")
    unit = units[0].rstrip(".") if units else ""
    unit = SPELLINGS.get(unit.lower(), unit)
    return Written(-1.0 if negative else 1.0, core, MAGNITUDE.get(part["size"], 1.0), unit)


@lru_cache(maxsize=32)
def _form(decimal: str, thousands: str) -> re.Pattern[str]:
    """Return how digits look under a style: groups of three, in India of two before the last."""
    mark = {" ": f"[{BLANKS}]", "'": f"[{APOSTROPHES}]"}.get(thousands, re.escape(thousands))
    d = re.escape(decimal)
    whole = r"\d+"
    if thousands:
        whole = rf"[1-9]\d{{0,2}}(?:{mark}\d{{3}})+|[1-9]\d?(?:{mark}\d{{2}})+{mark}\d{{3}}|\d+"
    return re.compile(rf"(?:{whole})(?:{d}\d*)?(?:[eE][+-]?\d+)?|{d}\d+(?:[eE][+-]?\d+)?")


def number_of(word: str, style: Style) -> float | None:
    """Return the number that a word stands for, or None if it is none, or one in another unit."""
    found = written(word)
    if found is None or (found.unit and style.unit and found.unit != style.unit):
        return None
    return _value(found, style)


def _value(found: Written, style: Style) -> float | None:
    if not _form(style.decimal, style.thousands).fullmatch(found.core):
        return None
    core = found.core
    if style.thousands:
        marks = {" ": BLANKS, "'": APOSTROPHES}.get(style.thousands, style.thousands)
        for mark in marks:
            core = core.replace(mark, "")
    return found.sign * float(core.replace(style.decimal, ".")) * found.factor


def clock_of(word: str) -> float | None:
    """Return a time of day in seconds, or None."""
    match = CLOCK.fullmatch(word.strip())
    if match is None:
        return None
    hours, minutes, seconds, rest, half = match.groups()
    hour = int(hours)
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half in "pP" else 0)
    return 3600.0 * hour + 60.0 * int(minutes) + int(seconds or 0) + float(rest or 0)


def numbers_of(words: Iterable[str | None], style: str) -> dict[str, float | None]:
    """Return the number of every different word, NaN for those that mean that it is missing."""
    marks = Style.of(style)
    found: dict[str, float | None] = {}
    for word in words:
        if word is None or word in found:
            continue
        if style == "clock":
            found[word] = clock_of(word)
        else:
            found[word] = number_of(TRUTH.get(word.lower(), word), marks)
        if found[word] is None and is_unknown(word):
            found[word] = float("nan")
    return found


class Reading(NamedTuple):
    """How the words of a column may be read as numbers."""

    style: Style | None  # in which all can be read, or most of them
    odd: list[str]  # words that it cannot read
    ambiguous: bool = False
    units: tuple[str, ...] = ()


def reading_of(words: Sequence[str], decimal: str | None = None) -> Reading:
    """Return the style in which most of some different words are numbers.

    ``0,6`` and ``1.234,50`` have decimal commas; ``$1,234.56`` groups digits by commas. Where every
    comma has three digits behind it (``1,234``) both readings are possible: `decimal`, the mark of
    the other columns, decides.
    """
    parts = {word: written(word) for word in words}
    numbers = {word: part for word, part in parts.items() if part is not None}
    odd = [word for word, part in parts.items() if part is None]
    if not numbers:
        return Reading(None, odd)
    units = tuple(sorted({part.unit for part in numbers.values() if part.unit}))
    # a few hundred words show which styles can be meant; all words decide among these
    sample = list(numbers.values())[:: max(1, len(numbers) // 500)]
    scores = {style: sum(_value(p, style) is not None for p in sample) for style in STYLES}
    best = max(scores.values())
    close = [style for style in STYLES if scores[style] == best]
    read = {style: {w: _value(p, style) for w, p in numbers.items()} for style in close}
    failures = {style: [w for w, v in read[style].items() if v is None] for style in close}
    least = min(map(len, failures.values()))
    close = [style for style in close if len(failures[style]) == least]
    first = close[0]
    ambiguous = False
    others = [style for style in close[1:] if read[style] != read[first]]
    if others:
        wanted = [style for style in close if style.decimal == decimal]
        if wanted:
            first = wanted[0]
        else:
            # points alone are plain numbers; commas alone may be either
            ambiguous = any("," in part.core for part in numbers.values())
    unit = units[0] if len(units) == 1 else ""
    return Reading(first._replace(unit=unit), odd + failures[first], ambiguous, units)


def decimal_of(words: Sequence[str]) -> str | None:
    """Return the decimal mark that words cannot do without, or None."""
    parts = [part for part in map(written, words) if part is not None]
    if 10 * len(parts) < 9 * len(words) or not parts:
        return None
    can = {
        mark
        for mark in ".,"
        for style in STYLES
        if style.decimal == mark and all(_value(part, style) is not None for part in parts)
    }
    return can.pop() if len(can) == 1 else None


# ---- dates --------------------------------------------------------------------------------------

# The first three letters tell the months in English, German, French and Swedish, but for these.
_MONTHS = (
    "jan,janv,ene feb,fév,fevr mar,mär,mrz apr,avr may,mai,maj jun,juin jul,juil aug,aoû,aou sep "
    "oct,okt nov dec,dez,déc"
)
MONTHS = {name: i + 1 for i, names in enumerate(_MONTHS.split()) for name in names.split(",")}
_TIME = (
    r"(?:[ T,]+(?P<h>\d{1,2}):(?P<mi>\d{2})(?::(?P<s>\d{2})(?P<f>[.,]\d+)?)?\s*"
    r"(?P<ap>[AaPp]\.?[Mm]\.?)?\s*(?P<zone>Z|UTC|[+-]\d{2}:?\d{2}|[+-]\d{2})?)?"
)
DATES = tuple(
    re.compile(form + _TIME)
    for form in (
        r"(?P<a>\d{4})(?P<mark>[-/.])(?P<b>\d{1,2})[-/.](?P<c>\d{1,2})",
        r"(?P<a>\d{1,2})(?P<mark>[-/.])(?P<b>\d{1,2})[-/.](?P<c>\d{4}|\d{2})",
        r"(?P<a>\d{1,2})\.?[ -](?P<name>[^\W\d_]{3,9})\.?,?[ -](?P<c>\d{4}|\d{2})",
        r"(?P<name>[^\W\d_]{3,9})\.? (?P<a>\d{1,2}),? (?P<c>\d{4})",
    )
)
ORDERS = ("iso", "dmy", "mdy")


@lru_cache(maxsize=200_000)
def _date_parts(word: str) -> tuple[int, dict[str, str | None]] | None:
    for kind, form in enumerate(DATES):
        match = form.fullmatch(word.strip())
        if match is not None:
            return kind, match.groupdict()
    return None


def date_style(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return how dates are written, and the words that are none.

    "iso", "dmy", "mdy", "ambiguous", or None if no word is a date.
    """
    found = {word: parts for word in words if (parts := _date_parts(word)) is not None}
    odd = [word for word in words if word not in found]
    kinds = {kind for kind, _ in found.values()}
    if not found or len(kinds - {2, 3}) > 1:
        return None, list(words)
    if 1 not in kinds:
        return "iso" if 0 in kinds else "dmy", odd
    numbered = [parts for kind, parts in found.values() if kind == 1]
    first = max(int(parts["a"] or 0) for parts in numbered)
    second = max(int(parts["b"] or 0) for parts in numbered)
    if first > 12 and second > 12:
        return None, list(words)
    if any(parts["mark"] == "." for parts in numbered) or first > 12:
        return "dmy", odd
    return "mdy" if second > 12 else "ambiguous", odd


def dates_of(words: Iterable[str | None], style: str) -> dict[str | None, float]:
    """Return the seconds since 1970 (UTC) of every different word, NaN where there is no date."""
    found: dict[str | None, float] = {None: float("nan")}
    for word in words:
        if word is not None and word not in found:
            found[word] = _seconds(word, style)
    return found


def _seconds(word: str, style: str) -> float:
    parsed = _date_parts(word)
    if parsed is None or ((parsed[0] == 0) != (style == "iso") and parsed[0] < 2):
        return float("nan")
    kind, part = parsed
    a, b, c = part["a"], part.get("b"), part["c"]
    if kind == 0:
        year, month, day = a, b, c
    elif kind == 1:
        year, month, day = (c, b, a) if style == "dmy" else (c, a, b)
    else:
        name = (part["name"] or "").lower()
        number = MONTHS.get(name[:4], MONTHS.get(name[:3]))
        year, month, day = c, str(number or 0), a
    full = int(year or 0)
    if year is not None and len(year) == 2:
        full += 1900 if full > 68 else 2000  # as POSIX has it
    hour = int(part["h"] or 0)
    if part["ap"]:
        hour = hour % 12 + (12 if part["ap"][0] in "pP" else 0)
    text = f"{full:04d}-{int(month or 0):02d}-{int(day or 0):02d}T{hour:02d}:{part['mi'] or '00'}"
    try:
        stamp = np.datetime64(f"{text}:{part['s'] or '00'}", "s").astype(np.int64)
    except ValueError:
        return float("nan")
    rest = float((part["f"] or "0").replace(",", "."))
    zone = (part["zone"] or "").replace(":", "")
    away = 0
    if zone[:1] in ("+", "-"):
        away = int(zone[0] + "1") * (3600 * int(zone[1:3]) + 60 * int(zone[3:] or 0))
    return float(stamp - away) + rest


def mapped(words: Array, values: dict[str | None, float]) -> Array:
    """Return the value of every word of a column as floats."""
    return np.array([values[word] for word in words], dtype=np.float64)
