"""Numbers as text."""

import pytest

from gramsmith.report.contents import number, records_frame, with_error


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[(None, "–"), (float("nan"), "–"), (0.123456, "0.123"), (True, "yes"), (3, "3")],
        *[(5e-16, "0"), (2500.4, "2,500"), (1e7, "1e+07")],
    ],
)
def test_number(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.95, 0.011, "0.950 ± 0.011"),
        (12.3456, 0.5, "12.35 ± 0.50"),
        (0.5, None, "0.500"),
        (None, 0.1, "–"),
        (float("inf"), 0.1, "–"),
        (2.0, float("inf"), "2.000"),
    ],
)
def test_with_error(value, error, text):
    assert with_error(value, error) == text


def test_records_frame():
    frame = records_frame([{"rank": 1, "kernel": "a"}, {"rank": 2, "kernel": "b"}])
    assert frame.loc[2, "kernel"] == "b"
