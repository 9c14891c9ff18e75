"""The dense, slow twin of every definition: the oracle of the tests, independent of the package.

kernels, strings                      two samples, or two lists of samples, to a matrix
targets                               labels or values to a target matrix; repetition for weights
measures                              a matrix and a target to a number
hypotheses                            shuffled samples to a p-value
weights                               the same for weighted samples
derivatives                           numerical differences
learning                              grids, dense least squares, general-purpose optimisers
"""

# ruff: noqa: F403
from oracle.derivatives import *
from oracle.hypotheses import *
from oracle.kernels import *
from oracle.learning import *
from oracle.measures import *
from oracle.strings import *
from oracle.targets import *
from oracle.weights import *
