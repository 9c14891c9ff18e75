"""What the tests of the command line share: a way to run it and tables to run it on."""

import pytest

from gramsmith.cli import run as run_command
from tools.tables_text import table_text


class Outcome:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


@pytest.fixture
def command(capsys):
    """Run a command in this process; the outcome has status, out and err."""

    def run(*args):
        capsys.readouterr()
        status = run_command(args=[str(arg) for arg in args])
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """The folder of a run on a table like `table`."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "train.csv").write_text(table_text())
    options = ["--target", "y", "--output", str(folder / "run")]
    assert run_command(args=["rank", str(folder / "train.csv"), *options]) == 0
    return folder / "run"


@pytest.fixture
def table(tmp_path):
    """A csv file with two numeric columns, one of text, and two classes."""
    path = tmp_path / "train.csv"
    path.write_text(table_text())
    return path
