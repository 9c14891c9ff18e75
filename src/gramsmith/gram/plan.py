"""Plan: which tiles of the upper triangle there are, and in which bands they are worked off."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config

from gramsmith.arguments import abridged, is_positive
from gramsmith.cached import cached_property
from gramsmith.kernels.compilation import worthwhile

Array = npt.NDArray[Any]

MIB = 1 << 20

# Rows of a block: few and large tiles, since threads hand over the interpreter lock in each, but
# not much larger than the cache.
ROWS = {np.dtype(np.float64): 512, np.dtype(np.float32): 715}
FEWEST = 4  # blocks of medium data sets, so that threads share the tiles evenly
SMALLEST = 256  # rows of a block below which it is not divided for their sake
# Rows of a block below which it is not divided because many kernels stand side by side: a call
# takes as long as 64 x 64 exponentials.
SIDE_BY_SIDE = 64

PIECES = 8  # bands of a block row of tiles, so that many threads share even few blocks evenly
SHORTEST = 3  # tiles of a band where that leaves four bands to a row: a band costs an interpreter
LONGEST = 256  # tiles of a band, which is about a second's work


@dataclass(frozen=True)
class RowBlock:
    """A run of consecutive samples that belong to one fold."""

    rows: slice
    fold: int

    @property
    def size(self) -> int:
        """The number of samples."""
        return int(self.rows.stop - self.rows.start)


@dataclass(frozen=True)
class Band:
    """A run of tiles (row, j), j = start, ..., stop - 1: what a worker does in one go.

    `columns` are the samples of its column blocks, which are consecutive, `folds` are theirs.
    """

    row: int
    start: int
    stop: int
    columns: slice
    folds: slice


@dataclass(frozen=True)
class Plan:
    """The blocks of n samples; tiles are the pairs of blocks on and above the diagonal.

    Blocks and bands depend on n, the folds, the data type and how many kernels stand side by side,
    never on memory or workers, so that every machine adds the same numbers in the same order. So
    does whether formulas and sums are `compiled`, where numba is there. `features` says whether
    kernels with few explicit features may do without tiles. Results of either choice agree to
    rounding.
    """

    blocks: tuple[RowBlock, ...]
    compiled: bool = False
    features: bool = True

    @cached_property
    def bands(self) -> tuple[Band, ...]:
        """All tiles, cut into runs within the rows of blocks, in the order of `tiles`."""
        blocks, count = self.blocks, len(self.blocks)
        length = min(max(1, count // PIECES, min(SHORTEST, count // 4)), LONGEST)
        bands = []
        for i in range(count):
            for start in range(i, count, length):
                first, last = blocks[start], blocks[min(start + length, count) - 1]
                columns = slice(first.rows.start, last.rows.stop)
                folds = slice(first.fold, last.fold + 1)
                bands.append(Band(i, start, min(start + length, count), columns, folds))
        return tuple(bands)

    @property
    def tiles(self) -> list[tuple[int, int]]:
        """Pairs (i, j), i <= j, of block numbers in the order in which they are added."""
        count = len(self.blocks)
        return [(i, j) for i in range(count) for j in range(i, count)]

    @property
    def largest(self) -> int:
        """The entries of the largest tile."""
        return int(max((block.size for block in self.blocks), default=0) ** 2)


def make_plan(
    n: int,
    dtype: Any,
    folds: Array | None = None,
    *,
    together: int = 1,
    compiled: bool | None = None,
    features: bool = True,
) -> Plan:
    """Return the plan for n samples; tiles do not straddle folds, which are in ascending order.

    Tiles of several kernels that are held `together` take the room of one.
    """
    rows = ROWS[np.dtype(dtype)]
    step = max(rows / together**0.5, min(rows, SIDE_BY_SIDE))
    edges = [0, n] if folds is None else [0, *(np.flatnonzero(np.diff(folds)) + 1).tolist(), n]
    fewest = min(FEWEST, n // SMALLEST) if len(edges) == 2 else 1
    blocks = []
    for start, stop in pairwise(edges):
        # Equal blocks: a short last block would make thin, slow tiles.
        parts = max(1, fewest, round((stop - start) / step))
        cuts = [start + (stop - start) * i // parts for i in range(parts + 1)]
        fold = 0 if folds is None else int(folds[start])
        blocks += [RowBlock(slice(a, b), fold) for a, b in pairwise(cuts)]
    return Plan(tuple(blocks), worthwhile(n) if compiled is None else compiled, features)


def budget_bytes(memory: float | None) -> int:
    """Return the memory budget in bytes; `memory` is in MiB, default scikit-learn's."""
    limit = get_config()["working_memory"] if memory is None else memory
    if not is_positive(limit) or np.ndim(limit):
        raise ValueError(
            f"Expected memory > 0 (MiB), got {abridged(limit)}. Give, for example, memory=512."
        )
    return int(float(limit) * MIB)  # two MiB of float16 are infinite
