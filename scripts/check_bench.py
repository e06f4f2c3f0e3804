"""Compare a benchmark with the committed one: python scripts/check_bench.py out/bench.json

Only ratios are compared, since a forge's machines differ in speed: the sampler against HDP on the same counts, the
incremental flip against the formula from scratch, and passages against long documents.
"""

import json
import sys
from pathlib import Path

COMMITTED = Path(__file__).with_name("bench_ratios.json")
MOST = 2.0  # times as slow, as measured between runs on shared machines


def ratios(figures: dict) -> dict[str, float]:
    """Return what is compared; larger is slower."""
    paper = figures["paper"]["ms_per_sweep"]
    return {
        "against_hdp": figures["against_hdp"]["ratio"],
        "flip_against_formula": 1 / figures["flips"]["times_faster"],
        "passages_against_documents": figures["passages"]["ms_per_sweep"] / paper,
    }


def main() -> int:
    """Print a line per ratio; return 1 if one has got too slow, or write them with --write."""
    now = ratios(json.loads(Path(sys.argv[1]).read_text()))
    if "--write" in sys.argv:
        COMMITTED.write_text(json.dumps(now, indent=2) + "\n")
        return 0
    before = json.loads(COMMITTED.read_text())
    slower = {name: now[name] / before[name] for name in before}
    for name, times in slower.items():
        print(f"{name}: {now[name]:.4g}, committed {before[name]:.4g} ({times:.2f} times)")
    return int(any(times > MOST for times in slower.values()))


if __name__ == "__main__":
    sys.exit(main())
