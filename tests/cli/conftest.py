"""What the tests of the command line share: a way to run it and tables to run it on."""

import numpy as np
import pytest

from gramsmith.cli import run as run_command


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


def table_text(n=60, seed=0, header="a,b,colour,y"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    colour = np.where(rng.random(n) < 0.5, "red", "blue")
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
    rows = [f"{a:.6f},{b:.6f},{c},{t}" for (a, b), c, t in zip(X, colour, y, strict=True)]
    return "\n".join([header, *rows]) + "\n"


@pytest.fixture
def table(tmp_path):
    """A csv file with two numeric columns, one of text, and two classes."""
    path = tmp_path / "train.csv"
    path.write_text(table_text())
    return path
