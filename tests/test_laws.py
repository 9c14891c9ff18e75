"""Laws that hold for every kernel, every measure and every way of computing them."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone

import gramsmith as gs
from gramsmith.kernels.embedding import add_named, rows, scratch
from gramsmith.measures import MEASURES, Undefined
from gramsmith.targets import make_target
from oracle import textbook as tb
from tools.registry import (
    DIFFERENTIABLE,
    KERNELS,
    KINDS,
    NOT_WRITTEN,
    POSITIVE_DEFINITE,
    WITHOUT_DIAGONAL,
    dense_adjoint,
    samples,
    targets,
    textbook_measure,
)

every_kernel = pytest.mark.parametrize("name", KERNELS)
every_measure = pytest.mark.parametrize("measure", MEASURES)
every_kind = pytest.mark.parametrize(
    ("measure", "kind"), [(measure, kind) for measure in KINDS for kind in KINDS[measure]]
)
a_constant_kernel_may_say_so = pytest.mark.filterwarnings(
    "ignore::gramsmith.measures.alignment.ConstantKernelWarning"
)


@every_kernel
def test_sparse_and_dense_samples_meet(name, rng):
    kernel = KERNELS[name][0]
    X, Z = samples(kernel, rng, 9), samples(kernel, rng, 5)
    mixed = (
        (X, sp.csr_array(Z)),
        (sp.csr_array(X), Z),
        (sp.coo_matrix(X), Z),
        (X, sp.csc_matrix(Z)),
    )
    for A, B in mixed:
        if kernel.accepts_sparse:
            assert_allclose(kernel(A, B), kernel(X, Z), atol=1e-12)
        else:
            with pytest.raises(TypeError, match=r"expected dense input.*toarray"):
                kernel(A, B)


def symmetric(B):
    """Return the symmetric part, which is all that a bilinear kernel sees of its matrix."""
    return 0.5 * (np.asarray(B) + np.asarray(B).T)


# ---- kernels ------------------------------------------------------------------------------------


@every_kernel
def test_kernel_is_the_textbook_formula(name, rng):
    kernel, dense = KERNELS[name]
    X, Z = samples(kernel, rng, 13), samples(kernel, rng, 7)
    assert_allclose(kernel(X, Z), dense(X, Z), rtol=1e-11, atol=1e-13)
    assert_allclose(kernel(X), dense(X, X), rtol=1e-11, atol=1e-13)
    assert_allclose(kernel.diag(X), np.diagonal(dense(X, X)), rtol=1e-11, atol=1e-13)


@every_kernel
def test_matrix_is_symmetric_to_the_last_bit(name, rng):
    kernel = KERNELS[name][0]
    X = samples(kernel, rng, 30)
    for K in (kernel(X), gs.Gram(kernel, X).toarray()):
        assert (K == K.T).all()


@every_kernel
def test_tiles_are_written_where_the_sweep_wants_them(name, rng):
    """No new pages per tile, and the bits of `tile`."""
    kernel = KERNELS[name][0]
    X = samples(kernel, rng, 1050)
    parts = []
    for dtype in (np.float64, np.float32):
        E = kernel.embed(X, kernel.reference(X), dtype)
        here, there = rows(E, slice(0, 530)), rows(E, slice(530, 1050))
        parts += [(dtype, here, there), (dtype, here, here)]
    for dtype, a, b in parts:
        out = np.empty((530, 530 if b is a else 520), dtype)
        with scratch():
            kernel.tile(a, b, out)  # what is lent, is lent again
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            with scratch():
                K = kernel.tile(a, b, out)
            peak = tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
        np.testing.assert_array_equal(K, kernel.tile(a, b))
        if (name, dtype) in NOT_WRITTEN:
            assert K is not out
        else:
            assert K is out
            assert peak < out.nbytes / 2


@every_kernel
def test_positive_definite_is_said_of_the_right_kernels(name):
    assert KERNELS[name][0].positive_definite == (name in POSITIVE_DEFINITE)


@pytest.mark.parametrize("name", POSITIVE_DEFINITE)
def test_positive_semidefinite(name, rng):
    kernel = KERNELS[name][0]
    values = np.linalg.eigvalsh(kernel(samples(kernel, rng, 40)))
    assert values[0] >= -1e-10 * values[-1]


@every_kernel
def test_clone_and_parameters(name, rng):
    kernel = KERNELS[name][0]
    X = samples(kernel, rng, 6)
    copy = clone(kernel)
    assert copy is not kernel
    assert (copy(X) == kernel(X)).all()
    copy.set_params(**kernel.get_params())
    assert copy.get_params().keys() == kernel.get_params().keys()
    assert kernel != copy
    assert hash(kernel) != hash(copy)
    assert kernel.formula()


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_pullbacks_against_differences(name, rng):
    kernel = KERNELS[name][0]
    assert kernel.differentiable
    X, Z = samples(kernel, rng, 6) + 0.1, samples(kernel, rng, 5) + 0.1
    W, w = rng.normal(size=(6, 5)), rng.normal(size=6)

    def f(k, X):
        return np.sum(W * k(X, Z)) + np.sum(w * k.diag(X))

    reference = kernel.reference(X, Z)
    a, b = kernel.embed(X, reference), kernel.embed(Z, reference)
    da, db, slopes = kernel.tile_vjp(a, b, W, kernel.tile(a, b))
    slopes = dict(slopes)
    dd, by_diagonal = kernel.diagonal_vjp(a, w)
    add_named(slopes, by_diagonal)
    dX = np.zeros_like(X)
    for x, e, cotangent, mine in ((X, a, da, True), (Z, b, db, False), (X, a, dd, True)):
        if cotangent is not None:
            by_input, by_parameter = kernel.embed_vjp(x, reference, e, cotangent)
            add_named(slopes, by_parameter)
            if mine and by_input is not None:
                dX += by_input
    assert_allclose(dX, tb.finite_difference(lambda x: f(kernel, x), X), rtol=1e-6, atol=1e-6)
    names = list(kernel.parameter_names())
    for parameter in names:
        value = np.asarray(kernel.get_params()[parameter], dtype=float)

        def changed(v, parameter=parameter):
            v = symmetric(v) if parameter == "B" else np.asarray(v)
            return f(clone(kernel).set_params(**{parameter: v if v.ndim else float(v)}), X)

        expected = tb.finite_difference(changed, value)
        got = symmetric(slopes[parameter]) if parameter == "B" else slopes[parameter]
        assert_allclose(got, expected, rtol=1e-6, atol=2e-6, err_msg=parameter)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_theta_gradient_against_differences(name, rng):
    kernel = KERNELS[name][0]
    X = samples(kernel, rng, 6)
    _, jacobian = kernel(X, eval_gradient=True)
    theta = kernel.theta
    assert jacobian.shape == (6, 6, len(theta))
    assert kernel.bounds.shape == (len(theta), 2)
    for i in range(len(theta)):
        step = 1e-6 * np.eye(len(theta))[i]
        up, down = (kernel.clone_with_theta(theta + s)(X) for s in (step, -step))
        assert_allclose(jacobian[..., i], (up - down) / 2e-6, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_parameters_alone_have_the_same_derivatives(name, rng, small_tiles):
    small_tiles(4)
    kernel = KERNELS[name][0]
    X, goal = samples(kernel, rng, 11), make_target(np.arange(11) % 2)
    G = gs.Gram(kernel, X, n_jobs=1)
    moments = G.moments(goal)
    _, adjoint = MEASURES["kta"].value_and_adjoint(moments, goal)
    whole, short = (G.pullback(adjoint, goal, moments, inputs=i)[0] for i in (True, False))
    assert short.inputs is None
    assert whole.parameters.keys() == short.parameters.keys() == set(kernel.parameter_names())
    for parameter, value in whole.parameters.items():
        assert_allclose(short.parameters[parameter], value, rtol=1e-9, atol=1e-12)


# ---- streamed = dense ---------------------------------------------------------------------------


@a_constant_kernel_may_say_so
@every_kernel
@pytest.mark.parametrize(("rows", "jobs"), [(5, 1), (8, 3), (64, 2)])
def test_streamed_equals_dense(name, rows, jobs, rng, small_tiles):
    small_tiles(rows)
    kernel, dense = KERNELS[name]
    X = samples(kernel, rng, 31)
    K = dense(X, X)
    y = targets(rng, X)["binary"]
    goal = make_target(y)
    moments = gs.Gram(kernel, X, n_jobs=jobs).moments(goal)
    for measure, m in MEASURES.items():
        expected = textbook_measure(measure, K, y, "binary")
        assert_allclose(m.value(moments, goal), expected, rtol=1e-11, atol=1e-13)


@a_constant_kernel_may_say_so
@every_kernel
def test_float32_tiles(name, rng, small_tiles):
    small_tiles(8)
    kernel = KERNELS[name][0]
    X = samples(kernel, rng, 31)
    y = targets(rng, X)["binary"]  # independent labels would measure rounding
    goal = make_target(y)
    double, single = (gs.Gram(kernel, X, dtype=t).moments(goal) for t in (np.float64, np.float32))
    for measure in MEASURES.values():
        expected = measure.value(double, goal)
        assert_allclose(measure.value(single, goal), expected, rtol=1e-5, atol=1e-5)


@every_kernel
def test_threads_do_not_change_a_bit(name, rng, small_tiles):
    small_tiles(7)
    kernel = KERNELS[name][0]
    X = samples(kernel, rng, 40)
    goal = make_target(targets(rng, X)["classes"])
    results = []
    for jobs in (1, 2, 5):
        G = gs.Gram(kernel, X, n_jobs=jobs)
        moments = G.moments(goal)
        parts = [moments.P, moments.q, moments.d, G @ np.arange(40.0)]
        if name in DIFFERENTIABLE:
            _, adjoint = MEASURES["kta"].value_and_adjoint(moments, goal)
            gradient = G.pullback(adjoint, goal, moments)[0]
            parts += [np.asarray(v) for v in gradient.parameters.values()]
        results.append(parts)
    for other in results[1:]:
        assert all((a == b).all() for a, b in zip(results[0], other, strict=True))


# ---- measures -----------------------------------------------------------------------------------


@every_kind
def test_measure_is_the_textbook_formula(measure, kind, rng):
    X = rng.normal(size=(24, 3)) + np.array([0.0, 1.0, 0.0])
    y = targets(rng, X)[kind]
    goal = make_target(y)
    for name in ("gaussian", "linear", "polynomial", "sum"):
        kernel = KERNELS[name][0]
        value = MEASURES[measure].value(gs.Gram(kernel, X).moments(goal), goal)
        expected = textbook_measure(measure, kernel(X), y, kind)
        assert value == pytest.approx(expected, rel=1e-11, abs=1e-13), name


@every_kind
def test_adjoint_against_differences(measure, kind, rng):
    X = rng.normal(size=(20, 3))
    y = targets(rng, X)[kind]
    if measure == "fsm_loo":  # separated, so that it is finite
        X = X + 2.0 * np.unique(y, return_inverse=True)[1][:, None]
    goal = make_target(y, sample_weight=1.0 + np.arange(20) % 3)
    K = gs.Gaussian(1.5)(X) + 0.2 * (X @ X.T) + 1.0
    m = MEASURES[measure]

    def value(K):
        return m.value(gs.Gram("precomputed", K).moments(goal), goal)

    moments = gs.Gram("precomputed", K).moments(goal)
    v, adjoint = m.value_and_adjoint(moments, goal)
    dK = dense_adjoint(adjoint, moments, goal, K)
    assert v == value(K)
    assert np.isfinite(v)
    for _ in range(3):
        D = rng.normal(size=K.shape)
        D = D + D.T
        numeric = (value(K + 1e-5 * D) - value(K - 1e-5 * D)) / 2e-5
        assert np.sum(dK * D) == pytest.approx(numeric, rel=2e-6, abs=1e-9 * max(1.0, abs(v)))
    if m.scale_invariant:  # free tests: <dM/dK, K> = 0, and (dM/dK) w = 0
        assert abs(np.sum(dK * K)) < 1e-10 * max(1.0, np.abs(dK * K).sum())
    if m.translation_invariant:
        assert np.abs(dK.sum(axis=1)).max() < 1e-10 * max(1e-3, np.abs(dK).sum(axis=1).max())


WEIGHTS = {
    "equal": np.ones(18),
    "whole": 1.0 + np.arange(18) % 4,
    "shares": (1.0 + np.arange(18) % 4) / 40,
    "some zero": np.arange(18) % 5 * 0.3,
    "one heavy": np.r_[40.0, np.ones(17)],
    "wide": 10.0 ** (np.arange(18) % 7 - 3.0),
}


def weighted_value(measure, kernel, X, y, w):
    goal = make_target(y, sample_weight=w)
    return MEASURES[measure].value(gs.Gram(kernel, X).moments(goal), goal)


@every_kind
def test_weighted_measure_is_the_textbook_form(measure, kind, rng):
    X = rng.normal(size=(18, 3))
    y = targets(rng, X)[kind]
    if measure == "fsm_loo":
        X = X + 1.5 * np.unique(y, return_inverse=True)[1][:, None]
    for kernel in (gs.Gaussian(1.3) + gs.Constant(0.5), gs.Linear()):
        K = kernel(X)
        for name, w in WEIGHTS.items():
            value = weighted_value(measure, kernel, X, y, w)
            expected = tb.weighted_measure(measure, K, y, kind, w)
            assert value == pytest.approx(expected, rel=1e-9, abs=1e-12), (name, str(kernel))


@every_kind
def test_only_the_ratios_of_weights_count(measure, kind, rng):
    X = rng.normal(size=(18, 3))
    y, kernel = targets(rng, X)[kind], gs.Gaussian(1.3) + gs.Linear()
    for name, w in WEIGHTS.items():
        value = weighted_value(measure, kernel, X, y, w)
        for factor in (2.0**20, 2.0**-20, 2.0**-900):
            assert weighted_value(measure, kernel, X, y, w * factor) == value, (name, factor)
        for factor in (1 / 18, 1e-9, 1e300):
            found = weighted_value(measure, kernel, X, y, w * factor)
            assert found == pytest.approx(value, rel=1e-12), (name, factor)


@every_kind
def test_a_weight_of_zero_leaves_the_row_out(measure, kind, rng):
    X = rng.normal(size=(18, 3))
    y, kernel = targets(rng, X)[kind], gs.Gaussian(1.3) + gs.Linear()
    there = ~np.isin(np.arange(18), [0, 5, 11])
    X[~there] *= 1e3
    for name in ("equal", "whole"):
        w = np.where(there, WEIGHTS[name], 0.0)
        left = weighted_value(measure, kernel, X, y, w)
        right = weighted_value(measure, kernel, X[there], y[there], w[there])
        assert left == pytest.approx(right, rel=1e-10), name


@every_kind
def test_equal_weights_are_no_weights(measure, kind, rng):
    X = rng.normal(size=(18, 3))
    y = targets(rng, X)[kind]
    value = weighted_value(measure, gs.Gaussian(1.3), X, y, None)
    assert weighted_value(measure, gs.Gaussian(1.3), X, y, np.full(18, 1 / 18)) == value


SIZED = np.repeat([0, 1, 2], [5, 10, 15])  # equal sizes would hide a shift


def of_matrix(measure, K, y):
    """Return a measure of a kernel matrix."""
    goal = make_target(y)
    return measure.value(gs.Gram("precomputed", K).moments(goal), goal)


@every_measure
def test_invariances_that_are_promised(measure, rng):
    m = MEASURES[measure]
    X = rng.normal(size=(30, 3))
    value = partial(of_matrix, m, y=SIZED)
    K = X @ X.T
    h = rng.normal(size=30)
    shifted = K + h[:, None] + h + 3.0
    same = {"scale": value(7.0 * K), "shift": value(shifted)}
    expected = value(K)
    assert (same["scale"] == pytest.approx(expected, rel=1e-10)) == m.scale_invariant
    assert (same["shift"] == pytest.approx(expected, rel=1e-9)) == m.translation_invariant


@pytest.mark.parametrize("measure", ["cka", "cka_debiased", "fsm", "fsm_loo", "csm", "csm_scatter"])
@a_constant_kernel_may_say_so
def test_small_differences_count_and_rounding_does_not(measure, rng):
    m = MEASURES[measure]
    y, value = SIZED, partial(of_matrix, m, y=SIZED)
    K = gs.Gaussian(2.0)(rng.normal(size=(30, 3)) + y[:, None])
    assert value(1.0 + 1e-4 * K) == pytest.approx(value(K), rel=1e-6)
    noise = np.triu(rng.integers(-2, 3, size=(30, 30))) * np.finfo(float).eps
    assert value(1.0 + noise + noise.T) == (0.0 if m.higher_is_better else np.inf)


@every_measure
@a_constant_kernel_may_say_so
def test_facts_that_are_stated(measure, rng):
    m = MEASURES[measure]
    y, value = SIZED, partial(of_matrix, m, y=SIZED)
    X = rng.normal(size=(30, 3))
    identity, ideal = np.eye(30), np.equal.outer(y, y).astype(float)
    K = gs.Gaussian(2.0)(X + y[:, None])
    useless = [abs(value(A)) for A in (identity, np.ones((30, 30)), gs.Gaussian(2.0)(X))]
    largest = max(*useless, value(1e3 * ideal), value(1e3 * K))
    assert (largest <= 1.0 + 1e-12 and max(useless) < 0.5) == m.bounded
    rivals = [m.sign * value(A) for A in (ideal, K, 1e3 * K)]
    assert (m.sign * value(identity) >= max(rivals) - 1e-12) == m.favours_identity
    same = value(K + 0.7 * identity) == pytest.approx(value(K), rel=1e-10)
    assert same == (m.name in WITHOUT_DIAGONAL)
    unrelated = [value(gs.Linear()(rng.normal(size=(30, 2)))) for _ in range(20)]
    assert (min(unrelated) >= 0.0) == m.nonnegative


@pytest.mark.parametrize("name", [name for name in DIFFERENTIABLE if name != "constant"])
def test_gradient_through_the_whole_chain(name, rng, small_tiles):
    small_tiles(6)
    kernel = KERNELS[name][0]
    y = np.arange(17) % 2
    X = 0.6 * (samples(kernel, rng, 17) + 0.05) + 1.2 * y[:, None]
    goal = make_target(y)
    G = gs.Gram(kernel, X)
    moments = G.moments(goal)
    direction = rng.normal(size=X.shape)

    def values(k, X):  # of all measures, from one sweep
        found = gs.Gram(k, X).moments(goal)
        return np.array([m.value(found, goal) for m in MEASURES.values()])

    def changed(p, parameter):
        p = symmetric(p) if parameter == "B" else np.asarray(p)
        return values(clone(kernel).set_params(**{parameter: p if p.ndim else float(p)}), X)

    assert np.isfinite(values(kernel, X)).all()  # the example is meant to be separable
    numeric = {
        parameter: tb.finite_difference(
            partial(changed, parameter=parameter), kernel.get_params()[parameter]
        )
        for parameter in kernel.parameter_names()
    }
    along = (values(kernel, X + 1e-6 * direction) - values(kernel, X - 1e-6 * direction)) / 2e-6
    for k, (measure, m) in enumerate(MEASURES.items()):
        v, adjoint = m.value_and_adjoint(moments, goal)
        gradient = G.pullback(adjoint, goal, moments)[0]
        scale = max(1.0, abs(v))
        for parameter, expected in numeric.items():
            got = gradient.parameters[parameter]
            got = symmetric(got) if parameter == "B" else got
            case = f"{measure}, {parameter}"
            assert_allclose(got, expected[..., k], rtol=1e-5, atol=1e-7 * scale, err_msg=case)
        slope = np.sum(gradient.inputs * direction)
        assert slope == pytest.approx(along[k], rel=1e-4, abs=1e-7 * scale), measure


def test_every_measure_is_in_the_table_of_kinds():
    assert KINDS.keys() == MEASURES.keys()


@pytest.mark.parametrize(
    ("measure", "kind"),
    [(m, k) for m in KINDS for k in KINDS["cka"] if k not in KINDS[m]],
)
def test_a_measure_has_no_value_for_the_other_kinds(measure, kind, rng):
    X = rng.normal(size=(24, 3))
    goal = make_target(targets(rng, X)[kind])
    moments = gs.Gram(gs.Gaussian(), X).moments(goal)
    with pytest.raises(Undefined):
        MEASURES[measure].value(moments, goal)


def test_undefined_is_said_before_work():
    goal = make_target(np.array([0, 0, 0, 0, 1]))
    moments = gs.Gram(gs.Gaussian(), np.arange(5.0)[:, None]).moments(goal)
    with pytest.raises(Undefined, match="at least 2 samples in every class"):
        MEASURES["fsm"].value(moments, goal)
