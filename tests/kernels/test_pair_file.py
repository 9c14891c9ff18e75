"""Values of functions of pairs in a file: once, in whichever process and run."""

import os
import pickle
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone

import gramsmith as gs

SCRIPT = """
import sys
import time
import numpy as np
import gramsmith as gs
calls, pause = 0, float(sys.argv[4])
class Overlap:
    def __init__(self, angle):
        self.angle = angle
    def __call__(self, x, z):
        global calls
        calls += 1
        time.sleep(pause)
        return float(np.cos(self.angle * (x - z)).prod())
X = np.linspace(0.0, 1.0, 60).reshape(30, 2)[:: int(sys.argv[3])]
K = gs.as_kernel(Overlap(float(sys.argv[2])), cache=sys.argv[1])(X)
print(calls, K.sum())
"""


class Product:
    """A function with a parameter that counts how often it is called."""

    count = 0

    def __init__(self, p):
        self.p = p

    def __call__(self, x, z):
        type(self).count += 1
        return float(x @ z) ** self.p


@pytest.fixture
def calls():
    Product.count = 0
    return lambda: Product.count


def start(path, angle, order=1, pause=0, script=SCRIPT):
    return subprocess.Popen(
        [sys.executable, "-c", script, str(path), str(angle), str(order), str(pause)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_every_pair_once(tmp_path, calls, rng):
    X, path = rng.normal(size=(12, 3)), tmp_path / "pairs"
    K = gs.as_kernel(Product(2), cache=path)(X)
    assert_allclose(K, (X @ X.T) ** 2)
    assert calls() == 12 * 13 // 2
    again = gs.as_kernel(Product(2), cache=path)
    assert_array_equal(again(X[::-1]), K[::-1, ::-1])
    assert_array_equal(clone(pickle.loads(pickle.dumps(again)))(X[:5], X), K[:5])
    assert calls() == 78
    assert_allclose(gs.as_kernel(Product(3), cache=path)(X), (X @ X.T) ** 3)
    assert calls() == 2 * 78
    gs.as_kernel(Product(2), cache=path)(np.vstack([X, X[:1] + 1.0]))
    assert calls() == 2 * 78 + 13


def test_keys_hold_what_a_function_closes_over(tmp_path, rng):
    X = rng.normal(size=(4, 2))

    def power(p):
        return lambda x, z: float(x @ z) ** p

    def plain(x, z, p):
        return float(x @ z) ** p

    for make in (power, lambda p: partial(plain, p=p)):
        for p in (2, 3):
            kernel = gs.as_kernel(make(p), cache=tmp_path / "pairs")
            assert_allclose(kernel(X), (X @ X.T) ** p)


def test_other_processes_find_the_values(tmp_path):
    results = [start(tmp_path / "pairs", angle).communicate()[0].split() for angle in (1, 1, 2)]
    assert [int(count) for count, _ in results] == [465, 0, 465]
    assert results[0][1] == results[1][1] != results[2][1]


def test_two_writers(tmp_path):
    both = [start(tmp_path / "pairs", 1.0, order) for order in (1, -1)]
    outputs = [process.communicate()[0].split() for process in both]
    assert all(process.returncode == 0 for process in both)
    assert_allclose(float(outputs[0][1]), float(outputs[1][1]), rtol=1e-12)
    assert count_pairs(tmp_path / "pairs") == 465


def test_a_killed_process_leaves_what_it_computed(tmp_path):
    path = tmp_path / "pairs"
    process = start(path, 1.0, pause=0.02)
    for _ in range(600):  # half a minute for a loaded machine
        if count_pairs(path) > 10:
            break
        time.sleep(0.05)
    process.kill()
    process.communicate()
    known = count_pairs(path)
    assert 10 < known < 465
    output = start(path, 1.0).communicate()[0].split()
    assert 465 - known >= int(output[0]) > 0
    assert count_pairs(path) == 465


def count_pairs(path):
    try:
        with closing(sqlite3.connect(path, 60)) as db:
            return db.execute("SELECT count(*) FROM pairs").fetchone()[0]
    except sqlite3.OperationalError:  # no table yet
        return 0


def test_threads(tmp_path, calls, rng):
    X = rng.normal(size=(40, 3))
    kernel = gs.as_kernel(Product(2), cache=tmp_path / "pairs")
    embedded = kernel.embed(X)
    parts = [(X[i : i + 10], embedded[1][i : i + 10]) for i in range(0, 40, 10)]
    with ThreadPoolExecutor(4) as pool:
        tiles = list(pool.map(lambda part: kernel.tile(part, embedded), parts))
    assert_allclose(np.vstack(tiles), (X @ X.T) ** 2)
    assert count_pairs(tmp_path / "pairs") == 820 <= calls()
    fresh = gs.as_kernel(Product(2), cache=tmp_path / "pairs")
    before = calls()
    assert_array_equal(fresh(X), np.vstack(tiles))
    assert calls() == before


def test_what_is_known_stays_when_the_function_fails(tmp_path):
    with pytest.raises(RuntimeError, match="no answer"):
        gs.as_kernel(fails, cache=tmp_path / "pairs")(["a", "bb", "ccc"])
    assert count_pairs(tmp_path / "pairs") == 4


def fails(x, z):
    if (x, z) == ("bb", "ccc"):
        raise RuntimeError("no answer")
    return float(len(x) * len(z))


def test_errors_of_a_function_that_reads_a_database_are_its_own(tmp_path):
    def read(x, z):
        raise sqlite3.OperationalError("no such table: mine")

    with pytest.raises(sqlite3.OperationalError, match="no such table: mine"):
        gs.as_kernel(read, cache=tmp_path / "pairs")(["a"])


@pytest.mark.parametrize("kind", ["closure", "attribute", "between"])
def test_functions_that_change_are_refused(kind, tmp_path):
    seen, function = [], Product(2)
    function.calls = 0

    def closure(x, z):
        seen.append(x)
        return 1.0

    def attribute(x, z):
        function.calls += 1
        return 1.0

    changing = {"closure": closure, "attribute": attribute, "between": function}[kind]
    kernel = gs.as_kernel(changing, cache=tmp_path / "pairs")
    function.p = 3 if kind == "between" else 2
    with pytest.raises(ValueError, match=r"stays the same.*global variables.*get_params"):
        kernel(["a", "b"])
    assert count_pairs(tmp_path / "pairs") == 0


def test_objects_are_known_by_their_parameters(tmp_path):
    for p in (2.0, 2.0, 3.0):
        Counted.calls = 0
        kernel = gs.as_kernel(Counted(p), cache=tmp_path / "pairs")
        assert_array_equal(kernel(["a", "bb"]), [[1.0, 2.0**p], [2.0**p, 4.0**p]])
        assert Counted.calls == (0 if p == 2.0 and count_pairs(tmp_path / "pairs") == 6 else 3)
        slots = gs.as_kernel(Slots(p), cache=tmp_path / "pairs")
        assert_array_equal(slots(["a", "bb"]), [[p, 2 * p], [2 * p, 4 * p]])


class Counted(BaseEstimator):
    """An object with parameters and a state that is none."""

    calls = 0

    def __init__(self, p):
        self.p = p

    def __call__(self, x, z):
        self.last = x, z
        type(self).calls += 1
        return float(len(x) * len(z)) ** self.p


class Slots:
    """An object without a dictionary of attributes."""

    __slots__ = ("p",)

    def __init__(self, p):
        self.p = p

    def __call__(self, x, z):
        return float(len(x) * len(z) * self.p)


def test_numbers_that_are_none_are_not_kept(tmp_path, monkeypatch):
    for value in (np.nan, np.inf, 1.0, 2.0):
        monkeypatch.setattr(Answer, "value", value)
        kernel = gs.as_kernel(Answer(), cache=tmp_path / "pairs")
        if np.isfinite(value):
            assert_array_equal(kernel(["a"]), [[1.0]])
        else:
            with pytest.raises(ValueError, match="Expected finite kernel values"):
                kernel(["a"])


class Answer:
    """A function whose answer is no parameter of it: a machine may know better the next day."""

    value = 0.0

    def __call__(self, x, z):
        return self.value


@pytest.mark.skipif(os.name != "posix", reason="needs a limit on the size of files")
def test_full_disk(tmp_path):
    path = tmp_path / "pairs"
    limit = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (12288, 12288))"
    )
    process = start(path, 1.0, script=SCRIPT.replace("import sys", limit))
    errors = process.communicate()[1]
    assert process.returncode == 1
    assert "Expected a cache that can be read and written" in errors
    assert "What was written stays" in errors
    assert start(path, 1.0).communicate()[0].split()[0] == "465"
    assert count_pairs(path) == 465


@pytest.mark.parametrize("kind", ["text", "database", "cut"])
def test_other_and_damaged_files_are_refused(kind, tmp_path, rng):
    path, X = tmp_path / "pairs", rng.normal(size=(60, 2))
    if kind == "text":
        path.write_text("name,value\n" * 200)
    elif kind == "database":
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE mine (a)")
        db.close()
    else:
        gs.as_kernel(Product(2), cache=path)(X)
        whole = path.read_bytes()
        path.write_bytes(whole[:4096] + b"\1" * (len(whole) - 4096))
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"another kind of file or damaged.*Name another file"):
        gs.as_kernel(Product(2), cache=path)(X)
    assert path.read_bytes() == before


def test_what_cannot_be_kept_is_refused(tmp_path):
    path = tmp_path / "pairs"
    for kernel in ("rbf", gs.Gaussian(), None):
        with pytest.raises(TypeError, match="Expected a function of two samples beside cache="):
            gs.as_kernel(kernel, cache=path)
    with pytest.raises(TypeError, match="Expected the path of a file"):
        gs.as_kernel(Product(2), cache=3)
    with pytest.raises(ValueError, match="Make it first"):
        gs.as_kernel(Product(2), cache=tmp_path / "none" / "pairs")
    with pytest.raises(TypeError, match="another process could not find again"):
        gs.as_kernel(lambda x, z: 1.0, cache=path)([object(), object()])
    with pytest.raises(ValueError, match="Expected one number"):
        gs.as_kernel(lambda x, z: np.ones(2), cache=path)(["a", "b"])
