"""evaluate and bandwidth_path: one pass, errors, held-out values, p-values, advice."""

import numpy as np
import pandas as pd
import pytest

import gramsmith as gs
from gramsmith.evaluation import measure_value
from gramsmith.evaluation.errors import jackknife
from gramsmith.measures import MEASURES, Measure
from oracle import textbook as tb


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(120, 3))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same", "other")


KERNELS = {"linear": gs.Linear(), "rbf": gs.Gaussian(), "rbf again": gs.Gaussian(1.0 + 1e-9)}


def test_values_are_those_of_the_verbs(problem):
    X, y = problem
    table = gs.evaluate(KERNELS, X, y)
    for name, kernel in KERNELS.items():
        G = gs.Gram(kernel, X)
        assert table[name, "kta"].value == pytest.approx(gs.kta(G, y), rel=1e-10)
        assert table[name, "cka"].value == pytest.approx(gs.cka(G, y), rel=1e-10)
        assert table[name, "fsm_loo"].value == pytest.approx(gs.fsm(G, y, leave_one_out=True))
        assert table[name, "csm"].value == pytest.approx(gs.csm(G, y), rel=1e-10)
    assert table.best("cka").startswith("rbf")
    assert set(table.ties("cka")) == {"rbf", "rbf again"}
    assert [a.code for a in table.advice] == ["tie"]


def test_errors_are_those_of_leaving_folds_out(problem):
    X, y = problem
    table = gs.evaluate({"rbf": gs.Gaussian()}, X, y, measures=["cka", "fsm"], folds=5)
    cell = table["rbf", "cka"]
    assert len(cell.folds) == 5
    assert cell.error == jackknife(cell.folds)
    # the error is the deviation of the measure over fresh samples, up to a factor of two
    rng = np.random.default_rng(1)
    fresh = []
    for _ in range(60):
        Z = rng.normal(size=(120, 3))
        fresh.append(gs.cka(gs.Gram(gs.Gaussian(), Z), Z[:, 0] * Z[:, 1] > 0))
    assert 0.5 < cell.error / np.std(fresh) < 2.0


def test_held_out_values_and_permutations(problem, rng):
    X, y = problem
    Z = rng.normal(size=(80, 3))
    labels = np.where(Z[:, 0] * Z[:, 1] > 0, "same", "other")
    table = gs.evaluate(KERNELS, X, y, measures=["cka"], X_test=Z, y_test=labels, n_permutations=19)
    assert table["rbf", "cka"].held_out == pytest.approx(gs.cka(gs.Gram(gs.Gaussian(), Z), labels))
    assert table["rbf", "cka"].pvalue == 0.05
    noise = gs.evaluate([gs.Gaussian()], X, rng.permutation(y), measures=["cka"], n_permutations=99)
    assert next(iter(noise.cells.values())).pvalue > 0.05


def test_matrices_views_and_single_kernels(problem):
    X, y = problem
    K = gs.Gaussian()(X)
    table = gs.evaluate({"matrix": K, "kernel": gs.Gaussian()}, X, y)
    for measure in table.measures:
        left, right = (table[name, measure] for name in ("matrix", "kernel"))
        assert left.value == pytest.approx(right.value, rel=1e-10)
        assert left.error == pytest.approx(right.error, rel=1e-7)
    assert gs.evaluate({"only": K}, None, y)["only", "cka"].value == pytest.approx(gs.cka(K, y))
    views = gs.evaluate([gs.Gaussian(), gs.Linear()], (X[:, :2], X[:, 2:]), y)
    assert len(views.kernels) == 2
    twice = gs.evaluate([gs.Gaussian(), gs.Gaussian()], X, y)
    assert list(twice.kernels) == ["Gaussian(length_scale=1)", "Gaussian(length_scale=1) (2)"]


def test_a_measure_of_your_own(problem, rng):
    X, y = problem
    Z = rng.normal(size=(50, 3))
    distance = Measure("distance", lambda s: 1 - MEASURES["cka"].formula(s), False)
    table = gs.evaluate(
        *(KERNELS, X, y),
        measures=["cka", distance],
        X_test=Z,
        y_test=np.where(Z[:, 0] * Z[:, 1] > 0, "same", "other"),
        n_permutations=19,
    )
    for name in KERNELS:
        cell, known = table[name, distance], table[name, "cka"]
        assert cell.value == pytest.approx(1 - known.value)
        assert cell.error == pytest.approx(known.error)
        assert cell.held_out == pytest.approx(1 - known.held_out)
        assert cell.pvalue == known.pvalue
    assert table[name, distance] is table[name, "distance"]
    assert table.best(distance) == table.best("distance") == table.best("cka")
    assert table.ties(distance) == table.ties("cka")
    np.testing.assert_array_equal(table.values(distance), 1 - table.values("cka"))
    assert "distance ↓" in str(table)
    assert "distance ↓" in table._repr_html_()
    assert table.records[0]["distance_pvalue"] == table.records[0]["cka_pvalue"]
    path = gs.bandwidth_path(X, y, distance, n_bandwidths=5)
    assert path.best(distance) == gs.bandwidth_path(X, y, "cka", n_bandwidths=5).best()
    value = measure_value(distance, gs.Gram(gs.Gaussian(), X), y)
    assert value == pytest.approx(1 - gs.cka(gs.Gram(gs.Gaussian(), X), y))
    with pytest.raises(ValueError, match="different names, got cka, cka"):
        gs.evaluate(KERNELS, X, y, measures=["cka", Measure("cka", distance.formula)])


@pytest.fixture
def split(rng):
    X, Z = rng.normal(size=(60, 3)), rng.normal(size=(30, 3))
    return X, (X[:, 0] > 0).astype(int), Z, (Z[:, 0] > 0).astype(int)


def test_the_task_is_that_of_the_training_data(split):
    X, _, Z, _ = split
    whole = np.round(3 * Z[:, 0])
    table = gs.evaluate({"k": gs.Gaussian()}, X, X[:, 0], X_test=Z, y_test=whole)
    expected = gs.cka(gs.Gram(gs.Gaussian(), Z), whole, task="regression")
    assert table["k", "cka"].held_out == pytest.approx(expected)


def test_one_class_leaves_the_cells_empty_and_says_so(split):
    X, y, Z, _ = split
    table = gs.evaluate({"k": gs.Gaussian()}, X, y, X_test=Z, y_test=np.ones(30, dtype=int))
    assert table["k", "cka"].value is not None
    assert table["k", "cka"].held_out is None
    assert any("Held-out" in a.message and "two classes" in a.message for a in table.advice)


def test_a_class_of_one_leaves_the_cells_empty_that_need_more(split):
    X, y, Z, _ = split
    table = gs.evaluate({"k": gs.Gaussian()}, X, y, X_test=Z, y_test=np.arange(30) == 0)
    assert table["k", "kta"].held_out is not None
    assert table["k", "fsm"].held_out is None


def test_matrices_are_square_matrices_of_the_test_samples(split):
    X, y, Z, labels = split
    k = gs.Gaussian()
    table = gs.evaluate({"k": "precomputed"}, k(X), y, X_test=k(Z), y_test=labels)
    assert table["k", "cka"].held_out == pytest.approx(gs.cka(k(Z), labels))


def test_samples_that_do_not_fit_are_refused(split):
    X, y, Z, labels = split
    kernels = [gs.Gaussian()]
    with pytest.raises(ValueError, match="the 3 columns of X, got 2"):
        gs.evaluate(kernels, X, y, X_test=Z[:, :2], y_test=labels)
    frame, other = (pd.DataFrame(A, columns=list("abc")) for A in (X, Z))
    with pytest.raises(ValueError, match=r"columns \(a, b, c\) of X in their order, got \(b, a, c"):
        gs.evaluate(kernels, frame, y, X_test=other[["b", "a", "c"]], y_test=labels)
    with pytest.raises(ValueError, match="same length, got 30 and 7"):
        gs.evaluate(kernels, X, y, X_test=Z, y_test=labels[:7])
    with pytest.raises(ValueError, match="one view per kernel"):
        gs.evaluate(kernels, X, y, X_test=(Z, Z), y_test=labels)
    with pytest.raises(ValueError, match="Expected y_test like y"):
        gs.evaluate(kernels, X, X[:, :2], X_test=Z, y_test=Z)


def test_regression_and_weights(problem):
    X, _ = problem
    y = X[:, 0] ** 2
    table = gs.evaluate([gs.Gaussian()], X, y, sample_weight=1 + np.arange(120) % 3)
    assert list(table.measures) == ["kta", "cka", "cka_debiased", "fsm", "csm"]
    name = next(iter(table.kernels))
    again = np.repeat(np.arange(120), 1 + np.arange(120) % 3)
    expected = tb.cka(gs.Gaussian()(X[again]), tb.target_matrix(y[again], "regression"))
    assert table[name, "cka"].value == pytest.approx(expected, rel=1e-10)


def test_advice_in_codes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.r_[np.ones(3), np.zeros(57)]
    kernels = {"tiny": gs.Gaussian(1e-3), "huge": gs.Gaussian(1e3), "tanh": gs.Sigmoid()}
    table = gs.evaluate(kernels, X, y)
    codes = {(a.code, a.kernel) for a in table.advice}
    assert {("near-identity", "tiny"), ("near-constant", "huge"), ("indefinite", "tanh")} <= codes
    assert ("imbalanced", None) in codes
    table = gs.evaluate({"wide": gs.Gaussian(1e-3) + gs.Linear(), "30": gs.Polynomial(30)}, X, y)
    words = {a.kernel: a.message for a in table.advice if a.code == "near-identity"}
    assert "lower degree" in words["30"]
    assert "length scale" not in words["30"]
    odd = np.eye(8) - 0.3
    assert any(
        a.code == "indefinite" for a in gs.evaluate({"K": odd}, None, np.arange(8) % 2).advice
    )


def test_a_class_of_one_leaves_cells_empty_with_a_reason():
    X = np.random.default_rng(0).normal(size=(12, 2))
    y = np.r_[1, np.zeros(11)].astype(int)
    table = gs.evaluate([gs.Gaussian()], X, y)
    name = next(iter(table.kernels))
    assert table[name, "fsm"].value is None
    assert table[name, "cka"].value is not None
    assert ("undefined", "fsm") in {(a.code, a.measure) for a in table.advice}
    assert " - " in str(table) or "-  " in str(table)
    with pytest.raises(ValueError, match="at least 2 samples in every class"):
        gs.fsm(gs.Gram(gs.Gaussian(), X), y)


def test_bandwidth_path_is_the_loop(problem):
    X, y = problem
    path = gs.bandwidth_path(X, y, n_bandwidths=10)
    for name, kernel in path.kernels.items():
        G = gs.Gram(kernel, X)
        assert path[name, "cka"].value == pytest.approx(gs.cka(G, y), rel=1e-9)
        assert path[name, "fsm_loo"].value == pytest.approx(
            gs.fsm(G, y, leave_one_out=True), rel=1e-7
        )
    scales = [kernel.length_scale for kernel in path.kernels.values()]
    assert np.allclose(np.diff(np.log2(scales)), -0.5)
    assert (
        gs.bandwidth_path(X, y, ["cka"], widest=2.0, n_bandwidths=1).best()
        == "Gaussian(length_scale=2)"
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: gs.evaluate({}, X, y), "at least one kernel"),
        (lambda X, y: gs.evaluate([gs.Gaussian()], X, y[:5]), "inconsistent"),
        (lambda X, y: gs.evaluate([gs.Gaussian()], X, y, measures=["odd"]), "measure among"),
        (lambda X, y: gs.evaluate([gs.Gaussian()], X, y, measures=[]), "at least one measure"),
        (lambda X, y: gs.evaluate([gs.Gaussian()], X, y, folds=1), "folds"),
        (lambda X, y: gs.evaluate([gs.Gaussian()], X, y, X_test=X), "both X_test and y_test"),
        (lambda X, y: gs.evaluate([gs.Gaussian()], None, y), "Expected X"),
        (lambda X, y: gs.evaluate([gs.Gaussian()] * 2, (X,), y), "one view per kernel"),
        (lambda X, y: gs.evaluate([gs.Gaussian()], X, y).best("hsic"), "measure among kta"),
        (lambda X, y: gs.bandwidth_path(X, y, n_bandwidths=0), "n_bandwidths"),
        (lambda X, y: gs.bandwidth_path(X, y, widest=-1.0), "widest > 0"),
        (lambda X, y: gs.kta(gs.Gaussian()(X[:1]), y[:1]), "two classes"),
        (lambda X, y: gs.kta(np.ones((1, 1)), [0.5], task="regression"), "constant y"),
        (lambda X, y: gs.kta(np.ones((2, 3)), [0, 1]), "square"),
        (lambda X, y: gs.kta(np.array([[1.0, 0.5], [0.2, 1.0]]), [0, 1]), "symmetric"),
        (lambda X, y: gs.kta(np.eye(3), [0, 1]), "one target per row"),
        (lambda X, y: gs.kta(np.eye(2, dtype=complex), [0, 1]), "complex"),
        (lambda X, y: gs.kta(np.eye(2).astype(object), [0, 1]), "numeric kernel matrix"),
        (lambda X, y: gs.kta(np.full((2, 2), np.nan), [0, 1]), "NaN in column 0"),
        (lambda X, y: gs.fsm(np.eye(4), [0, 0, 1, 1], ddof=2), "ddof"),
        (lambda X, y: gs.fsm(np.eye(4), [0, 0, 1, 1], aggregate="odd"), "aggregate"),
        (lambda X, y: gs.csm(np.eye(4), [0, 0, 1, 1], form="odd"), "form"),
        (lambda X, y: gs.mmd(np.eye(4), [0.1, 0.2, 0.3, 0.4]), "class labels"),
        (lambda X, y: gs.cka(np.eye(3), [0, 1, 1], debiased=True), "at least 4 samples"),
        (lambda X, y: gs.parzen_error_bound(np.eye(3), [0, 1, 2]), "two classes for the Parzen"),
        (lambda X, y: gs.alignment(np.eye(3), np.eye(4)), "same samples"),
    ],
)
def test_bad_input(call, message, problem):
    with pytest.raises(ValueError, match=message):
        call(*problem)


@pytest.mark.parametrize("measures", [3.0, np.array("cka")])
def test_measures_that_are_no_list(measures, problem):
    with pytest.raises(TypeError, match="the name of a measure, a Measure or a list"):
        gs.evaluate([gs.Gaussian()], *problem, measures=measures)
