"""Kernel matrices that somebody else computed: the kernel, the checks and the repairs."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramsmith.arguments import abridged, is_one_of
from gramsmith.kernels.base import (
    Array,
    Derivatives,
    Kernel,
    Pullback,
    symmetrised,
)
from gramsmith.kernels.definiteness import indefiniteness
from gramsmith.kernels.embedding import Embedding, fitting
from gramsmith.kernels.finite import check_finite, check_real, checked_data


class Precomputed(Kernel):
    """The kernel whose samples are the rows of a given Gram matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> bool((gs.Precomputed()(K) == K).all())
    True
    """

    def check_input(self, X: Any) -> Any:
        check_real(X)
        if sp.issparse(X):
            raise TypeError("Expected a dense kernel matrix, got a sparse one. Use K.toarray().")
        try:
            X = np.asarray(X)
        except ValueError:
            raise ValueError(
                "Expected a kernel matrix (2 axes), got rows of several lengths. "
                "Give every row as many values as there are rows."
            ) from None
        if X.dtype.kind not in "fiub":
            raise ValueError(f"Expected a numeric kernel matrix, got dtype {X.dtype}.")
        X = X if X.dtype in (np.float64, np.float32) else X.astype(np.float64)
        if X.ndim != 2:
            raise ValueError(f"Expected a kernel matrix (2 axes), got shape {X.shape}.")
        check_finite(X)
        return X

    def reference(self, *Xs: Any) -> Any:
        check_square(Xs[0])
        if len(Xs) == 1:
            check_symmetric(Xs[0])

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        return np.asarray(X, dtype=dtype), np.arange(X.shape[0])

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        (K, _), (_, columns) = a, b
        if not len(columns) or (np.diff(columns) != 1).any():
            return np.asarray(K[:, columns])
        part, room = K[:, columns[0] : columns[-1] + 1], fitting(out, K.dtype)
        if room is None:
            return np.array(part)
        np.copyto(room, part)
        return room

    def diagonal(self, a: Embedding) -> Array:
        K, columns = a
        return np.asarray(K[np.arange(len(columns)), columns], dtype=np.float64)

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        return None, None, {}

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        return None, {}

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return X: it is the kernel matrix already (its columns are the samples of Y)."""
        X = self.check_input(X)
        return (X, np.empty((*X.shape, 0))) if eval_gradient else X

    def diag(self, X: Any) -> Array:
        """Return the diagonal of the matrix."""
        return np.asarray(np.diagonal(self.check_input(X)), dtype=np.float64)


def is_precomputed(kernel: Any) -> bool:
    """Return whether a kernel, or its name, stands for matrices instead of samples."""
    named = isinstance(kernel, str) and kernel == "precomputed"
    return named or isinstance(kernel, Precomputed)


def rests_on_matrix(kernel: Kernel) -> bool:
    """Return whether a kernel is made of precomputed values, as a multiple of them is."""
    return isinstance(kernel, Precomputed) or any(map(rests_on_matrix, kernel.children().values()))


def check_kernel_matrix(K: Any, *, symmetric: str = "raise", psd: str = "warn") -> Array:
    """Return K as a float array after checking that it can be a kernel matrix.

    Parameters
    ----------
    K : array of shape (n, n)
    symmetric : {"raise", "average"}, default="raise"
        What to do when K differs from its transpose by more than 1e-8 of its largest entry (1e-5
        in single precision); less than that is averaged away.
    psd : {"raise", "warn", "ignore"}, default="warn"
        What to do when K has an eigenvalue below 0 by more than rounding explains; "ignore" skips
        the eigenvalues.

    Returns
    -------
    array of shape (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> gs.check_kernel_matrix(np.eye(2)).shape
    (2, 2)
    """
    _member("symmetric", symmetric, ("raise", "average"))
    _member("psd", psd, ("raise", "warn", "ignore"))
    K = Precomputed().check_input(K)
    check_square(K)
    if not len(K):
        raise ValueError("Expected at least one sample, got a matrix of shape (0, 0). Pass rows.")
    gap = asymmetry(K) if symmetric == "average" else check_symmetric(K)
    if gap:
        K = symmetrised(np.array(K))
    if psd != "ignore":
        values = np.linalg.eigvalsh(K.astype(np.float64))
        message = indefiniteness(values, dtype=K.dtype)
        if message is not None:
            if psd == "raise":
                raise ValueError(message)
            warnings.warn(f'{message} Accept it with psd="ignore".', UserWarning, stacklevel=2)
    return np.asarray(K)


def check_square(K: Array) -> None:
    """Raise a ValueError unless K has as many rows as columns."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"Expected a square kernel matrix, got shape {K.shape}. "
            "Rows and columns must be the same samples."
        )


def check_symmetric(K: Array) -> float:
    """Return max |K - K'|, or raise a ValueError if that is more than rounding."""
    gap = asymmetry(K)
    top = max(float(K.max(initial=0.0)), -float(K.min(initial=0.0))) if gap else 0.0
    if gap > rounding(K.dtype) * top:
        raise ValueError(
            f"Expected a symmetric kernel matrix, got entries that differ by {gap:.3g} from "
            "their mirror image. Rows and columns must be the same samples in the same order; if "
            'they are, use (K + K.T) / 2 or check_kernel_matrix(K, symmetric="average").'
        )
    return gap


def rounding(dtype: Any) -> float:
    """Return what two computations of one kernel value may differ by, as a share of it."""
    return max(1e-8, 100.0 * float(np.finfo(dtype).eps))


def asymmetry(K: Array, block: int = 256) -> float:
    """Return max |K - K'|, in blocks that fit the cache."""
    cuts = [slice(i, i + block) for i in range(0, len(K), block)]
    parts = (
        np.abs(K[I, J] - K[J, I].T).max(initial=0.0) for i, I in enumerate(cuts) for J in cuts[i:]
    )
    return float(max(parts, default=0.0))


def nearest_psd(K: Any, method: str = "clip") -> Array:
    """Return a positive semidefinite matrix near K.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric.
    method : {"clip", "flip", "shift"}, default="clip"
        Negative eigenvalues become 0 (the nearest matrix in the Frobenius norm), their absolute
        value, or all eigenvalues are moved up together.

    Returns
    -------
    array of shape (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> gs.nearest_psd(np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    _member("method", method, ("clip", "flip", "shift"))
    K = check_kernel_matrix(K, psd="ignore").astype(np.float64)
    if method == "shift":
        low = float(np.linalg.eigvalsh(K)[0])
        return np.asarray(K - min(low, 0.0) * np.eye(len(K)))
    values, vectors = np.linalg.eigh(K)
    values = np.maximum(values, 0.0) if method == "clip" else np.abs(values)
    repaired = (vectors * values) @ vectors.T
    return np.asarray(0.5 * (repaired + repaired.T))


class MatrixTransformer(TransformerMixin, BaseEstimator):
    """A transformer of kernel matrices: fitted to the training matrix, applied to blocks of it."""

    def _training_matrix(self, K: Any) -> Array:
        K = checked_data(self, K, dtype=(np.float64, np.float32))
        check_square(K)
        return np.asarray(K)

    def _new_block(self, K: Any) -> Array:
        check_is_fitted(self)
        return np.asarray(checked_data(self, K, dtype=(np.float64, np.float32), reset=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags


class NearestPSD(MatrixTransformer):
    r"""Repair kernel matrices that are not positive semidefinite, and blocks of new rows alike.

    .. math:: K = Q \Lambda Q', \qquad k(x) \mapsto k(x)\, Q\, s(\Lambda)\, Q'

    with s = 1 for positive and 0 for other eigenvalues ("clip"), or their sign ("flip"). Of the
    training matrix this is `nearest_psd`; predictions for blocks that were not repaired would be
    those of another kernel.

    Parameters
    ----------
    method : {"clip", "flip"}, default="clip"
        What becomes of negative eigenvalues. "shift" has no counterpart for new rows.

    Attributes
    ----------
    projection_ : array of shape (n, n)
        Q s(Λ) Q'.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> K = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> repair = gs.NearestPSD().fit(K)
    >>> repair.transform(K)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    >>> repair.transform([[1.0, 0.2]])
    array([[0.6, 0.6]])
    """

    _stored: ClassVar[dict[str, str]] = {"projection_": "array p p"}
    _stored_parameters: ClassVar[dict[str, str]] = {"method": "text"}

    def __init__(self, method: str = "clip") -> None:
        self.method = method

    def fit(self, K: Any, y: Any = None) -> NearestPSD:
        """Learn the eigenvectors of the training matrix K, shape (n, n)."""
        if is_one_of(self.method, ("shift",)):
            raise ValueError(
                'Expected method "clip" or "flip", got "shift", which has no counterpart for new '
                "rows: what is added to the diagonal says nothing about them."
            )
        _member("method", self.method, ("clip", "flip"))
        K = self._training_matrix(K)
        check_symmetric(K)
        values, vectors = np.linalg.eigh(symmetrised(np.array(K, dtype=np.float64)))
        kept = np.sign(values) if self.method == "flip" else (values > 0).astype(float)
        self.projection_ = (vectors * kept) @ vectors.T
        return self

    def transform(self, K: Any) -> Array:
        """Return the repaired block of shape (n_new, n)."""
        K = self._new_block(K)
        return np.asarray(K @ self.projection_)


class KernelCenterer(MatrixTransformer):
    r"""Centre kernel matrices in feature space, new blocks with the training means.

    .. math:: k_c(x) = k(x) - \overline{k(x)} - K1/n + 1'K1/n^2

    Unlike scikit-learn's class of this name, it adds up single-precision matrices in double
    precision: there, large sums of nearly equal entries lose half of their seven digits.

    Attributes
    ----------
    means_ : array of shape (n,)
        Column means of the training matrix.
    mean_ : float

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.kernels import KernelCenterer
    >>> bool(abs(KernelCenterer().fit_transform(np.eye(3)).sum()) < 1e-12)
    True
    """

    _stored: ClassVar[dict[str, str]] = {"means_": "array p", "mean_": "number"}

    def fit(self, K: Any, y: Any = None) -> KernelCenterer:
        """Learn the means of the training matrix K, shape (n, n)."""
        K = self._training_matrix(K)
        self.means_ = K.mean(axis=0, dtype=np.float64)
        self.mean_ = float(self.means_.mean())
        return self

    def transform(self, K: Any) -> Array:
        """Return the centred block of shape (n_new, n)."""
        K = self._new_block(K)
        mean = K.mean(axis=1, keepdims=True, dtype=np.float64)
        return np.asarray(K - mean - self.means_ + self.mean_)


class KernelNormalizer(MatrixTransformer):
    """Divide kernel matrices by the lengths of their samples (cosine), 0/0 being 0.

    Attributes
    ----------
    diagonal_ : array of shape (n,)
        Diagonal of the training matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from gramsmith.kernels import KernelNormalizer
    >>> KernelNormalizer().fit_transform(4.0 * np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """

    _stored: ClassVar[dict[str, str]] = {"diagonal_": "array p"}

    def fit(self, K: Any, y: Any = None) -> KernelNormalizer:
        """Learn the diagonal of the training matrix K, shape (n, n)."""
        K = self._training_matrix(K)
        self.diagonal_ = np.array(np.diagonal(K), dtype=np.float64)
        if self.diagonal_.min(initial=0.0) < 0:
            raise ValueError(
                f"Expected a diagonal >= 0, got {self.diagonal_.min():.6g}. "
                "Repair the matrix with gramsmith.nearest_psd first."
            )
        return self

    def transform(self, K: Any, diagonal: Any = None) -> Array:
        """Return the normalised block; `diagonal` holds k(x, x) of the new samples.

        Without `diagonal` the rows must be the training samples.
        """
        K = self._new_block(K)
        of_rows = self.diagonal_ if diagonal is None else np.asarray(diagonal, dtype=np.float64)
        if diagonal is None and len(of_rows) == len(K):
            self._check_training(K)
        if of_rows.shape != (len(K),):
            raise ValueError(
                f"Expected the diagonal k(x, x) of the {len(K)} new samples, got shape "
                f"{of_rows.shape}. Pass diagonal= with one number per row."
            )
        return np.asarray(K * reciprocal_root(of_rows)[:, None] * reciprocal_root(self.diagonal_))

    def _check_training(self, K: Array) -> None:
        # As many new samples as there were in training are no training samples yet.
        if not np.allclose(np.diagonal(K), self.diagonal_, rtol=rounding(K.dtype), atol=0.0):
            raise ValueError(
                "Expected the rows to be the training samples, got a matrix whose diagonal is not "
                "the one seen in fit. Pass diagonal= with k(x, x) of the new samples."
            )


def reciprocal_root(d: Array) -> Array:
    """Return 1 / sqrt(d), 0 where d is 0 or less."""
    return np.where(d > 0, 1.0 / np.sqrt(np.where(d > 0, d, 1.0)), 0.0)


def _member(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if not is_one_of(value, allowed):
        raise ValueError(
            f"Expected {name} to be one of {', '.join(allowed)}, got {abridged(value)}."
        )
