"""Selection: which kernel, verified, fitted and explained."""

from gramsmith.machines.averages import AveragedClassifier as AveragedClassifier
from gramsmith.machines.averages import AveragedRegressor as AveragedRegressor
from gramsmith.machines.labels import LabelsClassifier as LabelsClassifier
from gramsmith.machines.pipelines import ModelPipeline as ModelPipeline
from gramsmith.machines.pipelines import TakeView as TakeView
from gramsmith.selection.plan import Plan as Plan
from gramsmith.selection.problem import Problem as Problem
from gramsmith.selection.problem import read as read
from gramsmith.selection.ranking import KernelRanking as KernelRanking
from gramsmith.selection.ranking import rank as rank
from gramsmith.selection.ranking import rank_kernels as rank_kernels
from gramsmith.selection.scoring import Scoring as Scoring
from gramsmith.selection.scoring import score_model as score_model
from gramsmith.selection.selector import KernelSelector as KernelSelector
from gramsmith.selection.thresholds import ThresholdTable as ThresholdTable
from gramsmith.selection.thresholds import threshold_table as threshold_table
from gramsmith.selection.work import Work as Work
