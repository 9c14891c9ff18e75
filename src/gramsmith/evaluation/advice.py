"""Advice: what the moments of a kernel say about it, in codes and in words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gramsmith.evaluation.result import Advice, Evaluation
from gramsmith.gram import Gram
from gramsmith.kernels.base import Kernel
from gramsmith.kernels.definiteness import indefiniteness
from gramsmith.kernels.precomputed import Precomputed
from gramsmith.measures.base import Sums
from gramsmith.moments import Moments
from gramsmith.targets import Target

MANY = 20  # classes from which numbers may be meant as quantities,
FEW = 5  # with fewer samples each, unless they are floats
SMALL = 1500  # matrices up to this size have their eigenvalues looked at


def about_kernel(
    name: str, moments: Moments, target: Target, kernel: Kernel | None = None
) -> Iterator[Advice]:
    """Yield remarks on one kernel, from its moments; the kernel says what can be done about it."""
    has_width = kernel is None or hasattr(kernel, "length_scale")
    sums = Sums(moments, target)
    q = sums.plain_square().value
    diagonal = moments.d[0] + moments.c[0] + 2.0 * moments.h[0]
    if q > 0 and 1.0 - float((target.w * target.own) @ diagonal**2) / q < 0.05:
        yield Advice(
            "near-identity",
            f"{name} is nearly the identity matrix: every sample resembles only itself, and plain "
            "FSM and KTA are flattered. "
            + ("Use a larger length scale." if has_width else "Use a kernel of lower degree."),
            name,
        )
    centred = sums.centred_square().value
    if centred <= 1e-6 * q:
        yield Advice(
            "near-constant",
            f"{name} is nearly constant: all samples look alike. "
            + ("Use a smaller length scale." if has_width else "Scale the features up."),
            name,
        )


def about_definiteness(name: str, G: Gram, k: int) -> Iterator[Advice]:
    """Yield a remark if a kernel is not positive semidefinite."""
    kernel = G.kernels[k]
    if not kernel.positive_definite:
        yield Advice(
            "indefinite",
            f"{name} is not positive semidefinite in general; bounds that need it do not hold.",
            name,
        )
    elif isinstance(kernel, Precomputed) and G.n <= SMALL:
        K = G.part(k).toarray()
        message = indefiniteness(np.linalg.eigvalsh(K.astype(np.float64)), dtype=K.dtype)
        if message is not None:
            yield Advice("indefinite", f"{name}: {message}", name)


def about_target(target: Target) -> Iterator[Advice]:
    """Yield remarks on the task itself."""
    if target.kind == "classes" and target.m.min() * 9.0 < target.m.max():
        yield Advice(
            "imbalanced",
            f"The smallest class has {target.m.min() / target.n:.1%} of the samples: prefer cka or "
            'target="uneven" to kta, and balanced scores to accuracy.',
        )


def about_task(target: Target) -> Iterator[Advice]:
    """Yield a remark if numbers that were taken as classes look like quantities."""
    if target.kind != "classes" or target.classes is None or target.classes.dtype.kind not in "iuf":
        return
    count, each = len(target.classes), target.n / len(target.classes)
    if count > MANY and (target.classes.dtype.kind == "f" or each < FEW):
        yield Advice(
            "many-classes",
            f"The {count} different numbers in y are taken as classes, {each:.3g} samples each. "
            'Use task="regression" if they are quantities.',
        )


def about_ties(evaluation: Evaluation, measure: str) -> Iterator[Advice]:
    """Yield a remark if the best kernels cannot be told apart."""
    if measure not in evaluation.measures or len(evaluation.kernels) < 2:
        return
    if not np.isfinite(evaluation.scores(measure)).any():
        return
    tied = evaluation.ties(measure)
    if len(tied) > 1:
        others = ", ".join(tied[1:4]) + (", ..." if len(tied) > 4 else "")
        yield Advice(
            "tie",
            f"By {measure}, {tied[0]} and {others} are within noise of each other.",
            tied[0],
            measure,
        )
