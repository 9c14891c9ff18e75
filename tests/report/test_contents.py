"""Contents: plain values with empty defaults of their own."""

from gramsmith.report.contents import Contents


def test_defaults_are_empty_and_not_shared():
    one, two = (Contents("t", "v", [], "accuracy", "loss") for _ in range(2))
    assert one.warnings == []
    assert one.warnings is not two.warnings
    assert one.gram.size == 0
