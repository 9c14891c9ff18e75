"""Capped streams."""

import gzip
import hashlib

import pytest

from gramsmith.tables.streams import DataError, Limits, digest, open_capped, text_lines


def test_plain_and_gzipped_bytes(tmp_path):
    for name, data in (("a", b"x\ny\n"), ("b", gzip.compress(b"x\ny\n"))):
        (tmp_path / name).write_bytes(data)
        with open_capped(tmp_path / name, Limits()) as stream:
            assert stream.read() == b"x\ny\n"


def test_the_cap_counts_what_comes_out(tmp_path):
    bomb = gzip.compress(bytes(50_000_000))
    assert len(bomb) < 60_000
    (tmp_path / "a").write_bytes(bomb)
    with open_capped(tmp_path / "a", Limits(bytes=2**20)) as stream:
        with pytest.raises(DataError, match="1,048,576 bytes"):
            stream.read()
    (tmp_path / "b").write_bytes(bytes(100))
    with open_capped(tmp_path / "b", Limits(bytes=100)) as stream:
        assert len(stream.read()) == 100


def test_lines(tmp_path):
    (tmp_path / "a").write_bytes("\ufeffα\r\nβ".encode())
    with open_capped(tmp_path / "a", Limits()) as stream:
        assert list(text_lines(stream, "a")) == ["α\r\n", "β"]


def test_digest(tmp_path):
    (tmp_path / "a").write_bytes(b"abc" * 10**6)
    assert digest(tmp_path / "a") == hashlib.sha256(b"abc" * 10**6).hexdigest()


def test_shapes():
    with pytest.raises(DataError, match=r"Limits.rows"):
        Limits(rows=5).check_shape(6, 1, "f")
    with pytest.raises(DataError, match=r"Limits.columns"):
        Limits(columns=5).check_shape(1, 6, "f")
    Limits(rows=5, columns=5).check_shape(5, 5, "f")
