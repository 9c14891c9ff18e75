"""The steps: learned weights, the measures, the short list, landmarks, resumed work."""

import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit

import gramsmith as gs
from gramsmith.selection import first_check, learn, read, verify
from gramsmith.selection.candidates import default_candidates
from gramsmith.selection.choose import choose, defined, favourites, measure
from gramsmith.selection.kinds import read_task
from gramsmith.selection.plan import FEW_ROWS, count_landmarks, make_plan
from gramsmith.selection.problem import Problem
from gramsmith.selection.samples import Samples
from gramsmith.selection.work import Work
from gramsmith.solvers import RidgePath


def search(X, y, checkpoint=None, learn=True, task="classification", **options):
    """Choose among the default kernels of X as it is, without any encoding."""
    return choose(problem_of(X, y, learn, task), Work(n_jobs=1, checkpoint=checkpoint, **options))


def problem_of(X, y, learn=True, task="classification"):
    goal, candidates = read_task(y, task=task), default_candidates(X)
    plan = make_plan(goal, candidates, learn=learn, n_features=X.shape[1])
    return Problem(goal, Samples((X,)), tuple(candidates), plan)


@pytest.mark.parametrize("seed", range(4))
def test_irrelevant_features_make_learning_win(seed):
    # the first check prefers a wide Gaussian, from which no climb finds what interacts
    X = np.random.default_rng(seed).normal(size=(300, 12))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    found = search(X, y)
    assert found.candidates[found.order[0]].family == "learned"


@pytest.mark.parametrize("seed", [0, 1])
def test_learned_rows_do_not_count(seed):
    # labels are noise: what was learned on some rows does not count on them
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(150, 10)), rng.integers(0, 2, 150)
    found = search(X, y)
    learned = [i for i in found.results if found.candidates[i].family == "learned"]
    assert learned
    for i in learned:
        assert found.results[i].loss > -0.7


def test_short_list_holds_leaders_and_is_short(rng):
    X = rng.normal(size=(120, 3))
    found = search(X, (X[:, 0] > 0).astype(int), learn=False)
    squared = [c.squared for c in found.checks]
    assert int(np.argmin(squared)) in found.short
    assert 2 <= len(found.short) <= 7
    assert len(set(found.short)) == len(found.short)


def test_order_holds_everyone_once(rng):
    X = rng.normal(size=(80, 2))
    found = search(X, (X[:, 0] > 0).astype(int), learn=False)
    assert sorted(found.order) == list(range(len(found.candidates)))
    assert found.order[0] in found.tied


def test_progress_may_stop_the_work(rng):
    X = rng.normal(size=(40, 2))
    with pytest.raises(RuntimeError, match="stop"):
        gs.rank_kernels(X, X[:, 0] > 0, ["rbf"], progress=_stop)


def _stop(*news):
    raise RuntimeError("stop")


def test_many_samples_compete_on_landmarks(rng, sizes):
    sizes(EXACT_ROWS=100)
    X = rng.normal(size=(160, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    found = search(X, y, learn=False)
    assert found.plan.landmarks == 800
    assert {result.record.machine for result in found.results.values()} == {"landmarks"}
    # with as many landmarks as samples this is kernel ridge regression itself
    best = found.order[0]
    result = found.results[best]
    path = RidgePath(found.candidates[best].kernel(X), np.where(y == 1, 1.0, -1.0))
    residuals = path.loo_residuals([result.setting * 160])[0]
    wrong = (np.where(y == 1, 1.0, -1.0) - residuals > 0) != (y == 1)
    assert result.loss == pytest.approx(wrong.mean() - 1.0, abs=0.01)


def test_landmark_cross_validation_is_resumed(rng, monkeypatch, sizes):
    sizes(EXACT_ROWS=100)
    X = rng.normal(size=(160, 2))
    y = (X[:, 0] > 0).astype(int)
    notes = {}
    first = search(X, y, learn=False, checkpoint=notes)
    # nothing may be computed again
    monkeypatch.setattr(verify, "check_each", lambda *a, **b: iter([]))
    again = search(X, y, learn=False, checkpoint=notes)
    assert again.order == first.order
    for i, result in first.results.items():
        assert again.results[i].loss == result.loss


@pytest.fixture
def sorted_product(rng):
    X = rng.normal(size=(240, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def test_sorted_classes_leave_no_fold_undefined(sorted_product, sizes):
    sizes(EXACT_ROWS=100)
    X, y = sorted_product
    ranking = gs.rank_kernels(X, y, [gs.Gaussian(1.0), gs.Linear()], scoring="roc_auc")
    first, second = ranking.records
    assert first["kernel"].startswith("Gaussian")
    assert not second["tied"]
    assert np.isfinite([first["score_error"], second["score_error"]]).all()


def test_rows_never_tested_have_no_say(sorted_product, sizes):
    sizes(EXACT_ROWS=100)
    X, y = sorted_product
    splitter = ShuffleSplit(1, test_size=0.3)  # without a seed: other rows each time
    ranking = gs.rank_kernels(X, y, [gs.Gaussian(1.0), gs.Linear()], cv=splitter)
    assert ranking.records[0]["score"] > 0.85
    assert ranking.best_estimator.predict_proba(X).shape == (240, 2)


def test_groups_and_weights_on_landmarks(sorted_product, sizes):
    sizes(EXACT_ROWS=100)
    X, y = sorted_product
    w = np.ones(240)
    w[:60] = 0.0
    options = {"groups": np.arange(240) // 4, "scoring": "balanced_accuracy"}
    for option in (options, {"sample_weight": w}):
        ranking = gs.rank_kernels(X, y, [gs.Gaussian(1.0), gs.Linear()], **option)
        assert ranking.records[0]["score"] > 0.8
        assert ranking.best_estimator.predict_proba(X).sum() == pytest.approx(240)


def test_few_rows_teach_no_weights(rng):
    X = rng.normal(size=(20, 2))
    found = search(X, (X[:, 0] > 0).astype(int))  # warnings are errors
    assert all(candidate.family != "learned" for candidate in found.candidates)


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(3).normal(size=(60, 2))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def measured(X, y, candidates, folds=0, **options):
    problem = problem_of(X, y, **options)
    return measure(candidates, problem, Work(), defined(None, problem.task), folds)


def test_values_are_those_of_evaluate(data):
    kernels = default_candidates(data[0])[:6]
    table = measured(*data, kernels)
    known = gs.evaluate({c.name: c.kernel for c in kernels}, *data, measures=["cka", "fsm_loo"])
    for c in kernels:
        for m in ("cka", "fsm_loo"):
            value = known[c.name, m].value
            # infinity says "undefined here", and no number is promised then
            expected = pytest.approx(value, rel=1e-8) if np.isfinite(value) else None
            assert table[c.name, m].value == expected


def test_every_measure_but_fsm_has_a_favourite(data):
    table = measured(*data, default_candidates(data[0]))
    assert set(favourites(table)) == {"cka", "cka_debiased", "kta", "fsm_loo", "csm"}


def test_the_short_list_has_errors(data):
    X, y = data
    some = default_candidates(X)[4:6]
    assert measured(X, y, some)[some[0].name, "cka"].error is None
    assert measured(X, y, some, folds=5)[some[0].name, "cka"].error > 0
    records = gs.rank_kernels(X, y).records
    assert {r["cka_error"] is not None for r in records if r["score"] is not None} == {True}
    assert records[-1]["cka_error"] is None


def test_values_have_fewer_measures(rng):
    X = rng.normal(size=(40, 2))
    table = measured(X, X[:, 0], default_candidates(X)[:4], task="regression")
    assert "cka" in favourites(table)
    assert "fsm_loo" not in favourites(table)


class Clock:
    """A clock that stands still but for the work that is said to take time."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def takes(self, function, seconds):
        def slow(*args, **options):
            self.now += seconds
            return function(*args, **options)

        return slow


@pytest.mark.parametrize("kind", ["classification", "regression", "landmarks"])
@pytest.mark.parametrize("budget", [3.0, 8.0, 20.0, 35.0, 1e6])
def test_every_step_looks_at_the_clock(rng, monkeypatch, kind, budget, sizes):
    """Whatever takes its time, the steps end within the budget, less what the fit needs."""
    clock = Clock()
    many = 100 if kind == "landmarks" else 6000
    sizes(FEW_ROWS=40, HALVING_ROWS=100, LANDMARKS=30, EXACT_ROWS=many)
    checked = []

    def check(K, chosen, task, rows, *rest):
        checked.append(len(rows))
        clock.now += 0.0 if len(rows) <= 40 else 0.25 if len(rows) <= 60 else 1.0
        return one(K, chosen, task, rows, *rest)

    one = first_check._check
    monkeypatch.setattr(first_check, "_check", check)
    monkeypatch.setattr(learn, "learn_weights", clock.takes(learn.learn_weights, 2.0))
    monkeypatch.setattr(verify, "_record", clock.takes(verify._record, 2.5))
    monkeypatch.setattr("gramsmith.selection.work.time.monotonic", clock)
    X = rng.normal(size=(240, 3))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=240)
    task = "regression" if kind == "regression" else "classification"
    problem = problem_of(X, y if kind == "regression" else (y > 0).astype(int), task=task)
    work = Work(time_budget=budget, reserve=1.0, clock=clock, n_jobs=1)
    found = choose(problem, work)
    assert found.late == (budget if budget < 1e6 else None)
    # the first kernel that is verified may be the last, of unknown length
    assert budget == 1e6 or clock.now <= budget - 1.0 + 2.5
    assert max(checked) >= 60
    assert found.results or budget < 35.0
    assert len(found.order) >= 28


@pytest.fixture
def many(sizes):
    """Rows that count as many, and sizes by which they do."""
    sizes(EXACT_ROWS=500, DRAWN_ROWS=100)
    rng = np.random.default_rng(5)
    X = rng.normal(size=(900, 4))
    return X, X[:, 0] * X[:, 1] > 0


def test_measures_of_many_rows_are_estimates_with_intervals(many):
    X, y = many
    kernels = {"narrow": gs.Gaussian(1.0), "wide": gs.Gaussian(4.0), "linear": gs.Linear()}
    ranking = gs.rank_kernels(X, y, kernels)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    exact = gs.evaluate(kernels, Z, y, measures=["cka", "kta"], folds=0)
    for record in ranking.records:
        for name in ("cka", "kta"):
            low, high = record[f"{name}_low"], record[f"{name}_high"]
            assert low < record[name] < high
            assert record[f"{name}_error"] > 0
            known = exact[record["kernel"], name].value
            assert record[name] == pytest.approx(known, abs=4 * record[f"{name}_error"])
    assert "the measures, estimated from 16 random draws of 100 rows" in ranking.sampled
    assert "±" in str(ranking).splitlines()[6].split("first check")[-1]
    # without time there is one look at a few rows
    problem = problem_of(X, y)
    measures = defined(None, problem.task)
    table = measure(default_candidates(X)[:2], problem, Work(time_budget=0.0), measures)
    assert table.draws is None
    assert table.n == FEW_ROWS


def test_progress_moves_within_every_stage(many):
    X, y = many
    told = []
    gs.rank_kernels(X, y, progress=lambda *news: told.append(news))
    count = {stage: sum(news[0] == stage for news in told) for stage, *_ in told}
    assert count["measures"] >= 16  # every draw
    assert count["cross-validation"] >= 3  # every kernel of the short list
    _never_go_back(told)


def _never_go_back(told):
    for stage in {news[0] for news in told}:
        shares = [done / total for name, done, total, _ in told if name == stage]
        assert shares == sorted(shares), stage
        assert min(shares) == 0, stage
        assert max(shares) == 1 or stage in ("read", "learn"), stage


def test_the_first_check_is_kept_kernel_by_kernel(rng, watched):
    X = rng.normal(size=(160, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    notes = {}
    watched(first_check, "_check", most=5)
    with pytest.raises(KeyboardInterrupt):
        search(X, y, checkpoint=notes, learn=False)
    done = watched(first_check, "_check")
    resumed = search(X, y, checkpoint=notes, learn=False)
    fresh = search(X, y, learn=False)
    assert [c.loss for c in resumed.checks] == [c.loss for c in fresh.checks]
    candidates = len(default_candidates(X))
    assert len(done) == 2 * candidates - 5


def test_number_of_landmarks_grows_slowly():
    counts = [count_landmarks(n) for n in (50, 400, 3000, 10**6)]
    assert counts[0] == 50
    assert counts == sorted(counts)
    assert counts[-1] == 800


def test_a_plan_says_what_is_done(rng):
    X = rng.normal(size=(500, 2))
    few = read(X, X[:, 0] > 0).plan
    more = read(np.vstack([X, X[:1]]), np.arange(501) % 2).plan
    assert (few.outer_folds, more.outer_folds) == (5, 0)
    assert few.seconds == pytest.approx(6.0 * more.seconds, rel=0.05)
    assert (few.landmarks, few.compare_rows, few.average) == (0, 500, True)
    matrix = read(None, np.arange(500) % 2, [X @ X.T]).plan
    assert not matrix.average
