"""The gradients of the paper and their corrections; generated data within their spread."""

from papers import reproduce


def test_formulas():
    records = reproduce("pothin-richard/formulas", quick=True)
    corrected = [record.table for record in records if record.verdict == "corrected"]
    assert corrected == ["(12)", "(18)", "(21)", "Section 4"]
    assert {record.verdict for record in records} == {"holds", "corrected"}


def test_generated_data_agree_within_other_draws():
    records = reproduce("pothin-richard/generated", quick=True)
    assert {record.verdict for record in records if record.published is not None} <= {
        "exact",
        "within tolerance",
    }
    errors = {record.cell: record.ours for record in records}
    # the overfitting that the paper does not mention
    assert errors["ringnorm, diagonal, error"] < errors["ringnorm, with, error"]
