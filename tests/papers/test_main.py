"""`python -m papers`: options, exit status, what is printed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import papers
from papers import __main__ as main_module
from papers.record import absent, compare
from tools.click_runs import invoke

ROOT = Path(__file__).resolve().parents[2]


def run(*args):
    return invoke(main_module.main, *args)


def test_experiments_are_listed():
    done = run("--list")
    assert done.exit_code == 0
    for paper in papers.PAPERS:
        assert paper in done.stdout
    listed = json.loads(run("--list", "--json").stdout)
    assert [item["name"] for item in listed] == [e.name for e in papers.list_experiments()]


def test_one_experiment():
    done = run("tan/formulas", "--quick")
    assert done.exit_code == 0, done.stderr
    assert "verdict" in done.stdout
    assert "corrected" in done.stdout
    assert "tan/formulas" in done.stderr
    quiet = run("tan/formulas", "--quick", "--json", "--quiet")
    assert {record["paper"] for record in json.loads(quiet.stdout)} == {"tan"}
    assert quiet.stderr == ""


def test_pages_are_written(tmp_path):
    done = run("tan/formulas", "--quick", "-o", tmp_path / "run")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "run" / "reproduction.html").exists()
    assert "reproduction.html" in done.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["pothin-ricard"], "Did you mean 'pothin-richard'?"),
        ([], "--list"),
        (["tan/formulas", "--data", "no-such-folder"], "no-such-folder"),
    ],
)
def test_wrong_names_are_usage(args, words):
    done = run(*args)
    assert done.exit_code == 2
    assert words in done.stderr


def test_an_output_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    done = run("tan/formulas", "-o", tmp_path / "file" / "run")
    assert done.exit_code == 2
    assert "-o DIR" in done.stderr


def test_missing_data_are_a_failure_unless_allowed(tmp_path):
    done = run("tan/tables", "--quick", "--data", tmp_path)
    assert done.exit_code == 1
    assert "--allow-missing" in done.stderr
    assert run("tan/tables", "--quick", "--data", tmp_path, "--allow-missing").exit_code == 0


@pytest.mark.parametrize("allow", [[], ["--allow-missing"]])
def test_a_failed_experiment_is_a_failure_in_any_case(monkeypatch, allow):
    records = [compare("t", "c", 1.0, 1.0), absent("t", "c", "ZeroDivisionError", "failed")]
    monkeypatch.setattr(main_module, "reproduce", lambda *names, **options: records)
    assert run("tan", *allow).exit_code == 1


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "papers", "--list"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert "tan/formulas" in done.stdout
