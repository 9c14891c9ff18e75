"""TextMap: texts of many values as few numbers, by the parts that they have in common.

A text is counted by its parts of 2 to 4 letters, hashed into a fixed number of places, weighed by
their rarity and brought to length one. The directions in which these vectors differ most (a
singular value decomposition, without the target) are what is kept, so that two texts are as near
as they are alike and one never seen before has a place too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from gramsmith.tables.streams import Array

PLACES = 2048
DIRECTIONS = 30


@dataclass(frozen=True)
class TextMap:
    """What is learned of columns of texts.

    Attributes
    ----------
    weights : array of shape (t, PLACES)
        The weight of every place, per column.
    components : array of shape (sum of counts, PLACES)
        Directions, one column's after the other's, scaled so that each column's block has the
        variance of one standardised number.
    counts : int array of shape (t,)
        How many directions belong to each column.
    """

    weights: Array
    components: Array
    counts: Array

    stored: ClassVar[dict[str, str]] = {
        "text_weights_": "array t f",
        "text_components_": "array s f",
        "text_counts_": "array t",
    }

    @classmethod
    def empty(cls) -> TextMap:
        """Return the map of no texts."""
        none = np.empty((0, PLACES))
        return cls(none, none, np.empty(0, dtype=np.int64))

    @classmethod
    def of(cls, encoder: Any) -> TextMap:
        """Return the map that an encoder has learned."""
        return cls(encoder.text_weights_, encoder.text_components_, encoder.text_counts_)

    def arrays(self) -> dict[str, Array]:
        """Return the map as fitted attributes of an encoder."""
        return dict(zip(self.stored, (self.weights, self.components, self.counts), strict=True))

    @classmethod
    def fit(cls, columns: list[Array]) -> TextMap:
        """Return the map of columns of texts, None where they are missing."""
        if not columns:
            return cls.empty()
        weights, components = [], []
        for words in columns:
            counts = _counts(words)
            seen = np.asarray((counts != 0).sum(axis=0)).ravel()
            weight = np.log((1.0 + len(words)) / (1.0 + seen)) + 1.0
            rows = normalize(counts @ sp.diags_array(weight))
            size = max(1, min(DIRECTIONS, len(set(words)) - 1))
            _, _, V = randomized_svd(rows, size, random_state=0)
            spread = float(np.sqrt((rows @ V.T).var(axis=0).sum()))
            weights.append(weight)
            components.append(V / (spread if spread > 0 else 1.0))
        return cls(
            np.array(weights),
            np.vstack(components),
            np.array([len(V) for V in components], dtype=np.int64),
        )

    def encode(self, columns: list[Array]) -> list[Array]:
        """Return one block of numbers per column."""
        stops = np.cumsum(self.counts)
        return [
            np.asarray(
                normalize(_counts(words) @ sp.diags_array(weight))
                @ self.components[stop - size : stop].T
            )
            for words, weight, stop, size in zip(
                columns, self.weights, stops, self.counts, strict=True
            )
        ]


def _counts(words: Array) -> Any:
    hashed = HashingVectorizer(
        analyzer="char_wb", ngram_range=(2, 4), n_features=PLACES, norm=None, alternate_sign=False
    )
    distinct, places = np.unique([w or "" for w in words], return_inverse=True)
    return sp.csr_array(hashed.transform(distinct.tolist()))[places]
