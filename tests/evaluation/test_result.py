"""The table of an evaluation as text and HTML."""

import gramsmith as gs
from gramsmith.evaluation.result import Evaluation, text_table


def test_text_table_is_aligned():
    lines = text_table(["a", "long"], [["xxx", "1"], ["y", "2"]]).splitlines()
    assert lines[0].index("long") == lines[2].index("1") == lines[3].index("2")


def test_table_as_text_and_html(rng):
    X = rng.normal(size=(60, 3))
    y = X[:, 0] * X[:, 1] > 0
    table = gs.evaluate({"<script>alert(1)</script>": gs.Gaussian(), "b": gs.Linear()}, X, y)
    text = str(table)
    assert text.splitlines()[0].split()[:3] == ["kernel", "kta", "↑"]
    assert "±" in text
    page = table._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert isinstance(table, Evaluation)
    assert {"kernel", "cka", "cka_error", "advice"} <= table.records[0].keys()
