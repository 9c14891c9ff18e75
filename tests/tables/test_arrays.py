"""Matrix files: svmlight, npy, npz."""

import io
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from gramsmith.tables.arrays import read_npy, read_npz, read_svmlight
from gramsmith.tables.streams import DataError, Limits

X = np.arange(12.0).reshape(4, 3)
y = np.array([0, 1, 0, 1])


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_svmlight_dense_and_sparse(tmp_path):
    rows = "".join(
        f"{t} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(r)) + "\n"
        for t, r in zip(y, X, strict=True)
    )
    samples, labels, _ = read_svmlight(write(tmp_path / "a.svm", rows), Limits())
    assert isinstance(samples, np.ndarray)
    assert samples.tolist() == X.tolist()
    assert labels.tolist() == y.tolist()
    path = write(tmp_path / "b.svm", "1 9000:2\n-1 5:1 # note\n")
    samples, _, base = read_svmlight(path, Limits())
    assert base == 1
    assert sp.issparse(samples)
    assert samples.shape == (2, 9000)


def test_the_first_index_of_training_is_that_of_new_rows(tmp_path):
    _, _, base = read_svmlight(write(tmp_path / "a.svm", "1 0:1 1:2 2:3\n2 1:1\n"), Limits())
    new = write(tmp_path / "b.svm", "1 1:2 2:3\n1 1:4 2:5\n")  # no feature 0
    assert base == 0
    assert read_svmlight(new, Limits(), base)[0].tolist() == [[0, 2, 3], [0, 4, 5]]
    with pytest.raises(DataError, match="indices from 1 on"):
        read_svmlight(tmp_path / "a.svm", Limits(), 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected rows"),
        ("1 1:0.5\n1 x:2\n", "line 2: expected 'index:value'"),
        ("1 1:0.5\n1 1:\n", "line 2: expected a number, got ''"),
        ("1 1:0.5\n\n# none\n1 :7\n", "line 4: expected 'index:value'.*got ':7'"),
        ("1 1:0.5\n1 7\n", "line 2: expected 'index:value'.*got '7'"),
        ("1 1:0.5\n1 2:1 1:2\n", "line 2.*rising"),
        ("1 1:abc\n", "line 1: expected a number, got 'abc'"),
        ("yes 1:1\n", "line 1: expected a number, got 'yes'"),
        ("1 1:1\n1 2:inf\n", "row 2, column 2: expected a finite number"),
        ("1 1:1\n1 2:1e400\n", "row 2, column 2"),
        ("inf 1:1\n0 1:1\n", "row 1: expected a finite label"),
        ("1 1:1 2000000:1\n", "at most 10,000 columns"),
    ],
)
def test_bad_svmlight(tmp_path, text, words):
    with pytest.raises(DataError, match=words):
        read_svmlight(write(tmp_path / "a.svm", text), Limits())


def test_numbers_may_be_missing(tmp_path):
    samples, labels, _ = read_svmlight(
        write(tmp_path / "a.svm", "nan 1:1 2:nan\n1 1:2\n"), Limits()
    )
    assert np.isnan(samples).tolist() == [[False, True], [False, False]]
    assert np.isnan(labels).tolist() == [True, False]
    gappy = np.where(X > 4, X, np.nan)
    np.savez(tmp_path / "a.npz", X=gappy, y=gappy[:, 0])
    samples, labels = read_npz(tmp_path / "a.npz", "y", Limits())
    np.testing.assert_array_equal(samples, gappy)
    np.testing.assert_array_equal(labels, gappy[:, 0])


def test_npz(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X=X, y=np.array(["a", "b", "a", "b"]), z=y)
    samples, labels = read_npz(tmp_path / "a.npz", "y", Limits())
    assert samples.tobytes() == X.tobytes()
    assert labels.tolist() == ["a", "b", "a", "b"]
    assert read_npz(tmp_path / "a.npz", "z", Limits())[1].tolist() == y.tolist()
    assert read_npz(tmp_path / "a.npz", "none", Limits())[1] is None


def test_the_only_matrix_of_an_archive_needs_no_name(tmp_path):
    np.savez(tmp_path / "a.npz", data=X, y=y[:, None], weights=np.ones(4))
    samples, labels = read_npz(tmp_path / "a.npz", "y", Limits())
    assert samples.tobytes() == X.tobytes()
    assert labels.tolist() == y.tolist()


def test_npy_orders_types_and_targets(tmp_path):
    for i, array in enumerate((X, np.asfortranarray(X), X.astype(">f4"), X.astype(np.uint8))):
        np.save(tmp_path / f"{i}.npy", array)
        assert read_npy(tmp_path / f"{i}.npy", None, Limits())[0].tolist() == X.tolist()
    samples, labels = read_npy(tmp_path / "0.npy", "-1", Limits())
    assert labels.tolist() == X[:, 2].tolist()
    assert samples.tolist() == X[:, :2].tolist()
    for wrong in ("7", "label"):
        with pytest.raises(DataError, match="column number below 3"):
            read_npy(tmp_path / "0.npy", wrong, Limits())


def test_a_lying_header_takes_no_memory(tmp_path):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"shape": (2**33,), "fortran_order": False, "descr": "<f4"}
    )
    with pytest.raises(DataError, match="34,359,738,368 bytes"):
        read_npy(write(tmp_path / "a.npy", stream.getvalue()), None, Limits())


def test_objects_need_pickle_and_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="pickle"):
        read_npy(tmp_path / "a.npy", None, Limits())


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((0, 3)), "empty array"),
        (np.zeros(3), "expected a matrix"),
        (np.array([[1.0, np.inf], [np.inf, 1.0]]), r"row 1, column 2.*inf \(2 such"),
        (np.array([[1j]]), "complex"),
        (np.array([["a"]]), "expected a matrix of numbers"),
    ],
)
def test_bad_matrices(tmp_path, array, words):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(DataError, match=words):
        read_npy(tmp_path / "a.npy", None, Limits())


def test_bad_archives(tmp_path):
    with pytest.raises(DataError, match="expected an npz file"):
        read_npz(write(tmp_path / "a.npz", b"no zip"), "y", Limits())
    np.savez(tmp_path / "b.npz", A=X, B=X, y=y)
    with pytest.raises(DataError, match=r"got 'A' of shape \(4, 3\), 'B' of shape .*'y' of"):
        read_npz(tmp_path / "b.npz", "y", Limits())
    np.savez(tmp_path / "c.npz", y=y)
    with pytest.raises(DataError, match="one matrix beside 'y'"):
        read_npz(tmp_path / "c.npz", "y", Limits())
    np.savez(tmp_path / "d.npz", X=X, y=X)
    with pytest.raises(DataError, match="one label per row"):
        read_npz(tmp_path / "d.npz", "y", Limits())


def test_zip_bombs_stop_at_the_cap(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", bytes(20_000_000))
    assert (tmp_path / "a.npz").stat().st_size < 50_000
    with pytest.raises(DataError, match="at most 1,000,000 bytes"):
        read_npz(tmp_path / "a.npz", "y", Limits(bytes=1_000_000))
