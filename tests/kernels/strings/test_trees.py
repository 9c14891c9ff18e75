import numpy as np
import pytest
from numpy.testing import assert_allclose

import gramsmith as gs
import textbook_strings as tb
from gramsmith.kernels.strings import trees


@pytest.fixture
def random_tree(rng):
    def make(depth=3):
        label = "AB"[rng.integers(2)]
        if depth == 0 or rng.random() < 0.3:
            return (label,) if rng.random() < 0.5 else label
        return (label, *(make(depth - 1) for _ in range(rng.integers(1, 4))))

    return make


@pytest.mark.parametrize("kind", ["complete", "fragment"])
@pytest.mark.parametrize("decay", [1.0, 0.5])
@pytest.mark.parametrize("most", [1 << 21, 3])
def test_equals_the_list_of_all_subtrees(random_tree, dense, monkeypatch, kind, decay, most):
    monkeypatch.setattr(trees, "PAIRS", most)  # few pairs at once: the tile is halved
    kernel = gs.Subtree(decay, kind)
    for _ in range(15):
        X = [random_tree() for _ in range(5)]
        Y = [*(random_tree() for _ in range(3)), X[0]]
        want = dense(lambda s, t: tb.subtree(s, t, decay, kind), X, Y)
        assert_allclose(kernel(X, Y), want, rtol=1e-12)
        assert_allclose(kernel.diag(X), [tb.subtree(s, s, decay, kind) for s in X], rtol=1e-12)


@pytest.mark.parametrize("kind", ["complete", "fragment"])
def test_derivative_by_the_decay(random_tree, kind):
    X = [random_tree() for _ in range(8)]
    kernel = gs.Subtree(0.6, kind)
    checked = kernel.check_input(X)
    a = kernel.embed(checked, kernel.reference(checked))
    h = 1e-6
    want = (gs.Subtree(0.6 + h, kind)(X) - gs.Subtree(0.6 - h, kind)(X)) / (2 * h)
    assert_allclose(kernel.slope(a, a), want, rtol=1e-6, atol=1e-8)
    assert_allclose(kernel.diagonal_slope(a), np.diagonal(want), rtol=1e-6, atol=1e-8)


def test_overflow_is_said_not_returned():
    tree = "x"
    for _ in range(12):
        tree = ("A", tree, tree)
    with pytest.raises(ValueError, match="smaller decay"):
        gs.Subtree(kind="fragment")([tree])
    assert np.isfinite(gs.Subtree(kind="complete")([tree])).all()


def test_features_of_complete_subtrees(random_tree):
    X = [random_tree() for _ in range(10)]
    kernel = gs.Subtree(0.5)
    U = kernel.features(kernel.check_input(X))
    assert_allclose((U @ U.T).toarray(), kernel(X), rtol=1e-12)
    assert gs.Subtree(kind="fragment").features(X) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [({"kind": "partial"}, "kind="), ({"decay": 0}, "decay"), ({"size_limit": 0}, "size_limit")],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        gs.Subtree(**options)([("A", "b")])


def test_cap():
    with pytest.raises(ValueError, match="size_limit"):
        gs.Subtree(size_limit=2)([("A", "b", "c")])
