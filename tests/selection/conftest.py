"""What tests of rankings share."""

import pytest

from gramsmith.selection.work import Work


@pytest.fixture
def no_time(monkeypatch):
    """However large a time budget, nothing but what must be done is begun."""

    def in_time(self, seconds=0.0):
        self.late = self.late or self.time_budget is not None
        return self.time_budget is None

    monkeypatch.setattr(Work, "in_time", in_time)
