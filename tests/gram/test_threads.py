"""The ordered map: order, errors, interrupts, bounded memory; threads shared, forks survived."""

import linecache
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from unittest import mock

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import gramsmith as gs
from gramsmith.gram import threads
from gramsmith.gram.threads import SMALL, count_workers, dense_work, one_blas_thread, ordered_map
from tools.forks import code_of


def blas_threads():
    return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]


def helpers_alive():
    return [t for t in threading.enumerate() if t.name.startswith("gramsmith")]


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_order_is_kept(workers, count, rng):
    pauses = rng.uniform(0, 2e-3, size=count)

    def work(i):
        time.sleep(pauses[i])
        return i * i

    found = list(ordered_map(work, range(count), workers))
    assert found == [i * i for i in range(count)]
    generated = list(ordered_map(work, (i for i in range(count)), workers))
    assert generated == found


def test_first_error_in_order_is_raised_after_the_results_before_it():
    def work(i):
        if i in (7, 9):
            raise RuntimeError(f"item {i}")
        return i

    got = []
    with pytest.raises(RuntimeError, match="item 7"):
        got.extend(ordered_map(work, range(30), 2))
    assert got == list(range(7))


def test_an_error_of_the_caller_waits_for_the_results_before_it():
    begun, failed, helping = threading.Event(), threading.Event(), []

    def work(i):
        if threading.current_thread() is not threading.main_thread():
            helping.append(i)
            begun.set()
            failed.wait(30)
            return i
        if i:
            begun.wait(30)
            if min(helping) < i:  # who is at work on it is slower
                failed.set()
                raise RuntimeError(f"item {i}")
        return i

    got = []
    with pytest.raises(RuntimeError) as caught:
        got.extend(ordered_map(work, range(30), 2))
    assert str(caught.value) == f"item {len(got)}"
    assert got == list(range(len(got)))


@pytest.mark.parametrize("workers", [1, 3])
def test_error_of_the_items_is_raised(workers):
    def items():
        yield from range(5)
        raise KeyError("no more")

    with pytest.raises(KeyError, match="no more"):
        list(ordered_map(lambda i: i, items(), workers))


def test_interrupt_stops_everyone_at_once():
    begun = []

    def work(i):
        begun.append(i)
        time.sleep(1e-3)
        if threading.current_thread() is threading.main_thread() and i > 3:
            raise KeyboardInterrupt
        return i

    with pytest.raises(KeyboardInterrupt):
        list(ordered_map(work, range(10_000), 3))
    assert len(begun) < 100
    assert not helpers_alive()


def test_a_slow_item_does_not_let_results_pile_up():
    waiting = threading.Event()
    taken = []

    def items():
        for i in range(200):
            taken.append(i)
            yield i

    def work(i):
        if i == 0:
            waiting.wait(0.3)
        return np.zeros(10)

    results = ordered_map(work, items(), 2)
    next(results)
    assert len(taken) <= 2 * 4 * 2
    waiting.set()
    results.close()
    assert not helpers_alive()


def test_workers_are_counted_like_joblib():
    assert count_workers(3) == 3
    assert count_workers(-1) == joblib.cpu_count()
    with mock.patch.object(joblib, "cpu_count", return_value=6):
        assert [count_workers(n) for n in (-1, -2, -6, -7, -100, 9)] == [6, 5, 1, 1, 1, 9]
    for wrong in (0, 1.5):
        with pytest.raises(ValueError, match="Expected n_jobs"):
            count_workers(wrong)


# ---- what is left of the cores --------------------------------------------------------------


@pytest.mark.parametrize(
    ("cores", "limit", "left"),
    [(80, 1, 1), (80, 3, 3), (80, 63, 63), (80, 64, 80), (200, 128, 200)],
)
def test_default_is_what_blas_may_use(cores, limit, left, monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: cores)
    known = type("Library", (), {"internal_api": "openblas", "user_api": "blas"})
    monkeypatch.setattr(one_blas_thread, "_original", [(known, limit)])
    assert count_workers(None) == left


def test_default_follows_threadpool_limits(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 8)
    with threadpool_limits(2):
        assert count_workers(None) == 2
        # our own limit is none
        assert list(ordered_map(lambda i: count_workers(None), range(3), 2)) == [2, 2, 2]
        with threadpool_limits(1):
            assert count_workers(None) == 1


IN_WORKERS = """
import multiprocessing
import joblib
from gramsmith.gram.threads import count_workers

def count(_):
    return count_workers(None)

if __name__ == "__main__":
    cores = joblib.cpu_count()
    print(count(0) == cores)
    print(set(joblib.Parallel(n_jobs=cores)(joblib.delayed(count)(i) for i in range(cores))))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(set(pool.map(count, range(2))))
    try:
        from distributed import Client
    except ImportError:
        print({1})
    else:
        with Client(n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
            print({client.submit(count, 0).result(120)})
"""


def test_a_worker_of_a_pool_has_one_thread(monkeypatch):
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)
    assert count_workers(None) == 1


@pytest.mark.slow
def test_workers_of_pools_have_a_core_each(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(IN_WORKERS)
    env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    run = subprocess.run(
        [sys.executable, script], env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert run.stdout.split() == ["True", "{1}", "{1}", "{1}"], run.stderr


def test_shares_of_the_cores(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 4)

    def shares(mine, *others):
        """What the caller gets while other threads have what they asked for."""
        with ThreadPoolExecutor(8) as pool, ExitStack() as stack:
            stop = threading.Event()
            stack.callback(stop.set)
            for wanted in others:
                begun = threading.Event()

                def hold(wanted=wanted, begun=begun):
                    with threads._share_of_cores(wanted):
                        begun.set()
                        stop.wait(60)

                pool.submit(hold)
                begun.wait(60)
            with threads._share_of_cores(mine) as first, threads._share_of_cores(mine) as inner:
                return first, inner

    assert shares(1) == (1, 1)
    assert shares(9) == (9, 1)  # alone: as many as were asked for; within there is nothing left
    assert shares(2) == (2, 2)  # of four cores another one is free
    assert shares(3, 1) == (3, 1)
    assert shares(4, 2) == (2, 1)
    assert shares(4, 4) == (1, 1)
    assert shares(4, 9, 9, 9) == (1, 1)
    assert not threads._at_work


# ---- limits are given back ------------------------------------------------------------------


def test_interrupt_at_any_line_gives_everything_back(blas_of_two):
    """A KeyboardInterrupt is raised at the first line that runs, the second, ... until none is."""
    before, traced = blas_threads(), sys.gettrace()

    def sweep():
        for _ in ordered_map(lambda i: i, range(3), 2):
            pass
        with dense_work(10):
            pass

    sweep()
    k, finished = 0, False
    while not finished:
        k += 1
        left, last = k, None

        def trace(frame, event, argument):
            nonlocal left, last
            if frame.f_code.co_filename != threads.__file__:
                return None
            # Signals come at calls and loops: not at these, which the end of a block has, too.
            line = linecache.getline(threads.__file__, frame.f_lineno).lstrip()
            counts = event == "line" and not line.startswith(("with ", "try:"))
            # Nor at a comprehension that goes round: raised there by a trace function, and by
            # nothing else, Python 3.12 and 3.13 leave the `with` around it without its end.
            here = (id(frame), frame.f_lineno)
            left -= counts and here != last
            last = here
            if not left:
                raise KeyboardInterrupt
            return trace

        try:
            sys.settrace(trace)
            sweep()
            finished = True
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(traced)  # whoever counts lines goes on
        assert blas_threads() == before, k
        assert not helpers_alive(), k
        assert not threads._at_work, k
    assert k > 50


def test_limits_are_given_back_when_a_sweep_is_left_early(blas_of_two):
    before = blas_threads()
    results = ordered_map(lambda i: i, range(100), 2)
    next(results)
    assert set(blas_threads()) == {1}
    results.close()
    assert blas_threads() == before


def test_limits_are_given_back_after_sweeps_within_sweeps_in_threads(blas_of_two):
    before = blas_threads()

    def work(i):
        if i == 5:
            raise RuntimeError("no")
        return list(ordered_map(lambda j: blas_threads(), range(3), 2))

    def run(_):
        with pytest.raises(RuntimeError, match="no"):
            list(ordered_map(work, range(9), 2))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(8)))
    assert blas_threads() == before


def test_a_limit_of_another_thread_is_no_obstacle(blas_of_two):
    """The thread that set the limit of two is not the one that sweeps."""
    with ThreadPoolExecutor(1) as pool:
        inside = pool.submit(lambda: list(ordered_map(lambda i: blas_threads(), range(2), 1)))
        assert {count for counts in inside.result() for count in counts} == {1}
    assert set(blas_threads()) == {2}


def test_small_solves_have_one_blas_thread(blas_of_two):
    for n, expected in ((SMALL, 1), (SMALL + 1, 2)):
        with dense_work(n):
            assert set(blas_threads()) == {expected}
        assert set(blas_threads()) == {2}


# ---- forks ----------------------------------------------------------------------------------

forks = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]


def small_sweep():
    assert list(ordered_map(lambda i: i * i, range(20), 2)) == [i * i for i in range(20)]


@pytest.mark.parametrize("name", ["limit", "cores", "new threads"])
@pytest.mark.usefixtures("blas_of_two")
class TestFork:
    pytestmark = forks

    def test_no_lock_is_held_in_the_child(self, name):
        held, stop = threading.Event(), threading.Event()
        locks = {
            "limit": one_blas_thread.lock,
            "cores": threads._counting,
            "new threads": threads._TileLock.adding,
        }

        def hold():
            with locks[name]:
                held.set()
                stop.wait(0.3)

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait()
        assert code_of(small_sweep) == 0
        stop.set()
        holder.join()
        small_sweep()


def forks_during_sweeps(way):
    """Return the exit codes of children that sweep, forked while threads of the parent do."""
    X = np.random.default_rng(0).normal(size=(1500, 5))
    y = np.arange(1500) % 2
    measure = lambda n: gs.cka(gs.Gram(gs.Gaussian(1.0), X[:n], n_jobs=4), y[:n])  # noqa: E731
    expected, stop = measure(1200), threading.Event()

    def sweep():
        while not stop.is_set():
            measure(1500)

    def child():
        assert measure(1200) == expected

    def code():
        if way == "os":
            return code_of(child)
        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join(60)
        process.kill()
        return process.exitcode

    sweeper = threading.Thread(target=sweep)
    sweeper.start()
    try:
        return [code() for _ in range(100)]
    finally:
        stop.set()
        sweeper.join()


@pytest.mark.usefixtures("blas_of_two")
class TestForkDuringASweep:
    pytestmark = forks

    def test_the_child_has_all_blas_threads_and_can_sweep(self):
        def child():
            assert set(blas_threads()) == {2}
            small_sweep()
            assert set(blas_threads()) == {2}

        results = ordered_map(lambda i: code_of(child), range(3), 2)
        assert list(results) == [0, 0, 0]
        for i in ordered_map(lambda i: i, range(3), 2):
            assert code_of(child) == 0, i
        assert set(blas_threads()) == {2}

    def test_it_waits_for_tiles_in_work(self):
        inside, stop, seen = [], threading.Event(), []

        def work(i):
            inside.append(i)
            time.sleep(2e-3)
            inside.remove(i)

        def sweep():
            while not stop.is_set():
                list(ordered_map(work, range(20), 3))

        def child():
            assert not inside

        sweeper = threading.Thread(target=sweep)
        sweeper.start()
        try:
            for _ in range(10):
                time.sleep(3e-3)
                seen.append(code_of(child))
        finally:
            stop.set()
            sweeper.join()
        assert seen == [0] * 10

    @pytest.mark.slow
    @pytest.mark.parametrize("way", ["os", "multiprocessing"])
    def test_no_child_hangs(self, way):
        # in a process of its own: other libraries' threads, left by other tests, hold locks too
        tests = os.path.dirname(os.path.dirname(__file__))
        script = (
            f"import sys; sys.path.insert(0, {tests!r})\n"
            "from gram.test_threads import forks_during_sweeps\n"
            f"print(*forks_during_sweeps({way!r}))"
        )
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        assert done.stdout.split() == ["0"] * 100, done.stderr
