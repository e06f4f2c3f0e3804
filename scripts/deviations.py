"""Print the evidence for docs/deviations.md: each published step against the joint-distribution test.

Run from a checkout with the development environment: .venv/bin/python scripts/deviations.py
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from threadpoolctl import threadpool_limits

from joint import Setting, joint_z
from mutation import mutant_concepts
from superwords.sampler import chain
from superwords.sampler.model import PRIOR_PROPOSALS, Steps

PRIOR = PRIOR_PROPOSALS
FLIPS = PRIOR._replace(births=0.0, weights=False, words=0.0)
CASES = {
    "exact, data-driven": (Steps(), Setting(length=6, n_features=1)),
    "exact, proposals from the prior": (PRIOR, Setting(length=6, n_features=1)),
    "π_j ~ Gamma(α_π + n_j, 1)": (PRIOR._replace(published_pi=True), Setting(length=6)),
    "births divided by J₊+1 twice": (PRIOR._replace(published_birth=True), Setting(alpha_omega=3.0)),
    "η from the Poisson, η(0) = 1 everywhere": (PRIOR._replace(published_eta=True), Setting()),
    "m_j without d when d joins": (FLIPS._replace(published_join=True), Setting(n_documents=3, length=2)),
    "f after c with the last sweep's z": (PRIOR._replace(published_order=True), Setting(length=6)),
}


def main() -> None:
    with threadpool_limits(1):
        for name, (steps, setting) in CASES.items():
            z = abs(joint_z(setting, steps, n_replicates=1500, n_steps=12, seed=31)).max()
            print(f"{name}: largest |z| of all statistics = {z:.1f}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            right = "    log_odds -= math.log(max(birth_probability(unique, mu, steps), 1e-300))"
            wrong = "    log_odds -= math.log(birth_probability(unique, mu, steps) if unique else 1.0 - math.exp(-mu))"
            chain.MOVES["concepts"] = mutant_concepts(Path(folder), births=[(right, wrong)])
            z = abs(joint_z(Setting(), PRIOR._replace(published_eta=True), 1500, 12, seed=31)).max()
            print(f"η(0) = 1 in the proposal only: largest |z| of all statistics = {z:.1f}", flush=True)


if __name__ == "__main__":
    main()
