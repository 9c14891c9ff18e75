"""Words: scores with their names, the verdict, the warnings, what to do next."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np

from gramsmith.measures import MEASURES
from gramsmith.report.contents import number, with_error
from gramsmith.selection import search
from gramsmith.selection.search import Search

MACHINES = {
    "svc": "a support vector classifier",
    "svr": "support vector regression",
    "ridge": "kernel ridge regression",
    "landmarks": "kernel ridge on landmarks",
}

MEANING = {
    "cka": "alignment with the labels, both centred",
    "cka_debiased": "the same without the bias of the diagonal",
    "kta": "alignment with the labels",
    "fsm": "spread of the classes over the distance of their means",
    "fsm_loo": "spread over distance of the classes, with every sample left out of its own mean",
    "csm": "scatter within over scatter between the classes",
}


class Words:
    """What there is to say about one selection.

    Parameters
    ----------
    hunt : Search
    model : estimator
        The fitted winner.
    """

    def __init__(self, hunt: Search, model: Any) -> None:
        self.hunt = hunt
        self.model = model
        self.judge = hunt.judge

    # ---- scores -----------------------------------------------------------------------------

    @property
    def score(self) -> str:
        """The name of the score."""
        if self.judge.plain:
            return "accuracy" if self.judge.task == "classification" else "r2"
        named = self.judge.scoring
        return named if isinstance(named, str) else getattr(named, "__name__", "score")

    @property
    def _unit(self) -> float:
        return float(np.var(self.judge.y)) or 1.0

    def as_score(self, loss: float) -> float:
        """Return a loss as the score the user asked for."""
        if not self.judge.plain:
            return -float(loss)
        if self.judge.task == "classification":
            return 1.0 - float(loss)
        return 1.0 - float(loss) / self._unit

    def as_error(self, error: float) -> float:
        """Return the standard error of a loss in units of the score."""
        plain_values = self.judge.plain and self.judge.task == "regression"
        return float(error) / self._unit if plain_values else float(error)

    # ---- sentences --------------------------------------------------------------------------

    def verdict(self, records: list[dict[str, Any]]) -> str:
        """Return the outcome in one sentence."""
        best = records[0]
        tied = [r["kernel"] for r in records[1:] if r["tied"]]
        how = f"{best['verified']} of {MACHINES[best['machine']]}"
        text = (
            f"{best['kernel']} wins with {self.score} "
            f"{with_error(best['score'], best['score_error'])} ({how})"
        )
        if tied:
            named = listed([f"“{name}”" for name in tied[:3]])
            more = f" and {len(tied) - 3} more" if len(tied) > 3 else ""
            verb = "is" if len(tied) == 1 else "are"
            return f"{text}; {named}{more} {verb} within the error bars, a tie."
        verified = [r for r in records[1:] if r["verified"] == best["verified"]]
        if verified and self.hunt.results:
            return f"{text}, ahead of “{verified[0]['kernel']}” by more than the error bars."
        return f"{text}."

    def sampled(self) -> str | None:
        """Return what was computed on samples of the rows, or None."""
        n, limit = self.judge.n, self.hunt.max_samples or self.judge.n
        parts = []
        for what, size in (
            ("the measures", search.SCREEN_ROWS),
            ("the leave-one-out check", search.CHECK_ROWS),
            (
                "the contest of machines",
                search.FINAL_ROWS if self.hunt.on_landmarks else search.CONTEST_ROWS,
            ),
        ):
            rows = min(size, limit)
            if rows < n:
                parts.append(f"{what} on {rows:,} rows")
        if not parts:
            return None
        end = "the winner was fitted on all of them"
        if n > search.EXACT_ROWS:
            end += ", on landmarks"
        return f"Of {n:,} rows, samples were used for {listed(parts)}; {end}."

    def warnings(self, records: list[dict[str, Any]]) -> list[str]:
        """Return what should be known before the result is used."""
        found = [a.message for a in self.hunt.advice if a.code != "tie"]
        best = records[0]
        floor = self._floor()
        if floor is not None and best["score"] - 2.0 * best["score_error"] <= floor[0]:
            found.insert(
                0,
                f"No kernel does clearly better than {floor[1]} ({self.score} {floor[0]:.3f}): "
                "the features may not carry the target.",
            )
        edge = self._edge()
        if edge:
            found.append(edge)
        if self.hunt.late:
            found.append(
                f"The time budget of {self.hunt.time_budget:g} s ran out: kernels that were not "
                "verified are ranked by leave-one-out. Allow more time for a full comparison."
            )
        said = self.sampled()
        if said:
            found.append(said)
        favourites = set(self.hunt.favourites.values())
        if len(favourites) > 2 and self.hunt.results:
            found.append(
                f"The measures disagree: they have {len(favourites)} different favourites. That is "
                "why the short list was verified; do not trust one measure alone."
            )
        return found

    def _floor(self) -> tuple[float, str] | None:
        judge = self.judge
        if not judge.plain:
            return None
        if judge.task == "regression":
            return 0.0, "predicting the mean"
        w = np.ones(judge.n) if judge.w is None else judge.w
        share = np.bincount(judge.y, weights=w) / w.sum()
        usual = judge.labels[judge.y == share.argmax()][0]
        return float(share.max()), f"always answering {str(usual)!r}"

    def _edge(self) -> str | None:
        hunt = self.hunt
        best = hunt.candidates[hunt.order[0]]
        steps = [c.step for c in hunt.candidates if c.family == best.family and c.step is not None]
        if best.step is None or len(steps) < 5 or best.family == "spectrum":
            return None
        if best.step == min(steps):
            # a wide Gaussian is linear, a wide Laplacian is a sum over features
            end = "the task is close to linear" if best.family == "gaussian" else "try wider ones"
            return f"The winner is the widest {best.family} kernel that was tried: {end}."
        if best.step == max(steps):
            return (
                f"The winner is the narrowest {best.family} kernel that was tried: it decides "
                "by the nearest samples. More data, or fewer irrelevant features, would help."
            )
        return None

    def explain(self, records: list[dict[str, Any]], name: str | None) -> str:
        """Return what is known about one kernel."""
        names = [r["kernel"] for r in records]
        name = names[0] if name is None else name
        if name not in names:
            near = difflib.get_close_matches(name, names, 3) or names[:3]
            raise ValueError(
                f"Expected a kernel of this ranking, got {name!r}. "
                f"Perhaps {listed([repr(n) for n in near], 'or')}."
            )
        record = records[names.index(name)]
        candidate = next(c for c in self.hunt.candidates if c.name == name)
        lines = [
            f"{name}: {candidate.kernel.formula()}",
            f"Rank {record['rank']} of {len(records)}"
            + (", tied with the best." if record["tied"] else "."),
            f"{self.score} {with_error(record['score'], record['score_error'])} by "
            f"{record['verified']} of {MACHINES[record['machine']]}; leave-one-out of ridge "
            f"regression gives {number(record['loo_score'])}.",
        ]
        liked = [m for m, favourite in self.hunt.favourites.items() if favourite == name]
        if liked:
            lines.append(f"Favourite of {listed(liked)}.")
        elif record["verified"] == "leave-one-out":
            lines.append("Not on the short list: neither the measures nor the check favoured it.")
        for measure in self.hunt.measures.measures:
            better = "higher" if MEASURES[measure].higher_is_better else "lower"
            value = with_error(record[measure], record[f"{measure}_error"])
            lines.append(f"  {measure} = {value} ({MEANING[measure]}; {better} is better)")
        return "\n".join(lines)


def listed(items: list[str], word: str = "and") -> str:
    """Return items as a list in a sentence."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {word} {items[-1]}"
