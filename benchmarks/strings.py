"""Kernels of strings at scale: time and memory. Other packages: `benchmarks.peers`."""

from __future__ import annotations

import numpy as np

import gramsmith as gs
from benchmarks.measuring import Row, at_most, best, extra_memory, show

LARGE = 50_000
SETUP = f"""
    import numpy as np, gramsmith as gs
    letters = np.random.default_rng(0).choice(list("ACGT"), ({LARGE}, 60))
    X = ["".join(row) for row in letters]
    y = (letters == "G").sum(axis=1) > 15
"""
EVALUATE = 'gs.evaluate({"spectrum": gs.Spectrum(3)}, X, y)'


def dna(n: int, length: int) -> list[str]:
    """Return random DNA."""
    letters = np.random.default_rng(0).choice(list("ACGT"), (n, length))
    return ["".join(row) for row in letters]


def at_scale() -> list[Row]:
    """Time the spectrum kernel on many sequences, and weigh the memory of all measures."""
    X = dna(3000, 60)
    seconds = best(lambda: gs.Spectrum((3, 5))(X), 3)
    rows = [at_most("Spectrum((3, 5)), 3000 of length 60", seconds, 2, " s")]
    X = dna(LARGE, 60)
    y = np.array([x.count("G") > 15 for x in X])
    seconds = best(lambda: gs.evaluate({"spectrum": gs.Spectrum(3)}, X, y), 1)
    rows.append(Row(f"all measures of Spectrum(3), n = {LARGE}", f"{seconds:.3g} s", "", None))
    share = extra_memory(SETUP, EVALUATE) / (8 * LARGE**2 / 2**20)
    rows.append(at_most("  memory / that of one n x n matrix", share, 0.05, ""))
    return rows


def main() -> None:
    """Print the table."""
    show("Kernels of strings at scale", at_scale())


if __name__ == "__main__":
    main()
