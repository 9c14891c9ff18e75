"""Selection: which kernel, verified, fitted and explained."""

from gramsmith.selection.encoding import TableEncoder as TableEncoder
from gramsmith.selection.rank import RankingPlan as RankingPlan
from gramsmith.selection.rank import plan_ranking as plan_ranking
from gramsmith.selection.rank import rank_kernels as rank_kernels
from gramsmith.selection.ranking import KernelRanking as KernelRanking
from gramsmith.selection.selector import KernelSelector as KernelSelector
