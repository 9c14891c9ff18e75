"""Kernels of strings, token sequences and trees.

`sequences` turns text, bytes and tokens into numbers. `spectrum`, `substrings` and `mismatch` have
sparse features; `subsequence` and `weighted_degree` compare pair by pair (`pairs`), in loops that
are compiled where numba is installed (`compiled`) and run on NumPy otherwise (`batched`).
"""

from gramsmith.kernels.strings.mismatch import Mismatch as Mismatch
from gramsmith.kernels.strings.spectrum import Spectrum as Spectrum
from gramsmith.kernels.strings.subsequence import Subsequence as Subsequence
from gramsmith.kernels.strings.substrings import AllSubstrings as AllSubstrings
from gramsmith.kernels.strings.trees import Subtree as Subtree
from gramsmith.kernels.strings.weighted_degree import WeightedDegree as WeightedDegree
