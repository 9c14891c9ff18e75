"""The table of thresholds: counts, intervals, groups, weights, fresh rows, report and JSON."""

import json

import numpy as np
import pytest
from sklearn.metrics import precision_score, recall_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramsmith as gs
from gramsmith.selection.thresholds import held_out_probabilities, shown_probability

RNG = np.random.default_rng(4)
KERNELS = {"linear": "linear", "wide": gs.Gaussian(2.0)}


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 0.8 * rng.normal(size=n) > 1.2, "case", "other")


def machine(p, case, **told):
    """Return a classifier that has said these probabilities of cases of left-out rows."""
    X, y = draw(60)
    made = gs.KernelRidgeClassifier(gs.Linear(), alpha=1.0).fit(X, y)
    made.calibration_slope_, made.calibration_offsets_ = 1.0, np.zeros(2)
    f = np.log((1.0 - p) / p)  # positive for the second class, "other"
    return made.calibrate_sets(f, np.where(case, "case", "other"), **told)


def test_the_counts_are_those_of_scikit_learn():
    p = RNG.uniform(0.01, 0.99, 300)
    case = RNG.uniform(size=300) < p * 0.6
    table = gs.threshold_table(machine(p, case))
    assert table.of == "case"
    assert table.count == 300
    assert table.cases == pytest.approx(case.mean())
    assert len(table.rows) == 5  # 1 and 2 % are fewer than ten rows
    for row in table.rows:
        flagged = p >= row.threshold - 1e-12
        assert row.share == pytest.approx(flagged.mean())
        assert row.recall == pytest.approx(recall_score(case, flagged))
        assert row.precision == pytest.approx(precision_score(case, flagged))
        assert row.recall_low < row.recall < row.recall_high
        assert row.precision_low < row.precision < row.precision_high
    assert [round(row.share, 2) for row in table.rows] == [0.05, 0.1, 0.2, 0.3, 0.5]


def test_probabilities_come_back_whatever_the_class():
    p = RNG.uniform(0.01, 0.99, 50)
    found, codes, _, _ = held_out_probabilities(machine(p, RNG.uniform(size=50) < 0.5))
    np.testing.assert_allclose(found, 1.0 - p)
    assert set(codes) == {0, 1}


def test_equal_rows_of_a_group_make_intervals_no_shorter():
    p = RNG.uniform(0.01, 0.99, 60)
    case = RNG.uniform(size=60) < p
    alone = gs.threshold_table(machine(p, case), shares=[0.3]).rows[0]
    groups = np.repeat(np.arange(60), 10)
    many = machine(np.repeat(p, 10), np.repeat(case, 10), groups=groups)
    [row] = gs.threshold_table(many, shares=[0.3]).rows
    assert (row.recall, row.recall_low, row.recall_high) == pytest.approx(
        (alone.recall, alone.recall_low, alone.recall_high)
    )
    w = np.full(60, 7.0)
    heavy = gs.threshold_table(machine(p, case, sample_weight=w), shares=[0.3]).rows[0]
    assert heavy == alone
    w = RNG.uniform(0.1, 3.0, 60)
    [row] = gs.threshold_table(machine(p, case, sample_weight=w), shares=[0.3]).rows
    flag = p >= row.threshold - 1e-12
    assert row.recall == pytest.approx(recall_score(case, flag, sample_weight=w))


@pytest.mark.parametrize("weighted", [False, True])
def test_recall_is_reached_and_by_no_larger_threshold(weighted):
    p = np.round(RNG.uniform(0.01, 0.99, 300), 2)  # some rows are equally probable
    case = RNG.uniform(size=300) < p * 0.6
    w = RNG.uniform(0.1, 3.0, 300) if weighted else np.ones(300)
    model = machine(p, case, sample_weight=w)
    asked = [0.01, 0.3, 0.6, 0.9, 1.0]
    rows = gs.threshold_table(model, recall=asked).rows
    assert len(rows) == len(asked)  # each has its row, however few are flagged
    for least, row in zip(asked, rows, strict=True):
        above = np.unique(p[p > row.threshold + 1e-12])
        assert row.recall == pytest.approx(
            recall_score(case, p >= row.threshold - 1e-12, sample_weight=w)
        )
        assert row.recall >= least - 1e-9
        if len(above):
            assert recall_score(case, p >= above[0], sample_weight=w) < least
        [same] = gs.threshold_table(model, shares=max(row.share, 0.1)).rows
        assert same == row or row.share < 0.1
    assert rows[-1].threshold == pytest.approx(p[case].min())
    with pytest.raises(ValueError, match="held-out rows of 'case', got none"):
        gs.threshold_table(machine(p, np.zeros(300, bool)), of="case", recall=0.5)


def test_intervals_hold_what_thresholds_do_to_fresh_rows():
    held = []
    for seed in range(30):
        X, y = draw(250, seed)
        model = gs.KernelSelector({"linear": "linear"}, ensemble=False).fit(X, y)
        Z, truth = draw(20_000, 1000 + seed)
        for asked in ({"shares": 0.2}, {"recall": 0.6}):
            [row] = gs.threshold_table(model, **asked).rows
            flag = model.predict_proba(Z)[:, 0] >= row.threshold
            found, right = np.mean(flag[truth == "case"]), np.mean(truth[flag] == "case")
            held += [row.recall_low <= found <= row.recall_high]
            held += [row.precision_low <= right <= row.precision_high]
    assert np.mean(held[0::4] + held[1::4]) > 0.87  # of 95 % in 60 tries, three errors
    assert np.mean(held[2::4] + held[3::4]) > 0.87


def test_it_is_in_the_ranking_the_report_and_json(tmp_path):
    X, y = draw(200)
    ranking = gs.rank_kernels(X, y, KERNELS)
    table = ranking.evidence.outcome.thresholds
    assert table == gs.threshold_table(ranking.best_estimator)
    page = ranking.write_html(tmp_path / "page.html").read_text()
    assert "If you flag some rows" in page
    assert f"{table.rows[0].threshold:.3f}" in page
    plain = json.loads(json.dumps(ranking.evidence.to_plain()))
    assert plain["outcome"]["thresholds"]["rows"] == table.records
    assert "Cases: case" in repr(table)
    assert "<table" in table._repr_html_()
    gs.save_model(ranking.best_estimator, tmp_path / "model.safetensors")
    assert gs.threshold_table(gs.load_model(tmp_path / "model.safetensors")) == table
    selector = gs.KernelSelector(KERNELS)
    [row] = gs.threshold_table(make_pipeline(StandardScaler(), selector).fit(X, y), recall=0.6).rows
    assert row == gs.threshold_table(selector, recall=[0.6]).rows[0]
    other = gs.threshold_table(ranking.best_estimator, of="other")
    assert other.cases == pytest.approx(1.0 - table.cases)


def test_what_is_refused():
    X, y = draw(120)
    three = np.where(X[:, 1] > 0.5, "high", y)
    for model in (
        gs.KernelSelector(KERNELS).fit(X, three),
        gs.KernelSelector(KERNELS).fit(X, X[:, 0]),
        gs.KernelRidgeClassifier().fit(X, y),
        "a model",
    ):
        with pytest.raises(ValueError, match="two classes"):
            gs.threshold_table(model)
    with pytest.raises(ValueError, match="got KernelSelector for 3 classes"):
        gs.threshold_table(gs.KernelSelector(KERNELS).fit(X, three))
    model = gs.KernelSelector(KERNELS).fit(X, y)
    with pytest.raises(ValueError, match="'case'"):
        gs.threshold_table(model, of="nobody")
    with pytest.raises(ValueError, match="shares between"):
        gs.threshold_table(model, shares=[20])
    with pytest.raises(ValueError, match="shares between"):
        gs.threshold_table(model, shares=["many"])
    for wrong in (0, 60, True, "half", np.nan):
        with pytest.raises(ValueError, match="recall between"):
            gs.threshold_table(model, recall=[wrong])
    with pytest.raises(ValueError, match="shares or recall"):
        gs.threshold_table(model, shares=0.2, recall=0.6)
    assert gs.threshold_table(model, shares=0.2) == gs.threshold_table(model.ranking_, None, [0.2])


def test_thresholds_near_one_differ_from_one():
    shown = [shown_probability(p) for p in (0.5, 0.98049, 0.99954, 0.9999987, 1.0, 0.00012)]
    assert shown == ["0.500", "0.980", "0.99954", "0.9999987", "1.0000000000", "0.00012"]
