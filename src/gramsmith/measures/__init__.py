"""Measures: one number about a Gram matrix, with its adjoint and its orientation.

`MEASURES` is the registry; a new measure is a formula of `Sums` and one line here.
"""

from gramsmith.arguments import abridged, is_one_of
from gramsmith.measures.alignment import CKA, CKA_DEBIASED, KTA
from gramsmith.measures.base import Measure as Measure
from gramsmith.measures.base import Sums as Sums
from gramsmith.measures.base import Undefined as Undefined
from gramsmith.measures.dependence import HSIC, HSIC_UNBIASED, MMD, MMD_UNBIASED, POLARITY
from gramsmith.measures.separability import CSM, CSM_SCATTER, FSM, FSM_LOO
from gramsmith.moments import Scalar as Scalar

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


def get_measure(measure: str | Measure) -> Measure:
    """Return a measure given by name or as an object, or raise with the names there are."""
    if isinstance(measure, Measure):
        return measure
    if not is_one_of(measure, MEASURES):
        raise ValueError(
            f"Expected a measure among {', '.join(MEASURES)}, or a Measure, "
            f"got {abridged(measure)}."
        )
    return MEASURES[measure]
