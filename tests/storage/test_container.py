"""The container: atomic, exact, and readable by others."""

import json
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import gramsmith as gs
from gramsmith import files
from gramsmith.storage import ModelFormatError, container
from gramsmith.storage.container import (
    FORMAT,
    HEADER_LIMIT,
    OLDEST,
    VERSION,
    manifest_of,
    parse_json,
    read_container,
    read_header,
    write_container,
)

MANIFEST = {
    "format": FORMAT,
    "format_version": VERSION,
    "gramsmith_version": "0",
    "text": "λ \ud800",
}
TENSORS = {
    "c": np.arange(6.0).reshape(2, 3),
    "f": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "s": np.arange(20)[::3],
    "t": np.arange(6.0).reshape(2, 3).T,
    "b": np.array([True, False]),
    "0": np.array(4.5),
    "e": np.zeros((0, 5), dtype=np.float32),
}


def test_arrays_of_every_order_return(tmp_path):
    path = tmp_path / "m"
    write_container(path, TENSORS, MANIFEST)
    manifest, tensors = read_container(path)
    assert manifest == MANIFEST
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        assert tensors[name].tolist() == tensor.tolist()
    others = safetensors.numpy.load_file(path)
    assert {name: array.tolist() for name, array in others.items()} == {
        name: array.tolist() for name, array in TENSORS.items()
    }


def test_the_header_alone(tmp_path):
    write_container(tmp_path / "m", TENSORS, MANIFEST)
    manifest, tensors = read_header(tmp_path / "m")
    assert manifest == MANIFEST
    assert tensors["f"] == ("F64", (2, 3))
    assert tensors["b"] == ("BOOL", (2,))


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m"
    path.write_text("the old model")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_container(path, TENSORS, MANIFEST)
    assert path.read_text() == "the old model"
    assert os.listdir(tmp_path) == ["m"]


def test_absent_folders_and_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_container(tmp_path / "none" / "m", TENSORS, MANIFEST)
    for read in (read_container, read_header):
        with pytest.raises(ModelFormatError, match="nothing at"):
            read(tmp_path / "none")
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "none")
        with pytest.raises(ModelFormatError, match="can be read"):
            read(tmp_path)


@pytest.mark.parametrize("read", [read_container, read_header])
def test_devices_and_pipes_are_refused_unopened(read, tmp_path):
    # /dev/zero has no end, and opening a pipe waits for a writer
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe"):
        with pytest.raises(ModelFormatError, match="got no file"):
            read(path)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_only_a_file_is_replaced(make, tmp_path):
    # a temporary file that takes the place of /dev/null takes it from every program
    make(tmp_path / "there")
    before = (tmp_path / "there").stat()
    with pytest.raises(ValueError, match=r"Expected the path of a file, got .*there, which is"):
        write_container(tmp_path / "there", TENSORS, MANIFEST)
    assert (tmp_path / "there").stat().st_ino == before.st_ino
    assert list(tmp_path.iterdir()) == [tmp_path / "there"]


def test_text_past_the_limit_is_refused_before_writing(tmp_path):
    with pytest.raises(ValueError, match="text samples"):
        write_container(tmp_path / "m", {}, {**MANIFEST, "text": "x" * HEADER_LIMIT})
    assert not list(tmp_path.iterdir())


def test_other_safetensors_files_are_named_as_such(tmp_path):
    safetensors.numpy.save_file({"a": np.zeros(2)}, tmp_path / "m")
    with pytest.raises(ModelFormatError, match="without its manifest"):
        read_container(tmp_path / "m")


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": 1, "a": 2}', "{", "[" * 10**5, "9" * 5000])
def test_json_that_is_not_strict(text):
    with pytest.raises(ModelFormatError):
        parse_json(text)


def test_many_keys_are_as_good_as_few():
    pairs = {str(i): i for i in range(1000)}
    assert parse_json(json.dumps(pairs)) == pairs


def test_a_link_in_the_way_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr(files.secrets, "token_hex", lambda size: "0" * size)
    (tmp_path / "secret").write_text("of somebody else")
    (tmp_path / ".m.000000.tmp").symlink_to(tmp_path / "secret")
    with pytest.raises(FileExistsError):
        write_container(tmp_path / "m", TENSORS, MANIFEST)
    assert (tmp_path / "secret").read_text() == "of somebody else"
    assert not (tmp_path / "m").exists()


def test_a_new_file_has_the_rights_of_any_other(tmp_path):
    write_container(tmp_path / "m", TENSORS, MANIFEST)
    (tmp_path / "other").write_text("")
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_the_limit_of_the_header(tmp_path, sizes):
    text = json.dumps(MANIFEST, separators=(",", ":"))
    needed = len(text) + 200 * (len(TENSORS) + 1)
    sizes("storage.container", HEADER_LIMIT=needed)
    write_container(tmp_path / "m", TENSORS, MANIFEST)
    sizes("storage.container", HEADER_LIMIT=needed - 1)
    with pytest.raises(ValueError, match=f"below {needed - 1:,} bytes .*, got {len(text):,}"):
        write_container(tmp_path / "m", TENSORS, MANIFEST)


def test_numbers_that_json_does_not_know_are_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        write_container(tmp_path / "m", {}, {**MANIFEST, "text": float("nan")})
    assert not list(tmp_path.iterdir())


def test_whatever_a_writer_does_is_noticed(tmp_path, monkeypatch):
    honest, other = safetensors.numpy.save, json.dumps({**MANIFEST, "text": "x"})
    tensors = {"a": np.array([5.0, 6.0, 7.0, 8.0]), "b": np.zeros(2)}
    (tmp_path / "m").write_text("the old model")
    for change in (
        lambda t, m: ({**t, "a": t["a"].view(np.int64)}, m),
        lambda t, m: ({**t, "a": t["a"].reshape(2, 2)}, m),
        lambda t, m: ({**t, "a": t["a"][::-1].copy()}, m),  # as 0.8.0 did to Fortran order
        lambda t, m: ({**t, "more": t["a"]}, m),
        lambda t, m: ({"b": t["b"]}, m),
        lambda t, m: (t, {container.METADATA_KEY: other}),
    ):
        monkeypatch.setattr(
            container, "save", lambda t, metadata, f=change: honest(*f(t, metadata))
        )
        with pytest.raises(ModelFormatError, match="read back"):
            write_container(tmp_path / "m", tensors, MANIFEST)
    assert (tmp_path / "m").read_text() == "the old model"
    assert os.listdir(tmp_path) == ["m"]


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ([1], "a manifest of the format"),
        ({**MANIFEST, "format": "other"}, "a manifest of the format"),
        ({"format_version": 1}, "a manifest of the format"),
        *(({**MANIFEST, "format_version": v}, "from 2 on") for v in (1, 0, -1, True, 2.0, None)),
        ({**MANIFEST, "format_version": VERSION + 1}, r"version 3 or older, got 4: .*\('0'\)"),
    ],
    ids=str,
)
def test_manifests_of_others(manifest, words):
    with pytest.raises(ModelFormatError, match=words):
        manifest_of({container.METADATA_KEY: json.dumps(manifest)})
    for version in (OLDEST, VERSION):
        good = {**MANIFEST, "format_version": version}
        assert manifest_of({container.METADATA_KEY: json.dumps(good)}) == good


@pytest.mark.skipif(os.name != "posix", reason="other systems have other rights")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_file_keeps_its_rights(mode, tmp_path):
    path = tmp_path / "model.safetensors"
    gs.save_model(gs.Gaussian(), path)
    path.chmod(mode)
    gs.save_model(gs.Gaussian(2.0), path)
    assert path.stat().st_mode & 0o777 == mode
    assert gs.load_model(path).length_scale == 2.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a":' * 300 + "1" + "}" * 300, "at most 256 deep"),
        ("[" * 1200 + "]" * 1200, "at most 256 deep"),
        ("[" * 100_000, "at most 256 deep"),
        ("[" + "[]," * 3_000_000 + "[]]", "at most 300,000 lists"),
        ("[" + '{"":0}, ' * 300_001 + "0]", "at most 300,000 lists"),
    ],
    ids=["objects", "lists", "brackets", "empty lists", "small objects"],
)
def test_a_manifest_of_structure_alone(text, words):
    tracemalloc.start()
    with pytest.raises(ModelFormatError, match=words):
        container.parse_json(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_000_000
    assert container.parse_json("[" * 256 + "]" * 256)
