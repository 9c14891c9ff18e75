"""Kernels of samples that are not vectors: strings, token sequences, trees and sets.

`sequences` turns text, bytes and tokens into numbers. The kernels of `spectrum` and `substrings`
have sparse features; those of `pairs` compare pair by pair, in `loops`.
"""

from gramsmith.kernels.symbolic.base import SymbolicKernel as SymbolicKernel
from gramsmith.kernels.symbolic.base import refuse_symbols as refuse_symbols
from gramsmith.kernels.symbolic.places import Subsequence as Subsequence
from gramsmith.kernels.symbolic.places import WeightedDegree as WeightedDegree
from gramsmith.kernels.symbolic.sets import AllSubsets as AllSubsets
from gramsmith.kernels.symbolic.spectrum import Mismatch as Mismatch
from gramsmith.kernels.symbolic.spectrum import Spectrum as Spectrum
from gramsmith.kernels.symbolic.substrings import AllSubstrings as AllSubstrings
from gramsmith.kernels.symbolic.trees import Subtree as Subtree
