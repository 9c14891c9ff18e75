"""Report: records and curves made visible. Plotting and templates are imported when used."""

from gramsmith.report.displays import BandwidthDisplay as BandwidthDisplay
from gramsmith.report.displays import FeatureWeightsDisplay as FeatureWeightsDisplay
from gramsmith.report.displays import HistoryDisplay as HistoryDisplay
from gramsmith.report.displays import KeepDisplay as KeepDisplay
from gramsmith.report.displays import KernelRankingDisplay as KernelRankingDisplay
from gramsmith.report.displays import plot_surface as plot_surface
from gramsmith.report.evidence import Evidence as Evidence
from gramsmith.report.evidence import Outcome as Outcome
from gramsmith.report.outcome_displays import FoldScoresDisplay as FoldScoresDisplay
from gramsmith.report.outcome_displays import ImportanceDisplay as ImportanceDisplay
from gramsmith.report.sample_displays import GramDisplay as GramDisplay
from gramsmith.report.sample_displays import KernelMapDisplay as KernelMapDisplay
