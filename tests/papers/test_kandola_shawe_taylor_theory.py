"""The theorems hold or are corrected; refining raises alignment, not accuracy."""

from sklearn.datasets import make_friedman1

from papers.data import DataFolder
from papers.experiment import Run
from papers.kandola_shawe_taylor_theory import formulas, refine


def test_formulas_hold_or_are_corrected():
    records = formulas(Run(DataFolder(), quick=True)).records
    assert {record.verdict for record in records} == {"holds", "corrected"}
    corrected = [record.table for record in records if record.verdict == "corrected"]
    assert corrected == ["(2)", "Theorem 3", "Algorithm 1"]


def test_refining_raises_alignment_and_not_accuracy():
    X, y = make_friedman1(200, noise=1.0, random_state=0)
    found = refine(X, y, 100)
    assert found["G, threshold 1e-3"][0] > 2 * found["K"][0]
    assert found["G, threshold 1e-3"][1] > found["K"][1]
