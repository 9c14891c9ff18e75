"""What a learner tells while it works, and how it is stopped.

A callback sees numbers after every step; a true result stops the learner, as Ctrl-C does but
without a warning: the best so far is kept, where there is something to keep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import abridged

Array = npt.NDArray[Any]
Callback = Callable[[dict[str, Any]], Any]


class Stopped(KeyboardInterrupt):
    """Raised where a callback asks to stop; whoever keeps results of an interrupt keeps them."""


class Monitor:
    """What happens after every iteration: history, progress, early stopping, the best so far.

    `held_out` gives the oriented value of theta on samples that are not climbed; after `patience`
    iterations without a better one the search stops. `parameters` gives what theta stands for, by
    name, for the callback.
    """

    def __init__(
        self,
        name: str,
        held_out: Callable[[Array], float] | None = None,
        patience: int = 10,
        verbose: int = 0,
        callback: Callback | None = None,
        parameters: Callable[[Array], dict[str, Any]] = lambda theta: {},
    ) -> None:
        self.name, self.held_out, self.patience = name, held_out, patience
        self.verbose, self.callback, self.parameters = verbose, callback, parameters
        self.rows: list[dict[str, float]] = []
        self.theta: Array | None = None
        self.value = np.nan
        self.best = -np.inf
        self.best_row = 0
        self.last: Array | None = None
        self.status: str | None = None

    def __call__(self, theta: Array, score: float, value: float, slope: Array) -> bool:
        """Record an iteration; return whether to stop."""
        row = {
            "value": value,
            "score": score,
            "step": 0.0 if self.last is None else float(np.linalg.norm(theta - self.last)),
            "gradient_norm": float(np.linalg.norm(slope)),
        }
        self.last = np.array(theta)
        merit = score
        if self.held_out is not None:
            merit = row["held_out"] = self.held_out(self.last)
        self.rows.append(row)
        if self.theta is None or merit > self.best:
            self.theta, self.value, self.best = self.last, value, merit
            self.best_row = len(self.rows) - 1
        tell_row(self.name, self.verbose, len(self.rows) - 1, row)
        info = {"iteration": float(len(self.rows) - 1), **row}
        if self.callback is not None and asks_to_stop(
            self.callback, info | self.parameters(self.last)
        ):
            self.status = "stopped"
        elif self.held_out is not None and len(self.rows) - 1 - self.best_row >= self.patience:
            self.status = "early"
        return self.status is not None

    def resume(self, theta: Array, score: float, value: float) -> None:
        """Begin again at theta, with another score in other coordinates."""
        self.theta = self.last = np.array(theta)
        self.value, self.best_row, self.status = value, len(self.rows) - 1, None
        self.best = score if self.held_out is None else self.held_out(self.last)

    def history(self) -> dict[str, Array]:
        """Return the recorded numbers as one array per name."""
        names = self.rows[0] if self.rows else {}
        history = {name: np.array([row[name] for row in self.rows]) for name in names}
        return {"measure": history["value"], **history} if history else history


def asks_to_stop(callback: Callback | None, numbers: dict[str, Any]) -> bool:
    """Return whether a callback, if there is one, returns something true."""
    answer = None if callback is None else callback(numbers)
    try:
        return bool(answer)
    except ValueError:  # an array is neither
        raise TypeError(
            f"Expected the callback to return True to stop, or None, got {abridged(answer)}."
        ) from None


def tell_row(name: str, verbose: int, count: int, row: dict[str, float]) -> None:
    """Print the numbers of a step where `verbose` asks for it."""
    if verbose:
        numbers = ", ".join(f"{key} {number:.6g}" for key, number in row.items())
        print(f"[{name}] {count}: {numbers}")


def sweep_progress(
    name: str, callback: Callback | None, verbose: int
) -> Callable[[int, int], None] | None:
    """Return what a `Gram` calls after every tile, or None if nobody listens.

    The callback takes a dict with "done" and "total" tiles; a true result before the last raises
    `Stopped`. With `verbose` a line is printed at every tenth of the way.
    """
    if callback is None and not verbose:
        return None

    def tell(done: int, total: int) -> None:
        if verbose and (done * 10) // total > ((done - 1) * 10) // total:
            print(f"[{name}] {done} of {total} tiles")
        if asks_to_stop(callback, {"done": float(done), "total": float(total)}):
            if done < total:
                raise Stopped(
                    f"{name}: stopped by its callback after {done} of {total} tiles, before there "
                    "was a result. Let the callback return None to go on."
                )

    return tell
