"""Drawing of plain data as matplotlib figures, without pyplot or global state."""

from superwords.plots.charts import histogram, prevalence_by_group, traces
from superwords.plots.clouds import cloud, cloud_grid, cloud_pair
from superwords.plots.style import figure_bytes, save_figure

__all__ = [
    "cloud",
    "cloud_grid",
    "cloud_pair",
    "figure_bytes",
    "histogram",
    "prevalence_by_group",
    "save_figure",
    "traces",
]
