"""Kernels of strings against R's kernlab and the package strkernel, on the same sequences.

A comparison is left out, with a word, where R, kernlab or strkernel is not installed. strkernel may
live in another environment: name its interpreter in STRKERNEL_PYTHON.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import gramsmith as gs
from benchmarks.measuring import Row, at_least, at_most, best, extra_memory, show

KERNLAB = """
suppressMessages(library(kernlab))
arguments <- commandArgs(trailingOnly = TRUE)
x <- as.list(readLines(arguments[1]))
k <- stringdot(length = as.integer(arguments[3]), lambda = 0.5, type = arguments[2],
               normalized = FALSE)
seconds <- system.time(K <- kernelMatrix(k, x))[["elapsed"]]
write.table(K, arguments[4], row.names = FALSE, col.names = FALSE)
cat(seconds)
"""

STRKERNEL = """
import sys, time
import numpy as np
from strkernel.mismatch_kernel import MismatchKernel
code = {letter: i for i, letter in enumerate("ACGT")}
X = [[code[c] for c in line] for line in open(sys.argv[1]).read().split()]
start = time.perf_counter()
found = MismatchKernel(l=4, k=5, m=1).get_kernel(X, normalize=False)
print(time.perf_counter() - start)
np.savetxt(sys.argv[2], np.asarray(found.kernel))
"""

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


def foreign(command: list[str], X: list[str], *options: str) -> tuple[float, np.ndarray]:
    """Return the seconds and the matrix of another program, given a file of sequences."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "sequences"), Path(folder, "matrix")
        given.write_text("\n".join(X) + "\n")
        done = subprocess.run(
            [*command, str(given), *options, str(found)], capture_output=True, text=True, check=True
        )
        return float(done.stdout.split()[-1]), np.loadtxt(found)


def without_numba(function: object) -> float:
    """Return the best time of a function with NumPy alone."""
    os.environ["GRAMSMITH_NUMBA"] = "0"
    try:
        return best(function, 3)  # type: ignore[arg-type]
    finally:
        del os.environ["GRAMSMITH_NUMBA"]


def against_kernlab() -> list[Row]:
    """Compare the spectrum and the subsequence kernel with R's kernlab."""
    program = ["Rscript", "-e", KERNLAB]
    if shutil.which("Rscript") is None:
        return [Row("kernlab", "left out", "R not found", None)]
    X = dna(600, 60)
    try:
        theirs, K = foreign(program, X, "spectrum", "3")
    except subprocess.CalledProcessError:
        return [Row("kernlab", "left out", "no kernlab", None)]
    spectrum = gs.Spectrum(3)
    rows = [
        at_least(
            "Spectrum(3), 600 of length 60: kernlab / ours", theirs / best(lambda: spectrum(X)), 50
        )
    ]
    # kernlab closes every string with a line end, which counts as a letter
    apart = np.abs(K - spectrum([x + "\n" for x in X])).max()
    rows.append(at_most("  largest difference", apart, 0, ""))
    X = dna(100, 60)
    theirs, K = foreign(program, X, "sequence", "4")
    subsequence = gs.Subsequence(4, 0.5)
    apart = np.abs(K / subsequence(X) - 1).max()  # compiles the loop, too
    name = "Subsequence(4, 0.5), 100 of length 60"
    rows.append(
        at_least(f"{name}: kernlab / ours, compiled", theirs / best(lambda: subsequence(X)), 2)
    )
    seconds = without_numba(lambda: subsequence(X))
    rows.append(at_most(f"{name}: ours, NumPy alone / kernlab", seconds / theirs, 5))
    rows.append(at_most("  largest relative difference", apart, 1e-12, ""))
    return rows


def against_strkernel() -> list[Row]:
    """Compare the mismatch kernel with the package strkernel."""
    python = os.environ.get("STRKERNEL_PYTHON", sys.executable)
    X = dna(100, 200)
    try:
        theirs, K = foreign([python, "-c", STRKERNEL], X)
    except subprocess.CalledProcessError:
        return [Row("strkernel", "left out", "not installed", None)]
    kernel = gs.Mismatch(5, 1, alphabet="ACGT")
    seconds = best(lambda: kernel(X))
    return [
        at_least("Mismatch(5, 1), 100 of length 200: strkernel / ours", theirs / seconds, 20),
        at_most("  largest difference", np.abs(K - kernel(X)).max(), 0, ""),
    ]


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
    """Print all tables."""
    show("Kernels of strings against kernlab", against_kernlab())
    show("Kernels of strings against strkernel", against_strkernel())
    show("Kernels of strings at scale", at_scale())


if __name__ == "__main__":
    main()
