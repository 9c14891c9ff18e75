"""Evidence: plain values that can be written down, without pictures of samples and times."""

import json

import numpy as np

from gramsmith.report.evidence import Curve, Evidence, Outcome, Reading


def test_plain_values_are_json():
    curve = Curve("a", np.arange(2.0), np.arange(2.0), 0.5, (0.1, 0.9), 0.3)
    outcome = Outcome("cross-validation", 2, ["a", "b"], np.eye(2), roc=[curve])
    evidence = Evidence(Reading(2), outcome, gram=np.eye(2), seconds={"fit": 1.0})
    plain = evidence.to_plain()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["outcome"]["confusion"] == [[1.0, 0.0], [0.0, 1.0]]
    assert plain["outcome"]["roc"][0]["used"] == [0.1, 0.9]
    assert not {"gram", "map", "seconds"} & set(plain)
