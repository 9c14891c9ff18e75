"""Class weights: one factor per class on the weights of its samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def apply_class_weight(
    who: str, class_weight: Any, classes: Array, codes: Array, w: Array | None
) -> Array | None:
    r"""Return the weights of the samples times the weights of their classes.

    .. math:: w_i \leftarrow w_i\,\omega_{y_i}, \qquad
              \omega_c = \frac{\sum_i w_i}{C \sum_{y_i = c} w_i} \text{ if "balanced"}

    Parameters
    ----------
    who : str
        Name of the machine, for messages.
    class_weight : dict, "balanced" or None
        Labels that a dict does not mention have weight 1.
    classes : array of shape (C,)
        The labels.
    codes : int array of shape (n,)
        The class number of every sample.
    w : array of shape (n,), or None
        Positive weights; None means that all are one.

    Returns
    -------
    array of shape (n,), or None
        None where there are no weights at all.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.machines.class_weight import apply_class_weight
    >>> labels, codes = np.array(["no", "yes"]), np.array([0, 0, 0, 1])
    >>> apply_class_weight("L2SVC", "balanced", labels, codes, None).round(3)
    array([0.667, 0.667, 0.667, 2.   ])
    """
    if class_weight is None:
        return w
    w = np.ones(len(codes)) if w is None else w
    if isinstance(class_weight, str) and class_weight == "balanced":
        # Weighted sizes, so that a weight of 2 is a repeated row here too.
        sizes = np.bincount(codes, w, len(classes))
        return np.asarray(w * (w.sum() / (len(classes) * sizes))[codes])
    if not isinstance(class_weight, dict):
        raise ValueError(
            f'{who}: expected class_weight to be a dict, "balanced" or None, got '
            f'{class_weight!r}. Use for example "balanced".'
        )
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    # A class may be absent from a fold; but a misspelt label leaves another without its weight.
    if unknown and len(class_weight) - len(unknown) < len(labels):
        raise ValueError(
            f"{who}: expected class_weight of the classes {labels}, got one of {unknown!r}. "
            "Use the labels as they are in y."
        )
    factors = np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)
    if not np.isfinite(factors).all() or factors.min() <= 0:
        raise ValueError(
            f"{who}: expected finite class_weight > 0, got {class_weight!r}. "
            "Leave out the samples of a class that should not count."
        )
    return np.asarray(w * factors[codes])
