"""Words in cells: missing ones, numbers and dates as people write them, and what each is worth."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

TRUTH = {"true": "1", "false": "0"}
# A missing cell in a column of any kind; a point behind it changes nothing.
MISSING = frozenset(
    "|na|n/a|n.a|k.a|nan|-nan|null|<null>|none|?|<na>|missing|nat|(blank)|\\n|#n/a|#na|#nv"
    "|#n/a n/a".split("|")
)
# The errors of spreadsheets, #VALUE! and #WERT! alike, of columns too narrow, and of C.
ERROR = re.compile(r"#[A-ZÀ-Þ/0_]+[!?]|#{3,}|Err:\d{3}|-?1\.#\w+")
# Among numbers and dates also these are missing; elsewhere they may be the name of a category.
UNKNOWN = frozenset(
    "unknown|not known|not available|not reported|not applicable|no data|undefined|nil|(null)|n.d"
    "|nd|n/d|tbd|tba|tbc|unk|0000-00-00|unbekannt|nicht bekannt|keine angabe|keine angaben"
    "|keine daten|n.v|fehlt|o.a|inconnu|non disponible|non renseigné|n.c|nc|s.d|okänd|saknas"
    "|uppgift saknas|ingen uppgift|i.u".split("|")
)

PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# Leading zeros, or more digits than a double holds: a code (postcode, account), not a number. Two
# digits, such as 07, may be a month or an hour and stay numbers.
CODE = re.compile(r"0\d{2,}|\d{16,}")
# Times of day, and durations as people, Python and pandas write them.
CLOCK = re.compile(
    r"(?:(-?\d{1,6}) days?,? \+?)?(\d{1,3})[:h]([0-5]\d)(?::([0-5]\d)(\.\d+)?)?"
    r"(?:\s*(?:([AaPp])\.?[Mm]\.?|Uhr))?"
)
BLANKS = " \u00a0\u202f\u2009"
APOSTROPHES = "'\u2019"
# Currencies that are letters, in any case.
CODES = (
    "USD EUR GBP CHF SEK NOK DKK ISK JPY INR CNY AUD CAD NZD SGD HKD KRW TWD THB PLN CZK HUF RON"
    " BGN RUB UAH TRY ILS AED BRL MXN ZAR kr"
).split()
CURRENCY = rf"US\$|A\$|C\$|R\$|[$€£¥₹₩₽₺₪₫฿₴₦]|(?i:{'|'.join(CODES)})\.?|Rs\.?|S?Fr\.|Kč|Ft|zł|lei"
CASES = {code.lower(): code for code in CODES}
# Whose commas group digits: the others are used with decimal commas too.
POINTED = {"$", "US$", "USD", "£", "GBP", "₹", "Rs", "INR", "¥", "JPY"}
# Units that a cell may have or lack; any other is one if every cell ends with it. One letter has a
# blank before it: 12h may be a house.
UNIT = (
    rf"{CURRENCY}|%|‰|°C|°F|°|kg|mg|µg|km/h|mph|m/s|km|cm|mm|m²|m2|m³|m3|sqft|sq ft|ft|ha|ml|cl|dl"
    r"|kWh|MWh|kW|MW|mA|Hz|kHz|MHz|GHz|kB|KB|MB|GB|TB|hPa|bar|mbar|lbs?|oz|hp|PS|hrs?|min|sec|ms"
    rf"|days?|years?|yrs?|Jahre|ans?|år|px|(?<=[{BLANKS}])[gtmlLWVhs]"
)
ENDING = re.compile(rf"[\s\d.,{APOSTROPHES}{BLANKS}+\-−–]*\d\s*((?:[^\W\d_]|[€$]).*|/\d{{1,3}})")
PLURAL = re.compile(r"(?<=[^\W\d_]{2})s?\.?$")
# What follows a number and multiplies it; one letter or two of them also beside a currency.
MAGNITUDE = {
    **dict.fromkeys(("k", "tsd", "thousand"), 1e3),
    **dict.fromkeys(("M", "mn", "mio", "million", "millions"), 1e6),
    **dict.fromkeys(("mrd", "bn", "billion", "billions"), 1e9),
    **dict.fromkeys(("lakh", "lakhs", "lac", "lacs"), 1e5),
    **dict.fromkeys(("crore", "crores", "cr"), 1e7),
}
OF_MONEY = {"t": 1e3, "k": 1e3, "m": 1e6, "md": 1e9, "b": 1e9}
_SIZES = "|".join(sorted((word for word in MAGNITUDE if len(word) > 1), key=len, reverse=True))
WRITTEN = re.compile(
    rf"(?:[~≈]|ca\.)?\s*"
    rf"(?P<open>\()?(?P<sign>[+\-−–]?)\s*(?P<before>{CURRENCY})?\s*(?P<open2>\()?"
    rf"(?P<sign2>[+\-−–]?)\s*(?P<core>[\d.,][\d.,'\u2019{BLANKS}]*(?:[eE][+-]?\d+)?)"
    rf"(?P<end>:-|,-{{1,2}}|,–|,—|/-)?\s*"
    rf"(?P<size>(?:[kKM]|(?i:(?:{_SIZES})\.?))(?![^\W\d_])|(?i:md|[tkm])(?={CURRENCY})"
    rf"|(?(before)(?i:[mb])(?![^\W\d_])|(?!)))?\s*"
    rf"(?P<after>{UNIT})?(?P<minus>[-−])?(?P<close>\))?"
    rf"\s*(?:[*†‡]+|[¹²³]|\[\w{{1,2}}\])?"  # a footnote
)
# Dashes and the like that stand for no number, with a currency or without.
NOTHING = re.compile(rf"(?:{CURRENCY})?\s*(?:[-–—−_]+|[.…:*?/]+)\s*(?:{CURRENCY}|%)?")
CLOCK_STYLE = "clock"
ORDERS = ("iso", "dmy", "mdy")  # of year, month and day


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
        return cls(text[0], text[1:2].replace("_", ""), _one(text[2:]))


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
    return _key(cell) in MISSING or ERROR.fullmatch(cell.strip()) is not None


def is_unknown(cell: str) -> bool:
    """Return whether a cell among numbers or dates says that its value is missing."""
    return _key(cell) in UNKNOWN or NOTHING.fullmatch(cell.strip()) is not None or is_missing(cell)


def _key(cell: str) -> str:
    """Return a word as the lists above have it: "k. A." as k.a."""
    word = cell.strip().lower().replace(". ", ".")
    return word.rstrip(".") or word


def _one(unit: str) -> str:
    """Return a unit as it is kept: "days" as day, "Kr." as kr."""
    unit = PLURAL.sub("", unit)
    return CASES.get(unit.lower(), unit)


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
    # 1.250,- and 1.250:- are round prices, in countries of decimal commas
    core += "," if (part["end"] or "").startswith((",", ":")) else ""
    if opened != (part["close"] is not None) or opened + len(signs) > 1 or len(units) > 1:
        return None
    if not any(c.isdigit() for c in core):
        return None
    if part["minus"] and core.endswith(","):  # 12,- is a price with a decimal comma
        signs.remove(part["minus"])
    negative = opened or (signs and signs[0] != "+")
    size = (part["size"] or "").rstrip(".")
    factor = MAGNITUDE.get(size) or MAGNITUDE.get(size.lower()) or OF_MONEY.get(size.lower(), 1.0)
    return Written(-1.0 if negative else 1.0, core, factor, _one(units[0]) if units else "")


def _with_ending(word: str, ending: str) -> Written | None:
    """Return the parts of a word that is a number with a given unit behind it, or None."""
    word, size = PLURAL.sub("", word.strip()), len(ending)
    digits = word[:-size].rstrip()
    if not ending or word[-size:].lower() != ending.lower() or not digits[-1:].isdigit():
        return None
    part = written(digits)
    return None if part is None or part.unit else part._replace(unit=ending)


def _parts(words: Iterable[str]) -> dict[str, Written | None]:
    """Return the parts of words: what all of them end with is a unit, known or not."""
    found = {word: written(word) for word in words}
    first = next(iter(found), "")
    if found.get(first) is None and (match := ENDING.fullmatch(first)) is not None:
        same = {word: _with_ending(word, _one(match.group(1))) for word in found}
        if all(part is not None and not CODE.fullmatch(part.core) for part in same.values()):
            return same
    return found


@lru_cache(maxsize=32)
def _form(decimal: str, thousands: str) -> re.Pattern[str]:
    """Return how digits look under a style: groups of three, in India of two before the last."""
    mark = {" ": f"[{BLANKS}]", "'": f"[{APOSTROPHES}]"}.get(thousands, re.escape(thousands))
    d = re.escape(decimal)
    whole = r"\d+"
    if thousands:
        whole = rf"[1-9]\d{{0,2}}(?:{mark}\d{{3}})+|[1-9]\d?(?:{mark}\d{{2}})+{mark}\d{{3}}|\d+"
    return re.compile(rf"(?:{whole})(?:{d}\d*)?(?:[eE][+-]?\d+)?|{d}\d+(?:[eE][+-]?\d+)?")


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
    """Return a time of day, or a duration, in seconds, or None."""
    match = CLOCK.fullmatch(word.strip())
    if match is None:
        return None
    days, hours, minutes, seconds, rest, half = match.groups()
    hour = int(hours)
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half in "pP" else 0)
    whole = 3600 * (24 * int(days or 0) + hour) + 60 * int(minutes) + int(seconds or 0)
    return whole + float(rest or 0)


def values_of(words: Iterable[str | None], style: str) -> dict[str | None, float | None]:
    """Return what every different word is worth: a number, or seconds (since 1970 for dates).

    NaN stands for a word that means that the value is missing, None for one that means nothing.
    """
    found: dict[str | None, float | None] = {None: float("nan")}
    marks = Style.of(style) if style not in (CLOCK_STYLE, *ORDERS) else Style()
    for word in words:
        if word is None or word in found:
            continue
        if style == CLOCK_STYLE:
            value = clock_of(word)
        elif style in ORDERS:
            value = _seconds(word, style)
        else:
            text = TRUTH.get(word.lower(), word)
            part = written(text) or _with_ending(text, marks.unit)
            other = part is not None and part.unit and marks.unit and part.unit != marks.unit
            value = None if part is None or other else _value(part, marks)
        found[word] = float("nan") if value is None and is_unknown(word) else value
    return found


class Reading(NamedTuple):
    """How the words of a column may be read: what `values_of` takes, and what it would not read."""

    kind: str  # "number", "date", or "" if the words are neither
    style: str
    odd: list[str]  # words that it cannot read
    ambiguous: bool = False
    units: tuple[str, ...] = ()


def reading_of(words: Sequence[str], decimal: str | None = None, kind: str = "") -> Reading:
    """Return how most of some different words are read as numbers or dates, or as one `kind`.

    ``0,6`` and ``1.234,50`` have decimal commas; ``$1,234.56`` groups digits by commas. Where every
    comma has three digits behind it (``1,234``) both readings are possible: `decimal`, the mark of
    the other columns, decides, or the currency.
    """
    if kind != "date" and words and all(clock_of(word) is not None for word in words):
        return Reading("number", CLOCK_STYLE, [])
    dates = Reading("", "", list(words)) if kind == "number" else _as_dates(words)
    if kind == "date" or not dates.odd:
        return dates
    numbers = _as_numbers(words, decimal)
    return dates if len(dates.odd) < len(numbers.odd) else numbers


def _as_numbers(words: Sequence[str], decimal: str | None) -> Reading:
    parts = _parts(words)
    numbers = {word: part for word, part in parts.items() if part is not None}
    odd = [word for word, part in parts.items() if part is None]
    if not numbers:
        return Reading("", "", odd)
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
        mark = decimal or _mark_of_money(units, numbers.values())
        wanted = [style for style in close if style.decimal == mark]
        if wanted:
            first = wanted[0]
        else:
            # points alone are plain numbers; commas alone may be either
            ambiguous = any("," in part.core for part in numbers.values())
    unit = units[0] if len(units) == 1 else ""
    style = str(first._replace(unit=unit))
    return Reading("number", style, odd + failures[first], ambiguous, units)


def _mark_of_money(units: tuple[str, ...], parts: Iterable[Written]) -> str | None:
    """Return the decimal mark of prices where three digits follow every mark, None if unclear.

    No price has three decimals: beside whole ones (99 €) such marks group the digits (1.234 €).
    """
    if not units or not all(re.fullmatch(CURRENCY, unit) for unit in units):
        return None
    if POINTED.issuperset(units):
        return "."
    marks = {c for part in parts for c in part.core if not c.isdigit()} or {""}
    whole = any(part.core.isdigit() for part in parts)
    return {".": ",", ",": "."}.get("".join(marks)) if whole else None


def decimal_of(words: Sequence[str]) -> str | None:
    """Return the decimal mark that words cannot do without, or None."""
    parts = [part for part in _parts(words).values() if part is not None]
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

# English, German, French, Swedish and Spanish, without accents; their first letters are enough.
_MONTHS = (
    "january januar janvier januari enero;february februar fevrier februari febrero;march marz mrz "
    "mars marzo maerz;april avril abril;may mai maj mayo;june juni juin junio;july juli juillet "
    "julio;august aout augusti agosto;september septembre septiembre;october oktober octobre "
    "octubre;november novembre noviembre;december dezember decembre diciembre"
)
MONTHS = {
    name[:n]: i + 1
    for i, names in reversed(list(enumerate(_MONTHS.split(";"))))
    for name in names.split()
    for n in range(3, len(name) + 1)
}
_ORDINAL = r"(?P<a>\d{1,2})(?:st|nd|rd|th|er|\.)?"
_NAME = r"(?P<name>[^\W\d_]{3,10})\.?"
# A day of the week or an article before a date is skipped: by its first two letters.
_BEFORE = (
    r"(?:(?:mo|tu|we|th|fr|sa|su|di|mi|do|so|lu|ma|me|je|ve|ti|on|to|må|lö|sö|le)[^\W\d_]*|den)"
)
_TIME = (
    r"(?:[ T,]+(?:(?:à|at|um|kl\.?) )?(?P<h>\d{1,2})[:.h](?P<mi>\d{2})"
    r"(?:[:.](?P<s>\d{2})(?P<f>[.,]\d+)?)?\s*(?:(?P<ap>[AaPp]\.?[Mm]\.?)|Uhr)?"
    r"\s*(?P<zone>[A-Z]{1,4}|[+-]\d{2}:?\d{2}|[+-]\d{2})?)?"
)
DATES = tuple(
    re.compile(rf"(?i:{_BEFORE}[.,]*\s+)?{form}{_TIME}")
    for form in (
        r"(?P<a>\d{4})(?P<mark>[-/.])(?P<b>\d{1,2})[-/.](?P<c>\d{1,2})",
        r"(?P<a>\d{1,2})(?P<mark>[-/.])(?P<b>\d{1,2})[-/.](?P<c>\d{4}|\d{2})",
        rf"{_ORDINAL}(?: of)?[ -]?{_NAME},?[ -]?(?P<c>\d{{4}}|\d{{2}})",
        rf"{_NAME} {_ORDINAL},? (?P<c>\d{{4}})",
        # months
        rf"{_NAME}[ -](?P<c>\d{{4}}|(?<=-)\d{{2}})",
        r"(?P<c>(?:1[89]|20)\d\d)[-/](?P<b>0[1-9]|1[0-2])",
        r"(?P<b>0[1-9]|1[0-2])/(?P<c>(?:1[89]|20)\d\d)",
    )
)
# Hours that the local times of some zones are ahead of UTC.
ZONES = {
    **{"Z": 0.0, "UTC": 0.0, "GMT": 0.0, "WET": 0.0, "BST": 1.0, "WEST": 1.0, "CET": 1.0},
    **{"MEZ": 1.0, "CEST": 2.0, "MESZ": 2.0, "EET": 2.0, "EEST": 3.0, "IST": 5.5, "EST": -5.0},
    **{"EDT": -4.0, "CST": -6.0, "CDT": -5.0, "MST": -7.0, "MDT": -6.0, "PST": -8.0, "PDT": -7.0},
}


@lru_cache(maxsize=200_000)
def _date_parts(word: str) -> tuple[int, dict[str, str | None]] | None:
    """Return which of `DATES` a word is, and its parts."""
    for kind, form in enumerate(DATES):
        match = form.fullmatch(word.strip())
        if match is not None:
            part = match.groupdict()
            name, zone = part.get("name"), part["zone"] or ""
            if (name and not _month(name)) or (zone.isalpha() and zone not in ZONES):
                return None
            return kind, part
    return None


def _month(name: str) -> int:
    """Return the number of a month, 0 if it is none."""
    plain = unicodedata.normalize("NFKD", name.lower()).encode("ascii", "ignore").decode()
    return MONTHS.get(plain, 0)


def _as_dates(words: Sequence[str]) -> Reading:
    found = {word: parts for word in words if (parts := _date_parts(word)) is not None}
    odd = [word for word in words if word not in found]
    kinds = {kind for kind, _ in found.values()}
    # 2009-10, 2010-11 are seasons
    seasons = all(
        k == 5 and (int(p["b"] or 0) - int(p["c"] or 0)) % 100 == 1 for k, p in found.values()
    )
    if seasons or {0, 1} <= kinds:
        return Reading("", "", list(words))
    if 1 not in kinds:
        return Reading("date", "iso" if 0 in kinds else "dmy", odd)
    numbered = [parts for kind, parts in found.values() if kind == 1]
    first = max(int(parts["a"] or 0) for parts in numbered)
    second = max(int(parts["b"] or 0) for parts in numbered)
    if first > 12 and second > 12:
        return Reading("", "", list(words))
    if any(parts["mark"] == "." for parts in numbered) or first > 12:
        return Reading("date", "dmy", odd)
    return Reading("date", "mdy", odd, ambiguous=second <= 12)


def _seconds(word: str, style: str) -> float | None:
    parsed = _date_parts(word)
    if parsed is None or ((parsed[0] == 0) != (style == "iso") and parsed[0] < 2):
        return None
    kind, part = parsed
    a, b, c = (part.get(name) for name in "abc")
    year, month, day = c, b, a
    if kind == 0:
        year, day = a, c
    elif kind == 1 and style == "mdy":
        month, day = a, b
    if part.get("name"):
        month = str(_month(part["name"] or ""))
    full = int(year or 0)
    if year is not None and len(year) == 2:
        full += 1900 if full > 68 else 2000  # as POSIX has it
    hour = int(part["h"] or 0)
    if part["ap"]:
        hour = hour % 12 + (12 if part["ap"][0] in "pP" else 0)
    text = f"{full:04d}-{int(month or 0):02d}-{int(day or 1):02d}T{hour:02d}:{part['mi'] or '00'}"
    try:
        stamp = np.datetime64(f"{text}:{part['s'] or '00'}", "s").astype(np.int64)
    except ValueError:
        return None
    rest = float((part["f"] or "0").replace(",", "."))
    zone = (part["zone"] or "Z").replace(":", "")
    away = 3600.0 * ZONES[zone] if zone in ZONES else 0.0
    if zone[0] in "+-":
        away = int(zone[0] + "1") * (3600.0 * int(zone[1:3]) + 60.0 * int(zone[3:] or 0))
    return float(stamp - away) + rest
