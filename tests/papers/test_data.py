"""The data folder: what is read, and what is said of missing, damaged and foreign files."""

import gzip
import io
import shutil
import zipfile

import numpy as np
import pytest

from papers.data import LIMIT, SOURCES, DataError, DataFolder, read_content


@pytest.mark.parametrize("name", SOURCES)
def test_every_set_loads(data_dir, name):
    data = DataFolder(data_dir).load(name)
    rows, features = SOURCES[name].shape
    assert data.X.shape == (rows, features)
    assert data.y.shape == (rows,)
    assert np.isfinite(data.X).all()
    if data.train is not None:
        X, y, X_test, y_test = data.split(0)
        assert len(X) + len(X_test) == rows == len(y) + len(y_test)


def test_med_has_documents_and_query_20(data_dir):
    data = DataFolder(data_dir).load("med")
    assert len(data.texts) == 1033
    assert (data.y > 0).sum() == 39


@pytest.mark.parametrize("name", SOURCES)
def test_missing_set_is_named_with_its_publisher_and_its_place(tmp_path, name):
    folder = DataFolder(tmp_path)
    with pytest.raises(DataError, match=f"Expected the data set {name} in") as caught:
        folder.load(name)
    assert SOURCES[name].published in str(caught.value)
    assert next(iter(SOURCES[name].files)).split("/")[-1].split(".")[0] in str(caught.value)


def test_without_a_folder_the_message_says_how_to_name_one(monkeypatch):
    monkeypatch.delenv("GRAMSMITH_DATA", raising=False)
    with pytest.raises(DataError, match="GRAMSMITH_DATA or --data DIR"):
        DataFolder().load("usps")


def test_the_environment_names_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAMSMITH_DATA", str(tmp_path))
    assert DataFolder().path == tmp_path


def test_unknown_set_offers_the_known(tmp_path):
    with pytest.raises(DataError, match="ringnorm"):
        DataFolder(tmp_path).load("ringnrom")


def place(tmp_path, name, content):
    path = tmp_path / next(iter(SOURCES[name].files))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def npz(**arrays):
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def hollow_npy(shape):
    """A header that promises an array of that shape, and no array."""
    stream = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue()


def archive(name, content):
    """A zip of one file, without the time: workers must collect the same tests."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        packed.writestr(zipfile.ZipInfo(name), content)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("usps", b"", "damaged"),
        ("usps", b"no zip at all", "damaged"),
        ("usps", npz(X=np.zeros((3, 4)), y=np.zeros(3)), "SHA-256"),
        ("usps", npz(X=np.array([{}], dtype=object)), "damaged"),
        ("usps", archive("X.npy", hollow_npy((2**30, 2**20))), "damaged"),
        ("usps", archive("X.npy", b"\x93NUMPY\x09\x00"), "damaged"),
        ("heart", b"not gzip", "damaged"),
        ("heart", gzip.compress(b"+1 1:0.5\n", mtime=0), "SHA-256"),
        ("heart", gzip.compress(b"+1 1:0.5\n" * 99, mtime=0)[:-20], "damaged"),
        ("heart", gzip.compress(b"\0" * (LIMIT + 9), mtime=0), "at most"),
        ("auto-mpg", gzip.compress(b"mpg\n1\n", mtime=0), "SHA-256"),
    ],
)
def test_damaged_files_are_refused(tmp_path, name, content, message):
    place(tmp_path, name, content)
    with pytest.raises(DataError, match=message):
        DataFolder(tmp_path).load(name)


def test_one_flipped_bit_is_noticed(data_dir, tmp_path):
    path = place(tmp_path, "heart", b"")
    text = bytearray(gzip.decompress((data_dir / "heart/heart_scale.svm.gz").read_bytes()))
    text[100] ^= 1
    path.write_bytes(gzip.compress(bytes(text)))
    with pytest.raises(DataError, match="SHA-256"):
        DataFolder(tmp_path).load("heart")


def test_packing_does_not_matter(data_dir, tmp_path):
    source = data_dir / "heart/heart_scale.svm.gz"
    path = place(tmp_path, "heart", gzip.compress(gzip.decompress(source.read_bytes()), 1))
    assert path.read_bytes() != source.read_bytes()
    assert DataFolder(tmp_path).load("heart").X.shape == (270, 13)
    with np.load(data_dir / "thyroid/thyroid.npz") as stored:
        arrays = {key: np.asfortranarray(stored[key]) for key in ("X", "y", "train", "test")}
    place(tmp_path, "thyroid", npz(**arrays))
    again = DataFolder(tmp_path).load("thyroid")
    np.testing.assert_array_equal(again.X, arrays["X"])


def test_line_ends_do_not_matter(tmp_path):
    for k, text in enumerate((b"a\nb\n", b"a\r\nb\r\n")):
        (tmp_path / f"{k}.txt").write_bytes(text)
    assert read_content(tmp_path / "0.txt")[1] == read_content(tmp_path / "1.txt")[1]


def test_a_set_without_splits_says_so(data_dir):
    with pytest.raises(DataError, match="splits"):
        DataFolder(data_dir).load("heart").split(0)


def test_a_huge_file_is_not_even_opened(tmp_path):
    path = place(tmp_path, "heart", b"")
    with path.open("wb") as stream:
        stream.truncate(LIMIT + 1)
    with pytest.raises(DataError, match="at most"):
        DataFolder(tmp_path).load("heart")
    shutil.rmtree(path.parent)
