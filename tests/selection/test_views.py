"""TakeView: one view of several."""

import pytest

from gramsmith.selection.views import TakeView


def test_takes_its_view():
    step = TakeView(1).fit(("a", "b"))
    assert step.transform(("c", "d")) == "d"


@pytest.mark.parametrize("X", [("a",), "ab", ["a", "b"]])
def test_wrong_views_are_refused(X):
    with pytest.raises(ValueError, match="views"):
        TakeView(1).fit(X)
    step = TakeView(1).fit(("a", "b"))
    with pytest.raises(ValueError, match="tuple of 2 views"):
        step.transform(X)
