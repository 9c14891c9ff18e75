"""The output folder: never overwritten unasked, never left half written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from gramsmith.cli.console import Refused, plain

FILES = ("report.html", "ranking.csv", "ranking.json", "model.safetensors", "run.json")
PROGRESS = "progress.journal"


@contextmanager
def output_folder(folder: Path | None, *, force: bool, resume: bool) -> Iterator[None]:
    """Make the output folder, if any; what is still empty of it at the end is taken away again."""
    if folder is None:
        yield
        return
    absent = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        prepare_folder(folder, force=force, resume=resume)
        yield
    finally:
        for path in absent:
            try:
                path.rmdir()
            except OSError:  # it was never made, or holds something
                break


def prepare_folder(folder: Path, *, force: bool, resume: bool) -> None:
    """Make the output folder and see that it can be written to and holds nothing of value."""
    if resume and not os.path.lexists(folder / PROGRESS):
        finished = [name for name in FILES if os.path.lexists(folder / name)]
        state = f"holds a finished run ({', '.join(finished)})" if finished else "has no such run"
        raise Refused(
            f"--resume goes on with an interrupted run, and {folder} {state}. Check the name of "
            "the folder, or leave --resume out to begin at the start."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise Refused(
            f"Expected an output folder that can be written to, got {folder}: {error.strerror}. "
            "Name another one with -o."
        ) from error
    present = [name for name in (*FILES, PROGRESS) if os.path.lexists(folder / name)]
    if not present or force or resume:  # whether it is the same run is for the journal to say
        return
    hint = "--resume to go on with it, " if PROGRESS in present else ""
    raise Refused(
        f"{folder} already holds {', '.join(present)}. Use {hint}--force to replace the files, or "
        "another folder."
    )


def check_free(path: Path, *, force: bool) -> None:
    """Refuse to replace a file unasked."""
    if path.is_dir():
        raise Refused(f"Expected a file to write, got the folder {path}. Name a file inside it.")
    if path.exists() and not path.is_file():
        raise Refused(
            f"Expected a file to write, got {path}, which is a device or a pipe. Name a file, or "
            "leave the option out to see the result."
        )
    if os.path.lexists(path) and not force:
        raise Refused(f"{path} exists. Use --force to replace it, or name another file.")
    if not path.parent.is_dir():
        raise Refused(f"Expected a folder to write to, got {path.parent}. Make it first.")


def write_text(path: Path, write: Callable[[Any], object]) -> None:
    """Write a text file by way of a temporary one in the same folder."""
    from gramsmith.files import replacing

    check_free(path, force=True)
    try:
        with replacing(path) as temporary:
            with open(temporary, "w", encoding="utf-8", newline="") as stream:
                write(stream)
                stream.flush()
                os.fsync(stream.fileno())
    except OSError as error:
        raise Refused(f"Could not write {path}: {error.strerror}.") from error


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON; what is not finite becomes null."""
    text = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    write_text(path, lambda stream: stream.write(f"{text}\n"))


def begin_journal(folder: Path, header: dict[str, Any], *, resume: bool, force: bool) -> Any:
    """Return the journal of a run in its folder, which no other run uses from now on.

    `header` is what must agree for finished work to be used again. What killed runs have left of
    half-written files is cleared.
    """
    from gramsmith.gram import Journal, JournalError

    path = folder / PROGRESS
    try:
        try:
            journal = Journal(path, fresh=not resume)
        except JournalError:
            if not force or Journal.is_one(path):
                raise
            path.unlink()  # some other file, which the user said may be replaced
            journal = Journal(path)
        journal.begin(plain(header))
    except JournalError as error:
        begin = "--resume: " if resume else ""
        raise Refused(f"{begin}{error} Or start afresh with --force.") from error
    ended = [name for name in FILES if os.path.lexists(folder / name)]
    if ended and not (resume or force):  # another run has ended since the folder was looked at
        journal.close(remove=True)
        raise Refused(
            f"{folder} already holds {', '.join(ended)}, of another run. Use another one."
        )
    for name in (*FILES, "report"):
        for left in folder.glob(f".{name}.*.tmp"):
            left.unlink(missing_ok=True)
    return journal
