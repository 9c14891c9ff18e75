"""Write verdicts.json, the verdicts that test_verdicts.py holds the quick run to.

Run by hand after a change that is meant to change a verdict, and read the difference:
python tests/papers/pin_verdicts.py DATA_FOLDER
"""

import json
import sys
from pathlib import Path

from papers import list_experiments, reproduce

PINS = Path(__file__).with_name("verdicts.json")


def verdicts(names, data):
    """Return experiment -> table and cell -> verdict of a quick run."""
    found = {}
    for name in names:
        records = reproduce(name, data=data, quick=True)
        found[name] = {f"{record.table}: {record.cell}": record.verdict for record in records}
    return found


if __name__ == "__main__":
    everything = verdicts([e.name for e in list_experiments()], sys.argv[1])
    PINS.write_text(json.dumps(everything, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
