"""What sets and intervals rest on: honest records, and widths that follow the rows."""

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.selection.guarantees import chosen_anew, interval_scores, learn_scales

KERNELS = {"linear": "linear", "narrow": gs.Gaussian(0.5), "wide": gs.Gaussian(2.0)}


def uneven(n, seed=0, noise=True):
    """Return rows whose noise grows from the left to the right of the second column."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    deviation = 0.1 + (0.25 * (X[:, 1] + 2.0) if noise else 0.4)
    return X, np.sin(2.0 * X[:, 0]) + deviation * rng.normal(size=n), deviation


def findings(X, y, **options):
    selector = gs.KernelSelector(KERNELS, **options).fit(X, y)
    return selector.ranking_._findings


def test_the_score_of_an_interval_is_its_width_and_twenty_times_what_is_outside():
    sizes, ones = np.arange(1.0, 20.0), np.ones(19)  # nine in ten of 20 are at most 18
    expected = [36.0] * 18 + [36.0 + 20.0]
    assert interval_scores(sizes, ones, ones, None) == pytest.approx(expected)


def test_of_one_kernel_and_setting_the_record_is_the_one_of_cross_validation():
    X, y, _ = uneven(80)
    found = findings(X, y, machine=gs.KernelRidgeRegressor(alpha=0.1), ensemble=False)
    [i] = found.chosen
    alone = {i: found.results[i]}
    object.__setattr__(found, "results", alone)
    record = chosen_anew(found, found.result, found.task)
    np.testing.assert_array_equal(record.values[0], found.result.values)


def test_each_fold_is_answered_by_the_choice_of_the_others():
    """Of single kernels: the best candidate and setting by the rows of the other folds."""
    X, y, _ = uneven(90)
    found = findings(X, y, ensemble=False)
    task, results = found.task, found.results
    record = found.result.record
    said = chosen_anew(found, found.result, task).values[0]
    for k in np.unique(record.fold):
        here = record.fold == k
        rest = np.flatnonzero(~here)
        candidates = [
            (np.mean((f[rest] - task.codes[record.rows[rest]]) ** 2), f[here])
            for r in results.values()
            for f in r.record.values
        ]
        best = min(candidates, key=lambda item: item[0])[1]
        np.testing.assert_array_equal(said[here], best)


def test_widths_follow_uneven_noise_and_only_that(stored):
    X, y, _ = uneven(300)
    Z, truth, deviation = uneven(2000, seed=1)
    model = gs.KernelSelector(KERNELS).fit(X, y).best_estimator_
    low, high = model.predict_interval(Z).T
    assert np.corrcoef(high - low, deviation)[0, 1] > 0.8
    held = (low <= truth) & (truth <= high)
    parts = [held[part].mean() for part in np.array_split(np.argsort(deviation), 3)]
    assert min(parts) > 0.82
    assert max(parts) < 0.97
    again = stored(model)
    np.testing.assert_array_equal(again.predict_interval(Z), model.predict_interval(Z))
    X, y, _ = uneven(300, noise=False)
    low, high = gs.KernelSelector(KERNELS).fit(X, y).predict_interval(Z).T
    np.testing.assert_allclose(high - low, (high - low)[0])


@pytest.mark.parametrize("of", ["weights", "groups", "folds", "outputs", "landmarks", "strings"])
def test_widths_with(of):
    n = 400
    X, y, _ = uneven(n, seed=2)
    Z, truth, deviation = uneven(1000, seed=3)
    options, told, kernels = {}, {}, KERNELS
    if of == "weights":
        told = {"sample_weight": np.random.default_rng(0).uniform(0.2, 2.0, n)}
    elif of == "groups":
        told = {"groups": np.repeat(np.arange(n // 4), 4)}
    elif of == "folds":
        folds = np.arange(n) % 4
        options = {
            "cv": [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(4)]
        }
    elif of == "outputs":
        y = np.column_stack([y, X[:, 0] + 0.3 * np.random.default_rng(0).normal(size=n)])
    elif of == "strings":
        X, Z = (["a" * int(10 * (x + 2)) + "b" for x in part[:, 1]] for part in (X, Z))
        kernels = {"spectrum": gs.Spectrum(1)}
    if of == "landmarks":
        problem = gs.selection.read(X, y, KERNELS)
        found = findings(X, y, ensemble=False)
        [i] = found.chosen
        machine = gs.KernelRidgeRegressor(
            found.candidates[i].kernel, alpha=0.1, solver="nystroem", n_landmarks=100
        ).fit(problem.samples.views[found.candidates[i].view], y)
        record = chosen_anew(found, found.result, found.task)
        kept, scales = learn_scales([machine], found, record, problem)
        wanted = np.log(scales[:, 0])
        said = np.log(machine._error_scales(problem.samples.views[0][record.rows[kept]])[:, 0])
        assert np.corrcoef(wanted, said)[0, 1] > 0.95
        return
    model = gs.KernelSelector(kernels, task="regression", **options).fit(X, y, **told)
    ends = model.predict_interval(Z)
    if of == "outputs":
        widths = ends[:, :, 1] - ends[:, :, 0]
        assert np.ptp(widths[:, 0]) > 0.5 * widths[:, 0].mean()
        np.testing.assert_allclose(widths[:, 1], widths[0, 1])
        ends = ends[:, 0]
    width = ends[:, 1] - ends[:, 0]
    assert np.corrcoef(width, deviation)[0, 1] > 0.7
    assert 0.85 < np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])) < 0.95


def test_the_interval_score_is_that_of_gneiting_and_raftery():
    sizes, w = np.arange(1.0, 20.0), np.ones(19)
    found = interval_scores(sizes, np.ones(19), w, None)
    half = sizes[int(np.ceil(0.9 * 20)) - 1]
    np.testing.assert_allclose(found, 2 * half + 20 * np.maximum(sizes - half, 0))
    np.testing.assert_allclose(interval_scores(sizes, np.full(19, 3.0), w, None), found)
