"""estimate: draws stand for all samples, and intervals hold the exact values."""

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.evaluation.estimate import Draws, of_all_samples
from gramsmith.gram import Gram, JournalError
from gramsmith.gram.journal import open_journal
from gramsmith.measures import MEASURES
from gramsmith.targets import make_target

N = 6000


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 3))
    return X, X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.5 * rng.normal(size=N)


KERNELS = {"wide": gs.Gaussian(1.5), "narrow": gs.Gaussian(0.2), "linear": gs.Linear()}


def moments_of_all(X, kernel, target):
    return Gram(kernel, X).moments(target)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_that_stands_for_others_counts_as_often(rng, weighted):
    # the law of `copies`: measures of rows that are repeated
    X, times = rng.normal(size=(30, 2)), rng.integers(1, 4, size=30)
    y = np.arange(30) % 3
    w = rng.uniform(0.5, 2.0, size=30) if weighted else None
    index = np.repeat(np.arange(30), times)
    many = make_target(y[index], sample_weight=None if w is None else w[index])
    few = make_target(y, sample_weight=w)
    few = few.drawn(np.arange(30), times.astype(float))
    few = few.take(np.arange(30))
    assert few.n == many.n
    np.testing.assert_allclose(few.counts, many.counts)
    np.testing.assert_allclose(few.M_centred, many.M_centred, atol=1e-12)
    for measure in MEASURES.values():
        expected = measure.value(moments_of_all(X[index], gs.Gaussian(), many), many)
        got = measure.value(moments_of_all(X, gs.Gaussian(), few), few)
        assert got == pytest.approx(expected, rel=1e-9), measure.name


def test_sums_are_unbiased(rng):
    # all draws of 4 of 6 samples: their average is the sum over all samples
    from itertools import combinations

    X, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    whole = make_target(y)
    exact = moments_of_all(X, gs.Gaussian(), whole)
    q, total, tau = [], [], []
    for index in combinations(range(6), 4):
        some = whole.drawn(np.array(index), np.full(4, 1.5))
        raw = moments_of_all(X[list(index)], gs.Gaussian(), some)
        found = of_all_samples(raw, some)
        pivot = found.c[0] * some.n
        q.append(found.squares[0, 0] + 2 * pivot * 0)
        total.append(some.w @ (found.PV[0] @ some.e))
        tau.append(some.w @ found.d[0])
        assert found.c[0] == exact.c[0] == 0.0
        assert pivot == 0.0
    assert np.mean(q) == pytest.approx(exact.squares[0, 0], rel=1e-12)
    assert np.mean(total) == pytest.approx(whole.w @ (exact.PV[0] @ whole.e), rel=1e-12)
    assert np.mean(tau) == pytest.approx(exact.d[0].sum(), rel=1e-12)


def test_all_samples_drawn_are_all_samples(problem):
    X, y = problem
    target = make_target(y[:200] > 0)
    same = target.drawn(np.arange(200), np.ones(200))
    moments = moments_of_all(X[:200], gs.Gaussian(), same)
    found = of_all_samples(moments, same)
    np.testing.assert_allclose(found.PV, moments.PV, rtol=1e-12)
    np.testing.assert_allclose(found.squares, moments.squares, rtol=1e-12)


@pytest.mark.parametrize("kind", ["classes", "uneven", "values", "weights", "labels"])
def test_estimates_are_near_the_exact_values(problem, kind):
    X, values = problem
    w, task = None, "auto"
    if kind == "values":
        y = values
    elif kind == "uneven":
        y = np.digitize(values, [-1.5, 1.8])
    elif kind == "labels":
        y = np.column_stack([values > 0, values > 1, X[:, 0] > 0]).astype(int)
    else:
        y = values > 0
    if kind == "weights":
        w = np.exp(X[:, 2])
        w[::7] = 0.0
    names = ["kta", "cka", "cka_debiased", "hsic", "hsic_unbiased", "polarity", "csm_scatter"]
    names += (
        ["fsm", "fsm_loo", "csm", "mmd", "mmd_unbiased"] if y.ndim == 1 and kind != "values" else []
    )
    options = {"task": task, "sample_weight": w, "n_jobs": 1}
    exact = gs.evaluate(KERNELS, X, y, measures=names, folds=0, **options)
    table = gs.estimate(
        KERNELS, X, y, names, rows=240, pairs=12 * 240**2, tolerance=1e-9, **options
    )
    assert any(a.code == "estimated" and "24 random draws" in a.message for a in table.advice)
    assert any(a.code == "wide" for a in table.advice)
    off = []
    unknown = {(a.kernel, a.measure) for a in table.advice if a.code == "unsure"}
    bounded = {"kta", "cka", "cka_debiased"}
    assert not {key for key in unknown if key[0] == "wide" and key[1] in bounded}
    for key, cell in table.cells.items():
        if key in unknown:
            assert cell.value is None
            continue
        off.append((cell.value - exact[key].value) / cell.error)
        # kernels so narrow that draws hardly see a pair have wide intervals
        assert cell.value == pytest.approx(exact[key].value, rel=0.25, abs=4 * cell.error), key
    assert np.mean(np.abs(off) < 3.5) > 0.95
    assert np.sqrt(np.mean(np.square(off))) < 2.0


def test_narrow_kernels_have_the_value_of_all_samples(problem):
    # of a kernel that is nearly the identity a part alone says something quite different
    X, values = problem
    y = values > 0
    kernel = {"identity": gs.Gaussian(0.05)}
    exact = gs.evaluate(kernel, X, y, measures=["kta"], folds=0)["identity", "kta"].value
    part = gs.evaluate(kernel, X[:400], y[:400], measures=["kta"], folds=0)["identity", "kta"].value
    found = gs.estimate(kernel, X, y, "kta", rows=400, pairs=5e6)["identity", "kta"].value
    assert part > 2.5 * exact
    assert found == pytest.approx(exact, rel=0.02)


def test_draws_grow_until_the_interval_is_as_narrow_as_asked(problem):
    X, y = problem
    seen = []
    options = {"rows": 256, "pairs": 1.7e7, "random_state": 3}
    rough = gs.estimate(gs.Gaussian(), X, y, "cka", tolerance=0.05, **options)
    fine = gs.estimate(
        gs.Gaussian(),
        *(X, y, "cka"),
        tolerance=0.006,
        progress=lambda done, wanted: seen.append((done, wanted)),
        **options,
    )
    (low, high), (narrow, above) = (next(iter(t.cells.values())).interval() for t in (rough, fine))
    assert 0.5 * (above - narrow) <= 0.006 < 0.5 * (high - low)
    whole = [(done, wanted) for done, wanted in seen if done == int(done)]
    assert whole[15] == (16, 16)
    assert [done for done, _ in whole] == list(range(1, len(whole) + 1))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][1] > 16


def test_few_samples_are_not_drawn_from(problem):
    X, y = problem
    table = gs.estimate(KERNELS, X, y, rows=1500, pairs=0.5 * N**2)
    exact = gs.evaluate(KERNELS, X, y, folds=0)
    for key, cell in table.cells.items():
        assert cell.value == exact[key].value
        assert cell.interval() == (cell.value, cell.value)
    assert table.advice[-1].code == "exact"


@pytest.mark.parametrize("why", ["bias", "rare class", "tails", "weights"])
def test_what_draws_cannot_tell_is_not_told(why, problem):
    rng = np.random.default_rng(2)
    X, kernel, measure, w = problem[0], gs.Gaussian(0.3), "fsm", None
    y = X[:, 0] > (1.9 if why == "rare class" else 0.0)
    if why == "bias":
        kernel, measure = gs.Gaussian(0.05), "fsm_loo"
    elif why == "tails":
        X, kernel, measure = rng.standard_t(2.5, size=(N, 3)), gs.Linear(), "cka"
    elif why == "weights":
        kernel, measure, w = gs.Gaussian(), "cka", 10.0 ** rng.uniform(-3, 3, N)
    table = gs.estimate({"k": kernel}, X, y, measure, rows=512, pairs=4e6, sample_weight=w)
    assert table["k", measure].value is None
    unsure = [a.message for a in table.advice if a.code == "unsure"]
    assert "all 1.8e+07 pairs" in unsure[0]
    exact = gs.estimate({"k": kernel}, X, y, measure, pairs=1.8e7, sample_weight=w)
    whole = gs.evaluate({"k": kernel}, X, y, measures=measure, folds=0, sample_weight=w)
    assert exact["k", measure].value == whole["k", measure].value


def test_the_same_draws_whoever_computes_them(problem):
    X, y = problem
    options = {"rows": 256, "pairs": 8 * 256**2, "tolerance": 1.0}
    one = gs.estimate(KERNELS, X, y, engine=gs.Serial(), **options)
    two = gs.estimate(KERNELS, X, y, n_jobs=2, **options)
    small = gs.estimate(KERNELS, X, y, memory=8, **options)  # fewer samples read ahead
    assert one.records == two.records == small.records
    other = gs.estimate(KERNELS, X, y, random_state=1, **options)
    assert one.records != other.records


def test_samples_in_files_and_elsewhere(problem, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, y = problem
    options = {"rows": 256, "pairs": 8 * 256**2, "tolerance": 1.0}
    expected = gs.estimate(KERNELS, X, y, "cka", **options).records
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert gs.estimate(KERNELS, mapped, y, "cka", **options).records == expected
    frame = pd.DataFrame(X, columns=list("abc"))
    found = gs.estimate(KERNELS, frame, y, "cka", **options).values("cka")
    np.testing.assert_allclose(found, [row["cka"] for row in expected], rtol=1e-12)
    frame["y"] = y
    path = tmp_path / "t.parquet"
    frame.to_parquet(path, row_group_size=900)
    assert gs.estimate(KERNELS, path, "y", "cka", **options).records == expected
    assert gs.estimate(KERNELS, str(path), "y", "cka", rows=1500).advice[-1].code == "exact"
    assert gs.estimate(None, path, "y", "cka", **options).n == N
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(X, chunks=(700, 3))
    assert gs.estimate(KERNELS, lazy, y, "cka", **options).records == expected


def test_kernel_matrices_and_strings(problem):
    X, y = problem
    K = Gram(gs.Gaussian(), X[:2000]).toarray()
    options = {"rows": 128, "pairs": 8 * 128**2, "tolerance": 1.0}
    known = gs.estimate({"k": gs.Gaussian()}, X[:2000], y[:2000], "cka", **options)
    found = gs.estimate({"k": K}, None, y[:2000], "cka", **options)
    assert found["k", "cka"].value == pytest.approx(known["k", "cka"].value, rel=1e-9)
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abc"), 6)) for _ in range(1200)]
    table = gs.estimate({"s": gs.Spectrum(2)}, words, [w[0] for w in words], "cka", **options)
    assert table["s", "cka"].value > 0


def test_rare_classes(problem):
    X, values = problem
    y = np.where(values > 0, "many", "more")
    y[:5] = "rare"
    y[5:7] = "two"
    table = gs.estimate({"k": gs.Gaussian()}, X, y, rows=256, pairs=8 * 256**2)
    exact = gs.evaluate({"k": gs.Gaussian()}, X, y, folds=0)
    for name in ("kta", "cka", "cka_debiased"):
        cell = table["k", name]
        assert abs(cell.value - exact["k", name].value) < 5 * cell.error
    y[7] = "single"
    table = gs.estimate({"k": gs.Gaussian()}, X, y, rows=256, pairs=8 * 256**2)
    assert table["k", "fsm"].value is None
    assert any(a.code == "undefined" and a.measure == "fsm" for a in table.advice)


def test_what_is_wrong_is_said_before_any_work(problem):
    X, y = problem
    for wrong in (
        {"tolerance": 0.0},
        {"confidence": 1.0},
        {"rows": 10},
        {"pairs": 0},
        {"measures": "no such"},
        {"measures": []},
    ):
        with pytest.raises(ValueError, match=r"Expected .* got"):
            gs.estimate(KERNELS, X, y, **wrong)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        gs.estimate(KERNELS, X, y[:-1])
    with pytest.raises(ValueError, match=r"path of a .parquet file"):
        gs.estimate(KERNELS, "table.csv", y)


@pytest.mark.slow
def test_intervals_hold_the_exact_value_as_often_as_they_say(problem):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20_000, 5))
    y = X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=20_000) > 0
    kernel, names = {"k": gs.Gaussian(2.0)}, ["kta", "cka", "cka_debiased", "hsic"]
    exact = gs.evaluate(kernel, X, y, measures=names, folds=0)
    held = {name: 0 for name in names}
    repeats = 300
    for seed in range(repeats):
        table = gs.estimate(
            kernel, X, y, names, rows=256, pairs=20 * 256**2, tolerance=0.01, random_state=seed
        )
        for name in names:
            low, high = table["k", name].interval()
            held[name] += low <= exact["k", name].value <= high
    # three standard errors of 95 % of 300 are 3.8 %
    assert all(0.912 <= count / repeats <= 0.988 for count in held.values()), held


def test_finished_draws_are_not_computed_again(problem, tmp_path, watched):
    X, y = problem
    options = {"rows": 200, "pairs": 10 * 200**2, "tolerance": 1e-9, "n_jobs": 1}
    done = watched(Draws, "_measured")
    known = gs.estimate(KERNELS, X, y, ["cka", "kta"], **options)
    total = len(done)
    watched(Draws, "_measured", most=9)
    path = tmp_path / "run.journal"
    with pytest.raises(KeyboardInterrupt):
        gs.estimate(KERNELS, X, y, ["cka", "kta"], resume=path, **options)
    open_journal(path).close()
    done = watched(Draws, "_measured")
    found = gs.estimate(KERNELS, X, y, ["cka", "kta"], resume=path, **options)
    assert len(done) == total - 9
    for key, cell in known.cells.items():
        assert found[key].value.hex() == cell.value.hex()
        assert found[key].error.hex() == cell.error.hex()
    assert [a.message for a in found.advice] == [a.message for a in known.advice]
    open_journal(path).close()
    with pytest.raises(JournalError, match="data"):
        gs.estimate(KERNELS, X + 1e-3, y, ["cka", "kta"], resume=path, **options)


def test_work_may_be_fixed(problem):
    X, y = problem
    seen = []
    table = gs.estimate(
        KERNELS,
        *(X, y > 0),
        rows=256,
        tolerance=1e-6,
        pairs=1.0,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert table.draws == (16, 256)
    assert seen[-1] == (16, 16)
    assert gs.estimate(KERNELS, X[:500], y[:500], rows=256).draws is None
