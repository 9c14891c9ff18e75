"""Compilation of loops with numba, where it is installed (the extra `fast`).

Loops are plain Python functions: `compile_loop` turns them into machine code on first use, so that
importing gramsmith does not import numba. Machine code is kept on disk, beside the source or in the
user's cache folder, and loaded by later processes.

Sweeps over many samples use compiled formulas, those over few NumPy, which is there at once:
importing numba takes longer than a sweep over few samples, and compiling (once) a second or two.
Which it is depends on the number of samples alone (`worthwhile`), not on what happens to be
compiled already, so that the same computation gives the same bits the first time and later. The
plan of a sweep holds the decision (`gramsmith.gram.plan`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from types import FunctionType
from typing import Any

SAMPLES = 4096  # from so many on a sweep is compiled

_lock = threading.Lock()


def available() -> bool:
    """Return whether compiled loops are to be used; GRAMSMITH_NUMBA=0 switches them off."""
    wanted = os.environ.get("GRAMSMITH_NUMBA", "1") != "0"
    works = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0" and find_spec("numba") is not None
    return wanted and works


def machine_code() -> str:
    """Return in words what the bits of compiled loops depend on."""
    return _compiler() if available() else "not used"


@cache
def _compiler() -> str:
    from importlib.metadata import version

    from llvmlite.binding import get_host_cpu_name  # which comes with numba, and is light

    return f"{version('numba')} for {get_host_cpu_name()}"


def worthwhile(n: int) -> bool:
    """Return whether a sweep over the pairs of n samples is to be compiled."""
    return n >= SAMPLES and available()


@cache
def _compiled(
    loop: Callable[..., Any],
    liberties: frozenset[str],
    called: frozenset[tuple[str, Any]],
    kept: bool,
    label: str | None,
) -> Any:
    import numba

    if called:
        loop = FunctionType(loop.__code__, {**loop.__globals__, **dict(called)}, loop.__name__)
        loop.__qualname__ = label or loop.__name__
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": set(liberties) or False,
    }
    if kept:
        try:
            return numba.njit(cache=True, **options)(loop)
        except RuntimeError:  # no folder to keep machine code in: compile once per process
            return numba.njit(**options)(loop)
    # what loops call: only what stands in the loop itself can be done for several numbers at once
    return numba.njit(forceinline=True, **options)(loop)


def compile_loop(
    loop: Callable[..., Any],
    *liberties: str,
    kept: bool = True,
    label: str | None = None,
    **called: Any,
) -> Any:
    """Return the compiled form of a loop without a closure; it runs without the interpreter lock.

    `liberties` is what the compiler may do to floating-point numbers: "contract" (fused multiply-
    add) and "reassoc" (change the order of sums, so as to add in vector registers; the order is
    fixed when the loop is compiled). What is `kept` is kept on disk and found by the file of the
    loop, its date, `label` and the types of the arguments: so what a loop calls (`called`, by the
    names it has there) must stand in the same file, and a loop that is compiled with different
    functions needs different labels. What is not kept becomes part of what calls it.
    """
    # Two threads that compile one function at once would do the work twice.
    with _lock:
        called_items = frozenset(called.items())
        return _compiled(loop, frozenset(liberties), called_items, kept, label)
