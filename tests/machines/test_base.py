"""What all machines share: scikit-learn's checks, strings, precomputed matrices, bad input."""

import pickle
import re
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import gramsmith as gs
from gramsmith.kernels import Kernel
from gramsmith.kernels.finite import as_stored
from gramsmith.machines import base
from gramsmith.machines.base import (
    KernelClassifier,
    KernelRegressor,
    as_samples,
    is_function,
    is_symbolic,
)
from tools.contract import scikit_learn_checks
from tools.machine_zoo import (
    CLASSIFIERS,
    FIXED,
    MACHINES,
    PROBABILISTIC,
    REGRESSORS,
    WEIGHTED,
    expected_failures,
    fixed,
    kernels,
    points,
    strings,
)

pytestmark = pytest.mark.filterwarnings(
    # A perceptron meets its pass limit wherever the classes overlap.
    "ignore:KernelPerceptron:sklearn.exceptions.ConvergenceWarning"
)
name = pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.__name__)
classifier = pytest.mark.parametrize("machine", CLASSIFIERS, ids=lambda m: m.__name__)
regressor = pytest.mark.parametrize("machine", REGRESSORS, ids=lambda m: m.__name__)


@pytest.mark.parametrize(
    ("machine", "classes"),
    [
        (gs.KernelRidgeRegressor, 2),
        (gs.KernelRidgeClassifier, 3),
        (gs.KernelLogisticRegression, 2),
        (gs.KernelLogisticRegression, 3),
        (gs.L2SVC, 2),
    ],
)
def test_coefficients_do_not_depend_on_blas_threads(machine, classes):
    """Up to `SMALL` samples, whatever the process may use."""
    X, y = points(260, classes=classes)
    found = []
    for count in (1, 2):
        with threadpool_limits(count, user_api="blas"):
            fitted = machine(gs.Gaussian(1.0)).fit(X, y)
        found.append((fitted.coefficients_.tobytes(), fitted.intercept_.tobytes()))
    assert found[0] == found[1]


def checks_of_machines(kernels):
    machines = [machine(kernel=kernel) for machine in MACHINES for kernel in kernels]
    # not strict: two choices may well agree
    return scikit_learn_checks(machines, expected_failures, strict=False)


def on_purpose(test):
    """Let pass what machines say on purpose.

    The integer Gram matrices of the checks are not positive semidefinite, and twenty random points
    are no fit for every solver.
    """
    for message in (
        "ignore:Expected a positive semidefinite kernel matrix:UserWarning",
        "ignore::sklearn.exceptions.ConvergenceWarning",
    ):
        test = pytest.mark.filterwarnings(message)(test)
    return test


@on_purpose
@checks_of_machines([None])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@on_purpose
@checks_of_machines(kernels())
def test_scikit_learn_with_other_kernels(estimator, check):
    check(estimator)


def targets(machine, codes):
    return codes if is_classifier(machine()) else codes + np.sin(np.arange(len(codes)))


# ---- precomputed ----------------------------------------------------------------------------


@name
@pytest.mark.parametrize("classes", [2, 3])
def test_precomputed_is_the_kernel_itself(machine, classes):
    X, codes = points(45, classes=classes)
    y, kernel, new = targets(machine, codes), gs.Gaussian(1.5), X[:7] + 0.1
    direct = machine(kernel=kernel).fit(X, y)
    for given in ("precomputed", gs.Precomputed()):
        matrix = machine(kernel=given).fit(kernel(X), y)
        method = "decision_function" if is_classifier(direct) else "predict"
        a, b = getattr(direct, method)(new), getattr(matrix, method)(kernel(new, X))
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(direct.support_, matrix.support_)
        assert matrix.support_samples_ is None
        assert matrix.__sklearn_tags__().input_tags.pairwise


@name
def test_precomputed_blocks_of_the_wrong_size(machine):
    X, codes = points(20)
    K, y = gs.Gaussian()(X), targets(machine, codes)
    with pytest.raises(ValueError, match="square"):
        machine(kernel="precomputed").fit(K[:, :10], y)
    skew = K.copy()
    skew[0, 1] += 1.0
    with pytest.raises(ValueError, match="symmetric"):
        machine(kernel="precomputed").fit(skew, y)
    fitted = machine(kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match="20"):
        fitted.predict(K[:5, :10])


@classifier
def test_precomputed_is_sliced_in_cross_validation(machine):
    X, y = points(60)
    K = gs.Gaussian(2.0)(X)
    a = cross_val_score(machine(kernel="precomputed"), K, y, cv=3)
    b = cross_val_score(machine(kernel=gs.Gaussian(2.0)), X, y, cv=3)
    np.testing.assert_allclose(a, b)


@name
def test_expressions_of_precomputed_matrices_are_refused(machine):
    """Which columns of a new block belong to the kept samples would be a guess."""
    X, codes = points(20)
    for kernel in (gs.Precomputed() + gs.Constant(1.0), 2.0 * gs.Precomputed()):
        with pytest.raises(ValueError, match="Compute the expression on the matrices"):
            machine(kernel=kernel).fit(gs.Gaussian()(X), targets(machine, codes))


@name
def test_rounding_of_single_precision_is_no_asymmetry(machine):
    X, codes = points(60)
    X = X.astype(np.float32)
    square = (X**2).sum(axis=1)
    K = np.exp(np.float32(-0.1) * (square[:, None] - 2 * X @ X.T + square))
    K[0, 1] += np.float32(2e-7)
    assert machine(kernel="precomputed").fit(K, targets(machine, codes)).n_samples_fit_ == 60


@name
def test_a_constant_beside_vectors_leaves_them_vectors(machine):
    X, codes = points(40)
    y = targets(machine, codes)
    kernel = gs.Linear() + gs.Constant(1.0)
    dense = machine(kernel=kernel).fit(X.tolist(), y)
    assert dense.n_features_in_ == 3
    with pytest.raises(ValueError, match="2 features"):
        dense.predict(X[:, :2])
    sparse = machine(kernel=kernel).fit(sp.csr_matrix(X), y)
    method = "decision_function" if is_classifier(dense) else "predict"
    np.testing.assert_allclose(
        getattr(dense, method)(X), getattr(sparse, method)(X), rtol=1e-6, atol=1e-6
    )


@name
def test_functions_of_words_are_kernels_too(machine):
    texts, labels = strings(24)
    y = string_targets(machine, labels)

    def triples(text):
        return {text[i : i + 3] for i in range(len(text) - 2)}

    def common(a, b):
        return float(len(triples(a) & triples(b)))

    plain = machine(kernel=common).fit(texts, y)
    wrapped = machine(kernel=gs.as_kernel(common)).fit(texts, y)
    np.testing.assert_array_equal(plain.predict(texts), wrapped.predict(texts))


@regressor
def test_values_of_strings_must_be_numbers(machine):
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            string_machine(machine).fit(["abc", "abd", "sss"], [0.0, 1.0, bad])


# ---- strings: the mirror of the checks above, which skip them ---------------------------------


def string_machine(machine, **parameters):
    return machine(kernel=gs.Normalized(gs.Spectrum(3)), **parameters)


def string_targets(machine, labels):
    if is_classifier(machine()):
        return labels
    return np.array([float(label[-1]) for label in labels]) + 0.1 * np.sin(np.arange(len(labels)))


@name
@pytest.mark.parametrize("classes", [2, 3])
def test_strings_are_learned(machine, classes):
    texts, labels = strings(60, classes=classes)
    new, new_labels = strings(30, seed=1, classes=classes)
    y, y_new = string_targets(machine, labels), string_targets(machine, new_labels)
    fitted = string_machine(machine).fit(texts, y)
    assert fitted.score(new, y_new) > 0.8
    assert not hasattr(fitted, "n_features_in_")
    tags = fitted.__sklearn_tags__().input_tags
    assert tags.string
    assert not tags.two_d_array


@name
def test_strings_in_any_container_and_order_and_again(machine):
    texts, labels = strings(24)
    y = string_targets(machine, labels)
    fitted = string_machine(machine).fit(texts, y)
    method = "decision_function" if is_classifier(fitted) else "predict"
    together, before = getattr(fitted, method)(texts), fitted.predict(texts)
    single = np.concatenate([getattr(fitted, method)([text]) for text in texts])
    np.testing.assert_allclose(single, together, atol=1e-10)
    for container in (tuple, lambda t: np.array(t, dtype=object), np.array):
        again = string_machine(machine).fit(container(texts), y).predict(container(texts))
        np.testing.assert_array_equal(again, before)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(texts), before)
    np.testing.assert_array_equal(clone(fitted).fit(texts, y).predict(texts), before)
    np.testing.assert_array_equal(fitted.fit(texts, y).predict(texts), before)
    with pytest.raises(NotFittedError):
        clone(fitted).predict(texts)


@pytest.mark.parametrize("machine", FIXED, ids=lambda m: m.__name__)
def test_string_weights_are_repetition(machine, rng):
    texts, labels = strings(20)
    y, w = string_targets(machine, labels), rng.integers(0, 3, size=20)
    w[:2] = 1
    rows = np.repeat(np.arange(20), w)
    told = fixed(machine).get_params()
    del told["kernel"]
    weighted, repeated = (string_machine(machine).set_params(**told) for _ in range(2))
    weighted.fit(texts, y, sample_weight=w)
    repeated.fit([texts[i] for i in rows], y[rows])
    method = "decision_function" if is_classifier(weighted) else "predict"
    np.testing.assert_allclose(
        getattr(weighted, method)(texts), getattr(repeated, method)(texts), rtol=1e-5, atol=1e-6
    )
    assert set(weighted.support_) <= set(np.flatnonzero(w))


@name
def test_strings_bad_input(machine):
    texts, labels = strings(10)
    y = string_targets(machine, labels)
    for X, target, match in (
        (texts, y[:-1], "inconsistent"),
        ("ACGT", y, "Wrap"),
        ([], [], "0 sample"),
        (texts, None, "y"),
    ):
        with pytest.raises(ValueError, match=match):
            string_machine(machine).fit(X, target)
    with pytest.raises(ValueError, match="0 sample"):
        string_machine(machine).fit(texts, y).predict([])


@classifier
def test_strings_are_searched(machine):
    texts, labels = strings(30)
    search = GridSearchCV(string_machine(machine), {"kernel__kernel__k": [2, 3]}, cv=2)
    assert search.fit(texts, labels).best_score_ > 0.7


# ---- the kernel -----------------------------------------------------------------------------


@name
def test_what_the_user_holds_is_not_touched_and_what_is_kept_is_a_copy(machine):
    X, codes = points(30)
    kernel = gs.Gaussian(1.5)
    fitted = machine(kernel=kernel).fit(X, targets(machine, codes))
    assert fitted.kernel is kernel
    assert fitted.kernel_ is not kernel
    assert fitted.kernel_.get_params() == kernel.get_params()
    new = X[:5].copy()
    before = fitted.predict(new)
    X *= 0.0
    np.testing.assert_array_equal(fitted.predict(new), before)
    with pytest.raises(ValueError, match="3 features"):
        fitted.predict(new[:, :2])


def test_default_kernel_follows_the_weighted_spread(rng):
    X, y = points(30)
    w = rng.integers(1, 4, size=30)
    weighted = gs.KernelRidgeClassifier().fit(X, y, sample_weight=w)
    repeated = gs.KernelRidgeClassifier().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert weighted.kernel_.length_scale == pytest.approx(repeated.kernel_.length_scale)
    plain = gs.KernelRidgeClassifier().fit(X, y)
    assert plain.kernel_.length_scale == pytest.approx(np.sqrt(X.var(axis=0).sum() / 2))
    moved = gs.KernelRidgeClassifier().fit(X + np.array([1e3, 0.0, -5.0]), y)
    assert moved.kernel_.length_scale == pytest.approx(plain.kernel_.length_scale)
    sparse = gs.KernelRidgeClassifier().fit(sp.csr_array(X), y, sample_weight=w)
    assert sparse.kernel_.length_scale == pytest.approx(weighted.kernel_.length_scale)


@name
def test_unknown_kernel(machine):
    X, codes = points(20)
    with pytest.raises(ValueError, match="Names are"):
        machine(kernel="gauss").fit(X, targets(machine, codes))
    with pytest.raises(TypeError, match="Expected a kernel"):
        machine(kernel=3.0).fit(X, targets(machine, codes))


@name
def test_callable_kernel(machine):
    X, codes = points(30)
    y = targets(machine, codes)

    def product(A, B):
        return (A @ B.T + 1.0) ** 2

    ours, theirs = machine(kernel=gs.Polynomial(2)), machine(kernel=product)
    np.testing.assert_allclose(
        ours.fit(X, y).predict(X), theirs.fit(X, y).predict(X), rtol=1e-6, atol=1e-8
    )


@name
def test_sparse_and_dense_mix(machine):
    X, codes = points(30)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    y, S = targets(machine, codes), sp.csr_array(X)
    dense, sparse = machine(gs.Gaussian(1.5)).fit(X, y), machine(gs.Gaussian(1.5)).fit(S, y)
    for fitted in (dense, sparse):
        np.testing.assert_allclose(fitted.predict(X), dense.predict(X), atol=1e-8)
        np.testing.assert_allclose(fitted.predict(S), dense.predict(X), atol=1e-8)


# ---- state ----------------------------------------------------------------------------------


@name
def test_fitted_state_is_plain(machine):
    X, codes = points(30, classes=3)
    fitted = machine(kernel=gs.Gaussian()).fit(X, targets(machine, codes))
    state = {key: value for key, value in vars(fitted).items() if key not in fitted.get_params()}
    plain = (np.ndarray, int, float, str, bool, list, Kernel, type(None), np.integer, np.floating)
    for key, value in state.items():
        assert key.endswith("_"), key
        assert isinstance(value, plain), (key, type(value))
        if isinstance(value, list):
            assert all(isinstance(item, int | float | str) for item in value), key


def test_samples_without_a_coefficient_are_not_kept():
    X, y = points(60)
    fitted = gs.KernelLossClassifier(gs.Gaussian(1.5), loss="squared_hinge", alpha=0.1).fit(X, y)
    assert np.any(fitted.coefficients_ != 0, axis=1).all()
    assert len(fitted.support_) == len(fitted.support_samples_) == len(fitted.coefficients_) < 60
    constant = gs.KernelRidgeRegressor(gs.Gaussian()).fit(X, np.ones(60))
    assert len(constant.support_) == 0
    np.testing.assert_allclose(constant.predict(X), 1.0)


SPARSE = (
    gs.KernelPerceptron,
    gs.ImportVectorClassifier,
    gs.RelevanceVectorClassifier,
    gs.RelevanceVectorRegressor,
    gs.L2SVC,
    gs.KernelSVC,
)


@pytest.mark.parametrize("machine", SPARSE, ids=lambda m: m.__name__)
def test_sparse_machines_keep_their_support_only(machine):
    X, codes = points(80, classes=2)
    X = X + 2.0 * np.eye(3)[codes]
    y = targets(machine, codes)
    fitted = machine(kernel=gs.Gaussian(3.0)).fit(X, y)
    assert len(fitted.support_) < 40
    np.testing.assert_array_equal(fitted.support_samples_, X[fitted.support_])


def test_prediction_runs_in_blocks(watched):
    X, y = points(60)
    fitted = gs.KernelRidgeClassifier(gs.Gaussian()).fit(X, y)
    whole = fitted.decision_function(X)
    blocks = watched(Kernel, "__call__")
    with config_context(working_memory=1):
        many = np.tile(X, (100, 1))
        np.testing.assert_allclose(fitted.decision_function(many), np.tile(whole, 100), atol=1e-10)
    seen = [len(call["X"]) for call in blocks]
    assert max(seen) * 60 * 8 < 2**20
    assert sum(seen) == 6000


def test_many_rows_are_predicted_by_all_threads_with_the_same_bits(monkeypatch, sizes):
    X, y = points(60)
    fitted = gs.KernelRidgeClassifier(gs.Gaussian()).fit(X, y)
    many = np.random.default_rng(3).normal(size=(3000, X.shape[1]))
    whole = fitted.decision_function(many)
    sizes("machines.base", AT_ONCE=60 * 70)
    monkeypatch.setattr(base, "count_workers", lambda n_jobs: 1)
    alone = fitted.decision_function(many)
    np.testing.assert_allclose(alone, whole, atol=1e-12)
    monkeypatch.setattr(base, "count_workers", lambda n_jobs: 3)
    for _ in range(3):
        assert (fitted.decision_function(many) == alone).all()


# ---- targets and weights ---------------------------------------------------------------------


@classifier
def test_labels_of_any_type(machine):
    X, codes = points(60)
    reference = machine(kernel=gs.Gaussian(1.5)).fit(X, codes).predict(X)
    for labels in (
        np.array(["no", "yes"])[codes],
        codes.astype(bool),
        codes.astype(np.uint8),
        codes * 2.0 - 1.0,
        np.array(["no", "yes"], dtype=object)[codes],
    ):
        fitted = machine(kernel=gs.Gaussian(1.5)).fit(X, labels)
        np.testing.assert_array_equal(fitted.predict(X), np.unique(labels)[reference])
        assert fitted.classes_.dtype == labels.dtype


@classifier
def test_what_is_no_set_of_classes(machine):
    X, _ = points(20)
    with pytest.raises(ValueError, match="one class only: 'only'"):
        machine().fit(X, np.array(["only"] * 20))
    with pytest.raises(ValueError, match="Unknown label type"):
        machine().fit(X, np.linspace(0, 1, 20))


@regressor
def test_constant_targets(machine):
    X, _ = points(20)
    fitted = machine(kernel=gs.Gaussian()).fit(X, np.full(20, 3.5))
    np.testing.assert_allclose(fitted.predict(X + 10), 3.5, atol=1e-8)
    assert is_regressor(fitted)


@pytest.mark.parametrize("machine", WEIGHTED, ids=lambda m: m.__name__)
def test_bad_weights(machine):
    X, codes = points(20)
    y = targets(machine, codes)
    for w in (np.zeros(20), -np.ones(20), np.full(20, np.nan), np.ones(7)):
        with pytest.raises(ValueError, match="sample_weight"):
            machine().fit(X, y, sample_weight=w)


def test_class_without_weight_is_missed():
    X, y = points(20)
    with pytest.raises(ValueError, match="positive weight"):
        gs.L2SVC().fit(X, y, sample_weight=(y == 0).astype(float))


@pytest.mark.parametrize("machine", PROBABILISTIC, ids=lambda m: m.__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities(machine, classes):
    X, y = points(90, classes=classes)
    fitted = machine(kernel=gs.Gaussian(1.5)).fit(X, y)
    new = np.vstack([X, 100 * np.ones((1, 3))])
    p = fitted.predict_proba(new)
    assert p.shape == (91, classes)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.classes_[p.argmax(axis=1)], fitted.predict(new))
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(new)), p, atol=1e-12)


def test_a_gram_matrix_that_cannot_fit_is_refused(monkeypatch):
    X, y = points(30)
    monkeypatch.setattr("gramsmith.solvers.memory.physical_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match=r"30 x 30.*nystroem"):
        gs.KernelRidgeClassifier(gs.Gaussian(), solver="eigen").fit(X, y)
    with pytest.raises(MemoryError, match="max_candidates"):
        gs.ImportVectorClassifier(gs.Gaussian()).fit(X, y)
    with pytest.raises(MemoryError, match="Lower max_candidates"):
        gs.ImportVectorClassifier(gs.Gaussian(), max_candidates=20).fit(X, y)
    # one factor for every class, the matrix, and two to work with
    monkeypatch.setattr("gramsmith.solvers.memory.physical_memory", lambda: 7.5 * 8 * 30**2)
    gs.KernelLogisticRegression(gs.Gaussian(), alpha=1.0).fit(X, np.arange(30) % 4)
    with pytest.raises(MemoryError, match="30 x 30"):
        gs.KernelLogisticRegression(gs.Gaussian(), alpha=1.0).fit(X, np.arange(30) % 5)


INDEFINITE = (
    gs.KernelRidgeClassifier,
    gs.KernelRidgeRegressor,
    gs.KernelLogisticRegression,
    gs.KernelLossClassifier,
    gs.KernelFisherDiscriminant,
    gs.L2SVC,
)


@name
def test_indefinite_kernels_are_taken_or_said_to_be_clipped(machine):
    X, codes = points(60)
    kernel = gs.Sigmoid(0.5, -1.0)
    assert np.linalg.eigvalsh(kernel(X))[0] < -0.1
    clipped = pytest.warns(UserWarning, match=r"eigenvalue -.* set to zero")
    with clipped if machine in INDEFINITE else nullcontext():
        fitted = machine(kernel=kernel).fit(X, targets(machine, codes))
    assert np.isfinite(fitted.predict(X).astype(float)).all()


# ---- parameters, limits and progress ---------------------------------------------------------

BAD = {
    gs.KernelRidgeRegressor: [{"alpha": -1.0}, {"alpha": "cv"}, {"solver": "svd"}],
    gs.KernelRidgeClassifier: [{"n_landmarks": 0}, {"criterion": "auc"}],
    gs.KernelLogisticRegression: [{"alpha": 0.0}, {"alpha": -1.0}, {"alpha": np.inf}],
    gs.KernelLossClassifier: [{"loss": "log"}, {"loss": None}, {"loss": np.tanh}],
    gs.ImportVectorClassifier: [{"alpha": 0.0}, {"max_points": 0}, {"max_candidates": 0}],
    gs.KernelFisherDiscriminant: [{"alpha": 0.0}, {"alpha": np.nan}, {"alpha": "auto"}],
    gs.RelevanceVectorRegressor: [{"tol": 0.0}, {"max_iter": 0}],
    gs.RelevanceVectorClassifier: [{"tol": -1.0}, {"max_iter": 0}],
    gs.ParzenClassifier: [
        *({"threshold": value} for value in ("best", np.nan, None, [0.1])),
        *({"weights": "odd"}, {"criterion": "auc"}),
    ],
    gs.CentroidClassifier: [{"ddof": 2}],
    gs.KernelSVC: [{"C": 0}, {"C": "one"}],
    gs.L2SVC: [{"C": 0.0}, {"C": -1.0}, {"C": np.nan}, {"C": "1"}],
}


@pytest.mark.parametrize("machine", BAD, ids=lambda m: m.__name__)
def test_bad_parameters_are_named(machine):
    X, codes = points(12)
    for parameters in BAD[machine]:
        ((key, value),) = parameters.items()
        with pytest.raises(ValueError, match=re.escape(f"'{key}'") + ".* Got ") as refused:
            machine(**parameters).fit(X, targets(machine, codes))
        assert repr(value) in str(refused.value)


def test_bad_parameters_that_only_data_show():
    X, y = points(12, classes=3)
    for machine, low in ((gs.KernelRidgeClassifier, ">= 0"), (gs.ImportVectorClassifier, "> 0")):
        for alphas in ([1.0, -1.0], [], [np.nan]):
            with pytest.raises(ValueError, match=f"numbers {low}"):
                machine(alphas=alphas).fit(X, y)
    with pytest.raises(ValueError, match="more than two classes"):
        gs.ParzenClassifier(threshold=0.5).fit(X, y)
    with pytest.raises(TypeError, match="loss"):
        gs.KernelLogisticRegression(loss="hinge")


def test_limits_are_said():
    X, y = points(60)
    for machine, match in (
        (gs.KernelLogisticRegression(gs.Gaussian(), alpha=1e-4, max_iter=2), "max_iter"),
        (gs.RelevanceVectorRegressor(gs.Gaussian(1.5), max_iter=3), "max_iter"),
        (gs.RelevanceVectorClassifier(gs.Gaussian(1.5), max_iter=1), "max_iter"),
        (gs.L2SVC(gs.Gaussian(1.0), C=1e5, max_iter=1, radius=False), "max_iter"),
        (gs.KernelSVC(C=1e4, max_iter=2), "Raise max_iter"),
        (gs.KernelPerceptron(gs.Linear(), max_iter=3), r"mistakes in a pass.*max_iter"),
        (
            gs.KernelRidgeRegressor(alpha=1e-8, solver="cg", n_landmarks=1, max_iter=2),
            "landmarks",
        ),
    ):
        with pytest.warns(ConvergenceWarning, match=match):
            machine.fit(X, y)


def test_progress_is_printed(capsys):
    X, y = points(40)
    for machine, line in (
        (gs.KernelPerceptron, "pass 1:"),
        (gs.ImportVectorClassifier, "1 import points, objective"),
        (gs.RelevanceVectorRegressor, "basis functions, log evidence"),
        (gs.KernelLogisticRegression, "step 1: objective"),
        (gs.L2SVC, "0 v 1:"),
        (partial(gs.KernelRidgeRegressor, solver="cg", n_landmarks=5), "product 1: residual"),
    ):
        name = type(machine(gs.Gaussian(1.5), verbose=True).fit(X, y)).__name__
        assert re.search(rf"\[{name}\] .*{re.escape(line)}", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("machine", "most"),
    [
        (gs.ImportVectorClassifier(gs.Gaussian(1.0), alpha=0.01), 30),
        (gs.RelevanceVectorClassifier(gs.Gaussian(0.5)), 25),
    ],
)
def test_banana_with_a_few_points(machine, most, data_dir):
    """Within one point of a tuned SVC on the first split, with a few points of 400."""
    z = np.load(data_dir / "more" / "ida-banana" / "ida-banana.npz")
    X, y = z["X"][z["train"][0]], z["y"][z["train"][0]]
    new, truth = z["X"][z["test"][0]], z["y"][z["test"][0]]
    grid = {"C": [0.1, 1, 10, 100], "gamma": [0.25, 0.5, 1, 2, 4]}
    svc = GridSearchCV(SVC(), grid, cv=5).fit(X, y)
    assert len(machine.fit(X, y).support_) <= most
    assert machine.score(new, truth) >= svc.score(new, truth) - 0.01


# ---- words, sets and rows of numbers are told apart -------------------------------------------


def test_words_and_sets_are_symbolic():
    pandas = pytest.importorskip("pandas")
    for X in (["ab", "c"], [b"ab"], [{1, 2}], np.array(["ab"], dtype=object)):
        assert is_symbolic(X)
    for X in ([[1.0]], np.eye(2), sp.csr_array(np.eye(2)), [], 3.0, pandas.DataFrame({"a": [1.0]})):
        assert not is_symbolic(X)
    assert is_function(lambda a, b: 0.0)
    assert not is_function(gs.Gaussian())
    assert not is_function("rbf")
    for bad in ("abc", 3.0, np.array(1.0), []):
        with pytest.raises(ValueError, match="Expected"):
            as_samples(bad)


def test_blocks_come_as_what_is_kept():
    dense, sparse = np.eye(2), sp.csr_array(np.eye(2))
    assert sp.issparse(as_stored(dense, sparse))
    assert isinstance(as_stored(sparse, dense), np.ndarray)
    assert as_stored(dense, dense) is dense


# ---- a machine of the user's own --------------------------------------------------------------


class NearestMean(KernelClassifier):
    """The nearer of two class means, in the feature space of any kernel."""

    def solve(self, K, y, w):
        V = np.where(y[:, None] == [0, 1], w[:, None], 0.0)
        V /= V.sum(axis=0)
        square = np.einsum("ij,ik,kj->j", V, K, V)
        return V[:, 1] - V[:, 0], (square[0] - square[1]) / 2


class Interpolation(KernelRegressor):
    """A parameter of one's own beside the kernel."""

    def __init__(self, kernel=None, *, ridge=1e-6):
        super().__init__(kernel)
        self.ridge = ridge

    def solve(self, K, y, w):
        return np.linalg.solve(K + np.diag(self.ridge / w), y), 0.0


def test_a_classifier_of_the_users():
    X, y = points(60)
    new = points(30, seed=1)[0]
    machine = NearestMean(gs.Linear()).fit(X, y)
    means = np.array([X[y == c].mean(axis=0) for c in (0, 1)])
    distances = ((new[:, None] - means) ** 2).sum(axis=2)
    np.testing.assert_array_equal(machine.predict(new), distances.argmin(axis=1))
    texts, labels = strings(40)
    assert NearestMean(gs.Spectrum(3)).fit(texts, labels).score(texts, labels) > 0.9
    K = gs.Linear()(X)
    matrix = NearestMean("precomputed").fit(K, y)
    np.testing.assert_allclose(matrix.decision_function(K), machine.decision_function(X))
    twice = NearestMean(gs.Linear()).fit(X, y, sample_weight=np.full(60, 2.0))
    np.testing.assert_allclose(twice.decision_function(X), machine.decision_function(X))
    assert cross_val_score(NearestMean(), X, y, cv=3).min() > 0.5


def test_a_regressor_of_the_users():
    x = np.linspace(0, 6, 30)[:, None]
    machine = clone(Interpolation(gs.Gaussian(1.0), ridge=1e-8)).fit(x, np.sin(x[:, 0]))
    np.testing.assert_allclose(machine.predict(x), np.sin(x[:, 0]), atol=1e-4)
    assert is_regressor(machine)


def test_a_machine_without_a_solution_says_so():
    class Idle(KernelClassifier):
        pass

    with pytest.raises(NotImplementedError, match="Idle gives neither `solve` nor `_fit`"):
        Idle().fit([[0.0], [1.0]], [0, 1])
