"""The runner: names to experiments, experiments to records, records to files."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from threadpoolctl import threadpool_limits

from papers import kandola_shawe_taylor, lecture_notes, nguyen_ho, pothin_richard, tan
from papers.data import DataError, DataFolder
from papers.experiment import Experiment, Findings, Paper, Run
from papers.output import write_output
from papers.record import Record, absent, of_paper

PAPERS: dict[str, Paper] = {
    module.PAPER.name: module.PAPER
    for module in (pothin_richard, tan, kandola_shawe_taylor, lecture_notes, nguyen_ho)
}

Progress = Callable[[int, int, str], None]


class OutputError(ValueError):
    """Raised before any work when the output folder cannot be written to."""


def list_experiments(names: str | Sequence[str] = "all") -> list[Experiment]:
    """Return the experiments of papers, in order.

    Parameters
    ----------
    names : str or list of str
        Names of papers, "all", or single experiments such as "tan/tables".

    Returns
    -------
    list of Experiment

    Examples
    --------
    >>> from papers import list_experiments
    >>> {experiment.paper for experiment in list_experiments("tan")}
    {'tan'}
    """
    wanted = [names] if isinstance(names, str) else list(names)
    every = [experiment for paper in PAPERS.values() for experiment in paper.experiments]
    known = ["all", *PAPERS, *(experiment.name for experiment in every)]
    if not wanted:
        raise ValueError(f"Expected a paper among {', '.join(['all', *PAPERS])}, got none.")
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.4)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"Expected a paper among {', '.join(['all', *PAPERS])}, got {name!r}.{hint}"
            )
    return [e for e in every if {"all", e.paper, e.name} & set(wanted)]


def reproduce(
    names: str | Sequence[str] = "all",
    data: str | Path | None = None,
    output: str | Path | None = None,
    quick: bool = False,
    progress: Progress | None = None,
) -> list[Record]:
    """Re-run experiments and compare every number with the published one.

    An experiment whose data are missing or damaged leaves a record that says so; the others go on.

    Parameters
    ----------
    names : str or list of str
        Names of papers, "all", or single experiments such as "tan/tables".
    data : path, optional
        Folder of data sets; default the environment variable GRAMSMITH_DATA.
    output : path, optional
        Folder for records.csv, records.json, figures/ and reproduction.html.
    quick : bool
        Fewer repetitions.
    progress : callable, optional
        Called with (experiments done, experiments in all, name of the next one, "" at the end).

    Returns
    -------
    list of Record

    Examples
    --------
    >>> from papers import reproduce
    >>> [record.verdict for record in reproduce("tan/formulas", quick=True)][:2]
    ['corrected', 'corrected']
    """
    experiments = list_experiments(names)
    folder = None if output is None else _writable(Path(output))
    if data is not None and not Path(data).is_dir():
        raise ValueError(
            f"Expected a folder of data sets, got {str(data)!r}, which is no folder. Name one with "
            "--data DIR, or leave it out to run what needs no data."
        )
    run = Run(DataFolder(data), quick)
    found: list[tuple[Experiment, Findings]] = []
    for done, experiment in enumerate(experiments):
        if progress is not None:
            progress(done, len(experiments), experiment.name)
        found.append((experiment, _isolated(experiment, run)))
    if progress is not None:
        progress(len(experiments), len(experiments), "")
    if folder is not None:
        write_output(folder, PAPERS, found, quick)
    return [record for _, findings in found for record in findings.records]


def _isolated(experiment: Experiment, run: Run) -> Findings:
    """Run an experiment; whatever stops it becomes a record, so that the others go on."""
    try:
        # The matrices are small: more BLAS threads than one only get in each other's way.
        with threadpool_limits(1, user_api="blas"):
            findings = experiment.function(run)
    except DataError as error:
        findings = Findings([absent(experiment.title, ", ".join(experiment.sets), str(error))])
    except Exception as error:
        note = f"{type(error).__name__}: {error}"
        findings = Findings([absent(experiment.title, "", note, "failed")])
    findings.records = [of_paper(record, experiment.paper) for record in findings.records]
    return findings


def _writable(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, probe = tempfile.mkstemp(dir=folder)
        os.close(handle)
        os.unlink(probe)
    except OSError as error:
        raise OutputError(
            f"Expected a folder that can be written to, got {str(folder)!r}: "
            f"{error.strerror or error}. Name another one with -o DIR."
        ) from error
    return folder
