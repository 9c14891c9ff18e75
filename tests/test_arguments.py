"""Arguments that mean nothing are refused in words of gramsmith, before any work."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gramsmith as gs
from gramsmith.kernels import Composed, Fixed, Power, Product, Scaled, Sum

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
y = np.where(X[:, 0] > 0, 1, -1)
K = gs.Gaussian()(X)
HUGE = 10**400  # no float is as large

VALUES = {
    "missing": [None, *X[1:, 0]],
    "huge": np.r_[1e308, X[1:, 0]],
    "huge, both signs": np.r_[1e308, -1e308, X[2:, 0]],
    "no float": [HUGE, *X[1:, 0]],
}
USES = {
    "cka": lambda v: gs.cka(K, v, task="regression"),
    "kta": lambda v: gs.kta(K, v, task="regression"),
    "hsic": lambda v: gs.hsic(K, v, task="regression"),
    "polarity": lambda v: gs.polarity(K, v, task="regression"),
    "evaluate": lambda v: gs.evaluate("rbf", X, v, task="regression"),
    "ridge": lambda v: gs.KernelRidgeRegressor().fit(X, v),
    "ridge of texts": lambda v: gs.KernelRidgeRegressor(gs.Spectrum(2)).fit(["ab"] * 30, v),
    "relevance": lambda v: gs.RelevanceVectorRegressor().fit(X, v),
    "svr": lambda v: gs.KernelSVR().fit(X, v),
    "rank": lambda v: gs.rank_kernels(X, v, {"a": gs.Gaussian()}, task="regression"),
    "selector": lambda v: gs.KernelSelector([gs.Gaussian()], task="regression").fit(X, v),
    "transform": lambda v: gs.TransformLearner(task="regression").fit(X, v),
    "combination": lambda v: gs.KernelCombination(task="regression").fit(X, v),
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_values_that_cannot_be_computed_with(use, values):
    with pytest.raises(ValueError, match=r"(?i)expected .*row 0"):
        use(values)


def test_values_as_large_as_may_be():
    assert gs.cka(K, 1e60 * X[:, 0]) == pytest.approx(gs.cka(K, X[:, 0]))


PARTS = {
    "Exp": lambda part: gs.Exp(part),
    "Normalized": lambda part: gs.Normalized(part),
    "GaussianOf": lambda part: gs.GaussianOf(part, 1.0),
    "PolynomialOf": lambda part: gs.PolynomialOf(part, [0.0, 1.0]),
    "Power": lambda part: Power(part, 2),
    "Scaled": lambda part: Scaled(part, 2.0),
    "Negated": lambda part: gs.Negated(part),
    "Fixed": lambda part: Fixed(part),
    "Sum": lambda part: Sum(gs.Linear(), part),
    "Product": lambda part: Product(part, gs.Linear()),
    "Composed": lambda part: Composed(part, gs.LinearMap(np.eye(3))),
}


@pytest.mark.parametrize("make", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("part", [set(), -1, None, "rbf"], ids=repr)
def test_parts_of_a_kernel_are_kernels(make, part):
    with pytest.raises(TypeError, match="expected a kernel"):
        make(part)(X)
    with pytest.raises(TypeError, match="expected a kernel"):
        gs.Gram(make(part), X)


NUMBERS = {
    "degree": lambda v: gs.Polynomial(v)(X),
    "exponent": lambda v: (gs.Gaussian() ** v)(X),
    "length_scale": lambda v: gs.Gaussian(v)(X),
    "scale": lambda v: (v * gs.Gaussian())(X),
    "coefficients": lambda v: gs.PolynomialOf(gs.Linear(), [v])(X),
    "permutations": lambda v: gs.evaluate("rbf", X, y, n_permutations=v),
    "memory": lambda v: gs.Gram("rbf", X, memory=v),
    "memory of an evaluation": lambda v: gs.evaluate("rbf", X, y, memory=v),
    "memory of threads": lambda v: gs.Threads(memory=v),
    "threads": lambda v: gs.Threads(v),
    "weights": lambda v: gs.kta(K, y, sample_weight=[v] * 30),
}


@pytest.mark.parametrize("value", [np.inf, np.nan, HUGE, "x"], ids=["inf", "nan", "huge", "text"])
@pytest.mark.parametrize("use", NUMBERS.values(), ids=NUMBERS)
def test_numbers_out_of_every_range(use, value):
    with pytest.raises((ValueError, TypeError), match=r"[Ee]xpected") as refused:
        use(value)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("sample", [np.array(1.0), 3, None], ids=repr)
def test_a_constant_kernel_wants_samples_too(sample):
    with pytest.raises(TypeError, match="Expected samples"):
        gs.Constant()(sample)


@pytest.mark.parametrize(
    "use",
    [
        lambda: gs.Gram("rbf", X, progress=True),
        lambda: gs.Gram("rbf", X, progress=lambda done: None),
        lambda: gs.rank_kernels(X, y, {"a": gs.Gaussian()}, progress=True),
        lambda: gs.rank_kernels(X, y, {"a": gs.Gaussian()}, progress=gs.Gaussian()),
        lambda: gs.estimate("rbf", X, y, progress=True),
        lambda: gs.KernelLearner(callback=lambda: None).fit(X, y),
        lambda: gs.KernelCombination(["rbf"], callback=lambda a, b: None).fit(X, y),
    ],
    ids=["gram", "gram of one", "rank", "rank of a kernel", "estimate", "learner", "combination"],
)
def test_progress_is_called(use):
    with pytest.raises((TypeError, ValueError), match=r"(progress|callback) .*function of \("):
        use()


def test_separability_of_what_is_no_kernel_matrix():
    for measure in (gs.fsm, gs.csm):
        with pytest.raises(ValueError, match=r"diagonal .* nearest_psd"):
            measure(-K, y)
        assert np.isfinite(measure(K, y))


LISTS = {"a": X[:, 0], "b": [[1, 2]] * 30}
MIXED = np.array([[v, "xy"[i % 2]] for i, v in enumerate(X[:, 0])], dtype=object)
TABLES = {
    "lists in a frame": (lambda: pd.DataFrame(LISTS), r"got \[1, 2\]"),
    "dicts in a frame": (
        lambda: pd.DataFrame({"a": X[:, 0], "b": [{"k": 1}] * 30}),
        r"got \{'k': 1\}",
    ),
    "lists in an array": (
        lambda: pd.DataFrame(LISTS).to_numpy(),
        r"got \[1, 2\] in column 1 \(first in row 0",
    ),
    "texts in an array": (lambda: MIXED, r"got 'x' in column 1 \(first in row 0"),
    "an array of texts": (lambda: MIXED.astype(str), r"got 'x' in column 1 \(first in row 0"),
    "rows of lists": (lambda: MIXED.tolist(), r"got 'x' in column 1 \(first in row 0"),
    "lists in Arrow": (lambda: pa.table(LISTS), "got|not"),
    "texts in Arrow": (
        lambda: pa.table({"a": X[:, 0], "b": ["x", "y"] * 15}),
        r"got 'x' in column 'b' \(first in row 0",
    ),
}
READERS = {
    "rank": lambda T: gs.rank_kernels(T, y, ["rbf"], cv=2),
    "selector": lambda T: gs.KernelSelector(["rbf"], cv=2).fit(T, y),
    "machine": lambda T: gs.KernelSVC().fit(T, y),
    "evaluate": lambda T: gs.evaluate("rbf", T, y),
    "gram": lambda T: gs.Gram("rbf", T).toarray(),
    "kernel": lambda T: gs.Gaussian()(T),
    "transform": lambda T: gs.TransformLearner(max_iter=1).fit(T, y),
    "combination": lambda T: gs.KernelCombination().fit(T, y),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("use", READERS)
def test_cells_that_are_no_numbers_are_named(use, table):
    make, words = table
    if use in ("rank", "selector") and "'x' in column 'b'" in words:
        READERS[use](make())  # they encode texts
        return
    with pytest.raises((ValueError, TypeError), match=rf"(?is)expected .*({words})") as refused:
        READERS[use](make())
    assert "column " in str(refused.value).lower()
    assert len(str(refused.value)) < 400


def test_a_table_of_arrow_is_a_table():
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    found, expected = (gs.evaluate("rbf", T, y) for T in (table, X[:, :2]))
    assert found.scores("cka").tolist() == expected.scores("cka").tolist()
    machine = gs.KernelSVC(gs.Gaussian(1.0)).fit(table, y)
    same = gs.KernelSVC(gs.Gaussian(1.0)).fit(X[:, :2], y)
    assert machine.predict(table).tolist() == same.predict(X[:, :2]).tolist()


def test_a_scalar_is_no_sample():
    for kernel in ("rbf", gs.Gaussian(1.0)):
        with pytest.raises((TypeError, ValueError), match=r"Expected (2D|samples)"):
            gs.evaluate(kernel, np.array(1.0), y)


def test_a_gap_is_missing_and_no_text():
    gap = np.array([[None, 1.0], *[[v, 1.0] for v in X[1:, 0]]], dtype=object)
    for use in ("machine", "evaluate", "gram"):
        with pytest.raises(ValueError, match="contains NaN"):
            READERS[use](gap)


ONE = {
    "features of a matrix": lambda: gs.Bilinear([[1.0]])(X),
    "features of a map": lambda: gs.LinearMap(np.ones(1))(X),
    "columns of a test": lambda: gs.evaluate(gs.Linear(), X[:, :1], y, X_test=X, y_test=y),
    "outputs of a test": lambda: gs.evaluate(
        "linear", X, X[:, 0], X_test=X, y_test=X, task="regression"
    ),
}


@pytest.mark.parametrize("use", ONE.values(), ids=ONE)
def test_one_is_no_plural(use):
    with pytest.raises(ValueError, match=r"\b1 (feature|column)\b"):
        use()
    assert "; 1 sample, " in repr(gs.Gram(gs.Linear(), X[:1]))


@pytest.mark.parametrize("flag", [np.int64(1), np.array(True), np.bool_(True), 1])
def test_flags_of_numpy(flag):
    K, y = gs.Gaussian()(np.arange(12.0).reshape(6, 2)), [0, 0, 1, 1, 0, 1]
    assert gs.cka(K, y, debiased=flag) == gs.cka(K, y, debiased=True)
    X = np.arange(12.0).reshape(6, 2)
    gs.evaluate(gs.Gaussian(), X, y, folds=np.int64(0))


@pytest.mark.parametrize("kernel", [gs.White(), gs.Constant()])
def test_what_holds_no_samples_is_refused(kernel):
    with pytest.raises(TypeError, match="Expected samples, got"):
        kernel(gs.KernelSVC())


def test_one_number_is_no_target():
    with pytest.raises(ValueError, match="one target per sample"):
        gs.L2SVC(gs.Spectrum(2)).fit(["ab", "bc"], 3)
