"""The ordered map: order, errors, interrupts, bounded memory."""

import threading
import time

import numpy as np
import pytest

from gramsmith.gram.threads import count_workers, ordered_map


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


def test_several_threads_work_and_the_caller_is_one_of_them():
    seen = set()

    def work(i):
        seen.add(threading.get_ident())
        time.sleep(1e-3)

    list(ordered_map(work, range(40), 3))
    assert len(seen) == 3
    assert threading.get_ident() in seen


def test_first_error_in_order_is_raised_after_the_results_before_it():
    def work(i):
        if i in (7, 9):
            raise RuntimeError(f"item {i}")
        return i

    got = []
    with pytest.raises(RuntimeError, match="item 7"):
        got.extend(ordered_map(work, range(30), 2))
    assert got == list(range(7))


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
    assert not [t for t in threading.enumerate() if t.name.startswith("gramsmith")]


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
    assert not [t for t in threading.enumerate() if t.name.startswith("gramsmith")]


def test_workers_are_counted_like_joblib():
    assert count_workers(3) == 3
    assert count_workers(None) == count_workers(-1) >= 1
    for wrong in (0, 1.5):
        with pytest.raises(ValueError, match="Expected n_jobs"):
            count_workers(wrong)
