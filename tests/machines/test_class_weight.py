"""Class weights are sample weights."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.utils.class_weight import compute_sample_weight

import gramsmith as gs
from tools.machine_zoo import CLASSIFIERS, fixed, points, strings

WEIGHTED = [machine for machine in CLASSIFIERS if hasattr(machine(), "class_weight")]
machine = pytest.mark.parametrize("machine", WEIGHTED, ids=lambda m: m.__name__)


def uneven(classes):
    """Most samples of the first class, few of the last."""
    X, codes = points(n=90, classes=classes)
    keep = np.concatenate([np.flatnonzero(codes == c)[:: 1 + c] for c in range(classes)])
    return X[keep], np.array(["a", "b", "c"])[codes[keep]]


def decide(model, X):
    return model.decision_function(X)


@machine
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weights", ["balanced", {"a": 0.5, "b": 3.0, "c": 2.0}, {"b": 3.0}])
@pytest.mark.parametrize("kernel", [None, gs.Gaussian(1.5)], ids=repr)
def test_class_weights_are_sample_weights(machine, classes, weights, kernel):
    X, y = uneven(classes)
    known = weights if weights == "balanced" else {"a": 1.0, "c": 1.0, **weights}
    by_sample = fixed(machine, kernel).fit(X, y, sample_weight=compute_sample_weight(known, y))
    by_class = fixed(machine, kernel, class_weight=weights).fit(X, y)
    np.testing.assert_allclose(decide(by_class, X), decide(by_sample, X), rtol=1e-8, atol=1e-8)
    without = fixed(machine, kernel).fit(X, y)
    assert np.abs(decide(by_class, X) - decide(without, X)).max() > 1e-3


@machine
def test_both_weights_multiply(machine, rng):
    """With balanced classes, the weights of rows count in the sizes of the classes."""
    X, y = uneven(2)
    w = rng.integers(0, 3, size=len(y))
    R, u = np.repeat(X, w, axis=0), np.repeat(y, w)
    weighted = fixed(machine, class_weight="balanced").fit(X, y, sample_weight=w)
    repeated = fixed(machine, class_weight="balanced").fit(R, u)
    np.testing.assert_allclose(decide(weighted, X), decide(repeated, X), rtol=1e-5, atol=1e-6)


@machine
def test_balanced_classes_raise_the_recall_of_the_rare_one(machine, rng):
    X = np.vstack([rng.normal(size=(180, 2)), rng.normal(size=(20, 2)) + 1.2])
    y = np.repeat([0, 1], [180, 20])
    kernel = gs.Gaussian(2.0)
    plain = machine(kernel).fit(X, y).predict(X)
    balanced = machine(kernel, class_weight="balanced").fit(X, y).predict(X)
    assert (balanced[y == 1] == 1).mean() > (plain[y == 1] == 1).mean() + 0.1


@pytest.mark.parametrize("solver", ["eigen", "nystroem"])
@pytest.mark.parametrize("by", ["class", "row"])
def test_leave_one_out_leaves_out_whole_samples(solver, by):
    """As if a class that counts ten times were ten copies, each sample would vouch for itself."""
    X, y = uneven(2)
    weights = {"a": 1.0, "b": 10.0}
    w = compute_sample_weight(weights, y)
    options = {"solver": solver, "n_landmarks": len(y), "alpha": 1.0}
    whole = gs.KernelRidgeClassifier(gs.Gaussian(1.0), **options)
    if by == "class":
        found = whole.set_params(class_weight=weights).fit(X, y).loo_errors_
    else:
        found = whole.fit(X, y, sample_weight=w).loo_errors_
    squares = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        part = gs.KernelRidgeClassifier(gs.Gaussian(1.0), alpha=1.0, class_weight=weights)
        f = part.fit(X[rest], y[rest]).decision_function(X[[i]])[0]
        squares.append((f - (1.0 if y[i] == "b" else -1.0)) ** 2)
    assert found[0] == pytest.approx(np.average(squares, weights=w), rel=1e-6)


@machine
def test_strings_and_matrices(machine):
    texts, y = strings()
    texts, y = texts[:31], y[:31]
    kernel = gs.Normalized(gs.Spectrum(3))
    by_text = machine(kernel, class_weight={"motif 0": 4.0}).fit(texts, y)
    K = kernel(texts)
    by_matrix = machine("precomputed", class_weight={"motif 0": 4.0}).fit(K, y)
    np.testing.assert_allclose(decide(by_text, texts), decide(by_matrix, K), atol=1e-7)


@machine
def test_models_keep_their_class_weights(machine, stored):
    X, y = points()
    model = machine(class_weight={0: 1.0, 1: 2.5}).fit(X, y)
    again = stored(model)
    assert again.class_weight == {0: 1.0, 1: 2.5}
    np.testing.assert_array_equal(decide(again, X), decide(model, X))


@machine
def test_bad_class_weights(machine):
    X, y = points()
    for weights, message in (
        ("even", "a str among {'balanced'}.* Got 'even'"),
        ([1.0, 2.0], r"a str among {'balanced'}.* Got \[1.0, 2.0\]"),
        ({0: 1.0, "one": 2.0}, r"\[1\], are not in class_weight"),
        ({0: 1.0, 1: 0.0}, "finite class_weight > 0"),
        ({0: np.nan}, "finite class_weight > 0"),
    ):
        with pytest.raises(ValueError, match=message):
            machine(class_weight=weights).fit(X, y)


def test_a_class_may_be_absent_from_a_fold():
    X, y = points()
    weights = {0: 1.0, 1: 2.0, 2: 5.0}
    assert cross_val_score(gs.L2SVC(class_weight=weights), X, y).min() > 0.5
