"""The output folder and the journal."""

import json
import os
import stat

import pytest

from gramsmith.cli.console import Refused
from gramsmith.cli.outputs import (
    begin_journal,
    check_free,
    output_folder,
    prepare_folder,
    write_json,
    write_text,
)


def test_folders_are_made(tmp_path):
    prepare_folder(tmp_path / "a" / "b", force=False, resume=False)
    assert (tmp_path / "a" / "b").is_dir()
    assert not list((tmp_path / "a" / "b").iterdir())


def test_earlier_results_are_safe(tmp_path):
    (tmp_path / "report.html").write_text("precious")
    with pytest.raises(Refused, match=r"report.html.*--force"):
        prepare_folder(tmp_path, force=False, resume=False)
    prepare_folder(tmp_path, force=True, resume=False)
    (tmp_path / "progress.journal").write_text("")
    with pytest.raises(Refused, match="--resume"):
        prepare_folder(tmp_path, force=False, resume=False)
    assert (tmp_path / "report.html").read_text() == "precious"


def test_only_an_interrupted_run_is_resumed(tmp_path):
    for folder in (tmp_path, tmp_path / "mistyped"):
        with pytest.raises(Refused, match=r"has no such run\. Check the name"):
            prepare_folder(folder, force=False, resume=True)
    assert not (tmp_path / "mistyped").exists()
    (tmp_path / "model.safetensors").write_text("precious")
    with pytest.raises(Refused, match=r"holds a finished run \(model.safetensors\)"):
        prepare_folder(tmp_path, force=False, resume=True)
    (tmp_path / "progress.journal").write_text("")
    prepare_folder(tmp_path, force=False, resume=True)


def test_folders_made_for_nothing_go_away(tmp_path):
    folder = tmp_path / "a" / "b"
    with output_folder(folder, force=False, resume=False):
        assert folder.is_dir()
    assert not list(tmp_path.iterdir())
    with output_folder(folder, force=False, resume=False):
        (folder / "run.json").write_text("{}")
    assert (folder / "run.json").exists()


def test_a_folder_that_was_there_stays(tmp_path):
    with output_folder(tmp_path, force=False, resume=False):
        pass
    assert tmp_path.is_dir()


def test_other_files_do_not_matter(tmp_path):
    (tmp_path / "notes.txt").write_text("")
    prepare_folder(tmp_path, force=False, resume=False)


def test_folders_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="can be written to"):
        prepare_folder(tmp_path / "file" / "below", force=True, resume=False)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to the superuser")
def test_read_only_folder(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(Refused, match="Permission denied"):
        prepare_folder(tmp_path, force=True, resume=False)


def test_single_files(tmp_path):
    check_free(tmp_path / "new.csv", force=False)
    (tmp_path / "old.csv").write_text("")
    with pytest.raises(Refused, match="--force"):
        check_free(tmp_path / "old.csv", force=False)
    check_free(tmp_path / "old.csv", force=True)
    with pytest.raises(Refused, match="folder"):
        check_free(tmp_path / "none" / "new.csv", force=False)


@pytest.mark.parametrize("force", [False, True])
def test_devices_and_pipes_stay_what_they_are(force, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path / "link"):
        with pytest.raises(Refused, match="a device or a pipe"):
            check_free(path, force=force)
        with pytest.raises(Refused, match="a device or a pipe"):
            write_text(path, lambda stream: stream.write("text"))
        assert stat.S_ISFIFO(path.stat().st_mode)
    assert len(list(tmp_path.iterdir())) == 2


def test_links_are_replaced_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_text("precious")
    (tmp_path / "link.json").symlink_to(tmp_path / "elsewhere")
    write_json(tmp_path / "link.json", {"a": 1})
    assert (tmp_path / "elsewhere").read_text() == "precious"
    assert json.loads((tmp_path / "link.json").read_text()) == {"a": 1}


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail(stream):
        stream.write("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_text(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


HEADER = {"data": "abc", "seed": 0}


def test_the_journal_of_a_run(tmp_path):
    for name in (".report.1f.tmp", ".model.safetensors.ab.tmp", ".ranking.csv.00.tmp"):
        (tmp_path / name).touch()  # of a killed run
    first = begin_journal(tmp_path, HEADER, resume=False, force=False)
    first["check"] = {"values": [1.5, float("inf")]}
    assert {path.name.removesuffix("-wal") for path in tmp_path.iterdir()} == {"progress.journal"}
    for how in ({"resume": True, "force": False}, {"resume": False, "force": True}):
        with pytest.raises(Refused, match="another run is at work with"):
            begin_journal(tmp_path, HEADER, **how)
    first.close()
    with pytest.raises(Refused, match=r"--resume: .*seed 1 instead of 0.*--force"):
        begin_journal(tmp_path, {**HEADER, "seed": 1}, resume=True, force=False)
    again = begin_journal(tmp_path, HEADER, resume=True, force=False)
    assert again["check"] == {"values": [1.5, float("inf")]}
    again.close()
    anew = begin_journal(tmp_path, HEADER, resume=False, force=True)
    assert not len(anew)
    anew.close()


def test_a_foreign_file_is_not_touched_unasked(tmp_path):
    path = tmp_path / "progress.journal"
    path.write_text("my notes")
    with pytest.raises(Refused, match="another kind of file and stays as it is"):
        begin_journal(tmp_path, HEADER, resume=True, force=False)
    assert path.read_text() == "my notes"
    begin_journal(tmp_path, HEADER, resume=False, force=True).close()
    assert path.read_bytes() != b"my notes"


def test_a_run_that_has_ended_meanwhile_is_not_replaced(tmp_path):
    (tmp_path / "model.safetensors").write_text("precious")
    with pytest.raises(Refused, match=r"already holds|holds a finished run"):
        begin_journal(tmp_path, HEADER, resume=False, force=False)
    assert (tmp_path / "model.safetensors").read_text() == "precious"
