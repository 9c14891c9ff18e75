"""Plans of a sweep: blocks, bands and the memory that is said to be needed."""

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.gram import Gram, Serial, Threads, engine
from gramsmith.gram.features import cheaper_than_tiles, side_by_side
from gramsmith.gram.plan import MIB, Plan, RowBlock, budget_bytes, make_plan
from gramsmith.gram.sweep import Backward, Forward
from gramsmith.kernels.embedding import width
from gramsmith.measures import get_measure
from gramsmith.targets import make_target


def sizes(n, dtype=np.float64, folds=None):
    return [block.size for block in make_plan(n, dtype, folds).blocks]


def test_blocks_are_equal_and_not_much_larger_than_the_cache():
    assert sizes(1) == [1]
    assert sizes(511) == [511]
    assert sizes(512) == [256, 256]  # so that two threads have something to do
    assert sizes(900) == [300, 300, 300]
    assert sizes(1026) == [256, 257, 256, 257]
    assert sizes(2100) == [525, 525, 525, 525]
    assert sizes(2500) == [500] * 5
    assert sizes(2500, np.float32) == [625] * 4
    assert sizes(7150, np.float32) == [715] * 10
    plan = make_plan(2500, np.float64)
    assert [block.rows for block in plan.blocks] == [
        slice(500 * i, 500 * i + 500) for i in range(5)
    ]
    assert {block.fold for block in plan.blocks} == {0}


def test_blocks_do_not_straddle_folds():
    folds = np.repeat([0, 1, 3], [100, 1300, 600])
    plan = make_plan(2000, np.float64, folds)
    assert [(b.rows.start, b.rows.stop, b.fold) for b in plan.blocks] == [
        *((0, 100, 0), (100, 533, 1), (533, 966, 1), (966, 1400, 1), (1400, 2000, 3))
    ]
    assert sizes(2000, np.float64, np.zeros(2000, int)) == [500] * 4  # one fold is none


def plan_of(count, size=1):
    return Plan(tuple(RowBlock(slice(size * i, size * i + size), 0) for i in range(count)))


def lengths(plan):
    return [band.stop - band.start for band in plan.bands]


@pytest.mark.parametrize(
    ("blocks", "length"),
    [(1, 1), (7, 1), (8, 2), (11, 2), (12, 3), (31, 3), (32, 4), (47, 5), (80, 10)],
)
def test_bands_are_short_enough_for_many_threads(blocks, length):
    plan = plan_of(blocks)
    assert max(lengths(plan)) == length
    tiles = [(b.row, j) for b in plan.bands for j in range(b.start, b.stop)]
    assert tiles == plan.tiles
    assert plan.bands[0].columns == slice(0, length)


def test_a_band_is_at_most_a_second_of_work():
    assert lengths(plan_of(2100))[0] == 256
    assert lengths(plan_of(2040))[0] == 255


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tiles_of_kernels_side_by_side_take_the_room_of_one(dtype):
    alone = make_plan(5000, dtype).largest
    for count in (2, 10, 40):
        assert 0.8 * alone < count * make_plan(5000, dtype, together=count).largest < 1.2 * alone
    assert max(b.size for b in make_plan(5000, dtype, together=1000).blocks) == 65  # calls cost


def forward(kernels, X, dtype=np.float64, folds=None):
    goal = make_target(X[:, 0] > 0)
    members = Gram(kernels, X, dtype=dtype)._members
    plan = make_plan(len(X), dtype, folds)
    return Forward(tuple(members), plan, dtype, goal.wV, goal.w, np.zeros(len(members)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_memory_of_a_forward_sweep(dtype, rng):
    X = rng.normal(size=(1200, 3))
    size = np.dtype(dtype).itemsize
    kernels = [gs.Gaussian(), gs.Matern()]
    task = forward(kernels, X, dtype)
    assert task.worker_bytes == (2 + 1) * 300 * 300 * size
    # of a band with one tile: sums by its rows and by its columns, two kernels, two classes
    assert set(lengths(task.plan)) == {1}
    assert task.band_bytes == 8 * 2 * 2 * (300 + 300)


def test_memory_of_a_forward_sweep_with_folds(rng):
    X = rng.normal(size=(1200, 3))
    task = forward([gs.Gaussian()], X, folds=np.arange(1200) // 100)
    assert len(task.plan.blocks) == 12
    assert lengths(task.plan)[0] == 3
    assert [task.plan.bands[i].folds for i in (0, 1, -1)] == [
        slice(0, 3),
        slice(3, 6),
        slice(11, 12),
    ]
    assert task.band_bytes == 8 * 1 * 2 * (100 * 3 + 300)


def test_memory_of_a_backward_sweep(rng):
    X = rng.normal(size=(1200, 3))
    goal = make_target(X[:, 0] > 0)
    G = Gram([gs.Gaussian(), gs.Matern()], X, engine=Serial())
    moments = G.moments(goal)
    part = moments.of(1)
    _, adjoint = get_measure("cka").value_and_adjoint(part, goal)
    task = Backward((G._members[1],), G.plan(), np.float64, adjoint, goal.wV, goal.w)
    assert task.worker_bytes == 5 * 300 * 300 * 8  # tile, slope, its arguments, weights, both
    assert task.band_bytes == 8 * width(G._members[1].E) * (300 + 300)


def test_threads_that_the_budget_has_room_for(rng, monkeypatch):
    task = forward([gs.Gaussian()], rng.normal(size=(1200, 3)))
    each = task.worker_bytes + 4 * task.band_bytes
    monkeypatch.setattr(engine, "ordered_map", lambda function, items, workers: workers)
    for wanted, memory, expected in (
        (8, 5 * each, 5),
        (8, 5 * each - 1, 4),
        (3, 5 * each, 3),
        (8, task.worker_bytes + task.band_bytes, 1),
    ):
        assert Threads(wanted, memory / MIB).run(task, range(3)) == expected
    with pytest.raises(MemoryError, match=r"at least [\d.]+ MiB for tiles"):
        Threads(8, (task.worker_bytes + task.band_bytes - 1) / MIB).run(task, range(3))


def test_budgets_are_in_mebibytes():
    assert budget_bytes(3) == 3 * MIB == 3 * 2**20
    assert budget_bytes(0.5) == 2**19
    for bad in (0, -1, np.nan, [1, 2], "x"):
        with pytest.raises(ValueError, match="memory > 0"):
            budget_bytes(bad)


def test_features_are_worthwhile_if_they_are_few_and_fit():
    U = np.zeros((5, 63))
    assert cheaper_than_tiles(U, 5, 1, 8 * 63 * 63 * 2)
    assert not cheaper_than_tiles(U, 5, 1, 8 * 63 * 63 * 2 - 1)
    assert cheaper_than_tiles(U, 5, 4, 8 * 63 * 63 * 5)
    assert not cheaper_than_tiles(U, 5, 4, 8 * 63 * 63 * 5 - 1)
    wide = np.zeros((5, 100))
    assert not cheaper_than_tiles(wide, 100, 1, 10**9)
    assert cheaper_than_tiles(wide, 101, 1, 10**9)


def test_moments_side_by_side(rng):
    X = rng.normal(size=(60, 3))
    goal = make_target(X[:, 0] > 0)
    parts = [
        Gram(k, X).moments(goal, cross=False)
        for k in ([gs.Linear(), 2.0 * gs.Linear()], gs.Gaussian())
    ]
    joined = side_by_side(parts)
    assert len(joined) == 3
    for k, (part, own) in enumerate([(parts[0], 0), (parts[0], 1), (parts[1], 0)]):
        for name in ("P", "d", "h", "c"):
            np.testing.assert_array_equal(getattr(joined, name)[k], getattr(part, name)[own])
        np.testing.assert_array_equal(joined.q[k, k], part.q[own, own])
    assert not joined.q[:2, 2].any()
    assert joined.centred.tolist() == [True, True, False]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("folds", [1, 3])
def test_the_sums_of_several_blocks_are_those_of_the_matrix(weighted, folds, rng):
    X = rng.normal(size=(530, 2))
    w = rng.uniform(0.5, 2.0, size=530) if weighted else None
    goal = make_target(X[:, 0] > 0, sample_weight=w)
    fold = np.arange(530) * folds // 530
    kernels = [gs.Matern(), gs.Laplacian(2.0)]
    for cross in (False, True):
        G = Gram(kernels, X)
        assert len(G.plan(fold).blocks) >= 2
        found = G.moments(goal, fold=fold, cross=cross)
        B = np.array([k(X) - c for k, c in zip(kernels, found.c, strict=True)])
        for f in range(folds):
            columns = fold == f
            np.testing.assert_allclose(
                found.P[:, f], B[:, :, columns] @ goal.wV[columns], rtol=1e-9, atol=1e-9
            )
        np.testing.assert_allclose(found.d, np.diagonal(B, axis1=1, axis2=2), rtol=1e-12)
        q = np.einsum("kij,lij,i,j->kl", B, B, goal.w, goal.w, optimize=True)
        expected = q if cross else np.diag(np.diag(q))
        np.testing.assert_allclose(found.squares, expected, rtol=1e-9, atol=1e-9)
