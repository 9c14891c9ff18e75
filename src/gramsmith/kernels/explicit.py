"""Kernels that are inner products of few features: of landmarks, or of random waves.

What needs n² kernel values of another kernel needs n times the number of features of these: the
sums of measures, and machines.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from gramsmith.arguments import abridged, counted
from gramsmith.kernels.base import Array, Derivatives, Kernel
from gramsmith.kernels.embedding import Embedding, add, add_named, count, prefixed, rows
from gramsmith.kernels.finite import count_samples
from gramsmith.kernels.inner import ExplicitKernel
from gramsmith.kernels.landmarks import METHODS, choose_landmarks, inverse_root
from gramsmith.kernels.precomputed import rests_on_matrix
from gramsmith.kernels.radial import Gaussian, Laplacian, Matern

BLOCK = 4096  # rows whose kernel with the landmarks is held at once
MOST_FEATURES = 1_000_000  # of random waves: past that the kernel itself is cheaper


class Nystroem(ExplicitKernel):
    r"""The Nyström approximation of a kernel by its values with a few landmarks.

    .. math:: k'(x, z) = k(x, L)\, k(L, L)^{-1}\, k(L, z)

    It is the best approximation of k by functions of the landmarks, and k itself where x or z is
    one of them. The features of a sample are k(x, L) R with R R' = k(L, L)^{-1}.

    Parameters
    ----------
    kernel : Kernel
        Of any samples, strings too.
    n_landmarks : int, default=500
        How many landmarks are chosen.
    method : {"pivoted", "leverage", "uniform"}, default="pivoted"
        How they are chosen, see `gramsmith.kernels.landmarks.choose_landmarks`.
    random_state : int, default=0
        Decides the choice.
    landmarks : array of shape (m, p) or sequence of m objects, optional
        The landmarks themselves. By default they are chosen among the samples at hand; what is
        fitted keeps those of its training samples.

    Notes
    -----
    Derivatives are for given landmarks. For a kernel matrix that is given, the estimators with
    ``solver="nystroem"`` and ``kernel="precomputed"`` do the same.

    References
    ----------
    C. K. I. Williams, M. Seeger, "Using the Nyström method to speed up kernel machines", 2000.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> k = gs.Nystroem(gs.Gaussian(2.0), n_landmarks=60)
    >>> bool(np.abs(k(X) - gs.Gaussian(2.0)(X)).max() < 1e-4)
    True
    >>> k.features(X).shape
    (500, 60)
    """

    parts: ClassVar[tuple[str, ...]] = ("kernel",)
    _stored_parameters: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "n_landmarks": "whole",
        "random_state": "whole",
        "landmarks": "samples * * | none",
    }

    whole: ClassVar[dict[str, int]] = {"n_landmarks": 1, "random_state": 0}
    choices: ClassVar[dict[str, tuple[Any, ...]]] = {"method": METHODS}

    def __init__(
        self,
        kernel: Kernel,
        n_landmarks: int = 500,
        method: str = "pivoted",
        random_state: int = 0,
        landmarks: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.method = method
        self.random_state = random_state
        self.landmarks = landmarks

    def check_parameters(self) -> None:
        super().check_parameters()
        if rests_on_matrix(self.kernel):
            raise ValueError(
                "Nystroem: expected a kernel of samples, got one of a given matrix. Use "
                "KernelRidgeRegressor or KernelRidgeClassifier with kernel='precomputed' and "
                "solver='nystroem'."
            )
        if self.landmarks is not None and not count_samples(self.landmarks):
            raise ValueError("Nystroem: expected at least one landmark, got none.")

    def check_input(self, X: Any) -> Any:
        return self.kernel.check_input(X)

    def fixed_to(self, X: Any) -> Any:
        fixed = super().fixed_to(X)
        if self.landmarks is not None:
            return fixed
        return clone(fixed).set_params(landmarks=self._chosen(self.kernel.check_input(X)))

    def _chosen(self, X: Any) -> Any:
        """Return landmarks among the samples."""
        E = self.kernel.embed(X, self.kernel.reference(X))
        chosen = choose_landmarks(
            lambda I, J: self.kernel.tile(rows(E, I), rows(E, J)),
            self.kernel.diagonal(E),
            int(self.n_landmarks),
            self.method,
            int(self.random_state),
        )
        return X[chosen] if hasattr(X, "shape") else [X[i] for i in chosen]

    def reference(self, *Xs: Any) -> Any:
        given = self.landmarks
        landmarks = self._chosen(Xs[0]) if given is None else self.kernel.check_input(given)
        if sp.issparse(Xs[0]) and not sp.issparse(landmarks):
            landmarks = sp.csr_array(landmarks)
        elif sp.issparse(landmarks) and not sp.issparse(Xs[0]):
            landmarks = landmarks.toarray()
        self._check_widths(Xs[0], landmarks)
        inner = self.kernel.reference(*Xs, landmarks)
        e = self.kernel.embed(landmarks, inner)
        K = np.asarray(self.kernel.tile(e, e), dtype=np.float64)
        return inner, landmarks, e, inverse_root(0.5 * (K + K.T))

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        inner, _, e, root = self.reference(X) if reference is None else reference
        a = self.kernel.embed(X, inner)
        U = np.empty((count(a), root.shape[1]), dtype=dtype)
        for start in range(0, len(U), BLOCK):
            part = slice(start, start + BLOCK)
            U[part] = self.kernel.tile(rows(a, part), e) @ root
        return U

    def embed_vjp(self, X: Any, reference: Any, E: Any, dE: Any) -> tuple[Any, Derivatives]:
        if dE is None:
            return None, {}
        inner, landmarks, e, root = reference
        a = self.kernel.embed(X, inner)
        C = self.kernel.tile(a, e)
        dE = np.asarray(dE, dtype=np.float64)
        da, de, found = self.kernel.tile_vjp(a, e, dE @ root.T, C)
        # Through R: with S = R R' = k(L, L)^-1 the features enter as C S C' alone, so that
        # dS = dR R^-1 / 2, and by the rule of the inverse the derivative by k(L, L) is -S dS S.
        by_root = -0.5 * root @ (root.T @ (C.T @ dE)) @ root.T
        left, right, more = self.kernel.tile_vjp(e, e, 0.5 * (by_root + by_root.T))
        de = add(de, add(left, right))
        total = add_named(dict(found), more)
        dX, through = self.kernel.embed_vjp(X, inner, a, da)
        total = add_named(total, through)
        total = add_named(total, self.kernel.embed_vjp(landmarks, inner, e, de)[1])
        return dX, prefixed("kernel", total)


class RandomFourier(ExplicitKernel):
    r"""Random Fourier features of a stationary kernel.

    .. math:: k'(x, z) = \frac{2}{D} \sum_{j=1}^{D/2} \cos \omega_j'(x - z), \qquad
              \omega_j \sim \text{the spectral density of } k

    The features are cosines and sines of ω_j'x; the error of a value is about :math:`D^{-1/2}`,
    whatever the data.

    Parameters
    ----------
    kernel : Gaussian, Laplacian or Matern
        Its frequencies are normal, Cauchy or Student's.
    n_features : int, default=1000
        The even number D.
    random_state : int, default=0
        Decides the frequencies.

    References
    ----------
    A. Rahimi, B. Recht, "Random features for large-scale kernel machines", 2007.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> k = gs.RandomFourier(gs.Gaussian(2.0), n_features=4000)
    >>> bool(np.abs(k(X) - gs.Gaussian(2.0)(X)).max() < 0.1)
    True
    """

    parts: ClassVar[tuple[str, ...]] = ("kernel",)
    _stored_parameters: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "n_features": "whole",
        "random_state": "whole",
    }
    whole: ClassVar[dict[str, int]] = {"n_features": 2, "random_state": 0}
    accepts_sparse = True

    def __init__(self, kernel: Kernel, n_features: int = 1000, random_state: int = 0) -> None:
        self.kernel = kernel
        self.n_features = n_features
        self.random_state = random_state

    def check_parameters(self) -> None:
        super().check_parameters()
        if type(self.kernel) not in (Gaussian, Laplacian, Matern):
            raise ValueError(
                "RandomFourier: expected a Gaussian, Laplacian or Matern kernel, got "
                f"{type(self.kernel).__name__}, whose frequencies are not known. Use Nystroem."
            )
        if self.n_features % 2 or self.n_features > MOST_FEATURES:
            raise ValueError(
                f"RandomFourier: expected an even n_features from 2 to {MOST_FEATURES:,}, got "
                f"{abridged(self.n_features)}. Use 1000."
            )

    def is_stationary(self) -> bool:
        return True

    def reference(self, *Xs: Any) -> Any:
        return self._frequencies(Xs[0].shape[1])

    def _frequencies(self, p: int) -> Array:
        """Return the frequencies of length 1 over the length scale, shape (p, D/2)."""
        rng = np.random.default_rng(int(self.random_state))
        shape = (p, int(self.n_features) // 2)
        kernel = self.kernel
        if isinstance(kernel, Laplacian) and kernel.norm == "l1":
            draws = rng.standard_cauchy(shape)
        else:
            draws = rng.standard_normal(shape)
            if not isinstance(kernel, Gaussian):
                degrees = 2.0 * kernel.nu if isinstance(kernel, Matern) else 1.0
                draws /= np.sqrt(rng.chisquare(degrees, size=shape[1]) / degrees)
        scale = np.asarray(kernel.length_scale, dtype=np.float64)
        if scale.ndim and len(scale) != p:
            raise ValueError(
                f"Expected {counted(len(scale), 'feature')} (one per length_scale), got {p}. "
                "Pass the columns that the kernel was made for."
            )
        return np.asarray(draws / (scale[:, None] if scale.ndim else scale))

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        omega = self.reference(X) if reference is None else reference
        half = omega.shape[1]
        U = np.empty((X.shape[0], 2 * half), dtype=dtype)
        for start in range(0, len(U), BLOCK):
            part = slice(start, start + BLOCK)
            Z = np.asarray(X[part] @ omega)
            U[part, :half], U[part, half:] = np.cos(Z), np.sin(Z)
        U *= half**-0.5
        return U

    def embed_vjp(self, X: Any, reference: Any, E: Any, dE: Any) -> tuple[Any, Derivatives]:
        if dE is None:
            return None, {}
        omega, half = reference, reference.shape[1]
        dZ = E[:, :half] * dE[:, half:] - E[:, half:] * dE[:, :half]
        scale = np.asarray(self.kernel.length_scale, dtype=np.float64)
        by_feature = -np.einsum("kj,kj->k", np.asarray(X.T @ dZ), omega)
        by_scale = by_feature / scale if scale.ndim else float(by_feature.sum() / scale)
        return dZ @ omega.T, {"kernel__length_scale": by_scale}
