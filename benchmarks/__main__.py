"""Run every benchmark of this folder except the comparisons of selections, which take long."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks
from benchmarks.measuring import processor

LONG = {"coverage", "honesty", "learned", "others", "scale", "selection", "truths"}
TOOLS = {"__main__", "kept", "measuring", "sets"}


def main() -> None:
    """Run the benchmarks named on the command line, or all."""
    names = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    print(processor())
    chosen = sys.argv[1:] or [name for name in names if name not in LONG | TOOLS]
    for name in chosen:
        module = importlib.import_module(f"benchmarks.{name}")
        if hasattr(module, "main"):
            module.main()


if __name__ == "__main__":
    main()
