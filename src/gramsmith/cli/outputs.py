"""The output folder: never overwritten unasked, never left half written."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gramsmith.cli.console import Refused, plain

FILES = ("report.html", "ranking.csv", "ranking.json", "model.safetensors", "run.json")
PROGRESS = "progress.jsonl"


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
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".gramsmith-{secrets.token_hex(4)}"
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        raise Refused(
            f"Expected an output folder that can be written to, got {folder}: {error.strerror}. "
            "Name another one with -o."
        ) from error
    present = [name for name in (*FILES, PROGRESS) if os.path.lexists(folder / name)]
    if not present or force:
        return
    begun = PROGRESS in present
    if resume and begun:  # whether it is the same run is for the journal to say
        return
    finding = "holds a finished run, nothing to resume:" if resume else "already holds"
    hint = "--resume to go on with it, " if begun else ""
    raise Refused(
        f"{folder} {finding} {', '.join(present)}. Use {hint}--force to replace the files, or "
        "another folder."
    )


def check_free(path: Path, *, force: bool) -> None:
    """Refuse to replace a file unasked."""
    if os.path.lexists(path) and not force:
        raise Refused(f"{path} exists. Use --force to replace it, or name another file.")
    if not path.parent.is_dir():
        raise Refused(f"Expected a folder to write to, got {path.parent}. Make it first.")


def write_text(path: Path, write: Callable[[Any], object]) -> None:
    """Write a text file by way of a temporary one in the same folder."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with open(temporary, "x", encoding="utf-8", newline="") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise Refused(f"Could not write {path}: {error.strerror}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON; what is not finite becomes null."""
    text = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    write_text(path, lambda stream: stream.write(f"{text}\n"))


class Journal(MutableMapping[str, Any]):
    """Finished pieces of work, appended to a file as they come.

    The first line says what the work belongs to (data, options, versions); a journal of other
    work is refused. A line that was cut off by a crash is ignored.

    Parameters
    ----------
    path : Path or None
        The file; None keeps nothing.
    header : dict
        What must agree for the pieces to be used again.
    resume : bool
        Whether to take up what the file holds.
    """

    def __init__(self, path: Path | None, header: dict[str, Any], *, resume: bool = False) -> None:
        self.path = path
        self.pieces: dict[str, Any] = {}
        if path is None:
            return
        header = plain(header)
        if resume and path.exists():
            self._take_up(path, header)
        else:
            write_text(path, lambda stream: stream.write(json.dumps({"run": header}) + "\n"))

    def _take_up(self, path: Path, header: dict[str, Any]) -> None:
        text = path.read_text(encoding="utf-8", errors="replace")
        if not text.endswith("\n"):  # cut off by a crash: the next piece needs a line of its own
            with open(path, "a", encoding="utf-8") as stream:
                stream.write("\n")
        lines = text.splitlines()
        found = [piece for piece in map(_parsed, lines) if piece is not None]
        before = found[0].get("run") if found else None
        if before != header:
            differing = "its first line is unreadable"
            if isinstance(before, dict):
                names = [k for k in header.keys() | before.keys() if header.get(k) != before.get(k)]
                differing = f"it differs in {', '.join(sorted(names))}"
            raise Refused(
                f"--resume: {path} belongs to another run ({differing}). Use the same command and "
                "data, or start afresh with --force."
            )
        for piece in found[1:]:
            if "key" in piece and "value" in piece:
                self.pieces[str(piece["key"])] = piece["value"]

    def __getitem__(self, key: str) -> Any:
        return self.pieces[key]

    def __setitem__(self, key: str, value: Any) -> None:
        value = plain(value, finite=False)  # ours alone to read: infinities stay what they are
        self.pieces[key] = value
        if self.path is not None:
            with open(self.path, "a", encoding="utf-8") as stream:
                stream.write(json.dumps({"key": key, "value": value}) + "\n")
                stream.flush()
                os.fsync(stream.fileno())

    def __delitem__(self, key: str) -> None:
        del self.pieces[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.pieces)

    def __len__(self) -> int:
        return len(self.pieces)

    def close(self) -> None:
        """Remove the file: the work is done."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        piece = json.loads(line)
    except ValueError:
        return None
    return piece if isinstance(piece, dict) else None
