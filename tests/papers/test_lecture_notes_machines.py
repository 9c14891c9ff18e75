"""The machines of the lecture notes on small data."""

from papers.data import DataFolder
from papers.experiment import Run
from papers.lecture_notes_machines import losses, machines


def test_machines():
    records = {record.cell: record for record in machines(Run(DataFolder(), quick=True)).records}
    perceptron = records["dual perceptron, training error"]
    assert perceptron.ours == 0.0
    assert perceptron.published > 0.3
    assert records["import points"].ours < 30
    assert records["relevance vectors, sinc, 50 points"].ours < 12


def test_losses_bound_the_error():
    panel = losses(Run(DataFolder())).figures[0].panels[0]
    zero_one, *others = panel.curves
    for curve in others:
        assert (curve.y >= zero_one.y - 1e-12).all(), curve.label
