"""What was read of sequences: lengths, alphabet, and substrings by which classes differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

Array = npt.NDArray[Any]

LENGTHS = (3, 4, 5, 6)  # of the substrings: shorter ones are in all sequences, longer ones rare
SYMBOLS = 200_000  # of all sequences in which substrings are counted: half a second
SHOWN = 6  # substrings
LEVEL = 0.01  # of a test of one substring, divided by their number (Bonferroni)
OVERLAP = 3  # symbols in common by which a substring is taken for a part of another


@dataclass(frozen=True)
class Motif:
    """A substring that more sequences of one class have than of the others."""

    text: str
    of: str  # the class
    share: float  # of the sequences of the class that have it
    others: float  # of the other sequences


@dataclass(frozen=True)
class SequenceReading:
    """Lengths and alphabet of sequences, and the motifs by which classes differ."""

    shortest: int
    middle: int  # the median length
    longest: int
    alphabet: str  # the symbols, the most frequent first
    motifs: list[Motif] = field(default_factory=list)  # none for values and labels


def sequences_of(
    X: Any, rows: Array, y: Array | None, classes: Sequence[str]
) -> SequenceReading | None:
    """Return what there is to know of some rows of strings, or None where X is something else."""
    if not isinstance(X, list) or not all(isinstance(x, str) for x in X) or not len(rows):
        return None
    some = [X[i] for i in rows]
    lengths = np.array([len(x) for x in some])
    symbols: Counter[str] = Counter()
    for x in some:
        symbols.update(x)
    return SequenceReading(
        int(lengths.min()),
        int(np.median(lengths)),
        int(lengths.max()),
        "".join(symbol for symbol, _ in symbols.most_common()),
        [] if y is None else motifs_of(some, y[rows], classes),
    )


def motifs_of(strings: Sequence[str], y: Array, classes: Sequence[str]) -> list[Motif]:
    """Return substrings that are clearly more frequent in one class than in the others.

    Of substrings that share three symbols only the one by which classes differ most is returned.
    """
    ends = np.cumsum([len(x) for x in strings])
    order = np.random.default_rng(0).permutation(len(strings))
    if ends[-1] > SYMBOLS:
        order = order[np.cumsum([len(strings[i]) for i in order]) <= SYMBOLS]
    y = y[order]
    sizes = np.bincount(y, minlength=len(classes)).astype(float)
    counts: dict[str, Array] = {}
    for i, c in zip(order, y, strict=True):
        x = strings[i]
        for part in {x[j : j + k] for k in LENGTHS for j in range(len(x) - k + 1)}:
            counts.setdefault(part, np.zeros(len(classes)))[c] += 1.0
    if not counts or len(order) == 0:
        return []
    parts, table = list(counts), np.array(list(counts.values()))
    rest, others = len(order) - sizes, table.sum(axis=1, keepdims=True) - table
    with np.errstate(divide="ignore", invalid="ignore"):
        share, elsewhere = table / sizes, others / rest
        pooled = table.sum(axis=1, keepdims=True) / len(order)
        error = np.sqrt(pooled * (1.0 - pooled) * (1.0 / sizes + 1.0 / rest))
        z = np.nan_to_num((share - elsewhere) / error, nan=0.0, posinf=0.0, neginf=0.0)
    least = norm.isf(LEVEL / z.size)
    motifs: list[Motif] = []
    # of substrings that differ as much the longest
    size = np.repeat([[len(part)] for part in parts], len(classes), axis=1)
    for place in np.lexsort((-size.ravel(), -z.round(6).ravel())):
        k, c = np.unravel_index(place, z.shape)
        if z[k, c] < least or len(motifs) == SHOWN:
            break
        if not any(_overlap(parts[k], motif.text) for motif in motifs):
            shares = float(share[k, c]), float(elsewhere[k, c])
            motifs.append(Motif(parts[k], classes[c], *shares))
    return motifs


def _overlap(a: str, b: str) -> bool:
    return any(a[j : j + OVERLAP] in b for j in range(len(a) - OVERLAP + 1))
