"""Print the evidence for docs/deviations.md: each published step against the joint-distribution test.

Run from a checkout with the development environment: .venv/bin/python scripts/deviations.py
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from threadpoolctl import threadpool_limits

from experiments.published import published_steps
from joint import Setting, joint_z
from mutation import mutant_concepts
from superwords.sampler import chain
from superwords.sampler.model import PRIOR_PROPOSALS, Steps
from test_injected_bugs import ETA_IN_PROPOSAL

PRIOR = PRIOR_PROPOSALS
FLIPS = PRIOR._replace(births=0.0, weights=False, words=0.0)
EXACT = {
    "exact, data-driven": (Steps(), Setting(length=6, n_features=1)),
    "exact, proposals from the prior": (PRIOR, Setting(length=6, n_features=1)),
}
PUBLISHED = {
    "π_j ~ Gamma(α_π + n_j, 1)": ("pi", PRIOR, Setting(length=6)),
    "births divided by J₊+1 twice": ("birth", PRIOR, Setting(alpha_omega=3.0)),
    "η from the Poisson, η(0) = 1 everywhere": ("eta", PRIOR, Setting()),
    "m_j without d when d joins": ("join", FLIPS, Setting(n_documents=3, length=2)),
    "f after c with the last sweep's z": ("order", PRIOR, Setting(length=6)),
}


def report(name: str, steps: Steps, setting: Setting) -> None:
    z = abs(joint_z(setting, steps, n_replicates=1500, n_steps=12, seed=31)).max()
    print(f"{name}: largest |z| of all statistics = {z:.1f}", flush=True)


def main() -> None:
    with threadpool_limits(1):
        for name, (steps, setting) in EXACT.items():
            report(name, steps, setting)
        for name, (step, steps, setting) in PUBLISHED.items():
            with published_steps([step]):
                report(name, steps, setting)
        with tempfile.TemporaryDirectory() as folder:
            chain.MOVES["concepts"] = mutant_concepts(Path(folder), PRIOR, birth_death=ETA_IN_PROPOSAL)
            report("η(0) = 1 in the proposal only", PRIOR, Setting())


if __name__ == "__main__":
    main()
