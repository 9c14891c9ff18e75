"""Learners: climb a measure over the parameters of a kernel, or solve for its weights.

`objective` and `criteria` say what is climbed, `chart` what may change, `ascent` how; the
estimators put them together.
"""

from gramsmith.learning.transform import TransformLearner as TransformLearner
from gramsmith.learning.mixture import TwoGaussianLearner as TwoGaussianLearner
from gramsmith.learning.combination import KernelCombination as KernelCombination
