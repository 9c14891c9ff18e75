"""The dense, slow twin of every definition: the oracle of the tests, independent of the package.

textbook_kernels, textbook_strings    two samples, or two lists of samples, to a matrix
textbook_targets                      labels or values to a target matrix; repetition for weights
textbook_measures                     a matrix and a target to a number
textbook_hypotheses                   shuffled samples to a p-value
textbook_weights                      the same for weighted samples
textbook_derivatives                  dM/dK, its chain rules, numerical differences
textbook_learning                     grids, dense least squares, general-purpose optimisers
"""

# ruff: noqa: F403
from textbook_derivatives import *
from textbook_hypotheses import *
from textbook_kernels import *
from textbook_learning import *
from textbook_measures import *
from textbook_strings import *
from textbook_targets import *
from textbook_weights import *
