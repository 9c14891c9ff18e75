"""Measures: one number about a Gram matrix, with its adjoint and its orientation.

`MEASURES` is the registry; a new measure is a formula of `Sums` and one line here.
"""

from gramsmith.measures.alignment import CKA, CKA_DEBIASED, KTA
from gramsmith.measures.base import Measure as Measure
from gramsmith.measures.base import Undefined as Undefined
from gramsmith.measures.dependence import HSIC, HSIC_UNBIASED, MMD, MMD_UNBIASED, POLARITY
from gramsmith.measures.separability import CSM, CSM_SCATTER, FSM, FSM_LOO

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        KTA,
        CKA,
        CKA_DEBIASED,
        FSM,
        FSM_LOO,
        CSM,
        CSM_SCATTER,
        POLARITY,
        HSIC,
        HSIC_UNBIASED,
        MMD,
        MMD_UNBIASED,
    )
}


def get_measure(name: str | Measure) -> Measure:
    """Return a measure by name, or raise with the names there are."""
    if isinstance(name, Measure):
        return name
    if name not in MEASURES:
        raise ValueError(f"Expected a measure among {', '.join(MEASURES)}, got {name!r}.")
    return MEASURES[name]
