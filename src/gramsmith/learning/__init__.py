"""Learners: climb a measure over the parameters of a kernel, or solve for its weights.

`learner` has `fit`; a learner is a search that returns a path of kernels. `objective` says what is
climbed, `coordinates` what may change, `ascent` how.
"""

from gramsmith.learning.combination import KernelCombination as KernelCombination
from gramsmith.learning.forest import ForestLearner as ForestLearner
from gramsmith.learning.kernel_learner import KernelLearner as KernelLearner
from gramsmith.learning.objective import OBJECTIVES as OBJECTIVES
from gramsmith.learning.objective import Objective as Objective
from gramsmith.learning.penalty_path import PenaltyPath as PenaltyPath
from gramsmith.learning.penalty_path import penalty_path as penalty_path
from gramsmith.learning.spectral import SpectralAligner as SpectralAligner
from gramsmith.learning.spectral import SpectralMap as SpectralMap
from gramsmith.learning.transduction import transductive_alignment as transductive_alignment
from gramsmith.learning.transform import TransformLearner as TransformLearner
from gramsmith.learning.two_gaussian import TwoGaussianLearner as TwoGaussianLearner
