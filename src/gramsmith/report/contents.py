"""Words and numbers of a report: the answer, what to do next, how it came about."""

from __future__ import annotations

import math
import platform
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy.typing as npt

from gramsmith.report.axes import needs_extra

Array = npt.NDArray[Any]

MEANING = {
    "cka": "alignment with the labels, both centred",
    "cka_debiased": "the same without the bias of the diagonal",
    "kta": "alignment with the labels",
    "fsm": "spread of the classes over the distance of their means",
    "fsm_loo": "spread over distance of the classes, with every sample left out of its own mean",
    "csm": "scatter within over scatter between the classes",
}


@dataclass(frozen=True)
class Answer:
    """The answer to whoever asks: is it good, and can I use it."""

    level: str  # "good", "care" or "poor"
    text: str  # in one sentence
    details: list[str] = field(default_factory=list)  # what stands behind it, a sentence each
    interval: str = ""  # of 95 % of the score


@dataclass(frozen=True)
class BandwidthPath:
    """A family of kernels along its parameter: from wide to narrow, or from short to long."""

    family: str
    steps: Array  # places on the axis, ascending
    measures: dict[str, Array]  # oriented so that higher is better; NaN where undefined
    scores: Array  # of every kernel in the first check, higher is better; NaN where unknown
    axis: str = "width of the kernel"
    labels: list[str] = field(default_factory=list)  # values of the parameter
    chosen: float | None = None  # the step of the winner, if it is of this family


def records_frame(records: Sequence[dict[str, Any]]) -> Any:
    """Return records as a pandas data frame, one row each, indexed by rank.

    Parameters
    ----------
    records : list of dict
        With the key "rank".

    Returns
    -------
    pandas.DataFrame
    """
    with needs_extra():
        import pandas as pd

    return pd.DataFrame.from_records(list(records)).set_index("rank")


def number(value: Any, digits: int = 3) -> str:
    """Return a number as short text; a dash for what is undefined."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    if 1000 <= abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value if abs(value) > 1e-12 else 0.0:.{digits}g}"


def with_error(value: Any, error: Any) -> str:
    """Return value ± error, to the digits that the error leaves."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if error is None or not math.isfinite(error) or error <= 0:
        return f"{value:.3f}" if abs(value) < 100 else f"{value:.4g}"
    places = min(6, max(0, 1 - math.floor(math.log10(error))))
    return f"{value:.{places}f} ± {error:.{places}f}"


READERS = {
    ".csv": 'pandas.read_csv("{}")',
    ".tsv": 'pandas.read_csv("{}", sep="\\t")',
    ".parquet": 'pandas.read_parquet("{}")',
    ".feather": 'pandas.read_feather("{}")',
    ".xlsx": 'pandas.read_excel("{}")',
    ".npy": 'numpy.load("{}")',
}
SEQUENCES = (".fasta", ".fa", ".fna", ".faa")


def next_steps(ranking: Any, source: str | None, model: str | None) -> list[tuple[str, str]]:
    """Return what to do next, and the code."""
    steps = []
    if ranking.records[0]["tied"]:
        second = next(r["kernel"] for r in ranking.records[1:] if r["tied"])
        steps.append(
            (
                "The first places are tied: by these data neither is clearly worse. The order is "
                "that of the score; read what else is known of the others.",
                f"print(ranking.explain({second!r}))",
            )
        )
    if model is None:
        return [
            (
                "Predict new rows with the fitted winner.",
                "model = ranking.best_estimator\nmodel.predict(X_new)",
            ),
            (
                "Keep it in a file that runs no code when it is loaded, and load it again.",
                'gs.save_model(model, "model.safetensors")\n'
                'model = gs.load_model("model.safetensors")',
            ),
            *steps,
            (
                "Estimate what to expect on new data in another way: the choice of the kernel is "
                "made anew in every fold.",
                "from sklearn.model_selection import cross_val_score\n"
                "cross_val_score(gs.KernelSelector(), X, y, cv=5)",
            ),
        ]
    suffixes = PurePath(source or "new.csv").suffixes
    kind = next((s for s in reversed(suffixes) if s in READERS or s in SEQUENCES), "")
    new = f"new{kind or '.csv'}"
    lines = ["import gramsmith as gs", f"model = gs.load_model({str(model)!r})"]
    if kind in SEQUENCES:
        lines.append(f'new = [record.sequence for record in gs.read_fasta("{new}")]')
    elif kind in READERS:
        reader = READERS[kind].format(new)
        lines = [f"import {reader.partition('.')[0]}", *lines, f"new = {reader}"]
    return [
        (
            "Predict new rows on the command line: a table like the one that was read, in the "
            "same format.",
            f"gramsmith predict {shlex.quote(str(model))} {new} -o predictions.csv",
        ),
        ("Or in Python.", "\n".join([*lines, "model.predict(new)"])),
        (
            "See what the file holds: columns, kernel, the score to expect, limits.",
            f"gramsmith inspect {shlex.quote(str(model))}",
        ),
    ]


def provenance(ranking: Any, command: str | None, data: str | None) -> list[tuple[str, str]]:
    """Return how the page came about, label and value."""
    evidence = ranking.evidence
    summary = ranking.summary
    versions = ", ".join(f"{name} {version}" for name, version in summary["versions"].items())
    return [
        *([("command", command)] if command else []),
        ("date", summary["date"]),
        ("versions", versions),
        ("machine", f"{platform.system()} {platform.machine()}"),
        ("seed", str(evidence.seed)),
        ("data, SHA-256", data or f"{evidence.data} (of the encoded table and the target)"),
    ]
