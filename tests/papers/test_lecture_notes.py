"""Lecture notes: which formulas hold and which are corrected."""

import pytest

from papers import lecture_notes
from papers.data import DataFolder
from papers.experiment import Run


@pytest.mark.parametrize(
    ("experiment", "corrected"),
    [
        (
            lecture_notes.kernels,
            {
                "features of (x·z + c)²",
                "dimension C(d+p, p)",
                "linear kernel = polynomial, p = 1",
                "series of exp(2β x·z)",
                "φ(x)(w) = c N(w; x, variance)",
                '"separable for any β, easier if it\'s small"',
            },
        ),
        (lecture_notes.support_vectors, {'"β small: more support vectors"'}),
        (lecture_notes.symbolic, set()),
    ],
)
def test_what_needs_correction(experiment, corrected):
    records = experiment(Run(DataFolder(), quick=True)).records
    assert {record.cell for record in records if record.verdict == "corrected"} == corrected
    assert {record.verdict for record in records} <= {"holds", "corrected", "new"}


def test_monomials_are_distinct_and_counted():
    found = list(lecture_notes.monomials(3, 2))
    assert len(found) == len(set(found)) == 10
    assert {sum(exponents) for exponents in found} == {2}
