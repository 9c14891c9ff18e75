"""Ctrl-C: without a fitted model it ends the ranking, afterwards it leaves out what remains."""

import signal

import numpy as np
import pytest

import gramsmith as gs

X = np.random.default_rng(0).normal(size=(80, 3))
Y = X[:, 0] * X[:, 1] > 0


@pytest.fixture(autouse=True)
def _python_hears_ctrl_c():
    """Background jobs of a shell ignore SIGINT, and so would Python."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Presses:
    """A listener that presses Ctrl-C in a stage, once or twice."""

    def __init__(self, stage, times=1):
        self.stage, self.times = stage, times

    def __call__(self, stage, done, total, label):
        if stage == self.stage and self.times:
            self.times -= 1
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("stage", ["read", "check", "learn", "measures", "cross-validation", "fit"])
def test_before_there_is_a_model_it_is_an_interrupt(stage):
    with pytest.raises(KeyboardInterrupt):
        gs.rank_kernels(X, Y, progress=Presses(stage), n_jobs=1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.filterwarnings("ignore:The ranking is partial")
def test_the_estimate_is_made_in_another_way():
    ranking = gs.rank_kernels(X, Y, ["rbf", "linear"], progress=Presses("estimate"))
    assert ranking.estimate.kind == "bootstrap"
    assert ranking.partial
    assert "nested cross-validation" in ranking.interrupted
    assert ranking.verdict.level != "good"
    assert ranking.best_estimator.predict(X).shape == (80,)


def test_the_second_ends_everything():
    with pytest.raises(KeyboardInterrupt):
        gs.rank_kernels(X, Y, ["rbf", "linear"], progress=Presses("estimate", 2))


def test_what_was_finished_is_found_again(tmp_path):
    path = tmp_path / "journal"
    with pytest.raises(KeyboardInterrupt):
        gs.rank_kernels(X, Y, ["rbf", "linear"], progress=Presses("fit"), resume=path)
    again, whole = (gs.rank_kernels(X, Y, ["rbf", "linear"], resume=r) for r in (path, None))
    assert again.records == whole.records
    assert again.estimate == whole.estimate


@pytest.mark.filterwarnings("ignore:The ranking is partial")
def test_evidence_is_gathered_in_short():
    ranking = gs.rank_kernels(X, Y, ["rbf", "linear"], progress=Presses("importance"))
    assert "importance" in ranking.interrupted
    assert ranking.evidence.outcome is not None
    assert not ranking.evidence.importance
