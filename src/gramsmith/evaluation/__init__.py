"""Measures of a matrix or a Gram, one by one, and of many kernels in one pass."""

from gramsmith.evaluation.bounds import fsm_error_bound as fsm_error_bound
from gramsmith.evaluation.bounds import parzen_error_bound as parzen_error_bound
from gramsmith.evaluation.estimate import estimate as estimate
from gramsmith.evaluation.evaluate import evaluate as evaluate
from gramsmith.evaluation.gradients import value_and_gradient as value_and_gradient
from gramsmith.evaluation.hypotheses import KernelTest as KernelTest
from gramsmith.evaluation.hypotheses import independence_test as independence_test
from gramsmith.evaluation.hypotheses import two_sample_test as two_sample_test
from gramsmith.evaluation.path import bandwidth_path as bandwidth_path
from gramsmith.evaluation.path import median_distance as median_distance
from gramsmith.evaluation.representations import RepresentationMatrix as RepresentationMatrix
from gramsmith.evaluation.representations import (
    compare_representations as compare_representations,
)
from gramsmith.evaluation.result import Advice as Advice
from gramsmith.evaluation.result import Evaluation as Evaluation
from gramsmith.evaluation.scorer import alignment_scorer as alignment_scorer
from gramsmith.evaluation.single_measures import alignment as alignment
from gramsmith.evaluation.single_measures import cka as cka
from gramsmith.evaluation.single_measures import csm as csm
from gramsmith.evaluation.single_measures import fsm as fsm
from gramsmith.evaluation.single_measures import hsic as hsic
from gramsmith.evaluation.single_measures import kta as kta
from gramsmith.evaluation.single_measures import measure_value as measure_value
from gramsmith.evaluation.single_measures import mmd as mmd
from gramsmith.evaluation.single_measures import polarity as polarity
