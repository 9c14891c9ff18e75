"""Learners that climb an alignment and keep all of what they found, as in the papers."""

from functools import partial

import gramsmith as gs

TransformLearner = partial(gs.TransformLearner, measure="cka", keep=1.0)


def KernelLearner(kernel=None, measure="cka", *arguments, **options):
    """Return the learner."""
    return gs.KernelLearner(kernel, measure, *arguments, **{"keep": 1.0, **options})
