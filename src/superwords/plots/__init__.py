"""Pictures of plain data, each a matplotlib Figure of its own: no pyplot, no global state."""

from superwords.plots.charts import concept_panels, histogram, prevalence_by_group, traces
from superwords.plots.clouds import cloud, cloud_grid, cloud_pair
from superwords.plots.figures import figure_bytes, save_figure

__all__ = [
    "cloud",
    "cloud_grid",
    "cloud_pair",
    "concept_panels",
    "figure_bytes",
    "histogram",
    "prevalence_by_group",
    "save_figure",
    "traces",
]
