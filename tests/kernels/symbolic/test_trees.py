import numpy as np
import pytest
from numpy.testing import assert_allclose

import gramsmith as gs
from gramsmith.kernels.symbolic.trees import Forest, as_trees, count_pairs, flatten, fragment_tables
from oracle import strings as tb


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
def test_equals_the_list_of_all_subtrees(random_tree, dense, sizes, kind, decay, most):
    sizes("kernels.symbolic.trees", PAIRS=most)  # few pairs at once: the tile is halved
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
    assert_allclose(kernel.tile_of(a, a, 1), want, rtol=1e-6, atol=1e-8)
    assert_allclose(kernel.diagonal_of(a, 1), np.diagonal(want), rtol=1e-6, atol=1e-8)


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
    [
        ({"kind": "partial"}, "expected kind"),
        ({"decay": 0}, "decay"),
        ({"size_limit": 0}, "size_limit"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        gs.Subtree(**options)([("A", "b")])


def test_cap():
    with pytest.raises(ValueError, match="size_limit"):
        gs.Subtree(size_limit=2)([("A", "b", "c")])


TREE = ("S", ("NP", "the", "cat"), ("VP", "sleeps"))


def test_flatten_names_children_after_their_parents():
    labels, children = flatten(TREE)
    assert labels == ["S", "NP", "the", "cat", "VP", "sleeps"]
    assert children == [[1, 4], [2, 3], [], [], [5], []]


def test_deep_trees_need_no_recursion():
    tree = "leaf"
    for _ in range(50_000):
        tree = ("node", tree)
    assert len(flatten(tree)[0]) == 50_001


def test_equal_subtrees_share_a_number():
    forest = Forest()
    numbers = forest.add(("A", ("B", "c"), ["B", ("c",)], "c"))
    assert numbers[1] == numbers[3]
    assert numbers[2] == numbers[4] == numbers[5]
    assert len(forest) == 3
    assert [forest.size[i] for i in (numbers[0], numbers[1], numbers[2])] == [6, 2, 1]
    assert [forest.height[i] for i in (numbers[0], numbers[1], numbers[2])] == [2, 1, 0]


def test_pairs_of_equal_productions():
    forest = Forest()
    left = np.unique(forest.add(("A", ("B", "c"), ("B", "d"))))
    right = np.unique(forest.add(("A", ("B", "c"), ("B", "c"))))
    x, z, value, slope = fragment_tables(forest, left, right, 1.0)
    # A-A and (B c)-(B c); A keeps or drops the children of its first child only
    assert count_pairs(forest, left, right) == len(x) == 2
    assert sorted(value.tolist()) == [1.0, 2.0]
    assert (slope > 0).all()
    assert {int(forest.size[i]) for i in z} == {2, 5}


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ("S", TypeError, "got str"),
        (np.array([["S", "NP"]]), TypeError, "got ndarray"),
        (3, TypeError, "got int"),
        ([], ValueError, "0 sample"),
        ([()], ValueError, "an empty one in tree 0"),
        ([TREE, ("S", None)], TypeError, "a missing value in tree 1"),
        ([("S", 1.5)], TypeError, "float"),
        ([(("S", "a"), "b")], TypeError, "tuple"),
        ([("S", {})], TypeError, "dict"),
    ],
)
def test_other_input_is_refused_by_name(X, error, message):
    with pytest.raises(error, match=message):
        as_trees(X, 100)


def test_cap_also_ends_trees_without_end():
    tree = ["S"]
    tree.append(tree)
    with pytest.raises(ValueError, match=r"at most 100 nodes.*tree 0"):
        as_trees([tree], 100)
