"""Pictures: labels as text, outliers on the frame, the caller's axes if given."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramsmith as gs
from gramsmith.machines.svm import KernelSVC
from gramsmith.report import plot_gram, plot_map
from gramsmith.report.pictures import (
    PICTURES,
    colours_of,
    drawn,
    from_worst_to_best,
    gram_matrix,
    kernel_map,
    limits,
    plot_ranking,
)
from gramsmith.report.words import BandwidthPath
from gramsmith.selection.evidence import Curve, Evidence, Outcome, Reading, Reliability

HOSTILE = r"$\frac{a}{b}$ <b>"


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def curve(name):
    steps = np.array([0.0, 0.2, 1.0])
    return Curve(name, steps, np.array([0.0, 0.8, 1.0]), 0.9, (0.2, 0.8), 0.3)


def of_classes(classes, confusion, n_curves=1):
    """Return what the pictures need of a ranking of classes."""
    said = np.array([0.1, 0.5, 0.9])
    curves = [curve(name) for name in classes[:n_curves]]
    outcome = Outcome(
        "cross-validation",
        10,
        classes,
        np.asarray(confusion, dtype=float),
        roc=curves,
        precision_recall=curves,
        reliability=Reliability(classes[0], said, said, said - 0.1, said + 0.1, 0.0),
    )
    evidence = Evidence(
        Reading(10),
        outcome,
        importance=[(classes[0], 0.1, np.inf), ("b", -0.1, 0.1)],
        gram=np.eye(4),
        blocks=[(classes[0], 2), ("b", 2)],
        map=np.zeros((3, 2)),
        map_colours=np.array([0, 1, 0]),
    )
    records = [
        {"kernel": classes[0], "score": 0.9, "score_error": 0.1, "tied": False},
        {"kernel": "b", "score": None, "first_check": 0.9, "first_check_error": 0.1, "tied": False},
    ]
    measures = {"cka": np.array([5.0, 7.0, 6.0]), "fsm": np.full(3, np.nan)}
    return SimpleNamespace(
        records=records,
        other_records=[],
        scoring=classes[0],
        evidence=evidence,
        path=BandwidthPath("gaussian", np.arange(3.0), measures, np.ones(3), labels=["1"] * 3),
        task="classification",
        classes=classes,
    )


def of_values(actual, predicted):
    outcome = Outcome("cross-validation", len(actual), actual=actual, predicted=predicted)
    return SimpleNamespace(evidence=Evidence(Reading(len(actual)), outcome))


@pytest.mark.parametrize("n_curves", [1, 2])
def test_labels_are_text(n_curves):
    ranking = of_classes([HOSTILE, "b"], np.eye(2), n_curves)
    for kind in PICTURES.keys() - {"predictions", "residuals"}:
        _, ax = plt.subplots()
        assert plot_ranking(ranking, kind, ax) is ax
        ax.figure.canvas.draw()  # mathematics in a label would fail here
    assert HOSTILE in [t.get_text() for t in plot_ranking(ranking, "scores").get_yticklabels()]


def test_a_score_far_below_the_others_is_written():
    ranking = of_classes(["a", "b"], np.eye(2))
    other = {"estimator": "c", "score_error": 0.1, "judgement": "worse"}
    ranking.other_records = [{**other, "score": score} for score in (0.88, 0.87, 0.01)]
    assert [text.get_text() for text in plot_ranking(ranking, "scores").texts] == [" ← 0.01"]


def test_bandwidth_curves_are_scaled():
    ranking = of_classes(["a", "b"], np.eye(2))
    flat, measure = plot_ranking(ranking, "bandwidth").lines
    assert flat.get_ydata().tolist() == [0.5, 0.5, 0.5]
    assert measure.get_ydata().tolist() == [0.0, 1.0, 0.5]
    scaled = from_worst_to_best([-500.0, 0.7, 0.8, 0.9, np.nan])  # one outlier flattens nothing
    assert (scaled[0], scaled[3]) == (0.0, 1.0)
    assert scaled[2] - scaled[1] > 0.2
    assert np.isnan(scaled[4])


def test_all_curves_point_upwards(ranking):
    """Scores and measures are drawn so that the favourite of each is on top."""
    ax, path = ranking.plot("bandwidth"), ranking.path
    for name, values in path.measures.items():
        line = next(x for x in ax.lines if x.get_label() == name)
        best = path.steps[np.nanargmax(values)]
        assert line.get_xdata()[np.nanargmax(line.get_ydata())] == best
    assert ax.get_xlabel() == "width of the kernel"


def test_lengths_are_called_lengths():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("AC"), 12)) for _ in range(60)]
    ax = gs.rank_kernels(X, ["AA" in x[:4] for x in X]).plot("bandwidth")
    assert ax.get_xlabel() == "length of the substrings"
    assert [t.get_text() for t in ax.get_xticklabels()] == list("123456")


def test_every_picture_with_one_call(ranking, regression):
    values, classes = (
        {"predictions", "residuals"},
        {"confusion", "roc", "precision_recall", "reliability"},
    )
    for kind in PICTURES:
        for found, other in ((ranking, values), (regression, classes)):
            if kind in other:
                with pytest.raises(ValueError, match="Expected a ranking of"):
                    found.plot(kind)
            else:
                _, ax = plt.subplots()
                assert found.plot(kind, ax=ax) is ax
                ax.figure.canvas.draw()
    with pytest.raises(ValueError, match="among scores"):
        ranking.plot("rock")


def test_pictures_of_scikit_learn():
    ranking = of_classes(["no", "yes"], [[8, 2], [1, 9]])
    ax = plot_ranking(ranking, "confusion")
    assert [text.get_text() for text in ax.texts] == ["80%", "20%", "10%", "90%"]
    ax = plot_ranking(ranking, "roc")
    assert ax.lines[0].get_ydata().tolist() == [0.0, 0.8, 1.0]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["no: area 0.900", "threshold in use"]
    ax = plot_ranking(ranking, "reliability")
    assert ax.lines[0].get_xdata().tolist() == [0.1, 0.5, 0.9]
    assert ax.get_legend() is None


def test_one_outlier_leaves_the_others_their_room():
    rng = np.random.default_rng(0)
    actual = np.r_[rng.normal(size=60), 1e6]
    for kind in ("predictions", "residuals"):
        ax = plot_ranking(of_values(actual, np.r_[actual[:60] + 0.1, 3.0]), kind)
        low, high = ax.get_ylim()
        assert high - low < 10
        marks = ax.collections[-1]
        assert marks.get_label() == "beyond the axes: 1"
        assert low <= marks.get_offsets()[0, 1] <= high
    low, high = limits(np.arange(10.0))
    assert low < 0 < 9 < high
    assert limits(np.ones(5)) == (0.5, 1.5)


def test_of_many_classes_some_are_named():
    ax = plot_ranking(of_classes([f"class {k}" for k in range(50)], np.eye(50)), "confusion")
    assert len(ax.get_yticklabels()) == 20
    assert not ax.texts


def test_what_there_is_nothing_of_is_said():
    late = SimpleNamespace(evidence=Evidence(Reading(1)), path=None)
    for kind, word in (("roc", "time_budget"), ("importance", "shuffled"), ("bandwidth", "auto")):
        with pytest.raises(ValueError, match=word):
            plot_ranking(late, kind)
    ranking = of_classes(["a", "b"], np.eye(2), n_curves=0)
    with pytest.raises(ValueError, match="two classes"):
        plot_ranking(ranking, "roc")


# ---- samples as a kernel sees them --------------------------------------------------------------


def test_gram_is_sorted_by_class_or_value(rng):
    X = np.array([[0.0], [3.0], [1.0], [2.0]])
    for y, order in ((["b", "a", "b", "a"], [1, 3, 0, 2]), ([0.5, 0.25, 0.75, 0.6], [1, 0, 3, 2])):
        ax = plot_gram(gs.Gaussian(2.0), X, y)
        np.testing.assert_allclose(ax.images[0].get_array(), gs.Gaussian(2.0)(X[order]))
    assert [t.get_text() for t in plot_gram("rbf", X, list("abab")).texts] == ["a", "b"]
    assert not plot_gram("rbf", X).texts


def test_map_of_samples(rng):
    X = rng.normal(size=(30, 2)) * [3.0, 1.0]
    points = kernel_map(X @ X.T)  # of a linear kernel: principal components
    Xc = X - X.mean(axis=0)
    np.testing.assert_allclose(points @ points.T, Xc @ Xc.T, atol=1e-6)
    assert points[np.abs(points[:, 0]).argmax(), 0] > 0
    ax = plot_map("linear", X, np.where(X[:, 0] > 0, "in", "out"))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["in", "out"]
    ax = plot_map("linear", X, X[:, 0])
    np.testing.assert_array_equal(ax.collections[0].get_array(), X[:, 0])
    assert plot_map("linear", X).get_legend() is None


def test_matrix_of_kernels_and_of_what_was_fitted(rng):
    X = rng.normal(size=(30, 2)) * 5.0
    y = X[:, 0] > 0
    expected = gs.Gaussian(2.0)(X)
    np.testing.assert_allclose(gram_matrix(gs.Gaussian(2.0), X), expected)
    np.testing.assert_allclose(gram_matrix(KernelSVC(gs.Gaussian(2.0)).fit(X, y), X), expected)
    np.testing.assert_allclose(gram_matrix("linear", X), X @ X.T)
    scaled = make_pipeline(StandardScaler(), KernelSVC(gs.Linear())).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(gram_matrix(scaled, X), Z @ Z.T)
    search = GridSearchCV(KernelSVC(gs.Gaussian(2.0)), {"C": [1.0, 2.0]}, cv=2).fit(X, y)
    np.testing.assert_allclose(gram_matrix(search, X), expected)
    assert gram_matrix(gs.Spectrum(2), ["ACGT", "ACAC", "GG"]).shape == (3, 3)
    for estimator in (KernelSVC(), StandardScaler()):
        with pytest.raises(ValueError, match="fitted estimator with the attribute kernel_"):
            gram_matrix(estimator, [[1.0], [2.0]])


def test_samples_are_drawn_with_their_labels():
    X, y = np.arange(500.0)[:, None], np.arange(500)
    assert drawn(X[:400], y[:400])[1] is not None
    few, labels = drawn(X, y)
    assert few.ravel().tolist() == labels.tolist()
    assert len(set(labels.tolist())) == 400
    assert drawn(sp.csr_array(X), None)[0].shape == (400, 1)
    assert len(drawn(["a"] * 500, y)[0]) == 400


def test_colours():
    codes, names = colours_of(["b", "a", "b"])
    assert (codes.tolist(), names) == ([1, 0, 1], ["a", "b"])
    values, names = colours_of([0.5, 1.5])
    assert (values.tolist(), names) == ([0.5, 1.5], [])
    assert colours_of(["one", "one"])[1] == ["one"]
