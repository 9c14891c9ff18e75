"""Writers that are killed, or whose disk is full: the old file stays, or the new one is whole."""

import os
import random
import resource
import signal
import time

import numpy as np
import pytest

import gramsmith as gs

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = X[:, 0] > 0


@pytest.fixture(scope="module")
def ranking():
    return gs.rank_kernels(X, Y, ["rbf", "linear"])


def distance(a, b):
    """Stand for a function of two samples that takes long."""
    return float(np.exp(-np.sum((a - b) ** 2)))


# a writer, and a reader that fails if it finds half a file
WRITERS = {
    "model": (lambda r, path: gs.save_model(r.best_estimator, path), gs.load_model),
    "graph": (lambda r, path: gs.to_onnx(r.best_estimator, path=path), onnx.load),
    "page": (
        lambda r, path: r.write_html(path),
        lambda path: path.read_text(encoding="utf-8").index("</html>"),
    ),
    "pairs": (
        lambda r, path: gs.as_kernel(distance, cache=path)(X),
        lambda path: gs.as_kernel(distance, cache=path)(X[:9]),
    ),
    "journal": (
        lambda r, path: gs.rank_kernels(X, Y, ["rbf"], resume=path),
        lambda path: gs.rank_kernels(X, Y, ["rbf"], resume=path),
    ),
}


def forked(work):
    """Return the process that does `work` in a copy of this one, and ends with 0, 3 or 4."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except (OSError, gs.JournalError):
        os._exit(3)  # said in the words of the system, or of the journal
    except BaseException:
        os._exit(4)
    os._exit(0)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_a_killed_writer(name, ranking, tmp_path):
    write, read = WRITERS[name]
    path = tmp_path / "file"
    begun = time.perf_counter()
    write(ranking, path)
    seconds = time.perf_counter() - begun
    draw = random.Random(1)
    killed = 0
    for _ in range(12):
        child = forked(lambda: write(ranking, path))
        time.sleep(draw.uniform(0.0, seconds))
        os.kill(child, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        read(path)
    assert killed


@pytest.mark.slow
@pytest.mark.parametrize("before", [False, True], ids=["new", "replaced"])
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk(name, before, ranking, tmp_path):
    write, read = WRITERS[name]
    path = tmp_path / "file"
    if before:
        write(ranking, path)
    left = {file.name for file in tmp_path.iterdir()}

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))  # less than any of the files
        if before and name in ("pairs", "journal"):
            path.unlink()  # what is finished is not written again
        write(ranking, path)

    code = os.waitstatus_to_exitcode(os.waitpid(forked(limited), 0)[1])
    assert code == 3, "a full disk is said"
    if name in ("pairs", "journal"):
        for file in tmp_path.iterdir():
            file.unlink()
        write(ranking, path)
    else:
        assert {file.name for file in tmp_path.iterdir()} == left, "nothing half-written stays"
    if before:
        read(path)
