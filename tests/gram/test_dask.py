"""The Dask engine: real worker processes, the bits of threads, whatever dies."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import gramsmith as gs
from gramsmith.gram import Gram, Serial, Threads, as_engine
from gramsmith.gram import dask as module
from gramsmith.gram.dask import Dask, LostWorkers, connect, pack, unpack
from gramsmith.gram.parquet import ParquetRows
from gramsmith.gram.plan import make_plan
from gramsmith.gram.sweep import Forward
from gramsmith.targets import make_target
from tests.gram.test_engine import everything, samples
from tools import clusters

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")


@pytest.fixture(scope="module")
def cluster():
    with clusters.workers(2) as client:
        yield client.cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        yield client


def pids(client):
    return list(client.run(os.getpid).values())


def kta(engine, n=1500, kernel=None, progress=None):
    X, y = samples(n, np.float64)
    return gs.kta(Gram(kernel or gs.Gaussian(2.0), X, engine=engine, progress=progress), y).hex()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_same_bits_on_workers(client, tmp_path, dtype):
    expected = everything(Serial(), 1100, dtype)
    assert everything(client, 1100, dtype) == expected
    assert everything(Dask(client, shared=tmp_path, in_flight=5), 1100, dtype) == expected
    assert list(tmp_path.glob("gramsmith-*.npy")) or dtype == np.float32  # smaller than a file
    assert not list(tmp_path.glob(".*"))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learners_and_machines_take_a_client(client):
    X, y = samples(150, np.float64)
    for make in (
        lambda engine: gs.KernelLearner(
            gs.Gaussian(2.0), max_iter=3, random_state=0, engine=engine
        ),
        lambda engine: gs.KernelCombination(["rbf", "poly"], random_state=0, engine=engine),
    ):
        here, there = (clone(make(engine)).fit(X, y) for engine in (None, client))
        assert there.engine is client
        assert here.kernel_.formula() == there.kernel_.formula()
    machine = clone(gs.ParzenClassifier(engine=client))
    assert machine.engine is client
    assert (machine.fit(X, y).predict(X) == gs.ParzenClassifier().fit(X, y).predict(X)).all()
    for verb in (gs.evaluate, gs.bandwidth_path):
        given = (["rbf"], X, y) if verb is gs.evaluate else (X, y)
        here, there = (verb(*given, engine=engine) for engine in (None, client))
        for cell, cells in here.cells.items():
            assert (cells.value, cells.error) == (there.cells[cell].value, there.cells[cell].error)


def test_killed_workers_and_a_late_one(tmp_path):
    expected = kta(Threads(2), 3000)
    with clusters.workers(4) as client:
        events = []

        def progress(done, total):
            if not events and done > total // 5:
                events.append("killed")
                for pid in pids(client)[:2]:
                    os.kill(pid, signal.SIGKILL)
            if len(events) == 1 and done > total // 2:
                events.append("joined")
                client.cluster.scale(5)
            time.sleep(0.01)  # so that there is a middle

        assert kta(client, 3000, progress=progress) == expected
        assert events == ["killed", "joined"]
        client.wait_for_workers(5, timeout=30)
        assert kta(client, 3000) == expected


def test_rows_are_sent_again_when_all_workers_die(cluster):
    with clusters.workers(1) as client:
        killed = []

        def progress(done, total):
            if not killed:
                killed.extend(pids(client))
                os.kill(killed[0], signal.SIGKILL)

        assert kta(client, 2000, progress=progress) == kta(Serial(), 2000)
        assert killed


def test_what_the_scheduler_has_forgotten_is_sent_again(client):
    call = module._Call(Dask(client), sum, str)
    call._send()
    keys = [future.key for future in call.contents]
    client.cancel(call.contents, force=True)

    def kept(dask_scheduler):
        return any(key in dask_scheduler.tasks for key in keys)

    # the scheduler and its workers forget a little after the client has
    while not all(future.cancelled() for future in call.contents) or client.run_on_scheduler(kept):
        time.sleep(0.01)
    time.sleep(0.5)
    call._look()
    assert [future.status for future in call.contents] == ["finished"]
    assert list(call.results([[1, 2], [4]])) == [3, 4]


def failing(error, where, times=10**6):
    """A kernel whose tiles fail the first few times, counted in a file."""
    path = str(where)

    class Failing(gs.Gaussian):
        def tile(self, a, b, out=None):
            with open(path, "a") as stream:
                stream.write("x")
            if os.path.getsize(path) <= times:
                raise error("no luck")
            return super().tile(a, b, out)

    return Failing(2.0)


def task_of(kernel, n=600):
    """A sweep over a kernel that nobody has evaluated before."""
    X, y = samples(n, np.float64)
    G = Gram(gs.Gaussian(2.0), X)
    member = G._members[0].for_sweep(compiled=False)
    members = (replace(member, kernel=kernel, kernels=(kernel,)),)
    probe = make_target(y).wV
    return Forward(members, make_plan(n, np.float64), np.float64, probe, np.ones(n), np.zeros(1))


def run(engine, task):
    return list(engine.run(task, range(len(task.plan.bands))))


def test_a_band_that_always_fails_is_named(client, tmp_path):
    with pytest.raises(ValueError, match=r"Bands \d+.*rows 0 to .* of .*Failing.* no luck"):
        run(Dask(client), task_of(failing(ValueError, tmp_path / "a")))
    with pytest.raises(RuntimeError, match=r"of .*Failing.* failed 2 times: OSError: no luck"):
        run(Dask(client, retries=1), task_of(failing(OSError, tmp_path / "b")))


def test_a_band_that_fails_at_first_is_tried_again(client, tmp_path):
    calm = run(Serial(), task_of(gs.Gaussian(2.0)))
    parts = run(Dask(client), task_of(failing(OSError, tmp_path / "count", times=3)))
    assert (tmp_path / "count").stat().st_size > 3
    for one, two in zip(calm, parts, strict=True):
        assert (one.right == two.right).all()
        assert (one.squares == two.squares).all()


@pytest.mark.slow
def test_a_band_that_ends_workers_is_named():
    class Deadly(gs.Gaussian):
        def tile(self, a, b, out=None):
            os._exit(1)

    # no worker need be started anew: the first death of a parcel's worker is one too many
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        clusters.workers(2) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        with pytest.raises(RuntimeError, match=r"rows \d+ to .* ended every worker that tried it"):
            run(Dask(client), task_of(Deadly(2.0)))


def test_other_hosts_are_refused_by_name(client, monkeypatch):
    address = next(iter(client.nthreads()))
    mine = module.host()
    odd = {**mine, "numpy": "1.0", "CPU": "abacus"}
    monkeypatch.setattr(module, "host", lambda: odd)
    with pytest.raises(RuntimeError, match=rf"{address}: numpy .* instead of 1.0, CPU .* abacus"):
        kta(client)
    assert kta(Dask(client, same_bits=False)) == kta(Serial())


@pytest.mark.parametrize("when", ["between sweeps", "in the middle"])
def test_a_late_joiner_of_no_use_is_passed_over(when, sizes):
    def claim_another_host():
        odd = {**import_module("gramsmith.gram.host").host(), "numpy": "1.0"}
        import_module("gramsmith.gram.host").host = lambda: odd

    sizes("gram.dask", LOOK=0.01)
    expected, joined = kta(Serial()), []
    with clusters.workers(1) as client:
        assert kta(client) == expected
        [first] = client.nthreads()

        def join(*_):
            if not joined:
                client.cluster.scale(2)
                client.wait_for_workers(2, timeout=60)
                joined.extend(set(client.nthreads()) - {first})
                client.run(claim_another_host, workers=joined)
            time.sleep(0.03)

        if when == "between sweeps":
            join()
        with pytest.warns(UserWarning, match=r"The worker tcp.* joined meanwhile and is passed"):
            assert kta(client, progress=join) == expected
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # which is said once
            assert kta(client, 1400) == kta(Serial(), 1400)
        done = client.run(lambda: len(import_module("gramsmith.gram.dask")._unpacked))
        assert done[joined[0]] == 0 < done[first]


def test_workers_without_gramsmith_are_named(client):
    def hide():
        sys.modules["gramsmith.gram.host"] = None

    def show():
        del sys.modules["gramsmith.gram.host"]

    client.run(hide)
    try:
        with pytest.raises(ImportError, match=r"Expected gramsmith on every worker, got none on"):
            kta(client)
    finally:
        client.run(show)


def test_memory_is_checked(client):
    session = module._session(client, True)
    session.admit(30.0)
    assert all(fact["memory_limit"] > 2**28 for fact in session.facts.values())
    for fact in session.facts.values():
        fact["memory_limit"] = 2**20
    with pytest.raises(MemoryError, match=r"got tcp://.* 1 MiB \(needs \d+\).*--memory-limit"):
        kta(client)


def test_an_interrupt_takes_back_what_is_out(client, cluster):
    def progress(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kta(client, 3000, progress=progress)
    deadline = time.monotonic() + 10
    while any("_work" in str(key) for key in cluster.scheduler.tasks):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert kta(client) == kta(Serial())


def test_a_client_closed_in_the_middle(cluster):
    client = distributed.Client(cluster, set_as_default=False)

    def progress(done, total):
        client.close()

    with pytest.raises(LostWorkers, match=r"client was closed after \d+ pieces.*resume="):
        kta(client, 3000, progress=progress)
    with pytest.raises(LostWorkers):
        kta(client)


def test_shared_files_are_checked(client, tmp_path):
    with pytest.raises(OSError, match=r"shared folder that can be written to, got .*absent"):
        kta(Dask(client, shared=tmp_path / "absent"), 3000)
    assert kta(Dask(client, shared=tmp_path), 3000) == kta(Serial(), 3000)
    for path in tmp_path.glob("*.npy"):
        np.save(path, np.zeros(3))
    client.run(lambda: import_module("gramsmith.gram.dask")._unpacked.clear())
    with pytest.raises(RuntimeError, match=r"Expected the rows with hash .* got others on tcp"):
        kta(Dask(client, shared=tmp_path), 3000)
    for path in tmp_path.glob("*.npy"):
        path.unlink()
    original, written = module._write, tmp_path / "elsewhere.npy"
    try:
        module._write = lambda folder, name, array: str(written)
        with pytest.raises(RuntimeError, match=r"elsewhere.npy to be visible to all workers"):
            kta(Dask(client, shared=tmp_path), 3000)
    finally:
        module._write = original


@pytest.mark.parametrize("kind", ["npy", "npy of another type", "parquet"])
def test_workers_read_the_users_own_file(client, tmp_path, kind):
    X, y = samples(3000, np.float64)
    path, expected = tmp_path / "rows.npy", kta(Serial(), 3000)
    if kind == "parquet":
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        path = tmp_path / "rows.parquet"
        names = [f"c{j}" for j in range(X.shape[1])]
        pandas.DataFrame(np.column_stack([X, y]), columns=[*names, "y"]).to_parquet(path)
        source = ParquetRows(path).without("y")
    else:
        np.save(path, X if kind == "npy" else np.asfortranarray(X))
        source = path
    sent = []
    scatter = client.scatter
    client.scatter = lambda data, **how: (
        sent.extend(np.asarray(part[1]).size for part in data.values() if isinstance(part, tuple)),
        scatter(data, **how),
    )[1]
    assert kta(Dask(client, source=source), 3000) == expected
    assert X.size not in sent  # the rows did not travel
    with pytest.raises(ValueError, match=r"Expected X to be the rows of .*rows.*, got others"):
        kta(Dask(client, source=source), 2900)
    # another file under the same name, as a worker may see it
    client.run(lambda: import_module("gramsmith.gram.dask")._unpacked.clear())
    if kind == "npy":
        engine = Dask(client, source=source)
        task = Gram(gs.Gaussian(2.0), X, engine=engine)
        known = module.Source.order_of
        try:
            module.Source.order_of = lambda self, array, name: (
                "C" if array.shape == X.shape else None
            )
            np.save(path, X + 1.0)
            with pytest.raises(RuntimeError, match=r"Expected the rows with hash .* got others on"):
                gs.kta(task, y)
            path.unlink()
            with pytest.raises(RuntimeError, match=r"rows.npy to be visible to all workers"):
                gs.kta(task, y)
        finally:
            module.Source.order_of = known


def test_what_may_be_a_source(client, tmp_path):
    with pytest.raises(ValueError, match=r"Expected the .npy or .parquet file .* which is not"):
        Dask(client, source=tmp_path / "absent.npy")
    (tmp_path / "rows.csv").write_text("1")
    with pytest.raises(ValueError, match=r"Expected the .npy or .parquet file .*rows.csv"):
        Dask(client, source=tmp_path / "rows.csv")


def test_schedulers_that_do_not_answer(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"file of a running scheduler, got .*none.json"):
        connect(scheduler_file=tmp_path / "none.json")
    with pytest.raises(ConnectionError, match=r"at tcp://127.0.0.1:9, got no answer within 1 sec"):
        connect("tcp://127.0.0.1:9", timeout=1)
    with pytest.raises(ConnectionError, match=r"tcp://127.0.0.1:9"):
        Dask("tcp://127.0.0.1:9", patience=1)


def test_no_workers(tmp_path):
    with (
        clusters.workers(0) as client,
        pytest.raises(LostWorkers, match=r"Expected workers at tcp.* got none within 0.3 seconds"),
    ):
        kta(Dask(client, patience=0.3))


def test_what_may_be_a_client(client):
    with pytest.raises(TypeError, match=r"Expected a distributed.Client .* or an address, got int"):
        Dask(3)
    with pytest.raises(ValueError, match="in_flight >= 1"):
        Dask(client, in_flight=0)
    with pytest.raises(ValueError, match="Expected an active Dask client, got none"):
        as_engine("dask")
    assert isinstance(as_engine(), Threads)
    with client.as_current():
        assert as_engine("dask").client is client
        assert isinstance(as_engine(), Threads)  # an active client is used only if asked for
    assert clone(gs.ParzenClassifier(engine=Dask(client))).engine.client is client


def test_other_work_goes_out_too(client):
    A = np.arange(20_000.0)
    items = ((i, A) for i in range(7))
    found = Dask(client).map(lambda item: item[0] * item[1].sum(), items)
    assert list(found) == [i * A.sum() for i in range(7)]
    with pytest.raises(ValueError, match=r"A fit failed: ValueError: invalid literal"):
        list(Dask(client).map(lambda i: int("012xyz"[i]), range(6)))


def test_large_arrays_are_laid_aside_once():
    for size, aside in [(4095, 0), (4096, 1), (5000, 1)]:
        assert len(pack([np.arange(float(size))]).arrays) == aside
    assert not pack(np.array(["a"] * 5000, dtype=object)).arrays
    X = np.asfortranarray(np.random.default_rng(0).normal(size=(5000, 3)))
    packed = pack({"a": X, "b": X, "c": X.copy(order="F"), "e": np.arange(3), "f": np.empty(0)})
    assert len(packed.arrays) == 1
    assert len(packed.skeleton) < 2000
    arrays = {name: module._aligned(array) for name, array in packed.arrays.items()}
    value = unpack(packed.skeleton, packed.names, arrays)
    assert value["a"] is value["b"]
    for name in "ac":
        assert value[name].flags.f_contiguous
        assert (value[name] == X).all()
    assert (value["e"] == np.arange(3)).all()


def test_plain_connections_to_others_are_warned_of():
    far = "tcp://192.0.2.7:8786"
    with pytest.warns(UserWarning, match=r"tcp://192.0.2.7:8786 is on another computer.*tls://"):
        module.warn_if_open_to_others(far)
    for address in (
        far,
        "tls://192.0.2.7:8786",
        "tcp://127.0.0.1:1",
        "tcp://[::1]:1",
        "inproc://a",
    ):
        module.warn_if_open_to_others(address)  # once


def test_arrays_of_messages_lie_as_those_of_this_process():
    room = np.zeros(8 * 20 + 32, np.uint8)
    start = -room.ctypes.data % 16
    for offset, kept in [(0, True), (16, True), (8, False), (1, False)]:
        array = room[start + offset :][: 8 * 16].view(np.float64).reshape(4, 4)
        found = module._aligned(array)
        assert (found is array) == kept
        assert found.ctypes.data % 16 == 0
    array.flags.writeable = False
    assert module._aligned(array).flags.writeable


def test_rows_of_a_file_in_the_type_that_is_asked_for(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    np.save(tmp_path / "x.npy", X)
    source = module.as_source(tmp_path / "x.npy")
    for dtype, order in [("f8", "C"), ("f4", "C"), ("f8", "F")]:
        found = source.read(dtype, order)
        assert found.flags.c_contiguous
        assert (found == (X if order == "C" else X.T)).all()
        assert source.order_of(found, module._hash_of(found)) == order
    assert source.order_of(X, module._hash_of(X + 1.0)) is None


WHOLE = """
    import runpy, sys
    import numpy as np
    import gramsmith as gs

    engine = gs.Dask({address!r}, resume={path!r})
    tests = runpy.run_path({tests!r})
    keep = engine.journal.keep_part
    def keep_and_tell(key, value, **options):
        print("band", flush=True)
        return keep(key, value, **options)
    engine.journal.keep_part = keep_and_tell
    print(" ".join(tests["everything"](engine, {n}, np.float32)))
    print(engine.journal.found, engine.journal.bands_found, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif("CI" in os.environ, reason="minutes of real processes; its parts are tests")
def test_every_number_whatever_happens(tmp_path):
    """Measures and gradients in 1, 2 and 4 workers, two of them killed, one late, and resumed."""
    n = 2600
    expected = everything(Threads(2), n, np.float32)
    for count in (1, 2, 4):
        with clusters.workers(count) as client:
            cluster = client.cluster
            assert everything(client, n, np.float32) == expected, count
            if count < 4:
                continue
            old = pids(client)

            def disturb(old=old, cluster=cluster):
                for pid in old[:2]:
                    os.kill(pid, signal.SIGKILL)
                cluster.scale(5)

            timer = threading.Timer(1.0, disturb)
            timer.start()
            assert everything(client, n, np.float32) == expected
            timer.join()
            assert set(pids(client)) != set(old)
            # a client that is killed, and another that goes on
            code = textwrap.dedent(WHOLE).format(
                address=cluster.scheduler_address,
                path=str(tmp_path / "run.journal"),
                tests=str(Path(__file__).with_name("test_engine.py")),
                n=n,
            )
            command = [sys.executable, "-c", code]
            root = Path(__file__).parents[2]
            env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")])}
            kept = 0
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as first:
                for line in first.stdout:
                    kept += line == "band\n"
                    if kept == 100:
                        first.kill()
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
            lines = done.stdout.splitlines()
            assert lines[-2].split() == expected
            found, bands = map(int, lines[-1].split())
            assert found >= 1
            print(f"{kept} bands kept before the kill, {found} sums and {bands} bands found after")
