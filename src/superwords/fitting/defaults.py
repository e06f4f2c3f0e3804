"""What holds where a person gives nothing: `ConceptModel`, `superwords.fit` and the command line all read it here."""

from __future__ import annotations

N_CHAINS = 2
N_SWEEPS = 1000
INIT = "topics"
INIT_BY_FEATURES = (
    "kmeans"  # in `superwords.fit` and on the command line, where features tell more than the text
)
B1 = B2 = "auto"  # by a rule of the corpus's size (docs/lab/settings.md); the paper: 1
FEATURES = "auto"  # co-occurrence, where the corpus has it; the paper's own choice per experiment
PROGRESS = "auto"  # shown in a terminal and in a notebook
