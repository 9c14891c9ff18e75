"""Every promise of docs/theory/promises.rst is simulated, and each simulation is promised there."""

import warnings

import numpy as np
import pytest

from promises import (  # noqa: F401
    SIMULATIONS,
    Row,
    draw,
    estimators,
    guarantees,
    hypotheses,
    learners,
    measures,
    rankings,
    read_page,
    record,
    share_of_runs,
    verdict,
)

ROWS = read_page()


def test_every_promise_has_a_simulation_and_every_simulation_a_promise():
    assert set(ROWS) == set(SIMULATIONS)


def test_every_promise_was_measured_in_at_least_400_runs_and_held():
    for row in ROWS.values():
        limits, measured = row.limits(), row.measured.split()
        assert int(row.runs) >= 400, row.name
        if limits is None:
            held = abs(float(measured[0])) <= row.allowance + 3.5 * float(measured[2])
        else:
            errors = [3.5 * (limit * (1 - limit) / int(row.runs)) ** 0.5 for limit in limits]
            share = float(measured[0]) / 100
            # printed to a tenth of a per cent
            held = limits[0] - errors[0] - 0.0005 <= share <= limits[1] + errors[1] + 0.0005
        assert held, row


@pytest.mark.parametrize(
    ("promised", "share", "holds"),
    [
        ("95 %", 0.95, True),
        ("95 %", 0.90, False),
        ("92 to 98 %", 0.97, True),
        ("92 to 98 %", 0.85, False),
        ("at most 5 %", 0.0, True),
        ("at most 5 %", 0.11, False),
        ("at least 90 %", 0.8, False),
        ("always", 0.9975, False),
    ],
)
def test_a_broken_promise_is_noticed(promised, share, holds):
    results = np.arange(400) < share * 400
    assert verdict(Row("a", "b", promised, "", ""), results.astype(float))[1] == holds


def test_a_bias_is_noticed():
    results = np.random.default_rng(0).normal(size=400)
    assert verdict(Row("a", "b", "0", "", ""), results)[1]
    assert not verdict(Row("a", "b", "0", "", ""), results + 0.3)[1]
    assert verdict(Row("a", "b", "within 0.3", "", ""), results + 0.3)[1]


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", sorted(SIMULATIONS))
def test_what_is_promised_holds(name):
    with warnings.catch_warnings():
        # small and odd samples are the point here; their warnings have tests of their own
        warnings.simplefilter("ignore")
        results = draw(SIMULATIONS[name], share_of_runs())
    figure, held = verdict(ROWS[name], results)
    record(name, figure, len(results))
    assert held, f"{ROWS[name].statement} Promised {ROWS[name].promised}, measured {figure}."
