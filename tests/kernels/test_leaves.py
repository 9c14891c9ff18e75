"""The kernel of leaves: what it refuses, its features, and many rows."""

import numpy as np
import pytest
import scipy.sparse as sp

import gramsmith as gs
from tools.registry import FOREST, same_leaf

STUMP = {"feature": [0, 0, 0], "threshold": [1.0, 0.0, 0.0], "left": [1, 1, 2], "right": [2, 1, 2]}
STUMP["roots"] = [0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": [np.nan, 0.0, 0.0]}, "finite numbers"),
        ({"threshold": "none"}, "finite numbers"),
        ({"feature": [-1, 0, 0]}, "feature to be columns"),
        ({"feature": [0, 0]}, "feature to be columns"),
        ({"left": [1, 1, 3]}, "left to be nodes from 0 to 2"),
        ({"right": [2.5, 1, 2]}, "right to be nodes"),
        ({"roots": [[0]]}, "roots to be nodes"),
        ({"left": [1, 0, 2]}, "node 1, which leads back"),
        ({"left": [0, 1, 2]}, "node 0, which leads back"),
        ({"roots": []}, "no tree"),
    ],
)
def test_what_is_no_tree_is_refused(change, message):
    with pytest.raises(ValueError, match=f"Leaves: expected .*{message}"):
        gs.Leaves(**STUMP | change)([[0.0], [2.0]])


def test_columns_that_trees_compare_must_be_there(rng):
    with pytest.raises(ValueError, match="at least 3 features"):
        FOREST(rng.normal(size=(4, 2)))
    with pytest.raises(ValueError, match="NaN"):
        FOREST([[0.0, np.nan, 1.0]])


def test_a_value_on_the_threshold_goes_left():
    k = gs.Leaves(**STUMP)
    assert k.leaves(np.array([[1.0], [np.nextafter(1.0, 2.0)]])).tolist() == [[1], [2]]


def test_a_tree_of_one_leaf_is_a_constant():
    assert gs.Leaves([0], [0.0], [0], [0], [0])([[1.0], [2.0]]).tolist() == [[1.0] * 2] * 2


def test_features_are_sparse_and_give_the_kernel(rng):
    X = rng.normal(size=(50, 3))
    U = FOREST.features(X)
    assert sp.issparse(U)
    assert U.nnz == 50 * len(FOREST.roots)
    np.testing.assert_allclose((U @ U.T).toarray(), FOREST(X), atol=1e-15)
    assert (np.diagonal(FOREST(X)) == 1.0).all()
    y = X[:, 0] > 0
    twin = gs.evaluate({"leaves": gs.Linear()}, U.toarray(), y)
    found = gs.evaluate({"leaves": FOREST}, X, y)
    for key, cell in found.cells.items():
        assert cell.value == pytest.approx(twin.cells[key].value, rel=1e-9)


def test_blocks_of_rows_are_the_rows(sizes, rng):
    X = rng.normal(size=(30, 3))
    K = FOREST(X)
    sizes("kernels.leaves", AT_ONCE=7)
    np.testing.assert_array_equal(FOREST(X), K)
    np.testing.assert_array_equal(K, same_leaf(X, X))


def test_weights_of_a_mixture_are_learnable(rng):
    X = rng.normal(size=(60, 3))
    y = FOREST.leaves(X)[:, 0] == FOREST.leaves(X)[0, 0]
    mixture = 0.5 * gs.Gaussian(1.0) + 0.5 * FOREST
    assert mixture.learnable
    assert not mixture.differentiable
    learned = gs.KernelLearner(mixture, "cka", keep=1.0, random_state=0).fit(X, y)
    assert learned.kernel_.k2.scale > learned.kernel_.k1.scale


def test_formula():
    assert str(0.5 * FOREST) == "0.5 * Leaves(2 trees)"


def test_a_forged_file_is_refused(tmp_path, stored, rng):
    X = rng.normal(size=(20, 3))
    machine = gs.KernelRidgeClassifier(FOREST, alpha=1.0).fit(X, X[:, 0] > 0)
    again = stored(machine)
    np.testing.assert_array_equal(again.decision_function(X), machine.decision_function(X))
    machine.kernel_.left = np.zeros_like(machine.kernel_.left)
    gs.save_model(machine, tmp_path / "m")
    with pytest.raises(gs.ModelFormatError, match="a node comes before those below it"):
        gs.load_model(tmp_path / "m")
