"""The feature map of an aligned kernel, spanned by kernel functions at given samples."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramsmith.kernels import Kernel
from gramsmith.kernels.base import Array
from gramsmith.kernels.maps import SampleMap


class SpectralMap(SampleMap):
    """The map psi(x) = coef' k(samples, x).

    Parameters
    ----------
    kernel : Kernel
    samples : array of shape (m, p), or sequence of m objects
    coef : array of shape (m, r)

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> from gramsmith.learning import SpectralMap
    >>> psi = SpectralMap(gs.Linear(), np.array([[2.0]]), np.array([[0.5]]))
    >>> (gs.Linear() @ psi)([[1.0]], [[3.0]])
    array([[3.]])
    """

    _stored_parameters: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "samples": "samples s p",
        "coef": "array s q",
    }

    def __init__(self, kernel: Kernel, samples: Any, coef: Array) -> None:
        self.kernel = kernel
        self.samples = samples
        self.coef = coef

    @property
    def requires_vector_input(self) -> bool:  # type: ignore[override]
        """Whether samples must be numeric vectors."""
        return bool(self.kernel.requires_vector_input)

    def __call__(self, X: Any) -> Array:
        """Return psi of every sample, in blocks of rows."""
        count = X.shape[0] if hasattr(X, "shape") else len(X)
        m = self.coef.shape[0]
        step = max(1, (1 << 22) // max(m, 1))
        parts = [
            self.kernel(self._alike(X[i : i + step]), self.samples) @ self.coef
            for i in range(0, count, step)
        ]
        return np.vstack(parts) if parts else np.empty((0, self.coef.shape[1]))

    def _alike(self, block: Any) -> Any:
        """Return a block of rows, sparse if the samples are and dense if they are not."""
        if sp.issparse(self.samples) == sp.issparse(block):
            return block
        return block.toarray() if sp.issparse(block) else sp.csr_array(block)
