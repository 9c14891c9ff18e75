"""Other estimators beside the kernels: same folds, same test, one record."""

from __future__ import annotations

import json
import pickle
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import gramsmith as gs
from gramsmith.selection import read
from gramsmith.selection.kinds import read_task
from gramsmith.selection.others import NAMED
from gramsmith.tables import TableEncoder

KERNELS = {"wide": gs.Gaussian(3.0), "linear": gs.Linear()}


def steps(n=240, seed=0):
    """Return two classes of a staircase, which one tree finds and a wide kernel does not."""
    X = np.random.default_rng(seed).uniform(size=(n, 2))
    y = np.where(np.floor(8 * X[:, 0]).astype(int) % 2 == 1, "odd", "even")
    return X, y


def curve(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + 0.1 * rng.normal(size=n)


class Fails(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("no luck today.\nmore lines")

    def predict(self, X):
        return X


class Remembers(ClassifierMixin, BaseEstimator):
    """Answers the commonest class, and remembers what fit was given."""

    seen: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None):
        self.seen.append((X, np.asarray(y), sample_weight))
        self.classes_, counts = np.unique(y, return_counts=True)
        self.most_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X):
        return np.full(len(X), self.most_)


@pytest.fixture(autouse=True)
def forget():
    Remembers.seen.clear()


def test_a_clear_winner_is_said_and_handed_over():
    X, y = steps()
    tree = DecisionTreeClassifier(random_state=0)
    ranking = gs.rank_kernels(
        X, y, KERNELS, estimators={"tree": tree, "knn": KNeighborsClassifier()}
    )
    first = ranking.other_records[0]
    assert (first["estimator"], first["judgement"]) == ("tree", "better")
    assert first["seconds"] > 0
    assert "“tree” does clearly better than the kernels" in ranking.verdict.text
    assert ranking.verdict.level != "good"
    assert "for all kernels together" in ranking.verdict.details[-1]
    own = len(pickle.dumps(clone(tree).fit(X, y), protocol=pickle.HIGHEST_PROTOCOL)) / 2**20
    assert 0.3 * own < first["size"] < 2.0 * own
    fresh, truth = steps(seed=1)
    assert accuracy_score(truth, ranking.best_other.predict(fresh)) > 0.9
    assert ranking.overall_estimate.value > 0.9 > ranking.estimate.value
    assert ranking.overall_estimate.kind == "nested cross-validation"
    # kernels stay what they are: ranked among themselves, and what predicts
    assert [r["kernel"] for r in ranking.records] != []
    assert "gramsmith" in type(ranking.best_estimator).__module__
    assert not hasattr(tree, "classes_")  # what the user passed was not touched


def test_a_clear_loser_and_no_best_other():
    X, y = curve()
    ranking = gs.rank_kernels(
        X, y, KERNELS, estimators={"tree": DecisionTreeRegressor(max_depth=2), "ridge": Ridge()}
    )
    judged = {r["estimator"]: r["judgement"] for r in ranking.other_records}
    assert judged == {"ridge": "tied", "tree": "worse"}
    assert ranking.best_other is None
    assert "a tie; “tree”" in ranking.verdict.others
    assert "clearly worse" in ranking.verdict.others
    assert ranking.verdict.others in str(ranking.verdict)


def test_without_estimators_nothing_changes():
    X, y = curve()
    ranking = gs.rank_kernels(X, y, KERNELS)
    assert ranking.other_records == []
    assert ranking.best_other is None
    assert ranking.overall_estimate == ranking.estimate
    assert ranking.verdict.others == ""


@pytest.mark.parametrize("grouped", [False, True])
def test_the_record_is_that_of_scikit_learn_in_the_same_folds(grouped):
    X, y = steps(150)
    groups = np.arange(150) // 3 if grouped else None
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    ranking = gs.rank_kernels(X, y, KERNELS, estimators={"tree": tree}, groups=groups)
    Z = TableEncoder().fit_transform(X)
    cv = (StratifiedGroupKFold if grouped else StratifiedKFold)(5, shuffle=True, random_state=0)
    said = cross_val_predict(tree, Z, y, cv=cv, groups=groups)
    assert ranking.other_records[0]["score"] == pytest.approx(accuracy_score(y, said))


def test_probabilities_are_those_of_the_estimator():
    X, y = steps(150)
    tree = DecisionTreeClassifier(min_samples_leaf=20, random_state=0)
    ranking = gs.rank_kernels(X, y, KERNELS, estimators={"tree": tree}, scoring="neg_log_loss")
    Z = TableEncoder().fit_transform(X)
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    p = cross_val_predict(tree, Z, y, cv=cv, method="predict_proba")
    expected = np.mean(np.log(p[np.arange(150), (y == "odd").astype(int)]))
    assert ranking.other_records[0]["score"] == pytest.approx(expected)


def test_weights_reach_those_that_take_them_and_the_others_are_named():
    X, y = steps(90)
    w = np.where(np.arange(90) % 9 == 0, 0.0, 1.0 + np.arange(90) % 2)
    estimators = {
        "remembers": Remembers(),
        "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
        "knn": KNeighborsClassifier(),
    }
    ranking = gs.rank_kernels(X, y, KERNELS, estimators=estimators, sample_weight=w)
    for _, _, weights in Remembers.seen:
        assert weights is not None
        assert np.all(weights > 0)
        assert len(np.unique(weights)) == 2
    taken = {r["estimator"]: r["weighted"] for r in ranking.other_records}
    assert taken == {"remembers": True, "pipeline": True, "knn": False}
    assert any("'knn' was fitted without weights" in text for text in ranking.warnings)


def test_encoded_or_as_given():
    pd = pytest.importorskip("pandas")
    X, y = steps(100)
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0.5, "high", "low")})
    estimators = {"encoded": Remembers(), "frame": Remembers()}
    gs.rank_kernels(frame, y, KERNELS, estimators=estimators, frames=["frame"])
    given = [type(X).__name__ for X, _, _ in Remembers.seen]
    assert set(given) == {"ndarray", "DataFrame"}
    assert all(list(X) == ["a", "b"] for X, _, _ in Remembers.seen if hasattr(X, "columns"))
    # in outer folds what is encoded is learned from the training rows: of mean zero there
    means = [abs(X[:, 0].mean()) for X, _, _ in Remembers.seen if not hasattr(X, "columns")]
    assert sum(mean < 1e-9 for mean in means) >= 5


def test_strings_go_to_those_that_are_named_in_frames():
    feature_extraction = pytest.importorskip("sklearn.feature_extraction.text")
    words = ["abab" * 3, "bcbc" * 3] * 20
    X = [word + "xyz"[i % 3] for i, word in enumerate(words)]
    y = np.arange(40) % 2
    counts = feature_extraction.CountVectorizer(analyzer="char")
    model = make_pipeline(counts, LogisticRegression())
    ranking = gs.rank_kernels(X, y, gs.Spectrum(2), estimators={"counts": model}, frames=["counts"])
    assert ranking.other_records[0]["score"] == 1.0
    with pytest.raises(ValueError, match="Name it in frames="):
        gs.rank_kernels(X, y, gs.Spectrum(2), estimators={"counts": model})


def test_an_estimator_that_fails_is_named_and_left_out():
    X, y = steps(90)
    with pytest.warns(UserWarning, match="'bad' failed and is left out: RuntimeError: no luck"):
        ranking = gs.rank_kernels(
            X, y, KERNELS, estimators={"bad": Fails(), "knn": KNeighborsClassifier()}
        )
    records = {r["estimator"]: r for r in ranking.other_records}
    assert records["bad"]["failed"] == "RuntimeError: no luck today"
    assert records["bad"]["score"] is None
    assert records["knn"]["score"] is not None
    assert any("'bad' failed" in text for text in ranking.warnings)
    assert "bad" not in ranking.verdict.others


def test_what_has_no_probabilities_fails_for_a_score_of_probabilities():
    X, y = steps(90)
    with pytest.warns(UserWarning, match="predict_proba"):
        gs.rank_kernels(X, y, KERNELS, estimators={"m": Remembers()}, scoring="neg_log_loss")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"estimators": {"f": RandomForestRegressor()}},
            "an estimator for classification",
        ),
        ({"estimators": {"f": RandomForestClassifier}}, "fit, predict and get_params"),
        ({"estimators": {"f": 3}}, "fit, predict and get_params"),
        ({"estimators": ["boosting"]}, "names among hgb, forest"),
        ({"estimators": 1.5}, "names among hgb, forest"),
        ({"estimators": RandomForestClassifier()}, "a dict of name -> estimator"),
        ({"estimators": ["knn"], "frames": 1.5}, "The estimators are knn"),
        ({"estimators": ["knn"], "frames": [["knn"]]}, "The estimators are knn"),
        ({"estimators": {"f": Remembers()}, "frames": ["g"]}, "The estimators are f"),
        ({"frames": ["g"]}, "Expected estimators="),
    ],
)
def test_bad_estimators_are_refused_before_any_work(options, words):
    X, y = steps(60)
    with pytest.raises(ValueError, match=words):
        gs.rank_kernels(X, y, KERNELS, **options)


def test_views_and_gram_matrices_are_refused():
    X, y = steps(60)
    with pytest.raises(ValueError, match="several views"):
        gs.rank_kernels((X, X), y, estimators=["knn"])
    with pytest.raises(ValueError, match="a Gram matrix"):
        gs.rank_kernels(gs.Gaussian()(X), y, "precomputed", estimators=["knn"])


def test_a_library_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(NAMED, "catboost", ("no_such_library", "A", "B", {}))
    with pytest.raises(ValueError, match="Expected no_such_library to be installed"):
        gs.rank_kernels(*steps(60), KERNELS, estimators=["catboost"])


@pytest.mark.parametrize("name", ["hgb", "forest", "extra-trees", "linear", "knn", "svm"])
@pytest.mark.parametrize("kind", ["classes", "values"])
def test_names_stand_for_estimators(name, kind):
    X, y = steps(60) if kind == "classes" else curve(60)
    [other] = read(X, y, KERNELS, estimators=[name]).others
    fitted = other.fit(X, read_task(y), np.arange(60))
    assert fitted.predict(X).shape == (60,)


def test_labels_and_outputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    knn = {"knn": KNeighborsClassifier()}
    ranking = gs.rank_kernels(X, (X > 0).astype(int), KERNELS, estimators=knn)
    assert ranking.other_records[0]["score"] > 0.8
    ridge = {"ridge": Ridge()}
    ranking = gs.rank_kernels(X, X @ rng.normal(size=(2, 2)), KERNELS, estimators=ridge)
    assert ranking.other_records[0]["score"] > 0.99


def test_many_rows_use_the_bootstrap_for_the_choice_among_all():
    X, y = steps(700)
    tree = DecisionTreeClassifier(random_state=0)
    ranking = gs.rank_kernels(X, y, KERNELS, estimators={"tree": tree, "hgb": tree})
    assert ranking.overall_estimate.kind == "bootstrap"
    assert ranking.overall_estimate.value <= ranking.other_records[0]["score"]
    assert ranking.other_records[0]["low"] < ranking.other_records[0]["score"]


def test_no_time_is_said(no_time):
    X, y = steps(90)
    knn = {"knn": KNeighborsClassifier()}
    ranking = gs.rank_kernels(X, y, KERNELS, estimators=knn, time_budget=1e6)
    assert ranking.partial
    assert ranking.other_records[0]["score"] is None
    assert any("no time to compare the estimator 'knn'" in text for text in ranking.warnings)


def test_a_model_that_cannot_be_pickled_has_no_size():
    class Holds(Remembers):
        def fit(self, X, y):
            self.lambda_ = lambda: None
            return super().fit(X, y)

    ranking = gs.rank_kernels(*steps(60), KERNELS, estimators={"m": Holds()})
    assert ranking.other_records[0]["size"] is None
    assert "unknown for “m”" in ranking.verdict.details[-1]


def test_resume_keeps_what_was_judged():
    X, y = steps(90)
    notes: dict = {}
    one = gs.rank_kernels(X, y, KERNELS, estimators={"m": Remembers()}, resume=notes)
    fits = len(Remembers.seen)
    two = gs.rank_kernels(X, y, KERNELS, estimators={"m": Remembers()}, resume=notes)
    assert len(Remembers.seen) == fits
    assert one.other_records == two.other_records
    assert one.overall_estimate == two.overall_estimate


def test_ctrl_c_keeps_the_folds_that_were_finished():
    class Interrupted(Remembers):
        left: ClassVar[list] = [3]

        def fit(self, X, y):
            self.left[0] -= 1
            if self.left[0] < 0:
                raise KeyboardInterrupt
            return super().fit(X, y)

    (X, y), notes = steps(90), {}
    options = {"estimators": {"m": Interrupted()}, "resume": notes, "n_jobs": 1}
    with pytest.raises(KeyboardInterrupt):
        gs.rank_kernels(X, y, KERNELS, **options)
    assert len(Interrupted.seen) == 3
    Interrupted.left[0] = 100
    record = gs.rank_kernels(X, y, KERNELS, **options).other_records[0]
    assert record["score"] is not None
    assert len(Interrupted.seen) == 5 + 5 * (5 + 1)  # the choice is made anew in five outer folds


def test_ctrl_c_during_the_comparison_ends_the_ranking():
    class Interrupts(Remembers):
        def fit(self, X, y):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gs.rank_kernels(*steps(90), KERNELS, estimators={"m": Interrupts()})


def test_the_page_the_picture_and_the_file(tmp_path):
    X, y = steps()
    tree = DecisionTreeClassifier(random_state=0)
    ranking = gs.rank_kernels(X, y, KERNELS, estimators={"my <tree>": tree})
    page = ranking.write_html(tmp_path / "page.html").read_text("utf-8")
    assert "my &lt;tree&gt;" in page
    assert "<tree>" not in page
    assert "clearly better" in page
    assert "ranking.best_other" in page
    labels = [tick.get_text() for tick in ranking.plot().get_yticklabels()]
    assert labels[0] == "my <tree>"
    json.dumps(ranking.other_records)
    with pytest.raises((TypeError, ValueError), match="DecisionTreeClassifier"):
        gs.save_model(ranking.best_other, tmp_path / "model.safetensors")
