import numpy as np
import pytest

import gramsmith as gs
from gramsmith.learning.monitor import Monitor, Stopped, sweep_progress
from oracle import golden
from oracle.plain_learners import KernelLearner, TransformLearner


def seen(monitor, *scores):
    for k, score in enumerate(scores):
        monitor(np.array([float(k)]), score, 2 * score, np.ones(1))
    return monitor


def test_keeps_the_best_and_its_history():
    monitor = seen(Monitor("x"), 1.0, 3.0, 2.0)
    assert monitor.theta == 1.0
    assert monitor.value == 6.0
    assert monitor.history()["score"].tolist() == [1.0, 3.0, 2.0]
    np.testing.assert_array_equal(monitor.history()["measure"], monitor.history()["value"])


def test_stops_when_the_held_out_value_falls():
    monitor = seen(Monitor("x", held_out=lambda theta: -theta[0], patience=2), 1.0, 2.0, 3.0)
    assert monitor.status == "early"
    assert monitor.theta == 0.0


def test_begins_again_with_another_score():
    """What was best by the score of an earlier search is forgotten, its history is not."""
    monitor = seen(Monitor("x"), 5.0, 6.0)
    monitor.resume(np.array([7.0]), 1.0, 2.0)
    assert (monitor.theta, monitor.value, monitor.best) == (7.0, 2.0, 1.0)
    seen(monitor, 1.5)
    assert monitor.value == 3.0
    assert len(monitor.rows) == 3


def test_nobody_listens():
    assert sweep_progress("x", None, 0) is None


def test_lines_at_every_tenth(capsys):
    tell = sweep_progress("x", None, 1)
    for done in range(1, 101):
        tell(done, 100)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[-1] == "[x] 100 of 100 tiles"


def test_learners_tell_of_their_sweep():
    rows = []
    gs.KernelCombination([gs.Gaussian(1.0), gs.Laplacian()], callback=rows.append).fit(
        golden.X, golden.y
    )
    assert rows[-1]["done"] == rows[-1]["total"] >= 1


def test_learners_tell_of_their_directions(rng):
    rows = []
    X = rng.normal(size=(300, 2))
    gs.SpectralAligner(n_components=3, callback=rows.append).fit(X, X[:, 0] > 0)
    assert rows


def after(count):
    """A callback that asks to stop when it is called the given number of times."""
    calls = []

    def callback(info):
        calls.append(info)
        return len(calls) == count

    callback.calls = calls
    return callback


def test_a_sweep_stops_before_its_last_tile():
    callback = after(1)
    with pytest.raises(Stopped, match="x: stopped by its callback after 3 of 4 tiles"):
        sweep_progress("x", callback, 0)(3, 4)
    sweep_progress("x", after(1), 0)(4, 4)  # all is done


@pytest.mark.parametrize(
    "learner",
    [
        TransformLearner(),
        TransformLearner(solver="ascent"),
        TransformLearner(solver="ascent", batch_size=10, random_state=0),
        KernelLearner(gs.Gaussian(1.0)),
        KernelLearner(gs.Gaussian(1.0), n_starts=5, random_state=0),
        gs.TwoGaussianLearner(),
        gs.TwoGaussianLearner(sigma1=0.5),
        gs.SpectralAligner(gs.Gaussian(1.0), method="cholesky"),
    ],
    ids=repr,
)
def test_a_true_result_stops_every_learner(learner):
    """Nothing is called again, no warning is issued, and what was found so far is kept."""
    callback = after(3)
    found = learner.set_params(callback=callback).fit(golden.X, golden.y)
    assert len(callback.calls) == 3
    assert np.isfinite(found.value_)
    assert found.kernel_(golden.X).shape == (12, 12)


def test_a_sweep_that_is_stopped_has_no_result():
    learner = gs.KernelCombination([gs.Gaussian(1.0)], callback=lambda info: True)
    learner.fit(golden.X, golden.y)  # one tile, which is the last
    X = np.random.default_rng(0).normal(size=(2000, 2))
    with pytest.raises(Stopped, match="KernelCombination"):
        learner.fit(X, X[:, 0] > 0)
