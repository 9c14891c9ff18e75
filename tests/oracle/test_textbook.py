"""The oracle against the golden values, the reference values and the theorems."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import golden
from oracle import textbook as tb

X, y, K = golden.X, golden.y, golden.K
SLACK = 1e-9  # rounding, in inequalities
problems = settings(max_examples=150, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def problem(seed, classes=2):
    """A random positive semidefinite K of one of three shapes, and labels, two a class at least."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2 * classes, 24))
    labels = np.concatenate(
        [np.repeat(np.arange(classes), 2), rng.integers(0, classes, n - 2 * classes)]
    )
    points = rng.normal(size=(n, int(rng.integers(1, 6)))) * rng.uniform(0.2, 3)
    points += rng.uniform(0, 3) * rng.normal(size=(classes, points.shape[1]))[labels]
    shape = rng.integers(3)
    if shape == 0:
        return tb.gaussian(points, length_scale=rng.uniform(0.2, 5)), labels
    if shape == 1:
        return tb.linear(points), labels
    factor = rng.normal(size=(n, n))
    return factor @ factor.T, labels


def test_golden_values():
    F = tb.fsm_pairwise(K, golden.lab)
    blocks, kept = tb.inductive_blocks(K, np.arange(8), y[:8], 0.1)
    kernels = [np.exp(-gamma * tb.squared_distances(X)) for gamma in (0.05, 0.5, 2, 8)]
    weights, attained = tb.alignf(kernels, y)
    rmb = tb.radius_margin(K, y, 10)
    onehot = tb.target_matrix(golden.lab, "onehot")
    values = {
        "sum_K": K.sum(),
        "norm_K": tb.norm(K),
        "kta": tb.kta(K, y),
        "cka": tb.cka(K, y),
        "cka_debiased": tb.cka_debiased(K, y),
        "kta_uneven": tb.kta(K, tb.target_matrix(y, "imbalanced")),
        "mmd": tb.mmd(K, y),
        "fsm_ddof1": tb.fsm(K, y),
        "fsm_ddof0": tb.fsm(K, y, ddof=0),
        "fsm_error_ddof1": tb.fsm_error_bound(K, y),
        "fsm_error_ddof0": tb.fsm_error_bound(K, y, ddof=0),
        "fsm_loo_ddof1": tb.fsm_loo(K, y),
        "fsm_loo_ddof0": tb.fsm_loo(K, y, ddof=0),
        "csm_ddof1": tb.csm(K, y),
        "csm_ddof0": tb.csm(K, y, ddof=0),
        "csm_scatter_2": tb.csm(K, y, "scatter"),
        "csm_scatter_3": tb.csm(K, golden.lab, "scatter"),
        "kta_3_onehot": tb.kta(K, onehot),
        "kta_3_simplex": tb.kta(K, golden.lab),
        "cka_3": tb.cka(K, onehot),
        "cka_debiased_3": tb.cka_debiased(K, onehot),
        "fsm_01": F[0, 1],
        "fsm_02": F[0, 2],
        "fsm_12": F[1, 2],
        "fsm_regression": tb.fsm_regression(K, golden.yr),
        "fsm_regression_error": tb.fsm_regression_error(K, golden.yr),
        "regression_half": tb.kta(K, golden.yr),
        "regression_cka": tb.cka(K, golden.yr),
        "regression_cka_debiased": tb.cka_debiased(K, golden.yr),
        "inductive_kept": kept,
        "inductive_alignment": tb.kta(blocks[:8, :8], y[:8]),
        "inductive_sum": blocks.sum(),
        "alignf": attained,
        "alignf_uniform": tb.cka(sum(kernels), y),
        "alignf_weights": weights,
        "w2": rmb["w2"],
        "r2": rmb["r2"],
        "rmb": rmb["rmb"],
        "n_support": rmb["n_support"],
        "d_rmb_d_C": tb.d_radius_margin(K, y, 10)[1],
    }
    for name, value in values.items():
        expected, tolerance = golden.GOLDEN[name]
        np.testing.assert_allclose(value, expected, rtol=0, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("n", [4, 7, 30])
def test_identity(n):
    labels = np.where(np.arange(n) % 2, 1, -1)
    assert tb.kta(np.eye(n), labels) == pytest.approx(1 / np.sqrt(n))
    assert tb.fsm(np.eye(n), labels) == 0
    assert tb.fsm_loo(np.eye(n), labels) == np.inf
    assert tb.cka_debiased(np.eye(n), labels) == 0


@pytest.mark.parametrize("positive", [1, 2, 5])
def test_ones(positive):
    labels = np.array([1] * positive + [-1] * (10 - positive))
    ones = np.ones((10, 10))
    assert tb.kta(ones, labels) == pytest.approx((labels.sum() / 10) ** 2)
    assert tb.cka(ones, labels) == 0
    assert tb.fsm(ones, labels, ddof=0) == np.inf
    assert tb.csm(ones, labels, ddof=0, normalized=True) == 1
    assert tb.fsm_error_bound(ones, labels, ddof=0) == 1


@problems
@given(seeds)
def test_identities_of_the_targets(seed):
    K, labels = problem(seed)
    n, z = len(K), tb.signs(labels)
    H, delta = tb.centering_matrix(n), tb.mean_difference(labels)
    n_pos, n_neg = np.sum(z > 0), np.sum(z < 0)
    np.testing.assert_allclose(-delta, n / (2 * n_pos * n_neg) * H @ z, atol=1e-12)
    half = tb.kta(K, tb.target_matrix(labels, "imbalanced"))
    ratio = tb.norm(tb.centred(K)) / tb.norm(K)
    assert half == pytest.approx(tb.cka(K, labels) * ratio, abs=1e-9)
    assert tb.mmd(K, labels) == pytest.approx(delta @ K @ delta, rel=1e-9, abs=1e-9)
    if tb.mmd(K, labels) > 1e-6 * tb.norm(K):
        assert tb.fsm(K, labels) == pytest.approx(
            tb.fsm_in_feature_space(K, labels), rel=1e-6, abs=1e-9
        )


def test_centring_makes_multiclass_targets_proportional():
    onehot = tb.target_matrix(golden.lab, "onehot")
    for kind, factor in (("simplex", 3 / 2), ("ovr", 4)):
        T = tb.target_matrix(golden.lab, kind)
        for P in (tb.centred, tb.u_centred):
            np.testing.assert_allclose(P(T), factor * P(onehot), atol=1e-12)
    balanced = tb.centred(tb.target_matrix(golden.lab, "balanced"))
    Y = tb.one_hot(golden.lab)
    projector = Y @ np.diag(1 / Y.sum(axis=0)) @ Y.T - 1 / 12
    np.testing.assert_allclose(balanced, projector, atol=1e-12)
    assert tb.norm(balanced) == pytest.approx(np.sqrt(2))


def test_default_targets():
    binary = tb.target_matrix(np.where(y > 0, "yes", "no"))
    np.testing.assert_array_equal(binary, np.outer(y, y))
    np.testing.assert_allclose(binary, tb.target_matrix(y, "simplex"))
    labels = (X[:, :2] > 0).astype(int)
    expected = sum(np.outer(2 * c - 1, 2 * c - 1) for c in labels.T)
    np.testing.assert_array_equal(tb.target_matrix(labels), expected)
    both = np.stack([golden.yr, X[:, 1]], axis=1)
    expected = tb.target_matrix(both[:, 0]) + tb.target_matrix(both[:, 1])
    np.testing.assert_allclose(tb.target_matrix(both), expected)


def test_measures_do_not_move_with_the_origin():
    for shift in (0.0, 1.0, 10.0):
        moved = (X + shift) @ (X + shift).T
        for measure in (tb.fsm, tb.fsm_loo, tb.csm, tb.cka, tb.cka_debiased):
            assert measure(moved, y) == pytest.approx(measure(X @ X.T, y), rel=1e-9)


def test_population_deviations_ignore_replication():
    weights = np.where(y > 0, 3, 1)
    assert tb.weighted(tb.fsm, K, y, weights, ddof=0) == pytest.approx(tb.fsm(K, y, ddof=0))
    assert tb.weighted(tb.fsm, K, y, weights, ddof=1) != pytest.approx(tb.fsm(K, y, ddof=1))


def test_repetition():
    rows = tb.repeated_rows([2, 0, 1])
    np.testing.assert_array_equal(rows, [0, 0, 2])
    np.testing.assert_array_equal(tb.repeat_gram(K[:3, :3], [2, 0, 1]), K[np.ix_(rows, rows)])


def test_unbiased_hsic_is_the_average_over_quadruples():
    few = K[:7, :7]
    assert tb.hsic(few, golden.yr[:7], unbiased=True) == pytest.approx(
        tb.hsic_by_quadruples(few, golden.yr[:7])
    )


def test_unbiased_mmd_leaves_the_diagonal_out():
    within = 1 / 4 + 1 / 8  # share of the unit diagonal in the two class means
    biased, unbiased = tb.mmd(K, y), tb.mmd(K, y, unbiased=True)
    a, b = tb.members(y)
    means = [tb.block_mean(K, rows, rows, distinct=True) for rows in (a, b)]
    removed = within - means[0] / len(a) - means[1] / len(b)
    assert unbiased == pytest.approx(biased - removed)


def test_aggregates_of_pairwise_fsm():
    uneven = np.array([0] * 2 + [1] * 4 + [2] * 6)
    F = tb.fsm(K, uneven, aggregate="matrix")
    np.testing.assert_allclose(F, F.T)
    mean = (6 * F[0, 1] + 8 * F[0, 2] + 10 * F[1, 2]) / 24
    assert tb.fsm(K, uneven) == pytest.approx(mean)
    assert tb.fsm(K, uneven, aggregate="max") == F.max()


def test_csm_forms_agree_on_balanced_classes():
    balanced = np.arange(12) % 2
    assert tb.csm(K, balanced, "covariance", ddof=0, c=2) == pytest.approx(
        tb.csm(K, balanced, "scatter")
    )
    Phi = tb.embed(K)
    traces = [np.trace(np.cov(Phi[balanced == c].T)) for c in (0, 1)]
    gap = Phi[balanced == 0].mean(axis=0) - Phi[balanced == 1].mean(axis=0)
    assert tb.csm(K, balanced) == pytest.approx(sum(traces) / (gap @ gap))


def test_regression_fsm_of_balanced_labels_is_at_least_fsm():
    balanced = np.where(np.arange(12) % 2, 1.0, -1.0)
    assert tb.fsm_regression(K, balanced) >= tb.fsm(K, balanced, ddof=0)
    g = tb.centred(K) @ balanced
    spread = (np.var(g[balanced > 0]) + np.var(g[balanced < 0])) / 2
    distance = g[balanced > 0].mean() - g[balanced < 0].mean()
    assert tb.fsm_regression(K, balanced) ** 2 == pytest.approx(spread / distance**2 * 4)


def test_a_class_of_one_is_refused():
    with pytest.raises(ValueError, match="1 members"):
        tb.fsm(K[:4, :4], np.array([0, 1, 1, 1]))


def test_jackknife_of_a_mean_is_its_standard_error():
    def mean_of_diagonal(K, y):
        return np.mean(np.diag(K))

    values = np.arange(6.0)
    error = tb.jackknife_error(mean_of_diagonal, np.diag(values), np.zeros(6), np.arange(6))
    assert error == pytest.approx(np.std(values, ddof=1) / np.sqrt(6))
