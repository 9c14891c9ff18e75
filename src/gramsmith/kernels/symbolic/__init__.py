"""Kernels of samples that are not vectors: strings, token sequences, trees and sets.

`sequences` turns text, bytes and tokens into numbers. `spectrum`, `substrings` and `mismatch` have
sparse features; `subsequence` and `weighted_degree` compare pair by pair (`pairs`), in loops that
are compiled where numba is installed (`compiled`) and run on NumPy otherwise (`batched`).
"""

from gramsmith.kernels.symbolic.base import SymbolicKernel as SymbolicKernel
from gramsmith.kernels.symbolic.base import refuse_symbols as refuse_symbols
from gramsmith.kernels.symbolic.mismatch import Mismatch as Mismatch
from gramsmith.kernels.symbolic.sets import AllSubsets as AllSubsets
from gramsmith.kernels.symbolic.spectrum import Spectrum as Spectrum
from gramsmith.kernels.symbolic.subsequence import Subsequence as Subsequence
from gramsmith.kernels.symbolic.substrings import AllSubstrings as AllSubstrings
from gramsmith.kernels.symbolic.trees import Subtree as Subtree
from gramsmith.kernels.symbolic.weighted_degree import WeightedDegree as WeightedDegree
