import numpy as np

from gramsmith.learning.watch import Watch


def seen(watch, *scores):
    for k, score in enumerate(scores):
        watch(np.array([float(k)]), score, 2 * score, np.ones(1))
    return watch


def test_keeps_the_best_and_its_history():
    watch = seen(Watch("x"), 1.0, 3.0, 2.0)
    assert watch.theta == 1.0
    assert watch.value == 6.0
    assert watch.history()["score"].tolist() == [1.0, 3.0, 2.0]
    np.testing.assert_array_equal(watch.history()["measure"], watch.history()["value"])


def test_stops_when_the_held_out_value_falls():
    watch = seen(Watch("x", held_out=lambda theta: -theta[0], patience=2), 1.0, 2.0, 3.0)
    assert watch.status == "early"
    assert watch.theta == 0.0


def test_begins_again_with_another_score():
    """What was best by the score of an earlier search is forgotten, its history is not."""
    watch = seen(Watch("x"), 5.0, 6.0)
    watch.resume(np.array([7.0]), 1.0, 2.0)
    assert (watch.theta, watch.value, watch.best) == (7.0, 2.0, 1.0)
    seen(watch, 1.5)
    assert watch.value == 3.0
    assert len(watch.rows) == 3
