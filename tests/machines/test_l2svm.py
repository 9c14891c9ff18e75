"""L2SVC against LIBSVM on K + I/C, its margin, radius and bound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import gramsmith as gs
from oracle import golden as reference
from oracle import learning as textbook
from tools.machine_zoo import points


@pytest.mark.parametrize("C", [0.3, 30.0])
def test_against_libsvm(C):
    X, y = points(60)
    K = gs.Gaussian(1.5)(X)
    a, bias, w2 = textbook.l2_svm(K, 2 * y - 1, C)
    machine = gs.L2SVC("precomputed", C=C).fit(K, y)
    expected = textbook.l2_svm_decision(K, 2 * y - 1, a, bias)
    np.testing.assert_allclose(machine.decision_function(K), expected, atol=1e-5)
    assert machine.squared_norms_[0] == pytest.approx(w2, rel=1e-6)
    assert machine.margins_[0] == pytest.approx(w2**-0.5, rel=1e-6)
    np.testing.assert_array_equal(machine.support_, np.flatnonzero(a > 1e-7 * a.max()))
    np.testing.assert_allclose(
        machine.dual_variables_[:, 0], a[machine.support_], rtol=1e-4, atol=1e-4
    )


def test_golden_bound():
    machine = gs.L2SVC("precomputed", C=10.0).fit(reference.K, reference.y)
    for found, key in (
        (machine.squared_norms_[0], "w2"),
        (machine.squared_radii_[0], "r2"),
        (machine.radius_margin_bounds_[0], "rmb"),
    ):
        value, tol = reference.GOLDEN[key]
        assert found == pytest.approx(value, abs=tol)
    assert len(machine.support_) == reference.GOLDEN["n_support"][0]


def test_several_classes_vote_in_pairs():
    X, y = points(90, classes=3)
    K = gs.Gaussian(1.5)(X)
    machine = gs.L2SVC("precomputed", C=5.0).fit(K, y)
    theirs = SVC(kernel="precomputed", C=1e10, tol=1e-10).fit(K + np.eye(90) / 5.0, y)
    # LIBSVM trains on K + I/C too, but the votes must use K.
    duel = K @ _pair_coefficients(theirs, 90) + theirs.intercept_
    votes = np.zeros((90, 3))
    for k, (a, b) in enumerate(((0, 1), (0, 2), (1, 2))):
        votes[np.arange(90), np.where(duel[:, k] > 0, a, b)] += 1
    clear = np.sort(votes, axis=1)[:, 2] == 2
    np.testing.assert_array_equal(machine.predict(K)[clear], votes.argmax(axis=1)[clear])
    assert machine.radius_margin_bounds_.shape == (3,)


def _pair_coefficients(svc, n):
    ends = np.concatenate([[0], np.cumsum(svc.n_support_)])
    columns = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        column = np.zeros(n)
        column[svc.support_[ends[a] : ends[a + 1]]] = svc.dual_coef_[b - 1, ends[a] : ends[a + 1]]
        column[svc.support_[ends[b] : ends[b + 1]]] = svc.dual_coef_[a, ends[b] : ends[b + 1]]
        columns.append(column)
    return np.column_stack(columns)


@given(st.integers(0, 10**6), st.sampled_from([0.5, 5.0, 100.0]))
def test_leave_one_out_errors_stay_below_the_bound(seed, C):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(16, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=16) > 0, 1, 0)
    y[:4] = 0, 1, 0, 1
    K = gs.Gaussian(1.0)(X)
    wrong = 0
    for i in range(16):
        rest = np.delete(np.arange(16), i)
        machine = gs.L2SVC("precomputed", C=C, radius=False).fit(K[np.ix_(rest, rest)], y[rest])
        wrong += machine.predict(K[i, rest][None])[0] != y[i]
    # With a bias the bound carries a factor of four.
    bound = gs.L2SVC("precomputed", C=C).fit(K, y).radius_margin_bounds_[0]
    assert wrong <= 4 * bound


def test_nothing_of_an_earlier_fit_remains():
    X, y = points(40)
    machine = gs.L2SVC(gs.Gaussian(1.5)).fit(X, y)
    assert machine.squared_radii_.shape == (1,)
    assert machine.set_params(radius=False).fit(X, y).score(X, y) > 0.8
    assert not hasattr(machine, "squared_radii_")
    assert not hasattr(machine, "radius_margin_bounds_")


def test_warnings_and_progress_name_the_classes(capsys):
    X, y = points(40)
    with pytest.warns(ConvergenceWarning, match=r"'cat' and 'dog'"):
        gs.L2SVC(gs.Gaussian(1.5), max_iter=1, radius=False, verbose=True).fit(
            X, np.array(["cat", "dog"])[y]
        )
    assert "'cat' v 'dog'" in capsys.readouterr().out
