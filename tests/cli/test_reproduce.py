"""`gramsmith reproduce`: a thin layer over gramsmith.papers."""

import json

import pytest

from gramsmith import papers


def test_experiments_are_listed(command):
    done = command("reproduce", "--list")
    assert done.status == 0
    for paper in papers.PAPERS:
        assert paper in done.out
    listed = json.loads(command("reproduce", "--list", "--json").out)
    assert [item["name"] for item in listed] == [e.name for e in papers.list_experiments()]


def test_one_experiment(command):
    done = command("reproduce", "tan/formulas", "--quick")
    assert done.status == 0, done.err
    assert "verdict" in done.out
    assert "corrected" in done.out
    records = json.loads(command("reproduce", "tan/formulas", "--quick", "--json", "--quiet").out)
    assert {record["paper"] for record in records} == {"tan"}


def test_pages_are_written(command, tmp_path):
    done = command("reproduce", "tan/formulas", "--quick", "-o", tmp_path / "run")
    assert done.status == 0, done.err
    assert (tmp_path / "run" / "reproduction.html").exists()
    assert "reproduction.html" in done.err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["pothin-ricard"], "Did you mean 'pothin-richard'?"),
        ([], "--list"),
        (["tan/formulas", "--data", "no-such-folder"], "no-such-folder"),
    ],
)
def test_wrong_names_are_usage(command, args, words):
    done = command("reproduce", *args)
    assert done.status == 2
    assert words in done.err


def test_an_output_that_cannot_be_written(command, tmp_path):
    (tmp_path / "file").write_text("")
    done = command("reproduce", "tan/formulas", "-o", tmp_path / "file" / "run")
    assert done.status == 2
    assert "-o DIR" in done.err
