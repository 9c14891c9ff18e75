"""Single measures beyond the golden values: two kernels, bounds, options."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramsmith as gs
from oracle import textbook as tb


@pytest.fixture
def pair(rng):
    X, Z = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    return gs.Gaussian()(X), gs.Polynomial(2)(Z), X, Z


@pytest.mark.parametrize(
    ("options", "projection"),
    [({}, "plain"), ({"centered": True}, "centred"), ({"debiased": True}, "debiased")],
)
def test_alignment_of_two_kernels(options, projection, pair):
    K, L, X, Z = pair
    projection = {"centred": "centred", "debiased": "u"}.get(projection, projection)
    expected = {
        "plain": tb.alignment(K, L),
        "centred": tb.alignment(tb.centred(K), tb.centred(L)),
        "u": tb.alignment(tb.u_centred(K), tb.u_centred(L)),
    }[projection]
    assert gs.alignment(K, L, **options) == pytest.approx(expected, rel=1e-11)
    left, right = gs.Gram(gs.Gaussian(), X), gs.Gram(gs.Polynomial(2), Z)
    assert gs.alignment(left, right, **options) == pytest.approx(expected, rel=1e-11)
    linear = gs.alignment(gs.Gram(gs.Linear(), X + 9.0), gs.Gram(gs.Linear(), Z - 7.0), **options)
    P, Q = (X + 9.0) @ (X + 9.0).T, (Z - 7.0) @ (Z - 7.0).T
    assert linear == pytest.approx(gs.alignment(P, Q, **options), rel=1e-8)


def test_debiased_alignment_of_independent_data_is_zero_on_average():
    rng = np.random.default_rng(0)
    biased, fair = [], []
    for _ in range(20):
        A, B = rng.normal(size=(32, 64)), rng.normal(size=(32, 64))
        G, H = gs.Gram(gs.Linear(), A), gs.Gram(gs.Linear(), B)
        biased.append(gs.alignment(G, H, centered=True))
        fair.append(gs.alignment(G, H, debiased=True))
    assert np.mean(biased) == pytest.approx(0.67, abs=0.03)
    assert abs(np.mean(fair)) < 0.03


@pytest.mark.parametrize("projection", ["plain", "centred", "debiased"])
@pytest.mark.parametrize("factor", [1.0, 1 / 30, 1e-9])
def test_weighted_alignment_is_the_textbook_form(projection, factor, pair):
    K, L, _, _ = pair
    w = np.arange(30.0) % 4
    rows, u = tb.rows_and_weights(w)
    part = np.ix_(rows, rows)
    form = {"centred": tb.weighted_centred, "debiased": tb.weighted_u_centred}
    expected = tb.weighted_alignment(K[part], L[part], u, form.get(projection, lambda K, u: K))
    value = gs.alignment(
        K,
        L,
        centered=projection == "centred",
        debiased=projection == "debiased",
        sample_weight=factor * w,
    )
    assert value == pytest.approx(expected, rel=1e-11)


def problems(draw_seed):
    rng = np.random.default_rng(draw_seed)
    n = int(rng.integers(6, 25))
    y = np.r_[0, 0, 1, 1, rng.integers(0, int(rng.integers(2, 4)), size=n - 4)]
    Z = rng.normal(size=(n, int(rng.integers(1, 4)))) + rng.normal() * y[:, None]
    kernel = [gs.Linear(), gs.Gaussian(float(rng.uniform(0.2, 3)))][int(rng.integers(2))]
    return kernel(Z), y


@given(st.integers(0, 100_000))
def test_training_errors_never_exceed_their_bounds(seed):
    K, y = problems(seed)
    counts = np.bincount(y)
    binary = y == 1
    signs = np.where(binary, 1, -1)
    if binary.any() and not binary.all():
        bound = gs.parzen_error_bound(K, signs)
        errors = np.mean(signs * (K @ signs) <= 1e-12 * np.abs(K).max())
        assert errors <= bound + 1e-9 or np.isclose(errors, bound)
    if counts.min() >= 2:
        for ddof in (0, 1):
            assert 0 <= gs.fsm_error_bound(K, y, ddof=ddof) <= 1
            wrong = tb.pairwise_vote_error(K, y, ddof=ddof)
            assert wrong <= gs.fsm_error_bound(K, y, ddof=ddof) + 1e-9


def test_bound_of_an_indefinite_kernel_is_weaker():
    y = np.array([1, 1, -1, -1])
    K = np.outer(y, y) * 0.5 + np.diag([1.0, -1.0, 1.0, -1.0])
    A = gs.kta(K, y)
    assert gs.parzen_error_bound(K, y, positive_definite=False) == pytest.approx(1 - A**2)
    assert gs.parzen_error_bound(-np.outer(y, y), y, positive_definite=False) == 1.0
    X = np.random.default_rng(0).normal(size=(20, 2))
    G = gs.Gram(gs.Sigmoid(), X)
    labels = X[:, 0] > 0
    assert gs.parzen_error_bound(G, labels) == pytest.approx(1 - gs.kta(G, labels) ** 2)


def test_options(pair):
    K, _, X, _ = pair
    y = X[:, 0] > 0
    csm = gs.csm(K, y)
    assert gs.csm(K, y, normalized=True) == pytest.approx(csm / (1 + csm))
    assert gs.csm(np.ones((4, 4)), [0, 0, 1, 1], normalized=True) == 1.0
    assert gs.hsic(K, y) == pytest.approx(tb.hsic(K, tb.target_matrix(y, "binary")))
    assert gs.hsic(K, y, unbiased=True) == pytest.approx(
        tb.hsic(K, tb.target_matrix(y, "binary"), unbiased=True)
    )
    assert gs.mmd(K, y, unbiased=True) == pytest.approx(tb.mmd(K, y, unbiased=True))
    assert gs.polarity(K, y) == pytest.approx(np.sum(K * tb.target_matrix(y, "binary")))
    assert gs.kta(K, X[:, 1].round(), task="regression") == pytest.approx(
        tb.kta(K, tb.target_matrix(X[:, 1].round(), "regression"))
    )


def test_the_target_of_evaluate_is_that_of_the_verbs(rng):
    X = rng.normal(size=(30, 3))
    y = np.repeat([0, 1, 2], [4, 10, 16])
    for target in ("auto", "one_hot", "balanced", "imbalanced"):
        table = gs.evaluate(
            {"k": gs.Gaussian()}, X, y, target=target, measures=["kta", "cka", "hsic"]
        )
        K = gs.Gaussian()(X)
        for name, verb in (("kta", gs.kta), ("cka", gs.cka), ("hsic", gs.hsic)):
            assert table["k", name].value == pytest.approx(verb(K, y, target=target), rel=1e-10)
    T = tb.target_matrix(y, "balanced")
    assert gs.cka(K, y, target="balanced") == pytest.approx(tb.cka(K, T))
    assert gs.cka(K, y, target="balanced") != pytest.approx(gs.cka(K, y))


def test_several_kernels_are_refused(pair):
    K, _, X, _ = pair
    several = gs.Gram([gs.Gaussian(), gs.Linear()], X)
    y = X[:, 0] > 0
    calls = (
        lambda: gs.kta(several, y),
        lambda: gs.fsm(several, y),
        lambda: gs.fsm_error_bound(several, y),
        lambda: gs.alignment(several, K),
        lambda: gs.alignment(K, several),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"one kernel, got 2 kernels\. Use evaluate"):
            call()
    with pytest.raises(ValueError, match="at least 2 samples"):
        gs.alignment(np.ones((1, 1)), np.ones((1, 1)))


def test_values_that_are_alike_have_a_diagonal_like_any_other():
    X = np.abs(np.random.default_rng(0).normal(size=(90, 4)))
    K, y = gs.Exp(0.1 * gs.Linear())(X), np.arange(90) % 3
    assert np.isfinite(gs.fsm(K, y))
    assert np.isfinite(gs.csm(gs.Gram(gs.Exp(0.1 * gs.Linear()), X), y))
    with pytest.raises(ValueError, match="got -"):
        gs.fsm(-K, y)
