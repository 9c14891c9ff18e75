"""Porter's stemmer (1980), as published, and the words of a text with it.

A word is [C](VC)^m[V]: runs of consonants C and vowels V; m is its measure. Suffixes are removed in
five steps, under conditions on what remains.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

# Step -> (suffix, replacement); in each step only the longest suffix that fits counts.
STEP_2 = {
    **{"ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize"},
    **{"abli": "able", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous"},
    **{"ization": "ize", "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive"},
    **{"fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble"},
}
STEP_3 = {
    **{"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic"},
    **{"ful": "", "ness": ""},
}
STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion"),
    *("ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)


def _is_consonant(word: str, i: int) -> bool:
    letter = word[i]
    if letter in "aeiou":
        return False
    return letter != "y" or i == 0 or not _is_consonant(word, i - 1)


def measure(stem: str) -> int:
    """Return m, the number of changes from vowels to consonants.

    Examples
    --------
    >>> from papers.porter import measure
    >>> [measure(word) for word in ("tree", "trouble", "private")]
    [0, 1, 2]
    """
    shape = "".join("C" if _is_consonant(stem, i) else "V" for i in range(len(stem)))
    return len(re.findall("V+C", shape))


def _has_vowel(stem: str) -> bool:
    return any(not _is_consonant(stem, i) for i in range(len(stem)))


def _doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _is_consonant(word, len(word) - 1)


def _short(word: str) -> bool:
    """Consonant, vowel, consonant other than w, x, y at the end."""
    if len(word) < 3 or word[-1] in "wxy":
        return False
    i = len(word) - 1
    return _is_consonant(word, i) and not _is_consonant(word, i - 1) and _is_consonant(word, i - 2)


def _replace(
    word: str, suffixes: Iterable[tuple[str, str]], condition: Callable[[str], bool]
) -> str:
    for suffix, replacement in sorted(suffixes, key=lambda pair: -len(pair[0])):
        if word.endswith(suffix):
            stem = word[: len(word) - len(suffix)]
            return stem + replacement if condition(stem) else word
    return word


def _step_1(word: str) -> str:
    """Plurals and past participles."""
    word = _replace(
        word, (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")), lambda stem: True
    )
    if word.endswith("eed"):
        return word[:-1] if measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        stem = word.removesuffix(suffix)
        if stem != word and _has_vowel(stem):
            if stem.endswith(("at", "bl", "iz")):
                return stem + "e"
            if _doubled(stem) and stem[-1] not in "lsz":
                return stem[:-1]
            return stem + "e" if measure(stem) == 1 and _short(stem) else stem
    return word


def _step_4(stem: str, suffix: str) -> bool:
    return measure(stem) > 1 and (suffix != "ion" or stem.endswith(("s", "t")))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the stem of a word in lower case.

    Examples
    --------
    >>> from papers.porter import stem
    >>> [stem(word) for word in ("relational", "hopping", "oscillators", "sky")]
    ['relat', 'hop', 'oscil', 'sky']
    """
    if len(word) < 3:
        return word
    word = _step_1(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, STEP_2.items(), lambda rest: measure(rest) > 0)
    word = _replace(word, STEP_3.items(), lambda rest: measure(rest) > 0)
    for suffix in sorted(STEP_4, key=len, reverse=True):
        if word.endswith(suffix):
            rest = word[: len(word) - len(suffix)]
            word = rest if _step_4(rest, suffix) else word
            break
    if word.endswith("e"):
        m = measure(word[:-1])
        if m > 1 or (m == 1 and not _short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and measure(word[:-1]) > 1 else word


def words(text: str) -> list[str]:
    """Return the stems of a text: letters only, stop words left out.

    Examples
    --------
    >>> from papers.porter import words
    >>> words("The relations of 2 kernels, and their uses.")
    ['relat', 'kernel', 'us']
    """
    found = re.findall("[a-z]+", text.lower())
    return [stem(word) for word in found if word not in ENGLISH_STOP_WORDS]
