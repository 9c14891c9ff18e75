"""The front of the command line: help without weight, one message and a status per error."""

import subprocess
import sys
from pathlib import Path

import pytest

import gramsmith
from gramsmith import cli

MODEL = str(Path(__file__).parents[1] / "models" / "format-2" / "Pipeline.safetensors")


def loaded_by(*args):
    script = (
        "import sys\nfrom gramsmith.cli import run\n"
        f"run(args={list(args)!r})\nprint(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout, set(done.stderr.split())


@pytest.mark.parametrize("args", [("--help",), ("rank", "--help"), ("--version",)])
def test_help_loads_neither_numpy_nor_scikit_learn(args):
    shown, modules = loaded_by(*args)
    assert shown
    assert not modules & {"numpy", "sklearn", "scipy", "rich", "pandas", "matplotlib"}


def test_commands_are_listed(command):
    shown = command("--help").out
    for name in ("rank", "predict", "inspect", "evaluate"):
        assert f"\n  {name} " in shown
    assert command("--version").out == f"gramsmith, version {gramsmith.__version__}\n"


def test_wrong_usage_is_status_2(command):
    for args in (["nonsense"], ["rank"], ["rank", "x.csv", "--seed", "-1"], ["predict", "--wat"]):
        done = command(*args)
        assert done.status == 2
        assert done.out == ""
        assert "Error:" in done.err


@pytest.mark.parametrize(
    ("error", "status", "word"),
    [
        (KeyboardInterrupt(), 130, "Interrupted"),
        (MemoryError("needs 5 GiB"), 5, "needs 5 GiB"),
        (MemoryError(), 5, "--sample"),
        (BrokenPipeError(), 0, ""),
    ],
)
def test_statuses(monkeypatch, capsys, error, status, word):
    def fail(**_):
        raise error

    monkeypatch.setattr(cli.group, "main", fail)
    monkeypatch.setattr(sys, "__stdout__", sys.__stdout__)
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    assert cli.run(args=[]) == status
    assert word in capsys.readouterr().err


@pytest.mark.parametrize("error", [ValueError("a flaw"), KeyError("length"), RuntimeError("x")])
def test_defects_are_named_and_shown_on_request(monkeypatch, capsys, error):
    def fail(**_):
        raise error

    monkeypatch.setattr(cli.group, "main", fail)
    monkeypatch.delenv("GRAMSMITH_DEBUG", raising=False)
    assert cli.run(args=[]) == 1
    said = capsys.readouterr().err
    assert f"Error: {type(error).__name__}: " in said
    assert "GRAMSMITH_DEBUG=1" in said
    monkeypatch.setenv("GRAMSMITH_DEBUG", "1")
    with pytest.raises(type(error)):
        cli.run(args=[])


def test_missing_modules_reach_the_front_door(monkeypatch):
    def fail(**_):
        raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

    monkeypatch.setattr(cli.group, "main", fail)
    with pytest.raises(ModuleNotFoundError):
        cli.run(args=[])


def test_main_leaves_with_the_status(monkeypatch):
    monkeypatch.setattr(cli.os, "_exit", sys.exit)  # this process goes on
    with pytest.raises(SystemExit) as left:
        cli.main(args=["nonsense"])
    assert left.value.code == 2


def test_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "gramsmith", "rank", "nowhere.csv", "-t", "y"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert done.stdout == ""
    assert "nowhere.csv: it does not exist" in done.stderr


@pytest.mark.parametrize("command", sorted(cli.group.commands))
def test_the_help_of_a_command_fits_a_terminal(command, capsys):
    assert cli.run(args=[command, "--help"]) == 0
    said = capsys.readouterr().out
    assert "\\b" not in said
    assert max(map(len, said.splitlines())) <= 80


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")
@pytest.mark.parametrize(
    "arguments", [["inspect", MODEL], ["inspect", MODEL, "--json"], ["--help"]]
)
def test_a_full_disk_is_no_defect(arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gramsmith", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr.strip() == "Error: could not read or write: No space left on device."
