"""What holds where a person gives nothing: `ConceptModel`, `superwords.fit` and the command line all read it here."""

from __future__ import annotations

# A minute of a core for each chain on 8,440 passages of a debate (docs/lab/research.md): chains keep the concepts of
# their start for hundreds of sweeps, so that more chains are more informative than longer ones.
N_CHAINS = 4
N_SWEEPS = 150
INIT = "rows"
N_PILOTS = 8  # short fits on samples of the documents (fitting/pilots.py)
START_ROWS = "auto"  # a part of the rows first, where there are many (sampler/init/grow.py)
B1 = B2 = "auto"  # by a rule of the corpus's size (docs/lab/settings.md); the paper: 1
FEATURES = "auto"  # co-occurrence, where the corpus has it; the paper's own choice per experiment
PROGRESS = "auto"  # shown in a terminal and in a notebook
