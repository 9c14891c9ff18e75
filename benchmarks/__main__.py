"""Run the benchmarks of this folder that do not take long, or those that are named.

``--smoke SECONDS`` gives every one of them, the long ones too, that much time in a process group of
its own: one that is still at work then is well, one that ends with an error is not.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import signal
import subprocess
import sys
import time

import benchmarks
from benchmarks.measuring import processor

LONG = {"coverage", "honesty", "how_long", "learned", "peers", "scale", "truths"}
TOOLS = {"__main__", "kept", "measuring", "sets"}


def smoke(name: str, seconds: float) -> bool:
    """Return whether a benchmark works for a while, with all that it starts."""
    begun = time.monotonic()
    work = subprocess.Popen(
        [sys.executable, "-m", f"benchmarks.{name}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = work.communicate(timeout=seconds)
        verdict = "done" if work.returncode == 0 else f"FAILED with status {work.returncode}"
        if work.returncode and "needs the folder of data sets" in said:
            verdict = "left out: no GRAMSMITH_DATA"
    except subprocess.TimeoutExpired:
        verdict = "at work"
    finally:
        if work.poll() is None or verdict == "at work":
            os.killpg(work.pid, signal.SIGKILL)
            work.communicate()
    print(f"{name:<16} {verdict}, {time.monotonic() - begun:.0f} s", flush=True)
    if verdict.startswith("FAILED"):
        print(said)
    return not verdict.startswith("FAILED")


def main() -> None:
    """Run the benchmarks named on the command line, or all that do not take long."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--smoke", type=float, metavar="SECONDS")
    options = parser.parse_args()
    names = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    print(processor())
    if options.smoke:
        well = [smoke(name, options.smoke) for name in options.names or sorted(set(names) - TOOLS)]
        sys.exit(0 if all(well) else 1)
    for name in options.names or [name for name in names if name not in LONG | TOOLS]:
        module = importlib.import_module(f"benchmarks.{name}")
        sys.argv = [f"benchmarks.{name}"]  # its own options, not ours
        module.main()


if __name__ == "__main__":
    main()
