"""Learners: climb a measure over the parameters of a kernel, or solve for its weights.

`objective` and `criteria` say what is climbed, `chart` what may change, `ascent` how; the
estimators put them together.
"""

from gramsmith.learning.combination import KernelCombination as KernelCombination
from gramsmith.learning.kernel_learner import KernelLearner as KernelLearner
from gramsmith.learning.mixture import TwoGaussianLearner as TwoGaussianLearner
from gramsmith.learning.penalty_path import PenaltyPath as PenaltyPath
from gramsmith.learning.penalty_path import penalty_path as penalty_path
from gramsmith.learning.spectral import SpectralAligner as SpectralAligner
from gramsmith.learning.spectral_map import SpectralMap as SpectralMap
from gramsmith.learning.transduction import transductive_alignment as transductive_alignment
from gramsmith.learning.transform import TransformLearner as TransformLearner
