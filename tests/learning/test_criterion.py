import pytest

import golden
from gramsmith.learning.criterion import CRITERIA, check_measure, make_objective
from gramsmith.measures import MEASURES
from gramsmith.targets import make_target


@pytest.mark.parametrize("name", [*MEASURES, *CRITERIA])
def test_names_lead_to_objectives(name):
    check_measure(name)
    assert make_objective(name, golden.X, make_target(golden.y)).name == name


def test_orientation():
    signs = {n: make_objective(n, golden.X, make_target(golden.y)).sign for n in CRITERIA}
    assert signs == {
        "radius_margin": -1.0,
        "marginal_likelihood": 1.0,
        "ridge_loo": -1.0,
        "kernel_fisher": 1.0,
    }


def test_unknown_names_are_told_what_there_is():
    with pytest.raises(ValueError, match=r"kta, cka.*kernel_fisher.*got 'accuracy'"):
        check_measure("accuracy")
    with pytest.raises(ValueError, match="ridge_loo"):
        check_measure("ridge_loo", ("radius_margin",))
