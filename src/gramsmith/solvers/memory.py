"""Whether dense arrays fit into memory, asked before the work begins."""

from __future__ import annotations

import os


def check_memory(
    who: str, n: int, copies: int, remedy: str, *, columns: int | None = None, memory: float = 0.0
) -> None:
    """Raise a MemoryError if there is no room for so many arrays of n rows.

    They have as many `columns` as rows unless told otherwise; `memory` is in bytes, by default that
    of the machine.
    """
    width = n if columns is None else columns
    memory = memory or physical_memory()
    need = copies * 8.0 * n * width
    if need > memory:
        raise MemoryError(
            f"{who}: expected memory for {copies} arrays of {n} x {width} numbers "
            f"({need / 2**30:.3g} GiB), got {memory / 2**30:.3g} GiB. {remedy}"
        )


def physical_memory() -> float:
    """Return the memory of the machine in bytes, infinite where it does not tell."""
    known = hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if known else float("inf")
