"""Verdicts: rounding, tolerance, corrections, and what is shown."""

import math

import pytest

from papers.record import (
    VERDICTS,
    absent,
    check,
    compare,
    count_verdicts,
    of_paper,
    timed,
    two_errors,
)


@pytest.mark.parametrize(
    ("published", "ours", "options", "verdict"),
    [
        (0.090, 0.0904, {}, "exact"),
        (0.090, 0.0895, {}, "exact"),
        (0.090, 0.0896, {"digits": 4}, "differs"),
        (0.090, 0.0916, {"tolerance": 0.002}, "within tolerance"),
        (0.090, 0.0921, {"tolerance": 0.002}, "differs"),
        (398, 398.4, {"digits": 0}, "exact"),
        (None, 3.0, {}, "new"),
    ],
)
def test_compare(published, ours, options, verdict):
    record = compare("Table 1", "cell", published, ours, **options)
    assert record.verdict == verdict
    assert record.verdict in VERDICTS


def test_the_reason_is_given_only_where_numbers_differ():
    assert compare("t", "c", 1.0, 1.0, note="n", why="w").note == "n"
    assert compare("t", "c", 1.0, 2.0, note="n", why="w").note == "n. w"


def test_a_nan_is_no_agreement():
    assert compare("t", "c", 1.0, math.nan, tolerance=9.0).verdict == "differs"
    assert check("t", "c", math.nan).verdict == "differs"


@pytest.mark.parametrize(
    ("error", "printed", "verdict"),
    [
        (1e-12, None, "holds"),
        (1e-12, 1e-12, "holds"),
        (1e-12, 0.5, "corrected"),
        (1e-12, math.nan, "corrected"),
        (0.5, 0.5, "differs"),
    ],
)
def test_check(error, printed, verdict):
    assert check("(5)", "u", error, printed=printed).verdict == verdict


def test_texts_have_the_digits_of_the_paper_and_one_more():
    assert compare("t", "c", 0.108, 0.10748, tolerance=6e-4).texts() == (
        "0.108",
        "0.1075",
        "0.0006",
    )
    assert compare("t", "c", 400, 400.0, digits=0).texts() == ("400", "400", "")
    assert compare("t", "c", None, math.inf).texts() == ("", "inf", "")
    assert check("t", "c", 0.0, printed=0.25).texts()[:2] == ("2.5e-01", "0")
    assert timed("t", "c", 28.0, 0.0205).texts()[:2] == ("28.00", "0.0205")
    assert absent("t", "c", "why").texts() == ("", "", "")


def test_records_are_plain_and_counted():
    records = [of_paper(compare("t", "c", 1.0, 1.0), "tan"), absent("t", "c", "n", "failed")]
    assert records[0].plain()["paper"] == "tan"
    assert count_verdicts(records) == {"exact": 1, "failed": 1}


def test_agreement_by_a_fitted_setting_is_fitted():
    exact = compare("t", "c", 1.0, 1.0, fitted="sigma = 10 was fitted", note="n")
    assert (exact.verdict, exact.note) == ("fitted", "n. sigma = 10 was fitted")
    near = compare("t", "c", 1.0, 1.1, tolerance=0.2, fitted="f")
    assert near.verdict == "fitted"
    far = compare("t", "c", 1.0, 2.0, tolerance=0.2, fitted="f", why="w")
    assert (far.verdict, far.note) == ("differs", "f. w")
    assert compare("t", "c", None, 2.0, fitted="f").verdict == "new"


def test_two_errors_of_a_difference():
    assert two_errors([1.0, 2.0, 3.0], 0.0, 1) == pytest.approx(2 / math.sqrt(3))
    assert two_errors([1.0, 2.0, 3.0], 1.0, 1) == pytest.approx(2 * math.sqrt(1 / 3 + 1))
