"""Search: check, learn, screen, short-list, compete, choose."""

from __future__ import annotations

import time
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.evaluation.result import Advice, Evaluation
from gramsmith.gram.threads import count_workers, one_blas_thread
from gramsmith.kernels import Gaussian, Precomputed
from gramsmith.selection import contest
from gramsmith.selection.candidates import Candidate, simplicity
from gramsmith.selection.contest import Result, result_from_plain, result_to_plain
from gramsmith.selection.credit import credited, discounted
from gramsmith.selection.judge import Judge
from gramsmith.selection.learned import LEARN_TWICE, learn_diagonal
from gramsmith.selection.samples import Samples
from gramsmith.selection.screen import Screen
from gramsmith.selection.verify import Check, check_by_halving, check_candidates

Array = npt.NDArray[Any]
Progress = Callable[[str, int, int, str], Any]

SCREEN_ROWS = 800  # the measures settle early
CHECK_ROWS = 5000  # rows of the first check of all candidates
CONTEST_ROWS = 1200  # rows on which machines compete
FRESH = 10  # rows, at least, on which learned kernels are tried
SQUARED_WEIGHT = 0.1  # of the squared error beside the share of errors, among the tied
EXACT_ROWS = 6000  # beyond this, machines rest on landmarks instead of all samples
LANDMARKS = 800  # their number
FINAL_ROWS = 10000  # rows on which such machines compete


@dataclass
class Search:
    """One selection, from the samples to the choice.

    Parameters
    ----------
    candidates : list of Candidate
    samples : Samples
    judge : Judge
    learn : bool
        Whether to learn a diagonal transform as a further candidate.
    n_jobs, memory
        See `Gram`.
    max_samples : int, optional
        Most rows in any one step.
    time_budget : float, optional
        Seconds after which no further work is begun.
    progress : callable, optional
        Called with (stage, done, total, label).
    checkpoint : mutable mapping, optional
        Results of finished steps, plain values by key; what it holds is not computed again.
    """

    candidates: list[Candidate]
    samples: Samples
    judge: Judge
    learn: bool = True
    n_jobs: int | None = None
    memory: float | None = None
    max_samples: int | None = None
    time_budget: float | None = None
    progress: Progress | None = None
    checkpoint: MutableMapping[str, Any] | None = None
    advice: list[Advice] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start = time.monotonic()
        self.workers = count_workers(self.n_jobs)
        self.late = False
        self.learned_rows = np.empty(0, dtype=int)

    def run(self) -> Search:
        """Do everything up to the choice of the winner."""
        with one_blas_thread():  # all heavy steps have threads of their own
            return self._run()

    def _run(self) -> Search:
        limit = self.max_samples or self.judge.n
        self.checks = self._check(self.judge.sample(min(CHECK_ROWS, limit)))
        self.report("check", 1, 1, f"{len(self.candidates)} kernels")
        if self.learn and self.in_time():
            self._learn()
        rows = self.judge.sample(min(SCREEN_ROWS, limit), salt=2)
        self.screen = Screen(
            self.candidates, self.samples, self.judge, rows, memory=self.memory, n_jobs=self.n_jobs
        )
        self.report("screen", 1, 1, f"{len(rows)} rows")
        self.favourites = self.screen.favourites()
        self.short = self._short_list()
        self.screen.add_errors([self.candidates[i].name for i in self.short])
        self.measures: Evaluation = self.screen.table()
        self.results = self._compete(limit)
        self.order, self.tied = self._rank()
        names = [self.candidates[i].name for i in self.short]
        self.advice += self.screen.advice(names)
        return self

    # ---- time, progress, memory of earlier runs ---------------------------------------------

    def in_time(self) -> bool:
        """Return whether another piece of work may begin."""
        if self.time_budget is None or time.monotonic() - self.start < self.time_budget:
            return True
        self.late = True
        return False

    def report(self, stage: str, done: int, total: int, label: str) -> None:
        """Tell the listener, if there is one."""
        if self.progress is not None:
            self.progress(stage, done, total, label)

    def _recall(self, key: str) -> Any:
        return None if self.checkpoint is None else self.checkpoint.get(key)

    def _keep(self, key: str, value: Any) -> None:
        if self.checkpoint is not None:
            self.checkpoint[key] = value

    # ---- the steps --------------------------------------------------------------------------

    def _check(self, rows: Array) -> list[Check]:
        kept = self._recall("check")
        if kept is not None and len(kept) == len(self.candidates):
            return [Check(**item) for item in kept]
        checks = check_by_halving(
            self.candidates, self.samples, self.judge, rows=rows, workers=self.workers
        )
        self._keep("check", [check.plain() for check in checks])
        return checks

    def _learn(self) -> None:
        """Add a learned diagonal transform, if it does better on rows it was not learned from."""
        gaussians = [
            i
            for i, c in enumerate(self.candidates)
            if type(c.kernel) is Gaussian and self._seen_in_full(i)
        ]
        views = {self.candidates[i].view for i in gaussians}
        if not gaussians or not views:
            return
        best = min(gaussians, key=lambda i: self.checks[i].squared)
        source = self.candidates[best]
        X = self.samples.views[source.view]
        if not isinstance(X, np.ndarray) or not 2 <= X.shape[1] <= 300:
            return
        # wide kernels hide interactions: the second climb starts near the median distance
        path = [self.candidates[i] for i in gaussians if self.candidates[i].view == source.view]
        middle = min(path, key=lambda c: abs((c.step or 0.0) - 1.0))
        learned = learn_diagonal(source, middle, X, self.judge)
        if learned is None:
            return
        shapes, self.learned_rows = learned
        rows = self.judge.sample(min(CHECK_ROWS, self.max_samples or self.judge.n))
        if np.count_nonzero(~np.isin(rows, self.learned_rows)) < FRESH:
            return  # too few to prove a gain on
        old, fresh = self.checks[best], ~np.isin(rows, self.learned_rows)

        def credit(group: list[Candidate]) -> list[Check]:
            found = check_candidates(
                group, self.samples, self.judge, rows=rows, workers=self.workers, keep=True
            )
            return credited(found, old, self.judge, rows, fresh)

        others = credit([source, *(w.candidate(1.0) for w in shapes)])
        found = [(shape.candidate(1.0), check) for shape, check in zip(shapes, others, strict=True)]
        # the widths of the better shapes: alignment likes wide kernels
        leaders = sorted(range(len(shapes)), key=lambda k: others[k].squared)[:2]
        factors = (2.0, 4.0) if self.judge.n > LEARN_TWICE else (2.0,)
        narrower = [shapes[k].candidate(f) for k in leaders for f in factors]
        others = credit([source, *narrower])
        found += zip(narrower, others, strict=True)
        for candidate, check in sorted(found, key=lambda pair: pair[1].squared)[:2]:
            self.candidates = [*self.candidates, candidate]
            self.checks.append(check)

    def _seen_in_full(self, i: int) -> bool:
        """Return whether a candidate was checked on as many rows as any."""
        return self.checks[i].rows == max(check.rows for check in self.checks)

    def _beaten_by_an_error(self, i: int, best: Result) -> bool:
        return contest.beaten(self.results[i], best, self.judge, errors=1.0)

    def _short_list(self) -> list[int]:
        """Return the candidates worth a contest: favourites of the measures and of the check."""
        squared, loss = (
            np.array(
                [
                    getattr(check, name) if self._seen_in_full(i) else np.inf
                    for i, check in enumerate(self.checks)
                ]
            )
            for name in ("squared", "loss")
        )
        by_square = np.argsort(squared, kind="stable")
        by_loss = np.lexsort((squared, loss))
        chosen = [int(i) for i in (*by_square[:2], *by_loss[:2])]
        # whoever is beaten beyond doubt by all the data has no business in the contest
        best = by_loss[0]
        allowance = loss[best] + 2.0 * self.checks[best].error
        place = {c.name: i for i, c in enumerate(self.candidates)}
        liked = sorted({place[name] for name in self.favourites.values()}, key=lambda i: squared[i])
        chosen += [i for i in liked if loss[i] <= allowance and i not in chosen][:2]
        # a third leader where favourites and leaders are the same
        chosen += [int(by_square[2])] if len(by_square) > 2 and len(set(chosen)) < 4 else []
        return list(dict.fromkeys(chosen))

    @property
    def on_landmarks(self) -> bool:
        """Whether the machine to be used rests on landmarks, because the samples are many."""
        return self.judge.n > EXACT_ROWS and not any(
            isinstance(self.candidates[i].kernel, Precomputed) for i in self.short
        )

    def _compete_on_landmarks(self, limit: int) -> dict[int, Result]:
        """Let ridge machines on landmarks, which will be used, compete by leaving one out."""
        keys = [f"contest/{self.candidates[i].name}" for i in self.short]
        kept = [self._recall(key) for key in keys]
        if all(item is not None for item in kept):
            results = [result_from_plain(item) for item in kept]
        elif not self.in_time():
            return {}
        else:
            rows = self.judge.sample(min(FINAL_ROWS, limit), salt=3)
            checks = check_candidates(
                [self.candidates[i] for i in self.short],
                self.samples,
                self.judge,
                landmarks=LANDMARKS,
                rows=rows,
                workers=self.workers,
                keep=True,
            )
            results = [contest.from_check(check, self.judge, rows) for check in checks]
        for k, (i, key) in enumerate(zip(self.short, keys, strict=True)):
            self._keep(key, result_to_plain(results[k]))
            self.report("contest", k + 1, len(results), self.candidates[i].name)
        return dict(zip(self.short, results, strict=True))

    def _compete(self, limit: int) -> dict[int, Result]:
        if self.on_landmarks:
            return self._discount(self._compete_on_landmarks(limit))
        judge, found = self.judge, {}
        rows = judge.sample(min(CONTEST_ROWS, limit), salt=3)
        folds = 5 if len(rows) <= 600 else 3
        splits = judge.splits(rows, folds)
        Ks = self._grams(self.short, rows)
        keep = [self._recall(f"contest/{self.candidates[i].name}") for i in self.short]
        if judge.task == "classification":
            starts = [contest.COARSE_C] * len(Ks)
            results = self._enter("svc", contest.svc_path(judge), Ks, starts, rows, splits, keep)
        else:
            alphas = [self.checks[i].alpha * contest.COARSE_ALPHA for i in self.short]
            results = self._enter(
                "ridge", contest.ridge_path(judge), Ks, alphas, rows, splits, keep
            )
            results = self._try_svr(results, Ks, rows, splits)
        for i, result in zip(self.short, results, strict=True):
            if result is not None:
                found[i] = result
        return self._discount(found)

    def _discount(self, found: dict[int, Result]) -> dict[int, Result]:
        learned = {i for i in found if self.candidates[i].family == "learned"}
        return discounted(found, learned, self.judge, self.learned_rows)

    def _enter(
        self, machine: str, path: Any, Ks: Any, starts: Any, rows: Array, splits: Any, keep: Any
    ) -> list[Result | None]:
        if all(item is not None for item in keep):
            return [result_from_plain(item) for item in keep]
        results = contest.compete(
            machine,
            path,
            Ks,
            starts,
            self.judge,
            rows,
            splits,
            workers=self.workers,
            in_time=self.in_time,
        )
        for k, (i, result) in enumerate(zip(self.short, results, strict=True)):
            if result is not None:
                self._keep(f"contest/{self.candidates[i].name}", result_to_plain(result))
            self.report("contest", k + 1, len(results), self.candidates[i].name)
        return results

    def _try_svr(
        self, results: list[Result | None], Ks: list[Array], rows: Array, splits: Any
    ) -> list[Result | None]:
        """Let support vector regression, which minds outliers less, try the best kernel."""
        order = sorted(
            (k for k, r in enumerate(results) if r is not None),
            key=lambda k: results[k].loss,  # type: ignore[union-attr]
        )[:1]
        if not order or not self.in_time():
            return results
        scale = float(np.std(self.judge.y)) or 1.0
        starts = [2.0 ** np.array([1.0, 4.0])] * len(order)
        path = contest.svr_path(self.judge, scale)
        others = contest.compete(
            "svr",
            path,
            [Ks[k] for k in order],
            starts,
            self.judge,
            rows,
            splits,
            workers=self.workers,
            in_time=self.in_time,
        )
        out = list(results)
        for k, other in zip(order, others, strict=True):
            if other is not None and other.loss < results[k].loss:  # type: ignore[union-attr]
                out[k] = other
        return out

    def _grams(self, chosen: list[int], rows: Array) -> list[Array]:
        """Return the Gram matrices of some candidates, divided by their spread."""
        group = [self.candidates[i] for i in chosen]
        found: dict[int, Array] = {}
        for k, K in self.samples.blocks(group, rows, rows):
            found[k] = 0.5 * (K + K.T) / self.checks[chosen[k]].spread
        return [found[k] for k in range(len(group))]

    def _rank(self) -> tuple[list[int], set[int]]:
        """Return all candidates from best to worst, and those tied with the best.

        Of those that the contest cannot tell from the least loss, the order also minds the squared
        error of the check: it varies smoothly where counts of errors jump. Where samples are many
        and the error bars narrow, the simplest kernel within one of them comes first.
        """

        def key(i: int) -> tuple[int, float, float]:
            result, check = self.results.get(i), self.checks[i]
            if result is None:
                return 2 if self._seen_in_full(i) else 3, check.loss, check.squared
            if i in close:
                return -1, simplicity(self.candidates[i]), result.loss
            if i not in tied:
                return 1, result.loss, check.squared
            return 0, result.loss + weight * check.squared, check.squared

        tied: set[int] = set()
        close: set[int] = set()
        smooth = self.judge.task == "classification" and self.judge.plain
        weight = SQUARED_WEIGHT if smooth else 0.0
        if self.results:
            least = min(self.results, key=lambda i: (self.results[i].loss, self.checks[i].squared))
            best = self.results[least]
            tied = {i for i, r in self.results.items() if not contest.beaten(r, best, self.judge)}
            if self.on_landmarks:
                close = {i for i in tied if not self._beaten_by_an_error(i, best)}
        order = sorted(range(len(self.candidates)), key=key)
        return order, tied or self._tied_in_check(order[0])

    def _tied_in_check(self, best: int) -> set[int]:
        """Return what the check alone, when there was no time for more, cannot tell apart."""
        limit = self.checks[best].loss + 2.0 * self.checks[best].error
        known = range(len(self.candidates))
        return {best, *(i for i in known if self._seen_in_full(i) and self.checks[i].loss <= limit)}
