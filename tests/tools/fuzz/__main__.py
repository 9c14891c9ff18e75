"""Run campaigns: ``python -m tools.fuzz [models] [calls] ... --seconds 60 --seed 0`` in `tests`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from importlib import import_module

from tools.fuzz import run

CAMPAIGNS = ("models", "tables", "commands", "calls")


def main() -> int:
    """Print every defect and a table of what happened; return 1 if there was a defect."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", help=", ".join(CAMPAIGNS))
    parser.add_argument("--seconds", type=float, default=60.0, help="per campaign")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first piece")
    parser.add_argument("--count", type=int, default=None, help="end after so many pieces")
    options = parser.parse_args()
    found = 0
    for name in options.campaigns or CAMPAIGNS:
        if name not in CAMPAIGNS:
            parser.error(f"expected campaigns among {', '.join(CAMPAIGNS)}, got {name}")
        table, defects = run(
            import_module(f"tools.fuzz.{name}").piece,
            options.seed,
            options.seconds,
            options.first,
            options.count,
            tell=lambda defect: print(defect, flush=True),
        )
        found += len(defects)
        totals: Counter[str] = Counter()
        for (_, outcome), count in table.items():
            totals[outcome] += count
        said = ", ".join(f"{outcome} {count:,}" for outcome, count in totals.most_common())
        print(f"{name}: {sum(totals.values()):,} pieces; {said}", flush=True)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
