"""Parcels of a sweep: their sizes, their order and their ends, with a cluster in one's head."""

import time
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.gram import Serial
from gramsmith.gram import dask as module
from gramsmith.gram.dask import (
    MIB,
    Dask,
    LostWorkers,
    Packed,
    connect,
    pack,
    parcel_seconds,
    unpack,
)
from gramsmith.gram.plan import make_plan

distributed = pytest.importorskip("distributed")


class Future:
    """What was scattered, or the result of a parcel."""

    def __init__(self, key, value=None, status="finished"):
        self.key, self.value, self.status = key, value, status
        self.callbacks = []

    def result(self, timeout=None):
        if isinstance(self.value, Exception):
            raise self.value
        return self.value

    def exception(self):
        return self.value

    def add_done_callback(self, callback):
        self.callbacks.append(callback)
        if self.status != "pending":
            callback(self)


class Client(distributed.Client):
    """A client that does the work itself, at once; `workers` are those it says it has."""

    asynchronous = False
    status = "running"
    scheduler = SimpleNamespace(address="inproc://here")

    def __init__(self, **workers):
        self.id = f"client-{id(self)}"
        self.workers = workers or {"a": 1}
        self.facts = {}  # of workers that differ from this process
        self.sent, self.cancelled, self.submitted, self.has = [], [], [], True
        self.failures = []

    def __del__(self):
        pass

    def __repr__(self):
        return self.id

    def nthreads(self):
        return dict(self.workers)

    def wait_for_workers(self, count, timeout):
        if not self.workers:
            raise TimeoutError

    def run(self, function, workers):
        usual = {"threads": 1, "memory_limit": 0, "resident": 0, "host": module.host()}
        return {name: self.facts.get(name, usual) for name in workers}

    def scatter(self, data, broadcast, workers):
        self.sent.append((list(data), broadcast, workers))
        return {key: Future(key, value) for key, value in data.items()}

    def who_has(self, futures):
        return {future.key: ["a"] if self.has else [] for future in futures}

    def cancel(self, futures, force):
        self.cancelled.append((list(futures), force))

    def submit(self, function, *given, key, pure, workers):
        assert not pure
        *given, contents, more = given
        self.submitted.append((given[2], workers))
        if self.failures:
            return Future(key, self.failures.pop(0), "error")
        resolved = ([future.value for future in part] for part in (contents, more))
        return Future(key, function(*given, *resolved))


@pytest.fixture(autouse=True)
def no_sessions():
    module._sessions.clear()
    yield
    module._sessions.clear()


def call(client=None, count=100, most=10, **options):
    engine = Dask(client or Client(), same_bits=False, **options)
    found = module._Call(engine, pack(None), module._bands, count, most, str)
    found._look()
    return found


def test_parcels_grow_with_what_is_known_and_shrink_towards_the_end():
    sizes = call(Client(a=1, b=1))
    assert sizes.threads == 2
    assert sizes._next(4).numbers == range(1)  # nobody knows how long a band takes
    sizes.seconds = 0.15
    assert sizes._next(4).numbers == range(1, 4)
    sizes.seconds = 0.001
    assert sizes._next(4).numbers == range(4, 14)  # no more than fit in a message
    sizes.taken = 93
    assert sizes._next(4).numbers == range(93, 95)  # 7 left: two parcels to each thread
    assert sizes._next(4).numbers == range(95, 97)
    sizes.taken = 99
    assert sizes._next(4).items == [99]
    assert sizes._next(4) is None
    assert sizes.taken == 100


def test_results_that_wait_are_bounded():
    ahead = call(count=10_000, most=3)
    ahead.seconds, ahead.out = 1e-6, {"one": None}
    ahead.given, limit = 5, 2
    ahead.taken = 5 + 4 * limit * 3
    assert ahead._next(limit).numbers == range(29, 32)
    assert ahead._next(limit) is None
    assert ahead.taken == 32
    ahead.out = {}  # what is waited for must be sent
    assert ahead._next(limit).numbers == range(32, 35)


def test_a_parcel_is_half_a_second_of_work():
    assert [parcel_seconds(n) for n in (1, 100, 101, 200, 300, 400, 9000)] == [
        *(0.5, 0.5, 0.505, 1.0, 1.5, 2.0, 2.0)
    ]


def test_so_many_parcels_are_out_at_a_time():
    for in_flight, workers, expected in [(2, {"a": 1}, 2), (3, {"a": 2, "b": 4}, 18)]:
        sending = call(Client(**workers), in_flight=in_flight)
        sending.work = lambda value, numbers: list(numbers)
        sending._place()
        sending._send()
        assert len(sending.out) == expected


def test_the_time_of_a_band_is_a_running_mean():
    timed = call()
    for seconds, bands, expected in [(6.0, 3, 2.0), (1.5, 5, 1.49), (0.3, 1, 1.133)]:
        future = Future("f", (["part"] * bands, seconds))
        timed.out[future] = module._Parcel(range(bands), list(range(bands)))
        timed.back.put(future)
        parcel, parts = timed._receive()
        assert (len(parcel.numbers), len(parts), timed.out) == (bands, bands, {})
        assert timed.seconds == pytest.approx(expected)


def test_work_of_any_kind_comes_back_in_order():
    client = Client(a=2)
    A = np.arange(10_000.0)
    found = Dask(client, same_bits=False).map(
        lambda item: item[0] * item[1][-1], ((i, A) for i in range(9))
    )
    assert list(found) == [i * 9999.0 for i in range(9)]
    assert [numbers for numbers, _ in client.submitted] == [range(i, i + 1) for i in range(9)]
    arrays = [key for keys, *_ in client.sent for key in keys if key.endswith(module.hash_array(A))]
    assert len(arrays) == 1  # sent once, as long as a parcel that needs it is out
    assert not client.cancelled


def test_a_worker_does_what_the_process_would():
    X = np.random.default_rng(0).normal(size=(700, 3))
    y = X[:, 0] > 0
    client = Client(a=1, b=2)
    there = gs.cka(gs.Gram(gs.Gaussian(), X, engine=Dask(client, same_bits=False)), y)
    assert there == gs.cka(gs.Gram(gs.Gaussian(), X, engine=Serial()), y)


@pytest.fixture
def as_a_worker(monkeypatch):
    """Let this process say that it is a worker."""
    monkeypatch.setattr(distributed, "get_worker", lambda: SimpleNamespace(address="here"))


@pytest.mark.usefixtures("as_a_worker")
def test_rows_in_a_shared_folder(tmp_path):
    X = np.random.default_rng(0).normal(size=(2000, 3))
    y = X[:, 0] > 0
    expected = gs.cka(gs.Gram(gs.Gaussian(), X, engine=Serial()), y)
    for _ in range(2):  # the second time they are there
        module._unpacked.clear()
        client = Client()
        engine = Dask(client, same_bits=False, shared=tmp_path)
        assert gs.cka(gs.Gram(gs.Gaussian(), X, engine=engine), y) == expected
        assert all(len(keys) == 1 for keys, *_ in client.sent)  # no rows
        files = sorted(tmp_path.iterdir())
        assert files
        for path in files:
            assert path.name == f"gramsmith-{module.hash_array(np.load(path))}.npy"
    for length in range(8):  # whatever their hash
        module._unpacked.clear()
        np.save(files[0], np.zeros(length))
        with pytest.raises(
            RuntimeError, match=r"Expected the rows with hash .* got others on here"
        ):
            gs.cka(gs.Gram(gs.Gaussian(), X, engine=engine), y)


@pytest.mark.usefixtures("as_a_worker")
def test_rows_in_the_file_of_the_user(tmp_path):
    X = np.random.default_rng(0).normal(size=(2000, 3))
    y = X[:, 0] > 0
    np.save(tmp_path / "x.npy", X)
    engine = Dask(Client(), same_bits=False, source=tmp_path / "x.npy")
    found = gs.cka(gs.Gram(gs.Gaussian(), X, engine=engine), y)
    assert found == gs.cka(gs.Gram(gs.Gaussian(), X, engine=Serial()), y)
    for other in (X + 1.0, X[:1999]):
        with pytest.raises(
            ValueError, match=r"the rows of .*x\.npy, got others of shape \(\d+, 3\)"
        ):
            gs.cka(gs.Gram(gs.Gaussian(), other, engine=engine), y[: len(other)])
    few = gs.Gram(gs.Gaussian(), X[:50], engine=engine)  # which travel with the task
    assert gs.cka(few, y[:50]) == gs.cka(gs.Gram(gs.Gaussian(), X[:50], engine=Serial()), y[:50])


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_what_fails_is_tried_again_so_often(retries):
    def numbers(failures):
        client = Client()
        client.failures = [OSError("lost") for _ in range(failures)]
        return list(Dask(client, same_bits=False, retries=retries).map(abs, [-3]))

    assert numbers(retries) == [3]
    often = f" {retries + 1} times" if retries else ""
    with pytest.raises(RuntimeError, match=f"Fit 0 failed{often}: OSError: lost"):
        numbers(retries + 1)


def test_what_fails_for_good_is_not_tried_again():
    for error, kind in [(ValueError("bad"), ValueError), (KeyError("bad"), RuntimeError)]:
        client = Client()
        client.failures = [error]
        with pytest.raises(kind, match=r"Fit 0 failed: \w+Error: '?bad") as caught:
            list(Dask(client, same_bits=False).map(abs, [1, 2]))
        assert type(caught.value) is kind
        assert caught.value.__cause__ is error
        [(futures, force)] = client.cancelled  # the second one
        assert (len(futures), force) == (1, True)


def test_a_result_whose_worker_was_lost_is_waited_for():
    waiting = call()
    future = Future("f", status="pending")
    parcel = waiting.out[future] = module._Parcel(range(1), [0])
    waiting.back.put(future)
    assert waiting._receive() == (parcel, None)
    assert waiting.out == {future: parcel}
    assert future.callbacks == [waiting.back.put]
    for lost in (TimeoutError(), OSError(), distributed.CancelledError()):
        future = Future("f", lost)
        waiting._place()
        parcel = waiting.out[future] = module._Parcel(range(1), [0])
        waiting.back.put(future)
        assert waiting._receive() == (parcel, None)
        assert (parcel.attempts, waiting.again.pop()) == (1, parcel)


def test_results_are_waited_for(monkeypatch):
    monkeypatch.setattr(module, "POLL", 0.01)
    waiting = call()
    waiting._place()
    future, other = Future("f", (["part"], 1.0)), Future("of another sweep")
    parcel = waiting.out[future] = module._Parcel(range(1), [0])
    looks = []

    def look(since):
        looks.append(since)
        if len(looks) == 3:
            waiting.back.put(other)
            waiting.back.put(future)

    monkeypatch.setattr(waiting, "_look_for_workers", look)
    assert waiting._receive() == (parcel, ["part"])
    assert len(set(looks)) == 1


def test_workers_that_do_not_come_back(monkeypatch):
    gone = call(patience=7.0)
    gone._place()
    gone._look_for_workers(time.monotonic() - 8.0)  # there is a worker
    gone.client.workers = {}
    gone._look_for_workers(time.monotonic() - 6.0)
    gone.given = 4
    with pytest.raises(LostWorkers, match=r"none for 7 seconds after 4 of 100 bands"):
        gone._look_for_workers(time.monotonic() - 8.0)
    gone.client.status = "closed"
    with pytest.raises(LostWorkers, match="closed after 4 of 100 bands"):
        gone._look_for_workers(time.monotonic())


def test_rows_that_nobody_has_are_taken_back():
    lost = call(patience=100.0)
    lost._place()
    future = Future("f")
    lost.out[future] = module._Parcel(range(1), [0])
    lost._look_for_rows(time.monotonic() - 10.0)
    lost.client.has = False
    lost._look_for_rows(time.monotonic() - 4 * module.POLL + 1.0)  # the scheduler may mend it
    assert not lost.client.cancelled
    lost._look_for_rows(time.monotonic() - 4 * module.POLL - 0.1)
    contents = list(lost.contents.values())
    assert lost.client.cancelled == [([future, *contents], True)]
    assert lost.back.get_nowait() is future
    # workers that were asked and are gone: only the parcels are taken back
    lost.client.has, lost.asked = True, {"a", "z"}
    lost._look_for_rows(time.monotonic() - 99.0)
    assert len(lost.client.cancelled) == 1
    lost._look_for_rows(time.monotonic() - 101.0)
    assert lost.client.cancelled[1] == ([future], True)
    assert lost._rows_are_lost() is False
    lost.client.has = False
    assert lost._rows_are_lost() is True
    assert lost.session.held == {}


def test_nothing_is_taken_back_from_a_closed_client():
    ending = call()
    ending.out = {Future("f"): None}
    ending.client.status = "closing"
    ending._cancel()
    assert (ending.client.cancelled, ending.out) == ([], {})
    ending.out = {Future("f"): None}
    ending.client.status = "running"
    ending._cancel()
    assert len(ending.client.cancelled) == 1


def work(worker_bytes=0, band_bytes=0, probe=0):
    return SimpleNamespace(
        worker_bytes=worker_bytes, band_bytes=band_bytes, probe=np.zeros(probe, np.uint8)
    )


def test_memory_that_a_worker_needs():
    packed = Packed(b"x" * 10, {"a": np.zeros(5), "b": np.zeros(3, np.uint8)})
    assert packed.nbytes == 10 + 40 + 3
    most = module.PARCEL_BYTES
    assert most == 32 * MIB
    for options, rows in [({}, 2), ({"shared": "/folder"}, 1)]:
        for in_flight in (3, 4):
            engine = Dask(Client(), in_flight=in_flight, **options)
            task = work(worker_bytes=1000, band_bytes=7, probe=100)
            each, large = (in_flight + 1) * most, (in_flight + 1) * (most + 1)
            assert engine._bound(task, packed, 3) == rows * 53 + 200 + 3 * (1000 + each)
            task.band_bytes = most + 1
            assert engine._bound(task, packed, 1) == rows * 53 + 200 + 1000 + large


def test_workers_with_too_little_memory_are_named():
    packed = Packed(b"", {"a": np.zeros(5 * MIB, np.uint8)})
    task = work(worker_bytes=20 * MIB, band_bytes=10 * MIB)
    engine = Dask(Client())
    fact = {"memory_limit": 250 * MIB, "resident": 100 * MIB, "threads": 3}
    engine._check_memory(task, packed, {"a": fact})  # 100 + 2 * 5 + 3 * 30 = 0.8 * 250
    fact["resident"] += 4 * MIB
    with pytest.raises(MemoryError, match=r"got tcp://b 250 MiB \(needs 255\)\. Start"):
        engine._check_memory(task, packed, {"tcp://b": fact})
    engine._check_memory(task, packed, {"a": {**fact, "memory_limit": None}})
    with pytest.raises(MemoryError, match=r"\(needs 255\); .* \(needs 255\) and 2 more\. Start"):
        engine._check_memory(task, packed, dict.fromkeys("abcde", fact))


@dataclass
class Bands:
    """A sweep of bands that are their own numbers."""

    plan: object
    members: tuple = ()
    worker_bytes: int = 1
    band_bytes: int = 0

    def band(self, number):
        return number


@pytest.mark.parametrize(("size", "most"), [(0, 99), (10, 10), (50, 2), (100, 1), (1000, 1)])
def test_results_in_one_message_take_so_much_memory(size, most, monkeypatch):
    monkeypatch.setattr(module, "PARCEL_BYTES", 100)
    monkeypatch.setattr(module, "parcel_seconds", lambda threads: 1e9)  # however long it takes
    task = Bands(SimpleNamespace(bands=range(200)), band_bytes=size)
    client = Client()
    assert list(Dask(client, same_bits=False).run(task)) == list(range(200))
    assert max(len(numbers) for numbers, _ in client.submitted) == most


def test_arrays_from_some_size_on_travel_by_themselves():
    for size, aside in [(4095, 0), (4096, 1), (5000, 1)]:
        A = np.arange(float(size))
        packed = pack([A])
        assert len(packed.arrays) == aside
        assert (unpack(packed)[0] == A).all()
    assert not pack(np.array(["a"] * 5000, dtype=object)).arrays


def test_large_arrays_are_laid_aside_once():
    X = np.asfortranarray(np.random.default_rng(0).normal(size=(5000, 3)))
    packed = pack({"a": X, "b": X, "c": X.copy(order="F"), "d": X[::2], "e": np.arange(3)})
    assert len(packed.arrays) == 2
    assert len(packed.skeleton) < 2000
    assert packed.nbytes < 2 * X.nbytes
    value = unpack(packed)
    assert value["a"] is value["b"]
    assert value["a"].flags.f_contiguous
    assert (value["d"] == X[::2]).all()
    assert (value["e"] == np.arange(3)).all()


def test_plain_connections_to_others_are_warned_of():
    def session(address):
        return module._Session(SimpleNamespace(scheduler=SimpleNamespace(address=address)))

    far = session("tcp://192.0.2.7:8786")
    with pytest.warns(UserWarning, match=r"tcp://192.0.2.7:8786 is on another machine.*tls://"):
        far.warn_if_open_to_others()
    far.warn_if_open_to_others()  # once
    for address in ("tls://192.0.2.7:8786", "tcp://127.0.0.1:1", "tcp://[::1]:1", "inproc://a/1"):
        session(address).warn_if_open_to_others()


def test_arrays_of_messages_lie_as_those_of_this_process():
    room = np.zeros(8 * 20 + 32, np.uint8)
    start = -room.ctypes.data % 16
    for offset, kept in [(0, True), (16, True), (8, False), (1, False)]:
        array = room[start + offset :][: 8 * 16].view(np.float64).reshape(4, 4)
        for given in (array, array.T):
            found = module._aligned(given)
            assert (found is given) == kept
            assert found.ctypes.data % 16 == 0
            assert found.flags.f_contiguous == given.flags.f_contiguous
    array = np.zeros(100)
    array.flags.writeable = False
    assert module._aligned(array).flags.writeable


def test_rows_of_bands_are_named():
    kernels = [gs.Gaussian(2.0), gs.Linear(), gs.Gaussian(3.0)]

    def name(numbers, kernels):
        plan = make_plan(1200, np.float64)
        task = SimpleNamespace(plan=plan, members=[SimpleNamespace(kernels=kernels)])
        return plan, module._name_of(task, numbers)

    plan, found = name(range(1), kernels)
    first = plan.bands[0]
    right = plan.columns(first).stop
    rows = plan.blocks[0].rows
    names = "Gaussian(length_scale=2), Linear(), Gaussian(length_scale=3)"
    assert found == f"Band 0 (rows 0 to {rows.stop - 1} by 0 to {right - 1} of {names})"
    last = len(plan.bands) - 1
    _, found = name(range(last + 1), [*kernels, gs.Linear()])
    assert found == f"Bands 0 to {last} (rows 0 to 1199 by 0 to 1199 of {names}, ...)"


def test_one_name_of_a_scheduler(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"file of a running scheduler, got .*none.json"):
        connect(scheduler_file=tmp_path / "none.json")
    with pytest.raises(FileNotFoundError, match=r"TLS options, got nowhere.pem"):
        connect("tls://127.0.0.1:9", tls_ca="nowhere.pem")
    with pytest.raises(ValueError, match="got neither"):
        connect()
    with pytest.raises(ValueError, match="got both"):
        connect("tcp://a", scheduler_file="b")


def test_connections_are_encrypted_if_there_are_keys(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(
        distributed, "Client", lambda address, **how: made.append((address, how["security"]))
    )
    for name in ("ca", "cert", "key"):
        (tmp_path / name).touch()
    connect("tcp://there:1")
    ca, cert, key = (str(tmp_path / name) for name in ("ca", "cert", "key"))
    connect("tls://there:1", tls_ca=ca)
    connect("tls://there:1", tls_ca=ca, tls_cert=cert, tls_key=key)
    assert [address for address, _ in made] == ["tcp://there:1", "tls://there:1", "tls://there:1"]
    plain, named, known = (security for _, security in made)
    assert plain is None
    assert named.require_encryption is known.require_encryption is True
    assert named.tls_ca_file == ca
    assert (known.tls_ca_file, known.tls_client_cert, known.tls_client_key) == (ca, cert, key)


def test_options_at_their_limits():
    Dask(Client(), in_flight=1, retries=0, patience=1e-3)
    for bad in ({"in_flight": 0}, {"retries": -1}, {"patience": 0.0}, {"patience": np.nan}):
        with pytest.raises(ValueError, match="in_flight >= 1, retries >= 0 and patience > 0"):
            Dask(Client(), **bad)
    for same in (True, False):
        found = module._Call(Dask(Client(), same_bits=same), pack(None), abs, 1, 1, str)
        assert found.expected == (module.host() if same else None)
    waiting = Client()
    waiting.asynchronous = True
    with pytest.raises(TypeError, match="asynchronous=True"):
        Dask(waiting)


OTHER = {"threads": 1, "memory_limit": 0, "resident": 0, "host": {"numpy": "1.0"}}
MISSING = {"threads": 1, "memory_limit": 0, "resident": 0, "missing": "No module gramsmith"}


def test_workers_of_no_use_are_refused_at_first_and_passed_over_later():
    for fact, kind, words in [
        (OTHER, RuntimeError, "the bits of this process, got b: "),
        (MISSING, ImportError, r"got none on b \(No module gramsmith\)"),
    ]:
        client = Client(a=1, b=1)
        client.facts = {"b": fact}
        with pytest.raises(kind, match=words):
            module._session(client).admit(Dask(client))
    # one that was of use and is so no longer
    for fact, kind in ((OTHER, RuntimeError), (MISSING, ImportError)):
        client = Client(a=1, b=1)
        engine, session = Dask(client), module._session(client)
        session.admit(engine)
        session.facts["b"] = fact
        with pytest.raises(kind, match="b"):
            session.admit(engine)
    client = Client(a=1)
    engine, session = Dask(client), module._session(client)
    assert list(session.admit(engine)) == ["a"]
    assert session.useful() is None
    client.workers |= {"b": 1, "c": 1, "d": 4}
    client.facts = {"b": OTHER, "c": MISSING}
    with pytest.warns(UserWarning, match="joined meanwhile and is passed over") as said:
        assert set(session.admit(engine)) == {"a", "d"}
    assert len(said) == 2
    assert "numpy" in session.passed_over["b"]
    assert session.passed_over["c"] == "No module gramsmith"
    assert session.useful() == ["a", "d"]
    sweep = module._Call(engine, pack(None), module._bands, 1, 1, str)
    sweep._look()
    assert sweep.threads == 5
    session.admit(engine)  # and not asked again
    del client.workers["b"], client.workers["c"]
    session.admit(engine)
    assert session.passed_over == {}
    # without a promise of bits another host is as good
    client = Client(a=1, b=1)
    client.facts = {"b": OTHER}
    assert set(module._session(client).admit(Dask(client, same_bits=False))) == {"a", "b"}


def test_a_worker_that_turns_out_to_be_another_is_left_out():
    client = Client(a=1)
    engine, session = Dask(client, retries=2), module._session(client)
    session.admit(engine)
    sweep = module._Call(engine, pack(None), module._bands, 1, 1, str)
    client.workers["b"], client.facts["b"] = 1, OTHER
    parcel = module._Parcel(range(1), [0])
    with pytest.warns(UserWarning, match="passed over"):
        assert sweep._failed(parcel, module._OtherHost("b has numpy 1.0")) is parcel
    assert (parcel.attempts, sweep.again) == (0, [parcel])  # which was no fault of the parcel
    for attempts in (1, 2):
        sweep._failed(parcel, ImportError("No module named gramsmith"))
        assert parcel.attempts == attempts
    with pytest.raises(RuntimeError, match="failed 3 times: _OtherHost: again"):
        sweep._failed(parcel, module._OtherHost("again"))
    with pytest.raises(RuntimeError, match="failed: ImportError: of others"):
        sweep._failed(module._Parcel(range(1), [0]), ImportError("of others"))


def test_rows_of_a_file_in_the_type_that_is_asked_for(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    np.save(tmp_path / "x.npy", X)
    source = module.as_source(tmp_path / "x.npy")
    for dtype, order in [(None, "C"), (np.float64, "C"), (np.float32, "C"), (np.float64, "F")]:
        found = source.read(dtype, order)
        assert found.dtype == (dtype or np.float64)
        assert found.flags[f"{order}_CONTIGUOUS"]
        assert (found == X).all()
        assert source.holds(found)
    assert not source.holds(X + 1.0)
    assert not source.holds(X[:3])
