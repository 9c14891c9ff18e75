"""Which kernels go by explicit features and which by tiles, and their moments side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.gram import explicit
from gramsmith.gram.bank import Member
from gramsmith.kernels.base import Kernel
from gramsmith.moments import Moments

Array = npt.NDArray[Any]


def find_routes(
    members: list[Member], n: int, folds: int, budget: int, cross: bool
) -> list[tuple[list[Member], Any]]:
    """Return runs of members with the features of each, or with None where they go by tiles.

    Inner products between kernels (`cross`) need all of them on one route.
    """
    features = []
    for member in members:
        U = member.kernel.features(member.X, member.reference)
        features.append(U if explicit.worthwhile(U, n, folds, budget) else None)
    tiled = [U is None for U in features]
    if all(tiled) or (cross and any(tiled)):
        return [(members, None)]
    if not any(tiled):
        return [(members, features)]
    groups: list[tuple[list[Member], Any]] = []
    for member, U in zip(members, features, strict=True):
        if groups and (groups[-1][1] is None) == (U is None):
            groups[-1][0].append(member)
            if U is not None:
                groups[-1][1].append(U)
        else:
            groups.append(([member], None if U is None else [U]))
    return groups


def side_by_side(parts: list[Moments]) -> Moments:
    """Return the moments of the kernels of all parts, without products between them."""
    if len(parts) == 1:
        return parts[0]
    m = sum(len(part) for part in parts)
    F = parts[0].q.shape[2]
    q = np.zeros((m, m, F, F))
    start = 0
    for part in parts:
        stop = start + len(part)
        q[start:stop, start:stop] = part.q
        start = stop
    joined = (np.concatenate([getattr(p, name) for p in parts]) for name in ("P", "d", "h", "c"))
    P, d, h, c = joined
    return Moments(P, d, q, h, c, parts[0].fold, False)


def check_magnitude(kernels: Sequence[Kernel], moments: Moments, w: Array, dtype: Any) -> None:
    """Raise a ValueError if the squares of a kernel's values are too large or small for `dtype`.

    One look at q after a sweep. Where it is 0 the kernel, less its pivot, must be 0 as well.
    """
    limits = np.finfo(dtype)
    least = float(limits.tiny) / float(limits.eps)
    for k, kernel in enumerate(kernels):
        q = float(moments.q[k, k].sum())
        if np.isfinite(q) and (q >= least or not _varies(moments, k, w > 0)):
            continue
        size = "small" if q < least else "large"
        raise ValueError(
            f"Expected kernel values whose squares fit {np.dtype(dtype).name}, got values too "
            f"{size} in {kernel.formula()}. Scale the features (StandardScaler) or divide the "
            "kernel matrix by its largest entry; Normalized(kernel) has values up to 1."
        )


def _varies(moments: Moments, k: int, used: Array) -> bool:
    return bool(moments.d[k, used].any() or moments.P[k][:, used].any())
