"""The journal: finished work is found again, to the last bit, and nobody else's file is touched."""

import os
import re
import signal
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
from gramsmith.gram import Engine, Gram, Journal, JournalError, Serial, Threads
from gramsmith.gram import journal as module
from gramsmith.gram.engine import set_journal
from gramsmith.gram.journal import fingerprint
from tests.gram.test_engine import everything, samples

ROOT = Path(__file__).parents[2]


class Stop(Exception):
    pass


class Counted(Engine):
    """The calling thread, which counts the bands."""

    def __init__(self, path):
        self.bands = 0
        set_journal(self, path)

    def run(self, task):
        for number in range(len(task.plan.bands)):
            self.bands += 1
            yield task.band(number)


def stop_at(part):
    def progress(done, total):
        if done >= part * total:
            raise Stop

    return progress


def kta(engine, X, y, kernel=None, progress=None):
    return gs.kta(Gram(kernel or gs.Gaussian(2.0), X, engine=engine, progress=progress), y).hex()


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
    assert not second.journal.bands_path.exists()  # the sum is kept, its bands are not
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


def test_threads_keep_bands_as_they_finish(tmp_path):
    X, y = samples(3000, np.float64)
    engine = Threads(2, resume=tmp_path / "run.journal")
    with pytest.raises(Stop):
        kta(engine, X, y, progress=stop_at(0.3))
    kept = len(engine.journal._places)
    assert kept >= 0.3 * 36 * 0.5
    assert kta(engine, X, y) == kta(Serial(), X, y)
    assert engine.journal.bands_found == kept


def test_large_bands_are_replaced_by_their_sum(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROOM", 1000)
    X, y = samples(5000, np.float32)
    path = tmp_path / "run.journal"
    first = Counted(path)
    with pytest.raises(Stop):
        kta(first, X, y, progress=stop_at(0.8))
    assert any(key.endswith("/sum") for key in first.journal._places)
    total = sum(p.stat().st_size for p in tmp_path.iterdir())
    assert total < 6 * 5000 * 8 * 3
    first.journal.close()
    second = Counted(path)
    assert kta(second, X, y) == kta(Serial(), X, y)
    assert first.bands + second.bands == len(Gram("rbf", X).plan().bands)


def test_bands_give_way_to_a_sum_that_is_a_quarter_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROOM", 0)
    journal = Journal(tmp_path / "run.journal")
    journal.begin({})
    total = np.arange(40.0)
    line = len(module._line(["task/sum", module._encoded((1, total))]))
    for number in range(3):
        journal.keep_band(f"task/{number}", "x" * line)
        journal.replace_bands("task/sum", (number + 1, total), module._up_to("task", number))
        assert line < journal.bands_path.stat().st_size < 4 * line
        assert not journal.has_band("task/sum")
    journal.keep_band("other/7", "of another task")
    journal.keep_band("task/3", "x" * line)
    journal.replace_bands("task/sum", (4, total), module._up_to("task", 3))
    assert set(journal._places) == {"task/sum", "other/7"}
    assert journal.bands_path.stat().st_size < 2 * line
    count, found = journal.band("task/sum")
    assert (count, found.tolist()) == (4, total.tolist())
    assert journal.band("other/7") == "of another task"


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
    assert path.stat().st_size < 50_000  # a few numbers per step, no sums over samples


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
    kta(Threads(resume=path), X, y)
    module._open.clear()
    before = path.read_bytes()

    def refused(match, X=X, kernel=None):
        with pytest.raises(JournalError, match=match):
            kta(Threads(resume=path), X, y, kernel)
        assert path.read_bytes() == before

    refused(r"got other: data [0-9a-f]+ instead of", X + 1)
    refused(r"kernels \[\"Matern.* instead of \[\"Gaussian", kernel=gs.Matern(2.0))
    refused(r"kernel parameters", kernel=gs.Gaussian(2.0 + 1e-9))
    other = {**module.host(), "numpy": "1.0", "CPU": "abacus"}
    monkeypatch.setattr(module, "host", lambda: other)
    refused(r"numpy 1.0 instead of .*; CPU abacus instead of")


def test_foreign_files_stay_as_they_are(tmp_path):
    path = tmp_path / "notes.txt"
    for content in (b"my notes", b"a", b"", b"gramsmith-journal 1 broken"):
        path.write_bytes(content)
        assert Journal.is_one(path) == content.endswith(b"broken")
        with pytest.raises(JournalError, match="Expected a journal"):
            Threads(resume=path)
        assert path.read_bytes() == content
    with pytest.raises(JournalError, match=r"Expected a folder for the journal, got .*absent"):
        Journal(tmp_path / "absent" / "x")


@pytest.mark.parametrize("link", [False, True])
def test_a_foreign_file_in_the_place_of_bands_stays_as_it_is(tmp_path, link):
    mine = tmp_path / "run.bands"
    if link:
        mine.symlink_to(tmp_path / "diary.txt")
        mine = tmp_path / "diary.txt"
    mine.write_text("dear diary")
    with pytest.raises(JournalError, match=r"run\.bands .*stays as it is"):
        gs.evaluate("rbf", np.eye(6), [1, 2] * 3, resume=tmp_path / "run")
    assert mine.read_text() == "dear diary"
    assert not (tmp_path / "run").exists()


def test_lines_that_are_not_whole_are_left_out(tmp_path):
    path = tmp_path / "run.journal"
    journal = Journal(path)
    journal["a"] = {"x": [1.5, np.arange(3)], "y": (None, np.float32(2))}
    journal["b"] = float("inf")
    journal.close()
    whole = path.read_bytes()
    for spoilt in (whole[:-5], whole + b"0123", whole[:-3] + b"x\n"):
        path.write_bytes(spoilt)
        again = Journal(path)
        assert again["a"]["x"][0] == 1.5
        assert (again["a"]["x"][1] == np.arange(3)).all()
        assert again["a"]["y"] == (None, 2)
        assert ("b" in again) == (spoilt[: len(whole)] == whole)
        again["c"] = 3
        again.close()
        last = Journal(path)
        assert last["c"] == 3
        last.close()


def test_what_follows_a_spoilt_line_is_computed_again(tmp_path):
    path = tmp_path / "run.journal"
    journal = Journal(path)
    for name in "abc":
        journal[name] = f"value of {name}"
        journal.keep_band(f"band {name}", f"band of {name}")
    journal.close()
    for file in (path, journal.bands_path):
        file.write_bytes(file.read_bytes().replace(b"of b", b"of x"))
    again = Journal(path)
    assert list(again) == ["a"]
    assert [again.has_band(f"band {name}") for name in "abc"] == [True, False, False]
    again["d"] = "value of d"
    again.keep_band("band d", "band of d")
    again.close()
    last = Journal(path)
    assert dict(last) == {"a": "value of a", "d": "value of d"}
    assert [last.band(f"band {name}") for name in "ad"] == ["band of a", "band of d"]
    last.close()


def test_one_writer_at_a_time(tmp_path):
    path = tmp_path / "run.journal"
    first = Journal(path)
    first["a"] = 1
    with pytest.raises(JournalError, match="which another run is at work with"):
        Journal(path)
    with pytest.raises(JournalError, match="which another run is at work with"):
        Journal(path, fresh=True)
    first.close()
    (tmp_path / ".run.journal.abcd.tmp").touch()  # of a killed run
    second = Journal(path, fresh=True)
    second["b"] = 2
    assert "a" not in second
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.journal"]
    second.close(remove=True)
    assert not list(tmp_path.iterdir())
    one, two = Journal(path), Journal(path)
    one["a"] = 1
    with pytest.raises(JournalError, match="another one has just made"):
        two["a"] = 1


def test_what_a_killed_run_has_left_may_be_removed_by_others(tmp_path, monkeypatch):
    left = tmp_path / ".run.journal.0123.tmp"
    left.touch()
    glob = Path.glob

    def seen(folder, pattern):
        found = list(glob(folder, pattern))
        left.unlink(missing_ok=True)  # by a run that begins at the same time
        return found

    monkeypatch.setattr(Path, "glob", seen)
    journal = Journal(tmp_path / "run.journal")
    journal["a"] = 1
    assert journal["a"] == 1


def test_one_journal_per_process(tmp_path):
    one, two = (Threads(resume=tmp_path / "run.journal") for _ in range(2))
    assert one.journal is two.journal
    assert not one.shares_memory


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
            from gramsmith.gram.journal import fingerprint

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
def test_values_of_a_journal_return_as_they_were(value, tmp_path):
    line = module._line(["key", module._encoded(value)])
    key, found = module._parsed(line)
    found = module._decoded(found)
    assert key == "key"
    assert type(found) is type(value)
    np.testing.assert_equal(found, value)
    if isinstance(value, np.ndarray):
        assert found.dtype == value.dtype
        assert found.flags.f_contiguous == value.flags.f_contiguous
        assert found.flags.writeable


def test_values_that_are_not_plain_are_refused():
    for value in (object(), {1, 2}, np.array([None], dtype=object)):
        with pytest.raises(TypeError, match="Expected plain values and arrays in a journal, got"):
            module._encoded(value)


def test_a_line_is_whole_or_nothing():
    line = module._line({"a": [1, 2]})
    assert module._parsed(line) == {"a": [1, 2]}
    for i in set(range(len(line))) - {16}:  # the space between
        for other in (line[:i], line[:i] + b"~" + line[i + 1 :]):
            assert module._parsed(other) is None


def test_bands_of_a_task_up_to_one_of_them():
    told = module._up_to("task", 10)
    assert [told(name) for name in ("task/0", "task/9", "task/10", "task/11")] == [
        *(True, True, True, False)
    ]
    for other in ("other/3", "task", "task/", "task/x", "task/-1", ""):
        assert not told(other)


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
        distributed = pytest.importorskip("distributed")
        options = {"dashboard_address": ":0", "silence_logs": 50, "threads_per_worker": 1}
        with distributed.LocalCluster(n_workers=2, processes=True, **options) as cluster:
            engine = f"gs.Dask({cluster.scheduler_address!r}, resume={str(path)!r})"
            run_client(engine, kill_after=10)
            lines = run_client(engine)
    assert lines[-2] == kta(Serial(), X, y)
    assert int(lines[-1]) >= 10  # bands that were not computed again
