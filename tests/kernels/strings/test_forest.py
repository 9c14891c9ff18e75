import numpy as np
import pytest

from gramsmith.kernels.strings.forest import Forest, as_trees, count_pairs, flatten, fragment_tables

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


def test_counts_leave_out_what_is_unknown():
    forest = Forest()
    forest.add(("A", "b"))
    X = as_trees([("A", "b"), ("C", "b", "b"), "z"], None)
    assert forest.counts(X).toarray().tolist() == [[1, 1], [2, 0], [0, 0]]


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
