"""The journal: finished work is found again, to the last bit, and nobody else's file is touched."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import textwrap
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import gramsmith as gs
from gramsmith.fingerprint import fingerprint
from gramsmith.gram import Engine, Gram, Journal, JournalError, Serial, Threads
from gramsmith.gram import journal as module
from tests.gram.test_engine import everything, samples
from tools import clusters
from tools.forks import code_of

ROOT = Path(__file__).parents[2]


class Stop(Exception):
    pass


class Counted(Engine):
    """The calling thread, which counts the bands."""

    def __init__(self, path):
        self.bands = 0
        self.journal = module.open_journal(path)

    def run(self, task, numbers):
        for number in numbers:
            self.bands += 1
            yield task.band(number)


def stop_at(part):
    def progress(done, total):
        if done >= part * total:
            raise Stop

    return progress


def kta(engine, X, y, kernel=None, progress=None):
    return gs.kta(Gram(kernel or gs.Gaussian(2.0), X, engine=engine, progress=progress), y).hex()


def parts_of(journal):
    return [key for (key,) in journal._select("SELECT key FROM pieces WHERE NOT finished")]


def test_bands_are_computed_once(tmp_path):
    X, y = samples(3000, np.float64)
    expected = kta(Serial(), X, y)
    path = tmp_path / "run.journal"
    first = Counted(path)
    with pytest.raises(Stop):
        kta(first, X, y, progress=stop_at(0.4))
    first.journal.close()
    second = Counted(path)
    assert kta(second, X, y) == expected
    total = len(Gram("rbf", X).plan().bands)
    assert 0 < first.bands < total
    assert first.bands + second.bands == total
    assert second.journal.bands_found == first.bands
    assert parts_of(second.journal) == []  # the sum is kept, its bands are not
    second.journal.close()
    third = Counted(path)
    assert kta(third, X, y) == expected
    assert third.bands == 0


@pytest.mark.parametrize("engine", [partial(Threads, 2), Serial], ids=["threads", "serial"])
def test_same_bits_with_a_journal(tmp_path, engine):
    expected = everything(Serial(), 700, np.float64)
    for _ in range(2):
        with_journal = engine(resume=tmp_path / "run.journal")
        assert everything(with_journal, 700, np.float64) == expected
        assert with_journal.journal.found >= 0
        with_journal.journal.close()
    assert with_journal.journal.found > 5


def test_large_bands_are_replaced_by_their_sum(tmp_path, sizes):
    sizes("gram.engine", ROOM=1000)
    X, y = samples(5000, np.float32)
    path = tmp_path / "run.journal"
    first = Counted(path)
    with pytest.raises(Stop):
        kta(first, X, y, progress=stop_at(0.8))
    kept = parts_of(first.journal)
    assert any(key.endswith("/sum") for key in kept)
    assert len(kept) < first.bands
    first.journal.close()
    second = Counted(path)
    assert kta(second, X, y) == kta(Serial(), X, y)
    assert first.bands + second.bands == len(Gram("rbf", X).plan().bands)


def test_pieces_within_a_piece_are_found_until_it_is_finished(tmp_path):
    made = []

    def run(stop):
        journal = Journal(tmp_path / "run.journal")
        journal.begin({})

        def part(name):
            return journal.once(name, lambda: made.append(name) or f"value of {name}")

        def whole():
            parts = [part("a"), part("b")]
            if stop:
                raise Stop
            return parts

        try:
            return journal.once("whole", whole), journal.found
        finally:
            journal.close()

    for _ in range(2):
        with pytest.raises(Stop):
            run(stop=True)
    assert made == ["a", "b"]
    assert run(stop=False) == (["value of a", "value of b"], 2)
    assert run(stop=False) == (["value of a", "value of b"], 1)
    assert made == ["a", "b"]


def test_pieces_one_after_the_other_are_all_there(tmp_path):
    journal = Journal(tmp_path / "run.journal")
    for name in "abc":
        journal.once(name, lambda name=name: journal.once(f"within {name}", lambda: name))
        with pytest.raises(Stop):
            journal.once("never", lambda: stop_at(0)(1, 1))
    assert list(journal) == ["a", "b", "c"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learners_go_on(tmp_path):
    X, y = samples(200, np.float64)

    def learn(engine, callback=None):
        learner = gs.TransformLearner(
            gs.Gaussian(2.0), measure="cka", max_iter=6, random_state=0, keep=0.0,
            early_stopping=False, engine=engine, callback=callback,
        )  # fmt: skip
        return [value.hex() for value in np.ravel(learner.fit(X, y).components_)]

    expected = learn(None)
    seen = []

    def stop(*_):
        seen.append(1)
        if len(seen) == 3:
            raise Stop

    path = tmp_path / "run.journal"
    first = Counted(path)
    with pytest.raises(Stop):
        learn(first, stop)
    first.journal.close()
    second = Counted(path)
    assert learn(second) == expected
    alone = Counted(tmp_path / "other.journal")
    assert learn(alone) == expected
    assert second.bands + first.bands == alone.bands
    assert not parts_of(second.journal)
    second.journal.close()
    assert path.stat().st_size < 200_000  # a few numbers per step, no sums over samples


def test_verbs_and_streamed_fits_go_on(tmp_path):
    X, y = samples(300, np.float64)
    one = gs.evaluate("rbf", X, y, resume=tmp_path / "run.journal")
    journal = Journal(tmp_path / "run.journal")
    two = gs.evaluate("rbf", X, y, resume=journal)
    assert [c.value for c in one.cells.values()] == [c.value for c in two.cells.values()]
    assert journal.found >= 1
    alphas = []
    for _ in range(2):
        engine = Counted(tmp_path / "fit.journal")
        options = {"solver": "cg", "random_state": 0, "engine": engine}
        fitted = gs.KernelRidgeRegressor(gs.Gaussian(2.0), alpha=0.1, **options)
        alphas.append(fitted.fit(X, X[:, 0]).coefficients_)
        bands = engine.bands
        engine.journal.close()
    assert bands == 0
    assert (alphas[0] == alphas[1]).all()


def test_other_work_is_refused_by_name(tmp_path, monkeypatch):
    X, y = samples(300, np.float64)
    path = tmp_path / "run.journal"
    engine = Threads(resume=path)
    kta(engine, X, y)
    engine.journal.close()
    before = fingerprint(dict(Journal(path)))

    def refused(match, X=X, kernel=None):
        with pytest.raises(JournalError, match=match):
            kta(Threads(resume=path), X, y, kernel)
        assert fingerprint(dict(Journal(path))) == before

    refused(r"got other: data [0-9a-f]+ instead of", X + 1)
    refused(r"kernels \[\"Matern.* instead of \[\"Gaussian", kernel=gs.Matern(2.0))
    refused(r"kernel parameters", kernel=gs.Gaussian(2.0 + 1e-9))
    other = {**module.host(), "numpy": "1.0", "CPU": "abacus"}
    monkeypatch.setattr(module, "host", lambda: other)
    refused(r"numpy 1.0 instead of .*; CPU abacus instead of")


def test_foreign_files_stay_as_they_are(tmp_path):
    path = tmp_path / "notes.txt"
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE pieces (a)")
    other.close()
    for content in (b"my notes", b"a", (tmp_path / "other.db").read_bytes()):
        path.write_bytes(content)
        assert not Journal.is_one(path)
        with pytest.raises(JournalError, match="Expected a journal"):
            Threads(resume=path)
        assert path.read_bytes() == content
    with pytest.raises(JournalError, match=r"Expected a folder for the journal, got .*absent"):
        Journal(tmp_path / "absent" / "x")
    with pytest.raises(JournalError, match="Expected a journal of gramsmith"):
        Journal(tmp_path)
    path.write_bytes(b"")  # nothing to lose: as mkstemp makes them
    with Closing(path) as journal:
        journal["a"] = 1
    assert Journal.is_one(path)


class Closing(Journal):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
@pytest.mark.parametrize("link", [False, True])
def test_a_foreign_file_where_sqlite_would_write_stays_as_it_is(tmp_path, link, ending):
    mine = tmp_path / f"run{ending}"
    if link:
        mine.symlink_to(tmp_path / "diary.txt")
        mine = tmp_path / "diary.txt"
    mine.write_text("dear diary")
    with pytest.raises(JournalError, match=rf"run{ending} .*stays as it is"):
        gs.evaluate("rbf", np.eye(6), [1, 2] * 3, resume=tmp_path / "run")
    assert mine.read_text() == "dear diary"
    assert not (tmp_path / "run").exists()


def test_a_damaged_journal_is_named(tmp_path):
    path = tmp_path / "run.journal"
    with Closing(path) as journal:
        journal["a"] = np.arange(20_000.0)
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"x" * 8000)
    with pytest.raises(JournalError, match="which is damaged"):
        dict(Journal(path))


def test_one_writer_at_a_time(tmp_path):
    path = tmp_path / "run.journal"
    first = Journal(path)
    first["a"] = 1
    code = f"import gramsmith as gs; gs.Journal({str(path)!r}, fresh={{}})"
    for fresh in (False, True):
        with pytest.raises(JournalError, match="which another run is at work with"):
            Journal(path, fresh=fresh)
        command = [sys.executable, "-c", code.format(fresh)]
        other = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "which another run is at work with" in other.stderr
    first["c"] = 3
    first.close()
    second = Journal(path, fresh=True)
    assert "a" not in second
    second["b"] = 2
    assert dict(second) == {"b": 2}
    second.close(remove=True)
    assert not list(tmp_path.iterdir())
    one, two = Journal(path), Journal(path)
    one["a"] = 1
    with pytest.raises(JournalError, match="which another run is at work with"):
        two["a"] = 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_journal_is_opened_anew_after_a_fork(tmp_path):
    def refused():
        with pytest.raises(JournalError, match="which another run is at work with"):
            journal["b"] = 2

    def write():
        journal["b"] = 2
        journal.close()

    path = tmp_path / "run.journal"
    journal = Journal(path)
    journal["a"] = np.arange(5)
    assert code_of(refused) == 0  # the parent goes on with it
    journal["c"] = 3
    journal.close()
    assert code_of(write) == 0
    assert dict(journal).keys() == {"a", "b", "c"}
    assert (journal["a"] == np.arange(5)).all()


def test_one_journal_per_process(tmp_path):
    one, two = (Threads(resume=tmp_path / "run.journal") for _ in range(2))
    assert one.journal is two.journal


def test_fingerprints_tell_values_apart():
    X = np.arange(6.0).reshape(2, 3)
    different = [
        X, X.T, X.astype(np.float32), X[:1], 1, 1.0, True, "1", None, (1, 2), [1, 2], [(1,), 2],
        {"a": 1}, {"a": 2}, sp.csr_array(X), gs.Gaussian(1.0), gs.Gaussian(2.0), gs.Matern(1.0),
        gs.Gaussian(1.0) + gs.Linear(), np.sin, len, slice(1), np.float64, {1, 2},
        slice(2), range(3), range(4), b"1", 1j, 2j, np.float32(1.0), np.int64(1), np.int64(2),
        np.dtype("f4"), np.dtype("f8"), np.array(["a", None], dtype=object),
        np.array(["b", None], dtype=object), {1, 3}, frozenset({1, 2}), {"b": 1}, [2, 1],
        SimpleNamespace(a=1), SimpleNamespace(a=2), lambda x: x + 1, lambda x: x * 2, np.zeros(0),
    ]  # fmt: skip
    hashes = [fingerprint(value) for value in different]
    assert len(set(hashes)) == len(hashes)
    assert hashes == [fingerprint(value) for value in different]
    plan = Gram("rbf", X).plan()
    assert fingerprint(plan) != fingerprint(replace(plan, compiled=not plan.compiled))


class Shifted(gs.KernelRidgeRegressor):
    def __init__(self, shift=0.0, kernel=None):
        super().__init__(kernel=kernel)
        self.shift = shift


def test_fingerprints_see_parameters_of_derived_classes():
    assert fingerprint(Shifted(1.0)) == fingerprint(Shifted(1.0)) != fingerprint(Shifted(2.0))


def test_fingerprints_tell_functions_apart_by_what_they_do():
    def power(p):
        return lambda a, b: (a @ b.T) ** p

    def default(p):
        def k(a, b, p=p):
            return (a @ b.T) ** p

        return k

    class Scale:
        def __init__(self, by):
            self.by = by

        def times(self, a, b):
            return self.by * a @ b.T

    def plain(a, b, p):
        return (a @ b.T) ** p

    def calls_itself(a):
        return calls_itself(a[1:]) if len(a) else 0

    pairs = [
        [make(p) for p in (2, 3, 2)] for make in (power, default, lambda p: partial(plain, p=p))
    ]
    pairs += [[Scale(p).times for p in (2, 3, 2)]]
    pairs += [[eval(f"lambda a, b: {p} * a @ b.T") for p in (2, 3, 2)]]
    for two, three, again in pairs:
        assert fingerprint(two) == fingerprint(again) != fingerprint(three)
    assert fingerprint(calls_itself) == fingerprint(calls_itself)


def test_fingerprints_are_the_same_in_the_next_process(tmp_path):
    """Also of what is told by its address, or leads to half of all modules."""
    for name in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(name)
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import threading
            import numpy
            import pandas
            import polars
            import pyarrow
            from gramsmith.fingerprint import fingerprint

            class Thing:
                def __init__(self, by):
                    self.by, self.lock, self.self = by, threading.Lock(), self

                def times(self, a, b):
                    return self.by

            def found(k):
                import numpy as np
                frame = pandas.DataFrame({"a": [1.0, k], "b": ["x", None]}, index=[3, 4])
                rng = np.random.default_rng(k)
                deep = frame
                for _ in range(30):
                    deep = [deep, deep]
                values = [frame, frame["a"], polars.DataFrame({"a": [k]})]
                values += [pyarrow.table({"a": [k]}), rng, np.random.RandomState(k)]
                values += [Thing(k), Thing(k).times, deep]
                values += [lambda A, B: np.exp(k), lambda A: frame, lambda A: rng]
                return list(map(fingerprint, values))

            print(*zip(found(2), found(3)))
            """
        )
    )
    run = [sys.executable, script]
    first, second = (subprocess.run(run, capture_output=True, text=True, check=True) for _ in "ab")
    assert first.stdout == second.stdout
    pairs = re.findall(r"\('(\w+)', '(\w+)'\)", first.stdout)
    assert len(pairs) == 12
    assert all(a != b for a, b in pairs)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, -0.5, "text", [1, [2.5]], (1, (2,), [3]), {"a": (1,), 2: None}),
        *(np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3)), np.zeros(0)),
        *(np.float32(1.5), np.int8(3), np.array(2.5)),
    ],
    ids=repr,
)
def test_values_of_a_journal_return_as_they_were(value, tmp_path, sizes):
    sizes("gram.journal", BLOCK=20)  # so that arrays lie in several pieces
    with Closing(tmp_path / "run.journal") as journal:
        journal["key"] = {"twice": [value, value]}
    with Closing(tmp_path / "run.journal") as journal:
        first, found = journal["key"]["twice"]
    assert type(found) is type(value)
    np.testing.assert_equal(found, value)
    np.testing.assert_equal(first, value)
    if isinstance(value, np.ndarray):
        assert found.dtype == value.dtype
        assert found.flags.f_contiguous == value.flags.f_contiguous
        assert found.flags.writeable


def test_values_that_are_not_plain_are_not_kept(tmp_path):
    journal = Journal(tmp_path / "run.journal")
    for value in (object(), {1, 2}, np.array([None], dtype=object)):
        journal["a"] = value
        assert "a" not in journal
        assert journal.once("b", lambda value=value: value) is value


CLIENT = """
    import sys, time
    import numpy as np
    import gramsmith as gs

    X = np.random.default_rng(0).normal(size=(3000, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    engine = {engine}
    def progress(done, total):
        time.sleep(0.05)
        print(done, flush=True)
    print(gs.kta(gs.Gram(gs.Gaussian(2.0), X, engine=engine, progress=progress), y).hex())
    print(engine.journal.bands_found)
"""


def run_client(engine, kill_after=None):
    """Run a client in a process of its own; return what it printed."""
    code = textwrap.dedent(CLIENT.format(engine=engine))
    lines = []
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as client:
        for line in client.stdout:
            lines.append(line.strip())
            if kill_after is not None and len(lines) == kill_after:
                os.kill(client.pid, signal.SIGKILL)
    return lines


@pytest.mark.parametrize("where", ["threads", "cluster"])
def test_a_killed_client_is_resumed(tmp_path, where):
    X, y = samples(3000, np.float64)
    path = tmp_path / "run.journal"
    if where == "threads":
        engine = f"gs.Threads(2, resume={str(path)!r})"
        run_client(engine, kill_after=10)
        lines = run_client(engine)
    else:
        with clusters.workers(2) as dask:
            engine = f"gs.Dask({dask.cluster.scheduler_address!r}, resume={str(path)!r})"
            run_client(engine, kill_after=10)
            lines = run_client(engine)
    assert lines[-2] == kta(Serial(), X, y)
    assert int(lines[-1]) >= 10  # bands that were not computed again
