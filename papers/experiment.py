"""Experiment: a named piece of a paper that runs on its own and leaves records and figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from papers.data import DataFolder, DataSet
from papers.figure import Figure
from papers.record import Record


@dataclass(frozen=True)
class Run:
    """What an experiment may use: the data folder, and whether to be quick.

    Parameters
    ----------
    data : DataFolder
    quick : bool
        Fewer repetitions; the same computations.
    """

    data: DataFolder
    quick: bool = False

    def load(self, name: str, **options: Any) -> DataSet:
        """Return a data set, or raise `DataError`."""
        return self.data.load(name, **options)

    def choose(self, full: int, quick: int) -> int:
        """Return the number of repetitions for this run."""
        return quick if self.quick else full

    @staticmethod
    def rng(seed: int = 0) -> np.random.Generator:
        """Return a generator, the same in every run."""
        return np.random.default_rng(seed)


@dataclass
class Findings:
    """What an experiment found.

    Parameters
    ----------
    records : list of Record
    figures : list of Figure
    """

    records: list[Record] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)


@dataclass(frozen=True)
class Experiment:
    """A part of a paper that can be run.

    Parameters
    ----------
    paper : str
    part : str
        Short name inside the paper.
    title : str
    function : callable
        Run -> Findings.
    sets : tuple of str
        Data sets it reads from the data folder; without them it is not run.
    """

    paper: str
    part: str
    title: str
    function: Callable[[Run], Findings] = field(repr=False)
    sets: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Paper and part, as one may type it on the command line."""
        return f"{self.paper}/{self.part}"


@dataclass(frozen=True)
class Paper:
    """A paper and its experiments.

    Parameters
    ----------
    name : str
    title, authors, year : str
        The year may be empty.
    summary : str
        What was found, in a few sentences.
    experiments : tuple of Experiment
    """

    name: str
    title: str
    authors: str
    year: str
    summary: str
    experiments: tuple[Experiment, ...]


def error_rate(machine: Any, X: Any, y: Any) -> float:
    """Return the share of wrong predictions of a fitted machine, as the machine gives them.

    The only way from a machine to an error in a record: no experiment holds predictions in its
    hands (tests/papers/test_nothing_by_hand.py).
    """
    return float(np.mean(machine.predict(X) != y))


def mean_f1(machine: Any, X: Any, y: Any) -> float:
    """Return the mean F1 of the classes of a fitted machine, as the machine gives it."""
    return float(f1_score(y, machine.predict(X), average="macro", zero_division=0))


def squared_error(machine: Any, X: Any, y: Any) -> float:
    """Return the mean squared error of a fitted machine, as the machine gives it."""
    return float(np.mean((machine.predict(X) - y) ** 2))


def decision_values(machine: Any, X: Any) -> Any:
    """Return the decision values of a fitted machine, read-only."""
    values = machine.decision_function(X)
    values.setflags(write=False)
    return values
