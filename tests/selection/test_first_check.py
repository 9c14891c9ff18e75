"""The check: leave-one-out on landmarks finds the right bandwidth; groups stay together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gramsmith as gs
from gramsmith.selection import first_check
from gramsmith.selection.candidates import Candidate, default_candidates
from gramsmith.selection.first_check import check_by_halving, check_each
from gramsmith.selection.kinds import read_task
from gramsmith.selection.samples import Samples
from gramsmith.selection.work import Work
from gramsmith.solvers import RidgePath


def check_candidates(candidates, samples, task, **options):
    """The first checks of candidates on all rows, in their order."""
    found = dict(check_each(candidates, samples, task, task.counting, **options))
    return [found[k][0] for k in range(len(candidates))]


@pytest.fixture
def checkerboard(rng):
    X = rng.uniform(-2, 2, size=(300, 2))
    return X, (np.floor(X).sum(axis=1) % 2).astype(int)


def test_prefers_the_kernel_that_can(checkerboard):
    X, y = checkerboard
    candidates = default_candidates(X)
    checks = check_candidates(candidates, Samples((X,)), read_task(y, task="classification"))
    loss = {c.name: check.loss for c, check in zip(candidates, checks, strict=True)}
    assert min(loss, key=loss.get).startswith(("Gaussian", "Laplacian", "Matérn"))
    assert loss["linear"] > -0.65


def test_all_landmarks_give_exact_leave_one_out(rng):
    X = rng.normal(size=(50, 2))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=50)
    kernel = gs.Gaussian(1.0)
    [check] = check_candidates([Candidate("g", kernel, "g")], Samples((X,)), read_task(y))
    exact = RidgePath(kernel(X), y / y.std()).loo_errors([check.alpha * 50])[0]
    assert check.squared == pytest.approx(exact, rel=1e-5)


def test_workers_change_nothing(checkerboard):
    X, y = checkerboard
    task = read_task(y, task="classification")
    one, two = (
        check_candidates(default_candidates(X)[:6], Samples((X,)), task, work=Work(n_jobs=n))
        for n in (1, 2)
    )
    assert [c.squared for c in one] == [c.squared for c in two]


def test_groups_are_not_leaked(rng):
    # twins with equal labels at random: leave-one-out would be perfect, grouped folds are not
    X = np.repeat(rng.normal(size=(60, 3)), 2, axis=0)
    y = np.repeat(rng.integers(0, 2, 60), 2)
    narrow = [Candidate("g", gs.Gaussian(0.05), "g")]
    leaky = read_task(y, task="classification")
    fair = read_task(y, task="classification", groups=np.repeat(np.arange(60), 2))
    assert check_candidates(narrow, Samples((X,)), leaky)[0].loss < -0.9
    assert check_candidates(narrow, Samples((X,)), fair)[0].loss > -0.7


def test_only_fresh_rows_are_scored(checkerboard):
    X, y = checkerboard
    task = read_task(y, task="classification")
    fresh = np.arange(300) >= 200
    [(_, (check, record))] = check_each(
        default_candidates(X)[8:9], Samples((X,)), task, np.arange(300), fresh=fresh
    )
    assert sorted(record.rows) == list(range(200, 300))
    assert record.kind == "leave-one-out"
    assert -check.loss == pytest.approx(np.mean((record.values[0, :, 0] > 0) == y[record.rows]))


def test_halving_keeps_the_leaders_and_their_narrower_neighbours(rng, sizes):
    X = rng.normal(size=(200, 3))
    y = (np.sin(3.0 * X[:, 0]) > 0).astype(int)
    task, samples = read_task(y, task="classification"), Samples((X,))
    candidates, rows = default_candidates(X), np.arange(200)
    full = check_candidates(candidates, samples, task)
    assert {check.rows for check in full} == {200}
    sizes(HALVING_ROWS=100)
    halved = check_by_halving(candidates, samples, task, rows, Work())
    left = [i for i, check in enumerate(halved) if check.rows == 200]
    assert {check.rows for check in halved} == {50, 200}
    assert len(candidates) // 2 <= len(left) < len(candidates)
    for i in left:
        assert halved[i].squared == full[i].squared
    # whoever leads on all rows was not lost
    best = min(range(len(full)), key=lambda i: full[i].squared)
    assert best in left


def test_few_candidates_or_rows_are_not_halved(rng):
    X = rng.normal(size=(60, 2))
    task = read_task(X[:, 0] > 0)
    checks = check_by_halving(default_candidates(X), Samples((X,)), task, np.arange(60), Work())
    assert {check.rows for check in checks} == {60}


def test_class_weights_do_not_let_samples_predict_themselves(rng):
    X, y = rng.normal(size=(300, 4)), (rng.random(300) < 0.1).astype(int)  # nothing to learn
    for weight in (None, "balanced"):
        task = read_task(y, task="classification", class_weight=weight)
        candidate = Candidate("narrow", gs.Gaussian(0.5), "g")
        check = check_candidates([candidate], Samples((X,)), task)[0]
        assert check.alpha > 0.9 * first_check.ALPHAS[-1]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(12, 120),
    p=st.integers(1, 6),
    width=st.floats(-2.0, 3.0),
    kind=st.sampled_from(["plain", "skewed", "few values", "outlier", "copies"]),
)
def test_the_first_check_never_explodes(seed, n, p, width, kind):
    """Whatever the width, the best regulariser is not much worse than the mean."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    if kind == "skewed":
        X = np.exp(2.0 * X)
    elif kind == "few values":
        X = np.round(X)
    elif kind == "outlier":
        X[0] *= 50.0
    elif kind == "copies":
        X = X[rng.integers(0, n, n)]
    task = read_task(X[:, 0] + 0.5 * rng.normal(size=n))
    candidate = Candidate("g", gs.Gaussian(10.0**width), "gaussian")
    [check] = check_candidates([candidate], Samples((X,)), task)
    assert -check.loss > -1.0
