"""Pothin & Richard: the published numbers that are exact, and the tied cell of the Titanic."""

import numpy as np
import pytest

from gramsmith.kernels import Gaussian
from papers import pothin_richard as paper
from papers.data import DataFolder


@pytest.mark.parametrize(
    ("name", "sigma", "alignment"),
    [("ringnorm", 1.0, 0.0629), ("waveform", 1.0, 0.0519), ("titanic", 10.0, 0.1918)],
)
def test_alignment_without_a_transform_is_exact(data_dir, name, sigma, alignment):
    split = paper.Split(*DataFolder(data_dir).load(name).split(0))
    assert paper.TABLE_2[name]["without"][0] == alignment
    machine = paper.evaluate_kernel(Gaussian(sigma), split)
    assert round(machine.alignment, 4) == alignment


def test_waveform_error_is_exact(data_dir):
    split = paper.Split(*DataFolder(data_dir).load("waveform").split(0))
    machine = paper.evaluate_kernel(Gaussian(1.0), split)
    assert (round(machine.error, 2), machine.support) == (32.80, 400)


def test_tied_cell_of_the_titanic(data_dir):
    split = paper.Split(*DataFolder(data_dir).load("titanic").split(0))
    text, error = paper.other_side_of_tie(split, paper.evaluate_kernel(Gaussian(10.0), split))
    assert text == "a cell with 6 training rows of each class (61 test rows net)"
    assert round(error, 2) == 25.89


def test_rows_of_the_table_have_four_cells(rng):
    X = rng.standard_normal((30, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    machine = paper.evaluate_kernel(Gaussian(1.0), paper.Split(X, y, X, y))
    records = paper.row("set", (machine.alignment, machine.support, machine.error), machine)
    assert [record.verdict for record in records] == ["exact", "exact", "exact", "new"]
