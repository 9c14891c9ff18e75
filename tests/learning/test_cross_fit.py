"""The amount of learning that pays on rows that did not teach."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import LeaveOneGroupOut, PredefinedSplit, TimeSeriesSplit
from sklearn.svm import SVC

import gramsmith as gs
from gramsmith.learning.cross_fit import (
    WIDTH,
    CrossFit,
    choose_width,
    cross_fit,
    make_folds,
    standard_error,
    subsample,
)
from gramsmith.learning.objective import ALPHAS, responses
from gramsmith.learning.transform import between
from gramsmith.targets import make_target
from oracle import textbook as tb


@pytest.fixture
def parity(rng):
    X = rng.normal(size=(100, 4))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "up", "down")


def test_noise_teaches_nothing(rng):
    """The smallest amount within one error is seldom another than none."""
    amounts = []
    for seed in range(5):
        X, y = rng.normal(size=(60, 3)), rng.permutation(np.arange(60) % 2)
        learner = gs.TransformLearner(random_state=seed).fit(X, y)
        amounts.append(learner.keep_)
        if learner.keep_ == 0.0:
            S = np.diagonal(learner.components_)
            np.testing.assert_allclose(S, S[0])  # the start, at some width
    assert np.median(amounts) == 0.0


@pytest.mark.parametrize("structure", ["diagonal", "full"])
def test_what_can_be_learned_is(structure, parity, rng):
    X, y = parity
    learner = gs.TransformLearner(structure=structure, random_state=0).fit(X, y)
    assert learner.keep_ > 0
    new = rng.normal(size=(600, 4))
    truth = np.where(new[:, 0] * new[:, 1] > 0, "up", "down")
    isotropic = gs.TransformLearner(keep=0.0).fit(X, y)
    learned, plain = (
        SVC(kernel=found.kernel_).fit(X, y).score(new, truth) for found in (learner, isotropic)
    )
    assert learned > plain


def test_values_and_several_outputs(rng):
    X = rng.normal(size=(120, 5))
    y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 0] ** 2])
    learner = gs.TransformLearner(random_state=0).fit(X, y)
    assert learner.feature_importances_[0] > 0.6


def test_the_smallest_amount_within_one_error():
    found = CrossFit(np.array([0, 0.5, 1.0]), np.array([3.0, 1.05, 1.0]), np.array([0.5, 0.1, 0.0]))
    assert found.amount == 0.5
    assert CrossFit(found.amounts, found.losses, np.zeros(3)).amount == 1.0


def test_losses_are_those_of_ridge_regressions_on_the_folds(rng):
    """Against a plain loop: regulariser by refitting without each row, the error on the fold."""
    X, y = rng.normal(size=(24, 2)), rng.normal(size=24)
    target = make_target(y, task="regression")
    folds = make_folds(3, y, target, None, 0)

    def matrix(amount, width, rows, columns):
        S = np.array([1.0, 1.0 - amount])
        return tb.gaussian(X[rows] * S, X[rows if columns is None else columns] * S)

    found = cross_fit(lambda rows: matrix, target, folds, widths=False, amounts=(0.0, 1.0))
    Y = responses(target)[:, 0]
    for k, amount in enumerate((0.0, 1.0)):
        losses = np.zeros(24)
        for train, test in folds:
            K = matrix(amount, 1.0, train, None)

            def left_out(alpha, K=K, train=train):
                total = 0.0
                for i in range(len(train)):
                    rest = np.delete(np.arange(len(train)), i)
                    f = tb_ridge(K[np.ix_(rest, rest)], Y[train][rest], alpha)
                    total += (K[i, rest] @ f[0] + f[1] - Y[train][i]) ** 2
                return total

            alphas = np.trace(K) / len(K) * ALPHAS
            best = min(alphas, key=left_out)
            coef, b = tb_ridge(K, Y[train], best)
            losses[test] = (matrix(amount, 1.0, test, train) @ coef + b - Y[test]) ** 2
        assert found.losses[k] == pytest.approx(losses.mean(), rel=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_mistakes_are_those_of_ridge_classifiers(classes, rng):
    """Against the bordered system: one regression per indicator, the largest wins."""
    X = rng.normal(size=(60, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.7][: classes - 1])
    target = make_target(y)
    folds = make_folds(3, y, target, None, 0)

    def matrix(amount, width, rows, columns):
        return tb.gaussian(X[rows], X[rows if columns is None else columns], 1.0 + amount)

    amounts = (0.0, 1.0)
    options = {"widths": False, "amounts": amounts, "mistakes": True}
    found = cross_fit(lambda rows: matrix, target, folds, **options)
    Y = responses(target)
    for k, amount in enumerate(amounts):
        wrong = 0
        for train, test in folds:
            _, _, alpha = choose_width(matrix, amount, train, Y, target.w, None)
            coef = [tb_ridge(matrix(amount, 1.0, train, None), f[train], alpha) for f in Y.T]
            F = np.stack([matrix(amount, 1.0, test, train) @ c + b for c, b in coef], axis=1)
            F = F + (target.V if classes > 2 else 2.0 * target.V[:, 1:] - 1.0).mean(axis=0)
            said = F.argmax(axis=1) if classes > 2 else F[:, 0] > 0
            wrong += int(np.sum(said != target.codes[test]))
        assert found.losses[k] == pytest.approx(wrong / len(y))


def tb_ridge(K, y, alpha):
    """Coefficients and intercept from the bordered system."""
    n = len(K)
    A = np.block([[K + alpha * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    found = np.linalg.solve(A, np.append(y, 0.0))
    return found[:n], found[n]


def test_the_width_is_that_of_smallest_leave_one_out_error(rng):
    X = rng.normal(size=(60, 2))
    y = np.sin(3 * X[:, 0])
    Y, w, rows = y[:, None] - y.mean(), np.ones(60), np.arange(60)

    def matrix(amount, width, rows, columns):
        return tb.gaussian(X[rows] * width, X[rows if columns is None else columns] * width)

    step, ridge, alpha = choose_width(matrix, 0.0, rows, Y, w)
    errors = {}
    for other in range(-6, 7):
        path = gs.solvers.RidgePath(matrix(0.0, WIDTH**other, rows, None), Y)
        errors[other] = path.loo_errors(path.eigenvalues.mean() * ALPHAS).min()
    assert errors[step] <= 1.001 * min(errors.values())
    assert ridge.loo_errors([alpha])[0] == pytest.approx(errors[step])
    assert choose_width(matrix, 0.0, rows, Y, w, None)[0] == 0


def test_on_noise_the_first_width_stays(rng):
    y = rng.normal(size=80)
    y -= y.mean()

    def matrix(amount, width, rows, columns):
        return np.eye(len(rows)) + 1e-9 * width

    assert choose_width(matrix, 0.0, np.arange(80), y[:, None], np.ones(80))[0] == 0


@given(st.floats(0.0, 1.0), st.integers(0, 10**6))
def test_maps_between_start_and_end(amount, seed):
    rng = np.random.default_rng(seed)
    start, end = np.full(4, 2.0), rng.uniform(0.5, 3.0, 4)
    S = between(start, end, amount)
    np.testing.assert_allclose(np.log(S), (1 - amount) * np.log(start) + amount * np.log(end))
    full = between(2.0 * np.eye(4), np.diag(end), amount)
    np.testing.assert_allclose(full @ full.T, np.diag(S**2), atol=1e-12)
    low = rng.normal(size=(4, 2))
    np.testing.assert_allclose(
        between(low, 3.0 * low, amount), (1.0 + 2.0 * amount) * low, atol=1e-12
    )


def test_a_lost_feature_is_not_lost_at_every_amount():
    start, end = np.ones(3), np.array([2.0, 1.0, 0.0])
    assert between(start, end, 0.25)[2] > 0.1
    assert between(start, end, 1.0)[2] == 0.0
    assert between(start, end, 0.25, least=0.0)[2] == 0.0  # a price removed it


def test_groups_stay_together(rng):
    groups = np.repeat(np.arange(12), 5)
    y = rng.integers(0, 2, 60)
    for task in ("classification", "regression"):
        target = make_target(y, task=task)
        folds = make_folds(None, y, target, groups, 0)
        assert len(folds) == 4
        for train, test in folds:
            assert not set(groups[train]) & set(groups[test])
    assert make_folds(None, y, target, np.zeros(60), 0) == []


def test_errors_of_groups(rng):
    d, groups = np.repeat(rng.normal(size=30), 4), np.repeat(np.arange(30), 4)
    w = np.ones(120)
    assert standard_error(d, w) == pytest.approx(d.std(ddof=1) / np.sqrt(120))
    assert standard_error(d, w, groups) == pytest.approx(d[::4].std(ddof=1) / np.sqrt(30))
    assert standard_error(d, 7.0 * w, groups) == pytest.approx(standard_error(d, w, groups))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learned_rows_are_those_of_the_splitter(parity, watched):
    """No row of a fold teaches what is judged there, whatever the splitter."""
    X, y = parity
    searches = watched(gs.TransformLearner, "search")
    groups = np.arange(100) // 25
    learner = gs.TransformLearner(max_iter=1)
    clone(learner).set_params(cv=LeaveOneGroupOut()).fit(X, y, groups=groups)
    assert [len(call["X"]) for call in searches] == [100, 75, 75, 75, 75]
    searches.clear()
    clone(learner).set_params(cv=TimeSeriesSplit(3)).fit(X, y)
    assert [len(call["X"]) for call in searches] == [100, 25, 50, 75]
    searches.clear()
    one = PredefinedSplit(np.where(np.arange(100) < 40, 0, -1))
    clone(learner).set_params(cv=one).fit(X, y)
    assert [len(call["X"]) for call in searches] == [100, 60]


def test_too_few_rows_keep_the_start(rng):
    X = rng.normal(size=(9, 2))
    with pytest.warns(UserWarning, match="keep=1.0"):
        learner = gs.TransformLearner().fit(X, [1, *[0] * 8])
    assert learner.keep_ == 0.0
    assert not hasattr(learner, "keep_curve_")


def test_an_interrupt_in_a_fold_keeps_a_quarter(parity):
    calls = []

    def callback(info):
        calls.append(info["iteration"])
        if calls.count(0.0) == 3:  # the third climb, in the second fold
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="quarter"):
        learner = gs.TransformLearner(callback=callback).fit(*parity)
    assert learner.keep_ == 0.25


def test_any_parameters(parity):
    X, y = parity
    kernel = gs.Gaussian(np.full(4, 3.0))
    learner = gs.KernelLearner(kernel, random_state=0).fit(X, y)
    assert learner.keep_ > 0
    scale = learner.kernel_.length_scale
    assert scale[:2].max() < scale[2:].min()
    none = gs.KernelLearner(kernel, keep=0.0).fit(X, y)
    np.testing.assert_allclose(none.kernel_.length_scale, 3.0)


def test_sequences():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ab"), 12)) + "c" * (i % 2) for i in range(40)]
    learner = gs.KernelLearner(gs.Subsequence(2, decay=0.5)).fit(X, np.arange(40) % 2)
    assert 0.0 <= learner.keep_ <= 1.0


def test_many_rows_are_sampled(rng):
    y = np.repeat([0, 1], [900, 100])
    target = make_target(y)
    rows = subsample(target, np.arange(1000), 200, 0)
    assert len(rows) == 200
    assert y[rows].sum() == 20
    np.testing.assert_array_equal(subsample(target, np.arange(50), 200, 0), np.arange(50))
    y[0] = 2  # a class of one row
    assert len(subsample(make_target(y), np.arange(1000), 200, 0)) == 200


CROSSED = {
    "transform": lambda **o: gs.TransformLearner(max_iter=2, **o),
    "parameters": lambda **o: gs.KernelLearner(max_iter=2, **o),
    "two": lambda **o: gs.TwoGaussianLearner(n_grid=8, **o),
    "sum": lambda **o: gs.KernelCombination([gs.Gaussian(s) for s in (0.5, 1.0, 2.0)], **o),
    "spectral": lambda **o: gs.SpectralAligner(gs.Gaussian(1.0), **o),
    "forest": lambda **o: gs.ForestLearner(n_estimators=10, **{"random_state": 0, **o}),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("make", CROSSED.values(), ids=CROSSED)
def test_folds_are_those_of_the_rows_as_given(make, parity):
    """Rows without a weight change nothing, wherever they stand; folds are counted with them."""
    X, y = parity
    folds = [(np.arange(50, 100), np.arange(50)), (np.arange(50), np.arange(50, 100))]
    plain = make(cv=folds, random_state=0).fit(X, y)
    more, labels = np.vstack([X[:7], X]), np.r_[y[:7], y]
    w = np.r_[np.zeros(7), np.ones(100)]
    shifted = [(np.r_[:7, folds[0][0] + 7], folds[0][1] + 7)]
    shifted += [(folds[1][0] + 7, np.r_[:7, folds[1][1] + 7])]
    found = make(cv=shifted, random_state=0).fit(more, labels, sample_weight=w)
    assert found.keep_ == plain.keep_
    for name in ("amount", "loss", "error"):
        a, b = found.keep_curve_[name], plain.keep_curve_[name]
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("make", CROSSED.values(), ids=CROSSED)
def test_weights_times_a_number_change_nothing(make, parity, rng):
    w = rng.uniform(0.2, 3.0, len(parity[1]))
    first, second = (make(random_state=0).fit(*parity, c * w).kernel_ for c in (1.0, 2.5))
    np.testing.assert_allclose(first(parity[0]), second(parity[0]), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["two", "sum", "spectral"])
def test_amounts_lead_from_the_start_to_the_climb(name, parity):
    X, y = parity
    make = CROSSED[name]
    start, climb = make(keep=0.0).fit(X, y), make(keep=1.0).fit(X, y)
    half, crossed = make(keep=0.5).fit(X, y), make(random_state=0).fit(X, y)
    assert (start.keep_, half.keep_, climb.keep_) == (0.0, 0.5, 1.0)
    assert crossed.keep_ in crossed.keep_curve_["amount"]
    assert crossed.value_ == pytest.approx(climb.value_)  # what the climb reached, kept or not
    K = [found.kernel_(X) for found in (start, half, climb)]
    aligned = [gs.kta(k, y) for k in K]
    assert not np.allclose(K[0], K[2])
    assert np.isfinite(aligned).all()


def test_nothing_of_a_spectral_map_is_the_kernel_itself(parity, rng):
    X, y = parity
    kernel = gs.Gaussian(1.5)
    found = gs.SpectralAligner(kernel, keep=0.0).fit(X, y)
    np.testing.assert_allclose(found.kernel_(X), kernel(X), atol=1e-6)
    new = rng.normal(size=(20, 4))
    np.testing.assert_allclose(found.kernel_(new, X), kernel(new, X), atol=1e-4)
    np.testing.assert_allclose(found.transform(X) @ found.transform(X).T, found.kernel_(X))


def test_nothing_of_a_sum_is_its_best_member(parity):
    X, y = parity
    kernels = [gs.Gaussian(s) for s in (0.05, 1.5, 40.0)]
    found = gs.KernelCombination(kernels, keep=0.0).fit(X, y)
    np.testing.assert_array_equal(found.weights_, [0.0, 1.0, 0.0])


def test_matrices_are_cut_on_both_axes(parity):
    X, y = parity
    kernels = [gs.Gaussian(1.0), gs.Gaussian(3.0)]
    by_kernel = gs.KernelCombination(kernels, random_state=0).fit(X, y)
    by_matrix = gs.KernelCombination(random_state=0).fit([k(X) for k in kernels], y)
    np.testing.assert_allclose(by_matrix.weights_, by_kernel.weights_, atol=1e-8)
    K = gs.Gaussian(1.0)(X)
    aligned = gs.SpectralAligner("precomputed", random_state=0).fit(K, y)
    other = gs.SpectralAligner(gs.Gaussian(1.0), random_state=0).fit(X, y)
    for name in ("loss", "error"):
        a, b = aligned.keep_curve_[name], other.keep_curve_[name]
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_negative_weights_are_judged_quietly(parity):
    X, y = parity
    kernels = [gs.Gaussian(s) for s in (0.5, 1.0, 2.0)]
    found = gs.KernelCombination(kernels, signed=True, random_state=0).fit(X, y)
    assert np.isfinite(found.keep_curve_["loss"]).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_names_survive_a_diagonal_map(parity):
    pd = pytest.importorskip("pandas")
    X, y = parity
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    learner = gs.TransformLearner(max_iter=2, random_state=0).set_output(transform="pandas")
    assert list(learner.fit(frame, y).transform(frame).columns) == ["a", "b", "c", "d"]
    assert list(gs.TransformLearner(max_iter=2).fit(X, y).get_feature_names_out()) == [
        f"x{k}" for k in range(4)
    ]
    low = gs.TransformLearner(structure="low_rank", rank=1, max_iter=2).fit(frame, y)
    assert list(low.get_feature_names_out()) == ["transformlearner0"]


def test_importances_spread_over_folds(parity, stored):
    learner = gs.TransformLearner(random_state=0).fit(*parity)
    assert learner.feature_importances_std_.shape == (4,)
    assert (learner.feature_importances_std_ < 0.3).all()
    found = stored(learner)
    np.testing.assert_array_equal(found.feature_importances_std_, learner.feature_importances_std_)
    learner.set_params(keep=1.0).fit(*parity)
    assert not hasattr(learner, "feature_importances_std_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_folds_without_a_weight_are_left_out(parity):
    X, y = parity
    folds = PredefinedSplit(np.arange(100) // 25)
    w = np.r_[np.zeros(25), np.ones(75)]
    found = gs.KernelLearner(max_iter=2, cv=folds, random_state=0)
    plain = gs.KernelLearner(max_iter=2, cv=PredefinedSplit(np.arange(75) // 25), random_state=0)
    found.fit(X, y, sample_weight=w)
    plain.fit(X[25:], y[25:])
    np.testing.assert_allclose(found.keep_curve_["loss"], plain.keep_curve_["loss"])
    half = [(np.arange(25, dtype=np.uint8), np.arange(25, 100, dtype=np.uint8))]
    with pytest.raises(ValueError, match="rows with a weight on both sides of a fold, got none"):
        gs.KernelLearner(cv=half).fit(X, y, sample_weight=w)
