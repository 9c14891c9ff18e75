"""Sizes: where landmarks take the place of all samples."""

import pytest

import gramsmith as gs
from gramsmith.selection import sizes


def test_number_of_landmarks_grows_slowly():
    counts = [sizes.count_landmarks(n) for n in (50, 400, 3000, 10**6)]
    assert counts[0] == 50
    assert counts == sorted(counts)
    assert counts[-1] == 800


def test_landmarks_past_the_exact_rows_but_never_of_a_matrix():
    few, many = sizes.EXACT_ROWS, sizes.EXACT_ROWS + 1
    assert not sizes.use_landmarks(few, [gs.Linear()])
    assert sizes.use_landmarks(many, [gs.Linear(), gs.Gaussian()])
    assert not sizes.use_landmarks(many, [gs.Linear(), gs.Precomputed()])


@pytest.mark.usefixtures("choice_made_anew")
def test_plans_of_time_count_the_choices_that_are_made_anew():
    once, anew = (sizes.ranking_seconds(n, 30, True, True) for n in (501, 500))
    assert anew > 5.0 * once
    assert sizes.ranking_seconds(400, 4, True, True) < sizes.ranking_seconds(400, 30, True, True)
    assert sizes.ranking_seconds(5000, 30, True, True) > once + 2.0
