"""Prediction intervals: the textbook quantile, weights, files, coverage."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import gramsmith as gs
from gramsmith.machines.intervals import PredictionIntervals, half_width
from gramsmith.selection import ModelPipeline

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 2))
Y = X[:, 0] + 0.3 * RNG.normal(size=60)


def machine():
    return gs.KernelRidgeRegressor(gs.Gaussian(2.0), alpha=0.1).fit(X, Y)


@pytest.mark.parametrize("m", [9, 10, 57, 400])
@pytest.mark.parametrize("coverage", [0.05, 0.5, 0.8, 0.9])
def test_half_width_is_the_conformal_quantile(m, coverage):
    errors = np.sort(RNG.exponential(size=m))
    rank = int(np.ceil(round((m + 1) * coverage, 9)))
    assert half_width(errors, coverage) == errors[max(rank, 1) - 1]


def test_of_few_samples_no_more_is_promised_than_they_tell():
    with pytest.raises(ValueError, match=r"coverage up to 0\.8, .* 4 left-out samples"):
        half_width(np.arange(4.0), 0.9)
    for odd in (1.0, "most", None, True, float("nan")):
        with pytest.raises(ValueError, match="coverage between 0 and 1"):
            half_width(np.arange(4.0), odd)


def test_intervals_are_around_the_prediction():
    model = machine().calibrate_intervals([-3.0, 1.0, 2.0])
    low, high = model.predict_interval(X[:5], 0.5).T
    np.testing.assert_allclose(0.5 * (low + high), model.predict(X[:5]))
    np.testing.assert_allclose(high - low, 4.0)


def test_there_are_none_before_errors_are_known_and_after_another_fit():
    model = machine()
    assert not hasattr(model, "predict_interval")
    with pytest.raises(AttributeError) as raised:
        model.predict_interval(X)
    assert "Call calibrate_intervals" in str(raised.value.__cause__)
    model.calibrate_intervals([1.0, 2.0])
    assert hasattr(model, "predict_interval")
    assert not hasattr(model.fit(X, Y), "predict_interval")


def test_the_new_sample_weighs_as_much_as_one_of_the_old():
    """The smallest error with Σw of those up to it at least c (Σw + Σw²/Σw)."""
    errors, w = RNG.normal(size=40), RNG.integers(1, 5, 40)
    model = machine().calibrate_intervals(errors, w)
    for coverage in (0.1, 0.5, 0.9):
        enough = coverage * (w.sum() + np.sum(w**2) / w.sum())
        known = min(e for e in np.abs(errors) if w[np.abs(errors) <= e].sum() >= enough)
        low, high = model.predict_interval(X[:1], coverage)[0]
        assert 0.5 * (high - low) == pytest.approx(known)
    same = machine().calibrate_intervals(errors, np.full(40, 1 / 40))
    np.testing.assert_array_equal(same.held_out_errors_, np.sort(np.abs(errors)))
    assert not hasattr(same, "held_out_levels_")
    with pytest.raises(ValueError, match="coverage up to"):
        machine().calibrate_intervals(errors, np.exp(5.0 * errors)).predict_interval(X, 0.95)


@pytest.mark.parametrize(("groups", "deviation"), [(20, 0.0), (40, 0.0), (None, 1.0), (None, 2.0)])
def test_coverage_of_new_groups_and_with_heavy_weights(groups, deviation):
    rng, inside = np.random.default_rng(5), []
    for _ in range(400):
        if groups:
            g = np.repeat(np.arange(groups + 1), 6)
            errors = rng.normal(size=groups + 1)[g] + rng.normal(size=len(g))
            new, options = slice(-6, None), {"groups": g[:-6]}
        else:
            errors, w = rng.normal(size=201), np.exp(deviation * rng.normal(size=200))
            new, options = slice(-1, None), {"sample_weight": w}
        model = PredictionIntervals().calibrate_intervals(errors[: new.start], **options)
        levels = model.held_out_levels_
        if levels[-1] >= 0.8:  # else too few samples carry the weight, which is said
            half = half_width(model.held_out_errors_, 0.8, levels)
            inside.append(np.mean(np.abs(errors[new]) <= half))
    assert len(inside) > 300
    assert 0.8 - 3.5 * np.std(inside) / np.sqrt(len(inside)) < np.mean(inside) < 0.9


def test_errors_of_another_number_of_outputs_are_refused():
    with pytest.raises(ValueError, match="shape"):
        machine().calibrate_intervals(np.ones((3, 2, 2)))
    with pytest.raises(ValueError, match="as many outputs"):
        machine().calibrate_intervals(np.ones((30, 2))).predict_interval(X)


def test_several_outputs_have_intervals_each():
    both, errors = np.column_stack([Y, -3.0 * Y]), RNG.normal(size=(50, 2)) * [1.0, 3.0]
    model = gs.KernelRidgeRegressor(gs.Gaussian(2.0), alpha=0.1).fit(X, both)
    w = RNG.uniform(0.5, 2.0, 50)
    found = model.calibrate_intervals(errors, w).predict_interval(X, 0.8)
    assert found.shape == (len(X), 2, 2)
    for k in range(2):
        one = gs.KernelRidgeRegressor(gs.Gaussian(2.0), alpha=0.1).fit(X, both[:, k])
        own = one.calibrate_intervals(errors[:, k], w).predict_interval(X, 0.8)
        np.testing.assert_allclose(found[:, k], own, atol=1e-10)


@pytest.mark.parametrize("made", [gs.KernelSVR, gs.KernelRidgeRegressor])
def test_files_keep_them(made, tmp_path):
    groups = np.repeat(np.arange(25), 2)
    model = made(gs.Gaussian(2.0)).fit(X, Y)
    model.calibrate_intervals(RNG.normal(size=50), groups=groups)
    steps = [("scale", StandardScaler().fit(X)), ("model", model)]
    for k, kept in enumerate((model, ModelPipeline(steps))):
        gs.save_model(kept, tmp_path / f"{k}.safetensors")
        again = gs.load_model(tmp_path / f"{k}.safetensors")
        assert type(again) is type(kept)
        expected = kept.predict_interval(X, 0.8)
        assert again.predict_interval(X, 0.8).tobytes() == expected.tobytes()


def test_a_forged_file_is_refused(tmp_path):
    model = machine().calibrate_intervals([1.0, 2.0])
    model.held_out_errors_ = np.array([2.0, 1.0])
    gs.save_model(model, tmp_path / "m.safetensors")
    with pytest.raises(gs.ModelFormatError, match="errors from 0 on"):
        gs.load_model(tmp_path / "m.safetensors")


def test_the_ranking_and_the_selector_have_them():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(600, 2))
    y = np.sin(2 * Z[:, 0]) + 0.3 * rng.standard_t(4, size=600)
    kernels = {"wide": gs.Gaussian(1.0), "narrow": gs.Gaussian(0.4)}
    model = gs.KernelSelector(kernels, task="regression").fit(Z[:300], y[:300])
    low, high = model.predict_interval(Z[300:]).T
    inside = np.mean((low <= y[300:]) & (y[300:] <= high))
    assert 0.84 < inside < 0.96  # 300 of each: the deviation of the share is about .025
    wider = model.predict_interval(Z[300:], coverage=0.99)
    assert (wider[:, 0] < low).all()
    best = model.ranking_.best_estimator
    np.testing.assert_array_equal(best.predict_interval(Z[300:]), np.column_stack([low, high]))
    labels = gs.KernelSelector(kernels).fit(Z, y > 0)
    assert not hasattr(labels, "predict_interval")


def test_the_width_follows_a_scale(stored):
    """Half the width is s(x) q with log s an expansion over the support, within limits."""
    model = machine()
    a, b = RNG.normal(size=(60, 1)), np.array([0.3])
    model.set_scale(a, b, [[-1.0], [1.0]])
    errors, scales = RNG.normal(size=100), RNG.uniform(0.5, 2.0, 100)
    model.calibrate_intervals(errors, scales=scales)
    new = RNG.normal(size=(7, 2))
    s = np.exp(np.clip(model.kernel_(new, X) @ a + b, -1.0, 1.0))[:, 0]
    q = np.sort(np.abs(errors / scales))[int(np.ceil(0.8 * 101)) - 1]
    low, high = model.predict_interval(new, 0.8).T
    np.testing.assert_allclose(high - low, 2.0 * s * q)
    np.testing.assert_allclose(0.5 * (low + high), model.predict(new))
    again = stored(model)
    assert again.predict_interval(new).tobytes() == model.predict_interval(new).tobytes()
    assert not hasattr(model.set_scale(a, b, [[-1.0], [1.0]]), "predict_interval")
    assert not hasattr(model.fit(X, Y), "scale_coefficients_")


def test_a_model_without_rows_keeps_its_widths():
    model = gs.KernelRidgeRegressor(gs.Linear() + gs.Constant(1.0), alpha=0.1).fit(X, Y)
    model.set_scale(0.01 * RNG.normal(size=(60, 1)), [0.0], [[-2.0], [2.0]])
    model.calibrate_intervals(RNG.normal(size=30), scales=np.ones(30))
    lean = model.without_rows()
    np.testing.assert_allclose(lean.predict_interval(X), model.predict_interval(X))


def test_scales_that_do_not_fit_are_refused():
    model = machine()
    with pytest.raises(ValueError, match="scales above zero"):
        model.calibrate_intervals(np.ones(5), scales=np.zeros(5))
    with pytest.raises(ValueError, match="scales above zero"):
        model.calibrate_intervals(np.ones(5), scales=np.ones(4))
    with pytest.raises(ValueError, match="Expected shapes"):
        model.set_scale(np.ones((3, 1)), [0.0], [[-1.0], [1.0]])
    model.set_scale(np.zeros((60, 1)), [0.0], [[-1.0], [1.0]])
    del model.scale_range_
    with pytest.raises(ValueError, match="scale"):
        model._check_stored()
