"""``python -m tools.coverage_by_folder FILE``: which share of the branches tests take, per folder.

FILE is what ``pytest --cov=gramsmith --cov-branch --cov-report=json:FILE`` wrote; `make coverage`
runs both.
"""

import json
import sys
from collections import Counter
from pathlib import Path


def by_folder(files):
    """Return {folder: (branches taken, branches)}."""
    taken, all_of_them = Counter(), Counter()
    for name, file in files.items():
        inside = Path(name.split("gramsmith/", 1)[-1]).parts
        folder = inside[0] if len(inside) > 1 else "(top)"
        summary = file["summary"]
        taken[folder] += summary["covered_branches"]
        all_of_them[folder] += summary["num_branches"]
    return {folder: (taken[folder], all_of_them[folder]) for folder in sorted(all_of_them)}


def main():
    """Print one line per folder, and one for everything."""
    files = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["files"]
    folders = by_folder(files)
    total = tuple(sum(numbers) for numbers in zip(*folders.values(), strict=True))
    for folder, (taken, count) in [*folders.items(), ("all", total)]:
        print(f"{folder:<12} {100 * taken / max(count, 1):5.1f} % of {count:5} branches")


if __name__ == "__main__":
    main()
