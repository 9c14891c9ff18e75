"""Novelty and explanations: definitions, fresh rows, columns, files, every model."""

import numpy as np
import pandas as pd
import pytest

import gramsmith as gs
from gramsmith.machines.explanation import RowExplanation

RNG = np.random.default_rng(2)
X = RNG.normal(size=(120, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=120) > 0, "up", "down")
V = X[:, 0] + 0.1 * RNG.normal(size=120)


def frame(n, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.integers(17, 90, n), "income": np.exp(rng.normal(10, 1, n))})
    return table.assign(city=rng.choice(list("abc"), n))


def isolation(kernel, x, Z):
    square = kernel.diag(x)[0] + kernel.diag(Z) - 2.0 * kernel(x, Z)[0]
    return np.sort(square)[4]


@pytest.mark.parametrize("kernel", [gs.Gaussian(1.0), gs.Linear(), gs.Polynomial(2)])
def test_novelty_is_the_share_of_rows_that_are_less_isolated(kernel):
    model = gs.KernelRidgeClassifier(kernel, alpha=0.1).fit(X, Y).calibrate_novelty(X)
    own = [isolation(kernel, X[[i]], np.delete(X, i, axis=0)) for i in range(len(X))]
    np.testing.assert_allclose(np.sort(own), model.isolation_, atol=1e-9)
    new = np.vstack([RNG.normal(size=(10, 3)), [[9.0, 9.0, 9.0]]])
    expected = [np.mean(np.array(own) < isolation(kernel, x[None], X)) for x in new]
    np.testing.assert_allclose(model.novelty(new), expected, atol=1e-12)
    assert model.novelty(new)[-1] == 1.0


def test_rows_of_a_group_are_no_neighbours_and_rows_without_weight_none():
    Z = np.repeat(X[:30], 4, axis=0) + 1e-3 * RNG.normal(size=(120, 3))
    groups = np.repeat(np.arange(30), 4)
    model = gs.KernelRidgeClassifier(gs.Gaussian(1.0), alpha=0.1).fit(Z, Y)
    alone = model.calibrate_novelty(Z).isolation_.mean()
    assert model.calibrate_novelty(Z, groups=groups).isolation_.mean() > 1.3 * alone
    w = np.ones(120)
    w[7] = 0.0
    Z[7] = 99.0
    model = gs.KernelRidgeClassifier(gs.Gaussian(1.0), alpha=0.1).fit(Z, Y, w)
    model.calibrate_novelty(Z, w)
    assert len(model.isolation_) == 119
    assert model.highs_.max() < 9.0
    with pytest.raises(ValueError, match="several groups"):
        model.calibrate_novelty(Z, groups=np.zeros(120))


def test_one_in_a_hundred_fresh_rows_and_columns_ten_times_too_large():
    model = gs.KernelSelector({"rbf": gs.Gaussian(2.0)}, ensemble=False)
    shares, named = [], []
    for seed in range(6):
        table = frame(400, seed)
        model.fit(table, np.where(table.age > 40, "old", "young"))
        fresh = frame(500, 100 + seed)
        shares += (model.novelty(fresh) > 0.99).tolist()
        fresh["age"] = 10 * fresh["age"].max()
        named += [names == ["age"] or "age" in names for names in model.columns_outside(fresh)]
    share = np.mean(shares)
    assert abs(share - 0.01) < 2.0 * np.sqrt(0.01 * 0.99 * (1 / len(shares) + 1 / 2400))
    assert np.mean(named) == 1.0


@pytest.mark.parametrize("kind", ["classes", "values", "several", "labels", "one"])
def test_every_model_says_it_and_keeps_it(tmp_path, kind):
    table = frame(120)
    several = np.column_stack([V, table.age])
    y = {"classes": Y, "values": V, "several": several, "labels": several > 0.5, "one": Y}[kind]
    if kind == "labels":
        y = np.column_stack([V > 0, table.age > 50])
    kernels = {"linear": "linear", "narrow": gs.Gaussian(1.0), "wide": gs.Gaussian(3.0)}
    selector = gs.KernelSelector(kernels, ensemble=kind != "one").fit(table, y)
    new = frame(5, 1)
    new.loc[0, "age"] = 500
    found = selector.novelty(new)
    assert found.shape == (5,)
    assert selector.columns_outside(new)[0] == ["age"]
    path = tmp_path / "model.safetensors"
    gs.save_model(selector.best_estimator_, path)
    again = gs.load_model(path)
    np.testing.assert_array_equal(again.novelty(new), found)
    assert again.columns_outside(new) == selector.columns_outside(new)
    if kind == "labels":
        return
    first, second = (m.explain_row(new.iloc[[1]]) for m in (selector, again))
    assert str(first) == str(second)
    assert first.answer == selector.predict(new.iloc[[1]])[0] if kind != "several" else True
    assert len(first.rows) == len(first.weights) == len(first.labels) == 5
    assert {name for name, _ in first.columns} == {"age", "income", "city"}


def codes(labels, of):
    return np.where(labels == of, 1.0, -1.0)


@pytest.mark.parametrize("of", ["up", "down"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_ridge_answer_is_a_weighted_sum_of_targets(of, weighted):
    told = {"sample_weight": RNG.uniform(0.2, 3.0, 120)} if weighted else {}
    kernels = {"linear": "linear", "narrow": gs.Gaussian(1.0), "wide": gs.Gaussian(3.0)}
    selector = gs.KernelSelector(kernels, class_weight="balanced").fit(X, Y, **told)
    found = selector.explain_row(X[3], of, rows=120)
    assert found.of_targets
    assert found.share == pytest.approx(1.0)
    assert found.weights.sum() == pytest.approx(1.0)
    sign = 1.0 if of == "up" else -1.0
    assert found.value == pytest.approx(sign * selector.decision_function(X[[3]])[0])
    told_by = found.offset + found.weights @ codes(found.labels, of)
    assert told_by == pytest.approx(found.value, abs=1e-6)
    np.testing.assert_array_equal(found.labels, Y[found.rows])
    alone = gs.KernelRidgeClassifier(gs.Gaussian(1.0), class_weight="balanced").fit(X, Y, **told)
    found = alone.explain_row(X[3], of, rows=120)
    told_by = found.offset + found.weights @ codes(Y[found.rows], of)
    assert told_by == pytest.approx(found.value, abs=1e-6)
    # the derivative: another target of one row, nothing else
    assert np.all(np.diff(np.abs(found.weights)) <= 1e-15)


def test_values_outputs_and_three_classes():
    both = np.column_stack([V, 100.0 - V])
    selector = gs.KernelSelector({"rbf": gs.Gaussian(2.0)}).fit(X, both)
    for k in (0, 1):
        found = selector.explain_row(X[[5]], k, rows=120)
        targets = both[found.rows, k]
        np.testing.assert_allclose(found.labels, targets, rtol=1e-12)
        assert found.offset + found.weights @ targets == pytest.approx(found.value, rel=1e-6)
    with pytest.raises(ValueError, match="output from 0 to 1"):
        selector.explain_row(X[5], 2)
    with pytest.raises(ValueError, match="output from 0 to 1"):
        selector.explain_row(X[5], "value")
    assert f"answer [{found.answer[0]:.4g}, " in str(found)
    three = np.where(X[:, 1] > 0.5, "high", Y)
    selector = gs.KernelSelector({"rbf": gs.Gaussian(2.0)}).fit(X, three)
    found = selector.explain_row(X[5], "high", rows=120)
    assert found.weights @ codes(found.labels, "high") == pytest.approx(found.value, abs=1e-6)
    with pytest.raises(ValueError, match="'low'"):
        selector.explain_row(X[5], "low")


@pytest.mark.parametrize(
    "machine",
    [
        gs.KernelSVC(gs.Gaussian(1.0)),
        gs.KernelLogisticRegression(gs.Gaussian(1.0)),
        gs.ParzenClassifier(gs.Gaussian(1.0)),
        gs.ParzenClassifier(gs.Gaussian(1.0), threshold=0.01),
        gs.KernelRidgeClassifier(
            gs.Gaussian(1.0), alpha=0.1, solver="nystroem", n_landmarks=20, random_state=0
        ),
    ],
)
def test_other_machines_add_up_what_their_rows_bring(machine):
    machine.fit(X, Y)
    found = machine.explain_row(X[7], rows=120)
    assert not found.of_targets
    assert found.offset + found.weights.sum() == pytest.approx(found.value)
    assert found.labels is None
    assert found.distances[found.rows == 7].tolist() in ([], [0.0])
    assert "x0" in [name for name, _ in found.columns[:2]]
    assert "answer" in str(found)


def test_the_effect_of_a_column_is_against_other_training_rows():
    model = gs.KernelRidgeRegressor(gs.Linear(), alpha=1e-9).fit(X, 3.0 * X[:, 1])
    found = dict(model.explain_row(X[4]).columns)
    some = X[np.linspace(0, 119, 40).astype(int), 1]
    assert found["x1"] == pytest.approx(3.0 * (X[4, 1] - some.mean()), rel=1e-4)
    assert abs(found["x0"]) < 1e-4


def test_a_row_of_a_data_frame_is_one_row():
    table = pd.DataFrame({"a": X[:, 0], "town": np.where(X[:, 1] > 0, "Ulm", "Bern")})
    model = gs.KernelSelector({"rbf": gs.Gaussian(2.0)}).fit(table, Y)
    assert str(model.explain_row(table.iloc[3])) == str(model.explain_row(table[3:4]))


def test_texts_and_what_is_refused():
    texts = ["ab" * k + c for k in range(2, 14) for c in ("x", "y")]
    model = gs.KernelSelector({"s": gs.Spectrum(2)}).fit(texts, ["x", "y"] * 12)
    found = model.explain_row("ababx")
    assert isinstance(found, RowExplanation)
    assert found.columns == []
    assert model.columns_outside(["zz"]) == [[]]
    assert model.novelty(["qqqqqqqqqqqqqq", "abababx"])[0] > 0.9
    with pytest.raises(ValueError, match="one row"):
        model.explain_row(texts[:2])
    K = X @ X.T
    model = gs.KernelSelector("precomputed").fit(K, Y)
    assert not hasattr(model, "novelty")
    with pytest.raises(ValueError, match="Gram"):
        model.explain_row(K[0])
    fisher = gs.KernelFisherDiscriminant(gs.Gaussian(1.0)).fit(X, Y)
    assert not hasattr(fisher, "novelty")
    with pytest.raises(ValueError, match="sums over training rows"):
        fisher.explain_row(X[0])


def test_a_fit_forgets_and_files_are_checked():
    model = gs.KernelRidgeClassifier(gs.Gaussian(1.0), alpha=0.1).fit(X, Y).calibrate_novelty(X)
    model.isolation_ = model.isolation_[::-1]
    with pytest.raises(ValueError, match="in order"):
        model._check_stored()
    assert not hasattr(model.fit(X, Y), "novelty")
    linear = gs.KernelRidgeClassifier(gs.Linear(), alpha=0.1).fit(X, Y).calibrate_novelty(X)
    assert not hasattr(linear.without_rows(), "novelty")
