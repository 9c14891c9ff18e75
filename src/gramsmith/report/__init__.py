"""Report: records and curves made visible. Plotting and templates are imported when used."""

from gramsmith.report.surface import plot_surface as plot_surface
