"""Displays: data kept, labels as text, axes the caller's if given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import golden
import gramsmith as gs
from gramsmith.measures import MEASURES, Measure
from gramsmith.report.contents import BandwidthPath
from gramsmith.report.displays import (
    PICTURES,
    BandwidthDisplay,
    FeatureWeightsDisplay,
    GramDisplay,
    KernelMapDisplay,
    KernelRankingDisplay,
    from_worst_to_best,
    plot_surface,
)

HOSTILE = r"$\frac{a}{b}$ <b>"


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def rows(names):
    return [
        {
            "kernel": n,
            "score": 0.9,
            "score_error": 0.1,
            "tied": False,
            "verified": "cross-validation",
        }
        for n in names
    ]


def displays():
    path = BandwidthPath(
        "gaussian", np.arange(4.0), {"cka": np.arange(4.0), "fsm": np.full(4, np.nan)}, np.ones(4)
    )
    return [
        KernelRankingDisplay.from_records(rows([HOSTILE, "b"])),
        BandwidthDisplay(path),
        GramDisplay.from_matrix(np.eye(4), [HOSTILE, "b", HOSTILE, "b"]),
        FeatureWeightsDisplay([(HOSTILE, 1.0), ("b", -0.5)]),
        KernelMapDisplay(np.zeros((3, 2)), np.array([0, 1, 0]), [HOSTILE, "b"]),
        KernelMapDisplay(np.zeros((3, 2)), np.array([0.5, 1.0, 2.0])),
    ]


@pytest.mark.parametrize(
    "display", displays(), ids=["ranking", "path", "gram", "weights", "map", "values"]
)
def test_draws_on_given_axes_and_labels_are_text(display):
    _, ax = plt.subplots()
    assert display.plot(ax=ax).ax_ is ax
    display.figure_.canvas.draw()  # mathematics in a label would fail here


def test_ranking_display_keeps_labels():
    display = KernelRankingDisplay.from_records(rows([HOSTILE, "b"])).plot()
    assert HOSTILE in [t.get_text() for t in display.ax_.get_yticklabels()]


def test_bandwidth_curves_are_scaled():
    path = BandwidthPath("gaussian", np.arange(3.0), {"cka": np.array([5.0, 7.0, 6.0])}, np.ones(3))
    display = BandwidthDisplay(path).plot()
    flat, curve = display.ax_.lines
    assert flat.get_ydata().tolist() == [0.5, 0.5, 0.5]
    assert curve.get_ydata().tolist() == [0.0, 1.0, 0.5]


def test_one_outlier_does_not_flatten_a_curve():
    scaled = from_worst_to_best([-500.0, 0.7, 0.8, 0.9, np.nan])
    assert scaled[0] == 0.0
    assert scaled[3] == 1.0
    assert scaled[2] - scaled[1] > 0.2
    assert np.isnan(scaled[4])


def test_all_curves_point_upwards(ranking):
    """Scores and measures are drawn so that the favourite of each is on top."""
    display = BandwidthDisplay.from_ranking(ranking).plot()
    path = display.path
    records = {r["kernel"]: r for r in ranking.records}
    for name, values in path.measures.items():
        best = path.steps[np.nanargmax(values)]
        line = next(x for x in display.ax_.lines if x.get_label() == name)
        assert line.get_xdata()[np.nanargmax(line.get_ydata())] == best
    assert path.scores.max() <= max(r["first_check"] for r in records.values()) + 1e-12
    assert display.ax_.get_xlabel() == "width of the kernel"


def test_lengths_are_called_lengths():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("AC"), 12)) for _ in range(60)]
    found = gs.rank_kernels(X, ["AA" in x[:4] for x in X])
    display = BandwidthDisplay.from_ranking(found).plot()
    assert display.ax_.get_xlabel() == "length of the substrings"
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == list("123456")


def test_bandwidth_display_of_an_evaluation(rng):
    X = rng.normal(size=(40, 2))
    mine = Measure("mine", lambda sums: 1 - MEASURES["cka"].formula(sums), higher_is_better=False)
    found = gs.bandwidth_path(X, X[:, 0] > 0, ["cka", mine], n_bandwidths=5)
    display = BandwidthDisplay.from_evaluation(found).plot()
    first, second = (line.get_ydata() for line in display.ax_.lines)
    np.testing.assert_allclose(first, second)


def test_feature_display_of_an_estimator():
    class Fitted:
        feature_importances_ = np.array([0.1, 0.9])

    assert FeatureWeightsDisplay.from_estimator(Fitted()).weights[0] == ("x1", 0.9)


def test_displays_of_a_ranking_and_of_its_selector(rng):
    X = rng.normal(size=(60, 2))
    selector = gs.KernelSelector(random_state=0).fit(X, X[:, 0] * X[:, 1] > 0)
    ranking = selector.ranking_
    names = [record["kernel"] for record in ranking.records[:3]]
    assert KernelRankingDisplay.from_ranking(ranking, limit=3).names == names
    assert KernelRankingDisplay.from_estimator(selector, limit=3).names == names
    path = BandwidthDisplay.from_ranking(ranking)
    assert path.path.family == ranking.paths[0].family
    with pytest.raises(ValueError, match="Expected a family below"):
        BandwidthDisplay.from_ranking(ranking, family=99)
    assert len(FeatureWeightsDisplay.from_ranking(ranking).weights) == 2
    assert GramDisplay.from_ranking(ranking).blocks == ranking.evidence.blocks
    assert KernelMapDisplay.from_ranking(ranking).points.shape == (60, 2)


def test_every_picture_with_one_call(ranking, regression):
    of_values = {"predictions", "residuals"}
    of_classes = {"confusion", "roc", "precision_recall", "reliability"}
    for kind in PICTURES:
        for found, other in ((ranking, of_values), (regression, of_classes)):
            if kind in other:
                with pytest.raises(ValueError, match="Expected a ranking of"):
                    found.plot(kind)
            else:
                _, ax = plt.subplots()
                display = found.plot(kind, ax=ax)
                assert display.ax_ is ax
                display.figure_.canvas.draw()
    with pytest.raises(ValueError, match="among scores"):
        ranking.plot("rock")


def test_feature_display_knows_the_names_of_fit():
    class Fitted:
        feature_importances_ = np.array([0.1, 0.9])
        feature_names_in_ = np.array(["small", "large"])

    assert FeatureWeightsDisplay.from_estimator(Fitted()).weights[0] == ("large", 0.9)


def test_surface_is_drawn():
    learner = gs.TwoGaussianLearner(sigma1=0.3, n_grid=16).fit(golden.X, golden.y)
    ax = plot_surface(learner.surface_, mark=(learner.sigma2_, learner.u_))
    assert ax.get_xscale() == "log"
    assert len(ax.lines) == 1
    again = plot_surface(learner.surface_, ax)
    assert again is ax


def test_a_learner_marks_its_optimum():
    learner = gs.TwoGaussianLearner(sigma1=0.3, n_grid=16).fit(golden.X, golden.y)
    ax = plot_surface(learner)
    assert ax.lines[0].get_xdata()[0] == learner.sigma2_
    assert ax.lines[0].get_ydata()[0] == learner.u_
