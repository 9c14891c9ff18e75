"""A file is replaced as a whole or stays as it was."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give an empty temporary file beside `path`, which takes its place if all goes well.

    Only a file is replaced: a device such as /dev/null would be lost to every other program.
    """
    if "\0" in str(path):
        raise ValueError(f"Expected the path of a file, got {str(path)!r} with a null character.")
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device or a pipe"
        raise ValueError(f"Expected the path of a file, got {path}, which is {kind}. Name a file.")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    # O_EXCL: never write through a link that somebody has put in the way
    # who may read the old file may read the new one, and nobody else
    mode = S_IMODE(path.stat().st_mode) if path.exists() else None
    created = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    os.close(os.open(temporary, created, 0o666 if mode is None else 0o600))
    try:
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
