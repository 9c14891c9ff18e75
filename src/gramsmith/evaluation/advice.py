"""Advice: what the moments of a kernel say about it, in codes and in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gramsmith.evaluation.result import Advice, Evaluation
from gramsmith.kernels.base import Kernel
from gramsmith.measures.base import Sums
from gramsmith.moments import Moments
from gramsmith.targets import Target

WIDTH = "length_scale"
# Shares of |K|²: off the diagonal, below which plain FSM and KTA measure the identity matrix; and
# after centring, below which samples differ by a thousandth of their size.
OFF_DIAGONAL, VARYING = 0.05, 1e-6
MANY = 20  # classes from which numbers may be meant as quantities,
FEW = 5  # with fewer samples each, unless they are floats
IMBALANCE = 9.0  # times as large as the smallest class, or more: accuracy hides that one


def about_kernel(name: str, moments: Moments, target: Target, kernel: Kernel) -> Iterator[Advice]:
    """Yield remarks on one kernel, from its moments; the kernel says what can be done about it."""
    sums = Sums(moments, target)
    q = sums.plain_square().value
    diagonal = moments.diagonals[0]
    if q > 0 and 1.0 - float((target.w * target.row_weights) @ diagonal**2) / q < OFF_DIAGONAL:
        yield Advice(
            "near-identity",
            f"{name} is nearly the identity matrix: every sample resembles only itself, and plain "
            "FSM and KTA are too good. " + _less_peaked(kernel),
            name,
        )
    centred = sums.centred_square().value
    if centred <= VARYING * q:
        yield Advice(
            "near-constant",
            f"{name} is nearly constant: all samples look alike. "
            + ("Use a smaller length scale." if _has(kernel, WIDTH) else "Scale the features up."),
            name,
        )


def _has(kernel: Kernel, parameter: str) -> bool:
    """Return whether a kernel, or a part of it, has a parameter of this name."""
    return any(name.rpartition("__")[2] == parameter for name in kernel.get_params())


def _less_peaked(kernel: Kernel) -> str:
    if _has(kernel, WIDTH):
        return "Use a larger length scale."
    if _has(kernel, "degree") or _has(kernel, "exponent"):
        return "Use a lower degree, or Normalized rows."
    return "Use another kernel, or measure it by cka_debiased and fsm_loo."


def about_definiteness(
    name: str, moments: Moments, target: Target, kernel: Kernel
) -> Iterator[Advice]:
    """Yield a remark if a kernel need not be positive semidefinite, or is seen not to be.

    What the sums show costs nothing: k(x, x), the sums over classes and over all pairs cannot be
    negative. They may hide negative eigenvalues, which `check_kernel_matrix` looks at.
    """
    sums, V = Sums(moments, target), np.eye(len(target.e))
    directions = [target.e, *(V if target.kind == "classes" else ())]
    least = min(sums.plain_inner(np.outer(v, v)).value for v in directions)
    diagonal = moments.diagonals[0]
    if min(float(diagonal.min()), least) < -1e-8 * sums.scale:  # what rounding may do is less
        yield Advice(
            "indefinite",
            f"{name} is not positive semidefinite: quadratic sums of its values are negative. "
            "Repair it, and rows for new samples, with gramsmith.NearestPSD.",
            name,
        )
    elif not kernel.positive_definite:
        yield Advice(
            "indefinite",
            f"{name} is not known to be positive semidefinite; bounds that need it may not hold.",
            name,
        )


def about_target(target: Target, task: str) -> Iterator[Advice]:
    """Yield remarks on the target, and on the task if it was chosen by what y looks like."""
    if target.kind != "classes" or target.classes is None:
        return
    if target.m.min() * IMBALANCE < target.m.max():
        yield Advice(
            "imbalanced",
            f"The smallest class has {target.m.min() / target.n:.1%} of the samples: prefer cka or "
            'target="imbalanced" to kta, and balanced scores to accuracy.',
        )
    kind, count = target.classes.dtype.kind, len(target.classes)
    each = target.n / count
    if task == "auto" and count > MANY and (kind == "f" or (kind in "iu" and each < FEW)):
        yield Advice(
            "many-classes",
            f"The {count} different numbers in y are taken as classes, {each:.3g} samples each. "
            'Use task="regression" if they are quantities.',
        )


def with_remarks(table: Evaluation, advice: list[Advice]) -> Evaluation:
    """Return the table with remarks, and one more if its best kernels cannot be told apart."""
    measure = "cka" if "cka" in table.measures else next(iter(table.measures))
    several = len(table.kernels) > 1 and np.isfinite(table.scores(measure)).any()
    tied = table.ties(measure) if several else []
    if len(tied) > 1:
        others = ", ".join(tied[1:4]) + (f" and {len(tied) - 4} more" if len(tied) > 4 else "")
        text = f"By {measure}, {tied[0]} is not clearly better than {others}."
        advice = [*advice, Advice("tie", text, tied[0], measure)]
    return replace(table, advice=tuple(advice))
