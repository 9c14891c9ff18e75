"""Progress of a sweep, told to a callback or to the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Callback = Callable[[dict[str, float]], Any]


def sweep_progress(
    name: str, callback: Callback | None, verbose: int
) -> Callable[[int, int], None] | None:
    """Return what a `Gram` calls after every tile, or None if nobody listens.

    Parameters
    ----------
    name : str
        Of the estimator.
    callback : callable, optional
        Takes a dict with "done" and "total" tiles.
    verbose : int
        Print a line at every tenth of the way.
    """
    if callback is None and not verbose:
        return None

    def tell(done: int, total: int) -> None:
        if callback is not None:
            callback({"done": float(done), "total": float(total)})
        if verbose and (done * 10) // total > ((done - 1) * 10) // total:
            print(f"[{name}] {done} of {total} tiles")

    return tell
