"""Commands with options and values at random: every end has a status and a message of ours.

No command changes a file that was there unless it is told to by ``--force``, and devices never.
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import warnings
from functools import cache
from pathlib import Path

import click
import numpy as np

from gramsmith.cli import group, run
from tools.fuzz import Hanging, limited
from tools.fuzz.models import MODELS
from tools.tables_text import table_text

SECONDS = 60
STATUSES = {0, 2, 3, 4, 5}
VALUES = ["", "0", "-1", "1", "2", "0.5", "nan", "inf", "1e400", "9" * 30, "x", "label", "a", "b"]
VALUES += ["a=category", "a=", "=", "auto", "rbf", "accuracy", "r2", "é", "--", "-", "\x1b[2J"]
VALUES += ["1GiB"]
VALUES += [",", ";", "utf-8", "klingon", "precomputed", "train.csv", "model.safetensors", "nowhere"]
VALUES += ["../beside.csv", ".", "out", "out/deep/er", "/dev/null", "a,b", "tcp://127.0.0.1:1"]
VALUES += ["1GiB"]
FILES = ["train.csv", "model.safetensors", "nowhere.csv", ".", "empty.csv", "odd.npy"]
FILES += ["ranking.json"]
#: what would wait: for a scheduler, or for a terminal
LEFT_OUT = {"--dask", "--scheduler-file", "--help", "--version"}


@cache
def options() -> dict[str, list[click.Option]]:
    """Return the options of every command."""
    return {
        name: [
            p
            for p in command.params
            if isinstance(p, click.Option) and not LEFT_OUT & set(p.opts) and "dask" not in p.name
        ]
        for name, command in group.commands.items()
    }


def command(rng: np.random.Generator) -> list[str]:
    """Return a command with arguments at random."""
    name = str(rng.choice(list(options())))
    args = [name, *map(str, rng.choice(FILES, size=rng.integers(1, 3)))]
    if name in ("rank", "evaluate") and rng.random() < 0.8:
        args = [name, "train.csv", "--target", "label"]
    elif name not in ("rank", "evaluate") and rng.random() < 0.6:
        args[1] = "model.safetensors"
    for option in rng.choice(np.array(options()[name], dtype=object), size=rng.integers(0, 4)):
        args.append(str(rng.choice(option.opts)))
        if not option.is_flag:
            choices = getattr(option.type, "choices", None)
            pool = [str(c) for c in choices] if choices and rng.random() < 0.6 else VALUES
            args.append(pool[rng.integers(len(pool))])
    if name == "rank" and rng.random() < 0.9:
        args.append("--dry-run")
    return args


def furnish(folder: Path) -> None:
    """Write the files that commands are given."""
    (folder / "train.csv").write_text(table_text())
    (folder / "empty.csv").write_text("")
    (folder / "ranking.json").write_text("{}")
    (folder / "odd.npy").write_bytes(b"\x93NUMPY\x01\x00\xff\xff{")
    model = next(iter(sorted(MODELS.glob("*/KernelSVR.safetensors"))))
    (folder / "model.safetensors").write_bytes(model.read_bytes())


def kept(folder: Path, forced: bool) -> list[object]:
    """Return what a command must leave alone: files that were there, the null device."""
    null = os.stat(os.devnull)
    files = [] if forced else [*folder.glob("*.*"), *folder.parent.glob("*.csv")]
    return [null.st_mode, null.st_rdev, *((p.name, p.read_bytes()) for p in sorted(files))]


def outcome(args: list[str], folder: Path) -> str:
    """Return the status of a command, or a defect that begins with "!"."""
    furnish(folder)
    (folder.parent / "beside.csv").write_text(table_text())
    forced = "--force" in args or args[0] == "upgrade"  # which is for changing a file in its place
    there = kept(folder, forced)
    said, before = io.StringIO(), os.getcwd()
    os.chdir(folder)
    try:
        with (
            limited(SECONDS),
            warnings.catch_warnings(),
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
        ):
            warnings.simplefilter("ignore")
            status = run(args=args)
    except Hanging:
        return "! hangs"
    except BaseException as error:
        return f"! {type(error).__name__}: {error}"[:300]
    finally:
        os.chdir(before)
    text = said.getvalue()
    now = kept(folder, forced)
    if any(found not in now for found in there):
        return f"! files that were there have changed: {text[-300:]}"
    if status not in STATUSES:
        return f"! status {status}: {text[-300:]}"
    if "\x1b" in text:
        return "! an escape sequence reaches the terminal"
    if status and not text.strip():
        return f"! status {status} without a word"
    return f"status {status}"


def piece(rng: np.random.Generator) -> tuple[str, str]:
    """Return a command and how it ended."""
    args = command(rng)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "work").mkdir()
        return " ".join(args), outcome(args, Path(folder) / "work")
