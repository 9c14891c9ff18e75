"""What all benchmarks share: the best of several runs, extra memory, the processor, a table."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from numpy.lib.introspect import opt_func_info
from threadpoolctl import threadpool_info

from gramsmith.kernels.compilation import available

# ru_maxrss of a new process starts at the peak of its parent, and would hide what comes after.
PEAK = """
    import pathlib, resource
    def peak():
        status = pathlib.Path("/proc/self/status")
        if status.exists():
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
            return int(lines["VmHWM"].split()[0]) / 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
"""


@dataclass
class Row:
    """One line of a benchmark: what was measured, the figure, and what is asked of it."""

    name: str
    figure: str
    wanted: str
    met: bool | None


def best(function: Callable[[], object], repeats: int = 5) -> float:
    """Return the shortest of several run times in seconds; the others were disturbed.

    Before each run the threads of BLAS, which spin for a while after a product, go to sleep.
    """
    times = []
    for _ in range(repeats):
        time.sleep(0.2)
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def compare(*functions: Callable[[], object], repeats: int = 5) -> list[float]:
    """Return the shortest run time of each function, measured in turns.

    Taking turns spreads a disturbance of the machine over all of them.
    """
    times = [float("inf")] * len(functions)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            times[i] = min(times[i], best(function, 1))
    return times


def extra_memory(setup: str, code: str) -> float:
    """Return the MiB by which `code` raises the peak memory of a fresh process after `setup`."""
    program = (
        textwrap.dedent(PEAK)
        + textwrap.dedent(setup)
        + "\nbefore = peak()\n"
        + textwrap.dedent(code)
        + "\nprint(peak() - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


def at_most(name: str, value: float, limit: float, unit: str = " x") -> Row:
    """Return a row for a figure that should not exceed a limit."""
    return Row(name, f"{value:.3g}{unit}", f"<= {limit:g}{unit}", value <= limit)


def at_least(name: str, value: float, limit: float, unit: str = " x") -> Row:
    """Return a row for a figure that should reach a limit."""
    return Row(name, f"{value:.3g}{unit}", f">= {limit:g}{unit}", value >= limit)


def show(title: str, rows: list[Row]) -> None:
    """Print a table."""
    width = max(len(row.name) for row in rows)
    print(f"\n{title}\n{'-' * len(title)}")
    for row in rows:
        verdict = "" if row.met is None else "ok" if row.met else "MISSED"
        print(f"{row.name:<{width}}  {row.figure:>12}  {row.wanted:>12}  {verdict}")
    sys.stdout.flush()


def has_avx512() -> bool:
    """Return whether NumPy computes its exponentials with AVX-512."""
    found = opt_func_info(func_name="^exp$").get("exp", {})
    return any(
        str(kind.get("current", "")).startswith(("AVX512", "X86_V4")) for kind in found.values()
    )


def instructions() -> str:
    """Return what NumPy, numba and BLAS make of the processor, which variables can change."""
    exp = opt_func_info(func_name="^exp$").get("exp", {})
    used = sorted({str(kind.get("current")) for kind in exp.values()})
    blas = sorted(
        {str(i.get("architecture")) for i in threadpool_info() if i["user_api"] == "blas"}
    )
    compiler = os.environ.get("NUMBA_CPU_NAME", "host") if available() else "none"
    return f"exp of NumPy {'/'.join(used)}, BLAS {'/'.join(blas)}, numba {compiler}"


def processor() -> str:
    """Return the name of the processor and its vector instructions: speeds depend on both."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    flags = {flag for line in lines if line.startswith("flags") for flag in line.split()}
    vectors = [flag for flag in ("avx2", "fma", "avx512f") if flag in flags]
    return (
        f"{named[0] if named else platform.processor()} ({', '.join(vectors)}; {len(named)} cores)"
    )
