import numpy as np
import pytest

import gramsmith as gs


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
    with pytest.raises(ValueError, match="batch_size >= 8"):
        gs.TransformLearner(batch_size=4, solver="ascent").fit(*parity)
