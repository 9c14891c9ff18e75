"""Rankings on a cluster, and rankings that go on from a journal."""

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.gram import Threads
from gramsmith.selection import verify
from tools import clusters


@pytest.fixture(scope="module")
def client():
    with clusters.workers(2) as client:
        yield client


def table(n=520):
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0, "in", "out")


def same(one, two):
    assert one.records == two.records
    assert one.verdict == two.verdict
    X, _ = table(50)
    one, two = one.best_estimator.decision_function(X), two.best_estimator.decision_function(X)
    assert (one == two).all()


KERNELS = {"rbf": gs.Gaussian(1.0), "wide": gs.Gaussian(4.0), "matern": gs.Matern(1.0)}


def test_same_ranking_on_workers(client, watched):
    X, y = table()
    here = gs.rank_kernels(X, y, KERNELS, engine=Threads(2))
    calls = watched(gs.Dask, "map")
    same(here, gs.rank_kernels(X, y, KERNELS, engine=client))
    assert len(calls) >= 2  # the check, the verification


def test_same_ranking_on_landmarks(client, sizes):
    sizes(EXACT_ROWS=300, LANDMARKS=120)
    X, y = table()
    same(gs.rank_kernels(X, y, KERNELS), gs.rank_kernels(X, y, KERNELS, engine=client))


@pytest.mark.usefixtures("no_time")
def test_no_time_on_workers(client):
    X, y = table()
    found = gs.rank_kernels(X, y, KERNELS, engine=client, time_budget=60.0)
    assert len(found.records) == 3


def test_kernels_are_not_verified_twice(tmp_path, watched):
    X, y = table()
    expected = gs.rank_kernels(X, y, KERNELS)
    path = tmp_path / "run.journal"
    watched(verify, "_record", most=1)
    with pytest.raises(KeyboardInterrupt):
        gs.rank_kernels(X, y, KERNELS, engine=gs.Serial(), resume=path)
    done = watched(verify, "_record")
    same(expected, gs.rank_kernels(X, y, KERNELS, engine=gs.Serial(), resume=path))
    assert len(done) == len(KERNELS) - 1  # none is repeated


def test_a_landmark_contest_is_not_repeated(tmp_path, monkeypatch, sizes):
    sizes(EXACT_ROWS=300, LANDMARKS=120)
    X, y = table()
    path = tmp_path / "run.journal"
    first = gs.rank_kernels(X, y, resume=path)

    def never(*args, **options):
        raise AssertionError

    for name in ("first_check._check", "learn.learn_weights", "verify._record"):
        monkeypatch.setattr(f"gramsmith.selection.{name}", never)
    same(first, gs.rank_kernels(X, y, resume=path))


def test_another_table_is_refused(tmp_path):
    X, y = table(60)
    path = tmp_path / "run.journal"
    gs.rank_kernels(X, y, KERNELS, resume=path)
    for match, change in {
        "data": {"X": X + 1},
        'kernels .*"linear".* instead of': {"kernels": {"linear": "linear"}},
        "seed 3 instead of 0": {"random_state": 3},
    }.items():
        arguments = {"X": X, "y": y, "kernels": KERNELS, **change}
        with pytest.raises(gs.JournalError, match=match):
            gs.rank_kernels(**arguments, resume=path)
