import numpy as np
import pytest

import gramsmith as gs
from gramsmith.learning.minibatch import make_draw, shares
from gramsmith.targets import make_target


@pytest.fixture
def parity(rng):
    X = rng.normal(size=(600, 6))
    return X, X[:, 0] * X[:, 1] > 0


def learner(**options):
    return gs.TransformLearner(
        solver="ascent", batch_size=64, max_iter=150, random_state=0, **options
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_batches_find_the_features(parity):
    found = learner().fit(*parity)
    assert found.feature_importances_[:2].sum() > 0.8
    assert found.n_iter_ == 150


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_batches_are_repeatable(parity):
    one, two = learner().fit(*parity), learner().fit(*parity)
    np.testing.assert_array_equal(one.components_, two.components_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_batches_with_a_held_out_part(parity):
    found = learner(early_stopping=True).fit(*parity)
    held = found.history_["held_out"]
    assert found.value_ == found.history_["value"][np.argmax(held)]


def test_an_interrupt_keeps_what_was_learned(parity):
    def callback(info):
        if info["iteration"] == 20:
            raise KeyboardInterrupt

    with pytest.warns(Warning, match="interrupted"):
        found = learner(callback=callback).fit(*parity)
    assert found.n_iter_ == 21


def test_batches_need_gradient_ascent(parity):
    with pytest.raises(ValueError, match="batch_size"):
        gs.TransformLearner(batch_size=64).fit(*parity)
    with pytest.raises(ValueError, match=r"'batch_size' parameter .*Got 4"):
        gs.TransformLearner(batch_size=4, solver="ascent").fit(*parity)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_batches_of_uneven_classes(rng):
    """Seventeen of six hundred: a batch without one of them has no value."""
    X = rng.normal(size=(600, 5))
    y = np.zeros(600, dtype=int)
    y[np.argsort(-X[:, 0])[:17]] = 1
    found = learner().fit(X, y)
    assert found.feature_importances_.argmax() == 0


def test_every_class_has_its_share(rng):
    y = np.repeat(["a", "b", "c"], [90, 8, 2])
    target = make_target(y)
    for _ in range(5):
        rows = make_draw(target, np.arange(100), 20, np.random.RandomState(0))()
        assert np.unique(y[rows], return_counts=True)[1].tolist() == [16, 2, 2]
    assert shares(np.array([1, 50]), 10).tolist() == [1, 9]
    with pytest.raises(ValueError, match="batch_size >= 6"):
        make_draw(target, np.arange(100), 5, None)
