"""Results kept between runs of a long benchmark: one JSON line each, found again by their key."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

import gramsmith as gs


class Kept:
    """A file of finished pieces of work, which are not done again.

    Parameters
    ----------
    path : Path
        One line per piece; what a killed run left half-written is passed over.
    version : str
        What all pieces depend on; default the version of gramsmith.
    """

    def __init__(self, path: Path, version: str = gs.__version__) -> None:
        self.path, self.version = path, version
        self.found: dict[str, Any] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    key, value = json.loads(line)
                except ValueError:
                    continue
                self.found[key] = value

    def key(self, work: Callable[..., Any], piece: tuple[Any, ...]) -> str:
        """Return what the result of a piece is kept under."""
        return " ".join(filter(None, [self.version, work.__name__, json.dumps(piece)]))

    def run(
        self, work: Callable[..., Any], pieces: Iterable[tuple[Any, ...]], jobs: int = 2
    ) -> list[Any]:
        """Return work(*piece) for every piece; pieces done by an earlier run are looked up.

        Parameters
        ----------
        work : callable
            A function of a module; its name is part of the key.
        pieces : iterable of tuples of numbers and texts
        jobs : int
            Processes.
        """
        pieces = list(pieces)
        keys = [self.key(work, piece) for piece in pieces]
        left = [k for k in range(len(pieces)) if keys[k] not in self.found]
        results = Parallel(jobs, return_as="generator")(delayed(work)(*pieces[k]) for k in left)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            for done, (k, result) in enumerate(zip(left, results, strict=True), start=1):
                self.found[keys[k]] = result
                file.write(json.dumps([keys[k], result]) + "\n")
                file.flush()
                print(f"\r{work.__name__}: {done} of {len(left)}", end="", flush=True)
        if left:
            print()
        return [self.found[key] for key in keys]
