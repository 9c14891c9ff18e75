"""Selection: which kernel, verified, fitted and explained."""

from gramsmith.selection.ensemble import AveragedClassifier as AveragedClassifier
from gramsmith.selection.ensemble import AveragedRegressor as AveragedRegressor
from gramsmith.selection.labels import LabelsClassifier as LabelsClassifier
from gramsmith.selection.ranking import KernelRanking as KernelRanking
from gramsmith.selection.ranking import RankingPlan as RankingPlan
from gramsmith.selection.ranking import plan_ranking as plan_ranking
from gramsmith.selection.ranking import rank_kernels as rank_kernels
from gramsmith.selection.samples import IntervalPipeline as IntervalPipeline
from gramsmith.selection.samples import TakeView as TakeView
from gramsmith.selection.selector import KernelSelector as KernelSelector
