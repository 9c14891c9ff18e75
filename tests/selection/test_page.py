"""The contents of a ranking's page."""

import numpy as np


def test_contents_of_a_classification(ranking):
    contents = ranking.contents(title="T", source="S")
    assert (contents.title, contents.source) == ("T", "S")
    assert contents.verdict == ranking.verdict
    assert contents.gram.shape == (150, 150)
    assert [name for name, _ in contents.blocks] == ["in", "out"]
    assert contents.map.shape == (150, 2)
    assert {path.family for path in contents.paths} == {"gaussian", "laplacian", "matern"}
    for path in contents.paths:
        assert (np.diff(path.steps) > 0).all()
        assert np.isfinite(path.verified).all()


def test_useful_features_weigh_more(ranking):
    weights = dict(ranking.contents().weights)
    assert set(weights) == {"first", "second", "noise"}
    assert min(weights["first"], weights["second"]) > weights["noise"]


def test_next_steps_are_code(ranking):
    steps = ranking.contents().next_steps
    assert any("KernelSelector" in code for _, code in steps)
    for _, code in steps:
        compile(code, "next step", "exec")


def test_contents_of_a_regression(regression):
    contents = regression.contents()
    assert contents.blocks == []
    assert contents.classes == []
    assert len(contents.map_colours) == 120
