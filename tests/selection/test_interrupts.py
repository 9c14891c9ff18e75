"""Ctrl-C: real signals at every stage, what is handed over then, and the run that goes on."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

import gramsmith as gs
from gramsmith.progress import Progress
from gramsmith.report.html import render
from gramsmith.selection import candidates, sizes
from gramsmith.selection.interrupts import Interrupts
from gramsmith.storage import model_card
from tables_text import table_text

KERNELS = {f"width {w}": gs.Gaussian(w) for w in (0.5, 1.0, 2.0, 4.0)} | {"linear": "linear"}
PARTIAL = {  # stage -> what is left out if Ctrl-C is pressed when it begins, or in its middle
    "estimate": ["a plain linear model beside it", "the importance of columns"],
    "fit": ["a plain linear model beside it", "the importance of columns"],
    "evidence": ["a plain linear model beside it", "the importance of columns"],
}


@pytest.fixture(autouse=True)
def heard():
    """Let Ctrl-C be heard: a shell may have the processes in its background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler  # it was given back
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def data():
    X = np.random.default_rng(0).normal(size=(80, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")


def press(stage, at=0, times=1):
    """Return a listener that presses Ctrl-C when it has heard of a stage `at` times before."""
    seen = []

    def listener(name, done, total, label):
        seen.extend([done] * (name == stage))
        if name == stage and at < len(seen) <= at + times:
            os.kill(os.getpid(), signal.SIGINT)

    return listener


def interrupted(X, y, *args, **options):
    with pytest.warns(ConvergenceWarning, match="partial"):
        return gs.rank_kernels(X, y, *args, **options)


def same(one, two, X):
    assert repr(one.records) == repr(two.records)  # a parameter may be nan
    assert one.estimate == two.estimate
    assert one.average == two.average
    values = [found.best_estimator.decision_function(X) for found in (one, two)]
    assert (values[0] == values[1]).all()


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("stage", ["read", "check", "learn", "measures", "cross-validation"])
def test_before_anything_is_verified_it_is_an_interrupt(stage, at, data):
    notes = {}
    with pytest.raises(KeyboardInterrupt):
        gs.rank_kernels(*data, progress=press(stage, at), resume=notes)
    assert "learned" not in notes or stage in ("measures", "cross-validation")


def test_a_fold_that_learns_is_interrupted(rng, monkeypatch):
    X = rng.normal(size=(120, 8))
    y = X[:, 0] * X[:, 1] > 0
    notes, lessons, original = {}, [], candidates._learn

    def learn(*args):
        lessons.append(len(args[0]))
        return original(*args)

    monkeypatch.setattr(candidates, "_learn", learn)

    def listener(stage, *news):
        if stage == "cross-validation" and len(lessons) == 2:  # of all rows, of the first fold
            lessons.append(0)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        gs.rank_kernels(X, y, progress=listener, resume=notes)
    assert notes["learned"]
    assert "learned/0" not in notes  # its weights would not be those of a whole climb
    same(gs.rank_kernels(X, y, resume=notes), gs.rank_kernels(X, y), X)


# the matrices, six tests of the first kernel (five folds and the start), then those of the second
@pytest.mark.parametrize(("at", "verified"), [(5 + 2 + 5, 1), (5 + 2 + 12, 2), (5 + 2 + 26, 5)])
def test_verified_kernels_are_ranked_and_the_best_is_fitted(at, verified, data):
    X, y = data
    ranking = interrupted(X, y, KERNELS, progress=press("cross-validation", at))
    assert ranking.partial
    known = [record for record in ranking.records if record["score"] is not None]
    assert len(known) == verified
    assert known == ranking.records[:verified]
    assert repr(ranking.best_kernel) == repr(gs.as_kernel(KERNELS[known[0]["kernel"]]))
    assert ranking.best_estimator.score(X, y) > 0.4
    left = f"the cross-validation of {5 - verified} of the 5 kernels of the short list"
    assert (left in ranking.interrupted) == (verified < 5)
    assert "during the cross-validation" in ranking.verdict
    assert ranking.estimate.kind == "bootstrap"
    assert np.isfinite([ranking.estimate.value, ranking.estimate.low, ranking.estimate.high]).all()


def test_everyone_says_that_it_is_partial(data, tmp_path):
    X, y = data
    ranking = interrupted(X, y, KERNELS, progress=press("cross-validation", 20))
    words = ranking.interrupted
    assert words in ranking.warnings
    assert words in ranking.summary["limits"]
    assert "The ranking is partial" in ranking.summary["verdict"]
    assert ranking.answer.level != "good"
    assert words in repr(ranking)
    assert words in render(ranking).replace("&#39;", "'")
    path = tmp_path / "model.safetensors"
    gs.save_model(ranking.best_estimator, path, about={"summary": ranking.summary})
    assert "The ranking is partial: it was interrupted during the cross-validation." in model_card(
        path
    )


@pytest.mark.parametrize("stage", PARTIAL)
@pytest.mark.parametrize("at", [0, 1])
def test_what_a_ranking_needs_is_finished(stage, at, data):
    X, y = data
    whole = gs.rank_kernels(X, y, KERNELS)
    ranking = interrupted(X, y, KERNELS, progress=press(stage, at))
    assert ranking._findings.left_out == tuple(PARTIAL[stage])
    assert not whole.partial
    assert whole.interrupted is None
    same(ranking, whole, X)
    assert len(ranking.evidence.rivals) == 1
    assert ranking.evidence.importance == []
    assert ranking.evidence.outcome is not None


@pytest.mark.usefixtures("choice_made_anew")
def test_the_estimate_is_made_in_another_way(data):
    X, y = data
    whole = gs.rank_kernels(X, y, KERNELS)
    ranking = interrupted(X, y, KERNELS, progress=press("estimate", 20))
    assert ranking.records == whole.records  # the choice was made
    assert ranking.average == whole.average
    assert (whole.estimate.kind, ranking.estimate.kind) == ("nested cross-validation", "bootstrap")
    assert "the choice made anew in outer folds for the estimate" in ranking.interrupted
    assert "during the estimate" in ranking.verdict


def test_when_all_is_done_nothing_is_partial(data, monkeypatch):
    original = Interrupts.__exit__

    def late(self, *error):
        os.kill(os.getpid(), signal.SIGINT)
        return original(self, *error)

    monkeypatch.setattr(Interrupts, "__exit__", late)
    with pytest.warns(ConvergenceWarning, match="all was done"):
        ranking = gs.rank_kernels(*data, KERNELS)
    assert not ranking.partial


@pytest.mark.parametrize("stage", ["cross-validation", "estimate", "fit"])
def test_the_second_ends_everything(stage, data):
    at = 20 if stage == "cross-validation" else 0
    first, second, labels = press(stage, at), press("evidence", 1), []

    def listener(*news):
        labels.append(news[-1])
        first(*news)
        second(*news)

    with pytest.raises(KeyboardInterrupt):
        gs.rank_kernels(*data, KERNELS, progress=listener)
    assert labels[-1] == "interrupted: Ctrl-C again ends at once"
    assert labels[0] == "80 rows"


@pytest.mark.parametrize("stage", ["cross-validation", "fit"])
def test_listeners_may_raise_it(stage, data):
    def listener(name, done, *news):
        if name == stage and (done >= 20 or stage == "fit"):
            raised.append(1)
            if len(raised) == 1:
                raise KeyboardInterrupt

    raised = []
    assert interrupted(*data, KERNELS, progress=listener).partial
    with pytest.raises(KeyboardInterrupt):
        gs.rank_kernels(*data, KERNELS, progress=_always)


def _always(*news):
    raise KeyboardInterrupt


@pytest.mark.parametrize("at", [3, 12, 20, 30, 38])
def test_a_run_that_goes_on_ends_as_one_that_was_left_alone(at, data):
    X, y = data
    notes = {}
    try:
        interrupted(X, y, KERNELS, progress=press("cross-validation", at), resume=notes)
        assert at > 7
    except KeyboardInterrupt:
        assert at <= 7
    notes = json.loads(json.dumps(notes))
    same(gs.rank_kernels(X, y, KERNELS, resume=notes), gs.rank_kernels(X, y, KERNELS), X)


@pytest.mark.slow
@pytest.mark.usefixtures("choice_made_anew")
def test_at_any_time(data):
    """Ctrl-C comes from outside at 20 moments of a run; whatever is left, it goes on from there."""
    X, y = data
    begun = time.monotonic()
    whole = gs.rank_kernels(X, y, KERNELS)
    length, outcomes = time.monotonic() - begun, set()
    for k in range(20):
        notes = {}
        timer = threading.Timer(k / 20 * length, os.kill, (os.getpid(), signal.SIGINT))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                timer.start()
                found = gs.rank_kernels(X, y, KERNELS, resume=notes)
                outcomes.add(found.partial)
                assert np.isfinite(found.estimate.value)
                assert found.best_estimator.score(X, y) > 0.5
                timer.cancel()
                timer.join()
            except KeyboardInterrupt:
                outcomes.add(None)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        same(gs.rank_kernels(X, y, KERNELS, resume=notes), whole, X)
    assert outcomes - {False}


def test_on_landmarks(monkeypatch):
    for name, value in (("EXACT_ROWS", 200), ("LANDMARKS", 40), ("LANDMARK_ROWS", 200)):
        monkeypatch.setattr(sizes, name, value)
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = X[:, 0] * X[:, 1] > 0
    notes = {}
    ranking = interrupted(X, y, KERNELS, progress=press("cross-validation", 9), resume=notes)
    known = [r for r in ranking.records if r["score"] is not None]
    assert 0 < len(known) < len(KERNELS)
    assert {f"held-out/{r['kernel']}" for r in known} <= set(notes)
    same(gs.rank_kernels(X, y, KERNELS, resume=notes), gs.rank_kernels(X, y, KERNELS), X)
    with pytest.raises(KeyboardInterrupt):
        gs.rank_kernels(X, y, KERNELS, progress=press("cross-validation", 1))


@pytest.mark.parametrize("labels", [True, False])
def test_several_targets_at_once(labels, rng):
    X = rng.normal(size=(80, 3))
    Y = np.column_stack([X[:, 0] * X[:, 1], X[:, 2]])
    Y = (Y > 0).astype(int) if labels else Y
    notes = {}
    ranking = interrupted(X, Y, KERNELS, progress=press("cross-validation", 14), resume=notes)
    assert ranking.best_estimator.predict(X).shape == (80, 2)
    assert np.isfinite(ranking.estimate.value)
    resumed, fresh = gs.rank_kernels(X, Y, KERNELS, resume=notes), gs.rank_kernels(X, Y, KERNELS)
    assert repr(resumed.records) == repr(fresh.records)
    assert resumed.estimate == fresh.estimate


def test_matrices_have_no_columns_to_leave_out(data):
    X, y = data
    K = gs.Gaussian(1.0)(X)
    ranking = interrupted(K, y, "precomputed", progress=press("fit"))
    assert "columns" not in ranking.interrupted


class Stubborn(gs.KernelRidgeClassifier):
    """A machine that keeps an interrupt to itself, as learners do."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Stubborn.fits += 1
        if Stubborn.fits == 8:  # the third fold of the second kernel
            try:
                os.kill(os.getpid(), signal.SIGINT)
                threading.Event().wait(5)
            except KeyboardInterrupt:
                self.set_params(alpha=1e6)
        return super().fit(X, y, sample_weight)


def test_a_machine_that_was_interrupted_does_not_count(data):
    X, y = data
    Stubborn.fits, notes = 0, {}
    ranking = interrupted(X, y, KERNELS, machine=Stubborn(), resume=notes)
    assert sum(r["score"] is not None for r in ranking.records) == 1
    assert sum(key.startswith("fit/") for key in notes) == 7
    whole = gs.rank_kernels(X, y, KERNELS, machine=Stubborn())
    same(gs.rank_kernels(X, y, KERNELS, machine=Stubborn(), resume=notes), whole, X)


def test_a_program_that_listens_to_the_signal_decides(data):
    calls = []

    def own(number, frame):
        calls.append(number)

    signal.signal(signal.SIGINT, own)
    for stage in ("check", "fit"):  # before and after the first kernel is verified
        assert not gs.rank_kernels(*data, KERNELS, progress=press(stage)).partial
    assert calls == [signal.SIGINT] * 2
    assert signal.getsignal(signal.SIGINT) is own
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert not gs.rank_kernels(*data, KERNELS, progress=press("fit")).partial
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_other_threads_leave_the_signal_alone(data):
    found, handlers = [], set()

    def listener(*news):
        handlers.add(signal.getsignal(signal.SIGINT))

    def work():
        found.append(gs.rank_kernels(*data, KERNELS, progress=listener))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not found[0].partial
    assert handlers == {signal.default_int_handler}


def test_a_selector_is_fitted_with_what_was_verified(data, monkeypatch):
    X, y = data
    listener = press("cross-validation", 20)
    monkeypatch.setattr(Progress, "__call__", lambda self, *news: listener(*news))
    with pytest.warns(ConvergenceWarning, match="partial"):
        scores = cross_val_score(gs.KernelSelector(KERNELS, verbose=True), X, y, cv=3)
    assert len(scores) == 3  # one fold ended early, the others did not
    assert (scores > 0.5).all()


SCRIPT = """
import os, signal, sys
from gramsmith.cli import run
from gramsmith.progress import Progress
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
seen, original = [], Progress.__call__
def press(self, stage, *news):
    original(self, stage, *news)
    seen.append(stage)
    if seen.count({stage!r}) == {at} and stage == {stage!r}:
        os.kill(os.getpid(), signal.SIGINT)
Progress.__call__ = press
sys.exit(run(args=sys.argv[1:]))
"""


def rank(path, folder, *options, stage="", at=0):
    script = SCRIPT.format(stage=stage, at=at)
    args = [sys.executable, "-c", script, "rank", str(path), "-t", "y", "-o", str(folder), *options]
    return subprocess.run(args, capture_output=True, text=True, timeout=300)


def test_the_command_line_writes_its_files_and_goes_on(tmp_path):
    path, folder, fresh = tmp_path / "t.csv", tmp_path / "run", tmp_path / "fresh"
    path.write_text(table_text(60))
    done = rank(path, folder, stage="estimate", at=20)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert "The ranking is partial" in done.stdout
    assert "--resume" in done.stderr
    found = json.loads((folder / "ranking.json").read_text())
    assert found["partial"]
    assert "outer folds" in found["interrupted"]
    assert found["estimate"]["kind"] == "bootstrap"
    assert "The ranking is partial" in (folder / "report.html").read_text()
    assert "The ranking is partial" in model_card(folder / "model.safetensors")
    assert gs.load_model(folder / "model.safetensors") is not None
    assert rank(path, folder).returncode == 2  # not unasked
    done = rank(path, folder, "--resume")
    assert done.returncode == 0, done.stderr
    assert rank(path, fresh).returncode == 0
    names = ("ranking.csv", "ranking.json", "model.safetensors")
    assert all((folder / name).read_bytes() == (fresh / name).read_bytes() for name in names)
    assert not (folder / "progress.journal").exists()
    assert not json.loads((folder / "ranking.json").read_text())["partial"]


def test_the_command_line_before_anything_is_verified(tmp_path):
    path, folder = tmp_path / "t.csv", tmp_path / "run"
    path.write_text(table_text(60))
    done = rank(path, folder, stage="learn", at=2)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert [file.name for file in folder.iterdir()] == ["progress.journal"]
