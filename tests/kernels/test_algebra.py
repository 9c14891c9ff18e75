"""Operators, formulas and refusals of the kernel algebra."""

import operator

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.preprocessing import StandardScaler

import gramsmith as gs


def test_operators_build_readable_expressions():
    k = 2 * (gs.Gaussian(0.5) + 1.0) * gs.Linear() ** 2
    assert k.formula() == ("2 * (Gaussian(length_scale=0.5) + Constant(value=1)) * (Linear()) ** 2")
    assert str(gs.Linear() @ gs.LinearMap(np.eye(2))) == "Linear() @ LinearMap(2, 2)"
    assert repr(gs.Gaussian()) == "Gaussian()"
    with pytest.raises(TypeError, match="as_kernel"):
        gs.Gaussian() + "linear"


@pytest.mark.parametrize(
    "left", [np.array([1.0, 2.0]), pd.Series([1.0, 2.0]), pd.DataFrame({"a": [1.0]})]
)
def test_arrays_are_no_operands_on_either_side(left):
    for operate in (operator.add, operator.mul):
        for pair in ((left, gs.Gaussian()), (gs.Gaussian(), left)):
            with pytest.raises(TypeError, match="Expected a kernel or a number"):
                operate(*pair)
    kernels = np.array([gs.Gaussian(), gs.Linear()], dtype=object)  # as in cv_results_
    np.testing.assert_array_equal(kernels == kernels[1], [False, True])
    assert (pd.Series(kernels) == kernels[0]).tolist() == [True, False]
    one = np.array(2.0)  # a number with no axes
    assert str(one * gs.Gaussian()) == str(gs.Gaussian() * one) == str(2.0 * gs.Gaussian())
    assert str(one + gs.Gaussian()) == str(2.0 + gs.Gaussian())


def test_numbers_on_both_sides(rng):
    X = rng.normal(size=(5, 2))
    k = gs.Linear()
    assert_allclose((1.0 + k)(X), (k + 1.0)(X))
    assert_allclose((3 * k)(X), (k * 3)(X))


def test_maps_by_functions_and_fitted_transformers(rng):
    X = rng.normal(size=(9, 3)) * [1.0, 5.0, 0.1]
    scaler = StandardScaler().fit(X)
    assert_allclose((gs.Gaussian() @ scaler)(X), gs.Gaussian()(scaler.transform(X)))
    lengths = gs.Linear() @ (lambda words: np.array([[len(w)] for w in words], dtype=float))
    assert not lengths.requires_vector_input
    assert_allclose(lengths(["a", "bb"]), [[1, 2], [2, 4]])
    assert not lengths.differentiable


def test_shared_kernels_are_not_changed_by_estimators():
    k = gs.Gaussian()
    a, b = k + gs.Linear(), k * 2.0
    a.set_params(k1__length_scale=3.0)
    assert b.kernel.length_scale == 3.0  # one object, as in scikit-learn; clone separates


def test_learnable_parameters_carry_nested_names():
    k = gs.Gaussian([1.0, 2.0]) * 3.0 + gs.Sigmoid() @ gs.LinearMap(np.eye(2))
    assert list(k.parameter_names()) == [
        "k1__scale",
        "k1__kernel__length_scale",
        "k2__kernel__gamma",
        "k2__kernel__coef0",
        "k2__map__S",
    ]
    assert len(k.theta) == 4  # coef0 and S are not positive numbers
    assert list(gs.Polynomial(2, 1.0, 0.0).parameter_names()) == ["gamma"]
    assert k.hyperparameters[1].n_elements == 2


def test_calls_check_widths_and_gradients(rng):
    X = rng.normal(size=(4, 2))
    with pytest.raises(ValueError, match="same number of features"):
        gs.Gaussian()(X, np.ones((3, 5)))
    with pytest.raises(ValueError, match="Y=None"):
        gs.Gaussian()(X, X, eval_gradient=True)
    with pytest.raises(ValueError, match="one number per row"):
        gs.RankOne(lambda A: A)(X)
    with pytest.raises(ValueError, match="size of B"):
        gs.Bilinear(np.eye(3))(X)
    with pytest.raises(ValueError, match="symmetric matrix B"):
        gs.Bilinear(np.ones((2, 3)))(X)


@pytest.mark.parametrize("part", [[1.0], {"a": 1}, "rbf"])
def test_bounds_of_what_is_no_kernel_are_refused(part):
    with pytest.raises(TypeError, match="expected a kernel as kernel"):
        _ = gs.Bounded(part, {}).theta


def test_a_block_of_a_large_number_is_refused_without_a_list_up_to_it():
    with pytest.raises(ValueError, match="counted from 0"):
        gs.Mixed([0, 10**15])([[1.0, 2.0]])
