"""Report: records and curves made visible. Plotting and templates are imported when used."""

from gramsmith.report.pictures import plot_gram as plot_gram
from gramsmith.report.pictures import plot_map as plot_map
