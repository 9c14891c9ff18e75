"""What may stand for a kernel: scikit-learn's objects and names, functions; numbers beside one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from inspect import Parameter, signature
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.gaussian_process import kernels as gp
from sklearn.utils.sparsefuncs import mean_variance_axis

from gramsmith.arguments import abridged, is_finite, is_positive
from gramsmith.kernels.algebra import Bounded, Fixed, Power, Product, Scaled, Sum
from gramsmith.kernels.base import OPERATORS, Array, Derivatives, Kernel, Pullback
from gramsmith.kernels.constant import Constant, White
from gramsmith.kernels.embedding import Embedding, count
from gramsmith.kernels.finite import as_rows, check_real
from gramsmith.kernels.inner import Linear, Polynomial, Sigmoid, Tanimoto
from gramsmith.kernels.maps import ByFeatureCount, Composed, FunctionMap, SampleMap
from gramsmith.kernels.normalized import Normalized
from gramsmith.kernels.pairs import PairValues
from gramsmith.kernels.parametrised import BOUNDS
from gramsmith.kernels.precomputed import Precomputed
from gramsmith.kernels.radial import (
    AdditiveChi2,
    Chi2,
    Gaussian,
    Laplacian,
    Matern,
    Periodic,
    RationalQuadratic,
)


def as_kernel(kernel: Any, X: Any = None, *, cache: Any = None, **parameters: Any) -> Kernel:
    """Return `kernel` as a gramsmith kernel.

    Parameters
    ----------
    kernel : Kernel, str, scikit-learn kernel, callable or None
        Names are those of `sklearn.metrics.pairwise.pairwise_kernels`, "tanimoto" and
        "precomputed". A callable takes two matrices and returns a matrix, or takes two rows and
        returns a number. None is the Gaussian of `default_kernel`.
    X : array of shape (n, p), optional
        Data from which names take their `gamma` ("auto", the default, is 1 / p; "scale" is
        1 / (p var)). Without data, 1 / p is put in when the kernel meets its first rows.
    cache : path, optional
        A file for the values of an expensive function of two samples: each is computed once, in
        whichever process and run. Values are known by the two samples and by the function: its
        code, defaults, what it closes over, and the attributes of an object that is called (with
        `get_params`, what that returns), which must stay the same; not by global variables and
        other functions it uses. Several processes may write at a time.
    **parameters
        `gamma`, `degree`, `coef0` for names, which ignore what their formula does not have; those
        of a callable, which is called with them: ``f(A, B, **parameters)``. A kernel object has
        its own, and takes none here.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.as_kernel("rbf", gamma=0.5)
    Gaussian()
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> gs.as_kernel(RBF(2.0))
    Gaussian(length_scale=2.0)
    """
    if cache is not None and (
        not callable(kernel) or isinstance(kernel, Kernel | gp.Kernel | type)
    ):
        raise TypeError(
            f"Expected a function of two samples beside cache=, got {abridged(kernel)}. Leave "
            "out cache: what is kept are the values of functions."
        )
    _check_taken(kernel, parameters)
    if isinstance(kernel, Kernel):
        return kernel
    if kernel is None:
        return from_name("rbf", X, **parameters) if parameters else default_kernel(None, X)
    if isinstance(kernel, str):
        return from_name(kernel, X, **parameters)
    if isinstance(kernel, gp.Kernel):
        return from_sklearn(kernel)
    if isinstance(kernel, type) and issubclass(kernel, gp.Kernel):
        raise TypeError(
            f"Expected a kernel, got the class {kernel.__name__}. Use {kernel.__name__}(...)."
        )
    if callable(kernel):
        found = FromCallable(partial(kernel, **parameters) if parameters else kernel, cache)
        found._values()  # a file that cannot be used is refused now
        return found
    advice = f"Names are {', '.join(NAMES)}."
    if hasattr(kernel, "fit"):
        advice = "Of a learner, fit it to the training rows of each fold, and give its kernel_."
    raise TypeError(
        "Expected a kernel, a name, a scikit-learn kernel or a callable, got "
        f"{type(kernel).__name__}. {advice}"
    )


def _check_taken(kernel: Any, parameters: dict[str, Any]) -> None:
    """Raise a TypeError for parameters that a name, a function or an object does not take."""
    if kernel is None or isinstance(kernel, str):
        known: tuple[str, ...] = OF_NAMES
        who = "a name"
    elif isinstance(kernel, gp.Kernel) or not callable(kernel):
        known, who = (), f"the {type(kernel).__name__}"
    else:
        try:
            taken = list(signature(kernel).parameters.values())
        except (TypeError, ValueError):  # of functions in C, which say so when they are called
            return
        if any(p.kind is Parameter.VAR_KEYWORD for p in taken):
            return
        by_name = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        samples = [p.name for p in taken if p.kind is not Parameter.KEYWORD_ONLY][:2]
        known = tuple(p.name for p in taken if p.kind in by_name and p.name not in samples)
        who = "the function"
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        own = isinstance(kernel, gp.Kernel)
        raise TypeError(
            f"Expected parameters that {who} takes, got {', '.join(unknown)}. "
            + (
                "Set those of an object on it: kernel.set_params(...)."
                if own
                else f"Beside the samples it takes {', '.join(known) or 'none'}."
            )
        )


def default_kernel(kernel: Any, X: Any, w: Array | None = None) -> Kernel:
    r"""Return `as_kernel(kernel, X)`, and for None the Gaussian that suits X.

    .. math:: \gamma = 1 / \sum_k \mathrm{var}(x_k)

    the mean squared distance of two samples in units of the kernel is then 2. No offset of a
    column changes it (scikit-learn's "scale" takes the variance of all entries together).
    """
    if kernel is not None:
        return as_kernel(kernel, X)
    if X is None:
        raise ValueError(
            "Expected X= beside kernel None, which takes its width from the data, got None. "
            "Pass as_kernel(None, X), or a kernel."
        )
    X = X if len(getattr(X, "shape", ())) == 2 else as_rows(X)
    spread = float(column_moments(X, w)[1].sum())
    return Gaussian.from_gamma(1.0 / spread if np.isfinite(spread) and spread > 0 else 1.0)


def column_moments(X: Any, w: Array | None = None) -> tuple[Array, Array]:
    """Return mean and variance of every column, each row counted w times."""
    if sp.issparse(X):
        mean, variance = mean_variance_axis(sp.csr_array(X, dtype=np.float64), axis=0, weights=w)
        return np.asarray(mean), np.asarray(variance)
    if w is None:
        return X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)
    mean = w @ X / w.sum()
    return mean, np.asarray(w @ np.square(X - mean) / w.sum())


# By name: the kernel of gamma, degree and coef0; and the power of the number of features p by which
# rows are divided to give what gamma = 1 / p gives, None where gamma plays no part.
NAMES: dict[str, tuple[Callable[[Any, Any, Any], Kernel], float | None]] = {
    "rbf": (lambda gamma, degree, coef0: Gaussian.from_gamma(gamma), 0.5),
    "gaussian": (lambda gamma, degree, coef0: Gaussian.from_gamma(gamma), 0.5),
    "laplacian": (lambda gamma, degree, coef0: Laplacian(1.0 / gamma), 1.0),
    "linear": (lambda gamma, degree, coef0: Linear(), None),
    "poly": (lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0), 0.5),
    "polynomial": (lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0), 0.5),
    "sigmoid": (lambda gamma, degree, coef0: Sigmoid(gamma, coef0), 0.5),
    "cosine": (lambda gamma, degree, coef0: Normalized(Linear()), None),
    "chi2": (lambda gamma, degree, coef0: Chi2(gamma), 1.0),
    "additive_chi2": (lambda gamma, degree, coef0: AdditiveChi2(), None),
    "tanimoto": (lambda gamma, degree, coef0: Tanimoto(), None),
    "precomputed": (lambda gamma, degree, coef0: Precomputed(), None),
}


OF_NAMES = ("gamma", "degree", "coef0")


def from_name(
    name: str, X: Any = None, gamma: Any = None, degree: int = 3, coef0: float = 1.0
) -> Kernel:
    """Return the kernel of a name, with scikit-learn's defaults where that has it."""
    if name not in NAMES:
        raise ValueError(
            f"Expected a kernel name, got {abridged(name)}. Names are {', '.join(NAMES)}."
        )
    make, power = NAMES[name]
    if power is None:
        return make(None, degree, coef0)
    gamma = 1.0 if gamma is None and name == "chi2" else gamma
    if X is None and (gamma is None or (isinstance(gamma, str) and gamma == "auto")):
        return Composed(make(1.0, degree, coef0), ByFeatureCount(power))
    return make(_gamma(gamma, X, name), degree, coef0)


def _gamma(gamma: Any, X: Any, name: str) -> float:
    if gamma is not None and not isinstance(gamma, str):
        if not is_positive(gamma) or np.ndim(gamma):
            raise ValueError(f"Expected gamma > 0, got {abridged(gamma)}. Give a positive number.")
        return float(gamma)
    if X is None:
        raise ValueError(
            f'The kernel "{name}" takes its gamma from the data: expected X= or a number gamma=, '
            f"got gamma={gamma!r} alone. Pass as_kernel(name, X) or give gamma."
        )
    X = X if len(getattr(X, "shape", ())) == 2 else as_rows(X)
    p = X.shape[1]
    if not p:
        raise ValueError(f"Expected at least one feature in X, got shape {X.shape}.")
    if gamma in (None, "auto"):
        return 1.0 / float(p)
    if gamma != "scale":
        raise ValueError(
            f'Expected gamma to be a number, "scale" or "auto", got {abridged(gamma)}.'
        )
    if sp.issparse(X):
        mean, variance = column_moments(X)
        var = float(variance.mean() + mean.var())
    else:
        var = float(np.var(np.asarray(as_rows(X), float)))
    return float(1.0 / (p * var)) if np.isfinite(var) and var > 0 else 1.0


def from_sklearn(kernel: Any) -> Kernel:
    """Return a scikit-learn kernel object as ours, natively where we have the same kernel."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, gp.CompoundKernel):
        raise TypeError(
            f"Expected one kernel, got a CompoundKernel of {len(kernel.kernels)}, whose values are "
            "vectors. Use one of them, or their sum."
        )
    if isinstance(kernel, gp.Sum):
        return Sum(from_sklearn(kernel.k1), from_sklearn(kernel.k2))
    if isinstance(kernel, gp.Product):
        return Product(from_sklearn(kernel.k1), from_sklearn(kernel.k2))
    if isinstance(kernel, gp.Exponentiation) and float(kernel.exponent).is_integer():
        return Power(from_sklearn(kernel.kernel), int(kernel.exponent))
    make, names = _NATIVE.get(type(kernel), (None, {}))
    ours = None if make is None else make(kernel)
    if ours is None:
        return FromSklearn(kernel)
    return _bounded_as(kernel, ours, names)


def _matern(kernel: Any) -> Kernel | None:
    if kernel.nu == np.inf:
        return Gaussian(kernel.length_scale)
    known = kernel.nu in (0.5, 1.5, 2.5)
    return Matern(kernel.length_scale, float(kernel.nu)) if known else None


def _dot_product(kernel: Any) -> Kernel:
    square = float(kernel.sigma_0) ** 2
    return Sum(Linear(), Constant(square)) if square else Linear()


# Of each class: our kernel, None where there is none; and our names of its parameters.
_NATIVE: dict[type, tuple[Callable[[Any], Kernel | None], dict[str, str]]] = {
    gp.ConstantKernel: (lambda k: Constant(float(k.constant_value)), {"constant_value": "value"}),
    gp.WhiteKernel: (lambda k: White(float(k.noise_level)), {"noise_level": "noise"}),
    gp.RBF: (lambda k: Gaussian(k.length_scale), {"length_scale": "length_scale"}),
    gp.Matern: (_matern, {"length_scale": "length_scale"}),
    gp.RationalQuadratic: (
        lambda k: RationalQuadratic(k.length_scale, k.alpha),
        {"length_scale": "length_scale", "alpha": "alpha"},
    ),
    gp.ExpSineSquared: (
        lambda k: Periodic(k.length_scale, k.periodicity),
        {"length_scale": "length_scale", "periodicity": "period"},
    ),
    gp.DotProduct: (_dot_product, {"sigma_0": "k2__value"}),
}


def _bounded_as(theirs: Any, ours: Kernel, names: dict[str, str]) -> Kernel:
    """Return our kernel with the bounds of its counterpart, and fixed what is fixed there."""
    fixed, limits, known = [], {}, list(ours.parameter_names())
    for counterpart, name in names.items():
        hyperparameter = getattr(theirs, f"hyperparameter_{counterpart}")
        if name not in known:
            continue
        if hyperparameter.fixed:
            fixed.append(name)
            continue
        low, high = np.transpose(hyperparameter.bounds) ** (2 if counterpart == "sigma_0" else 1)
        if (low != BOUNDS[0]).any() or (high != BOUNDS[1]).any():
            equal = (low == low[0]).all() and (high == high[0]).all()
            limits[name] = (float(low[0]), float(high[0])) if equal else (low, high)
    ours = Bounded(ours, limits) if limits else ours
    return Fixed(ours, [f"kernel__{name}" if limits else name for name in fixed]) if fixed else ours


class FromSklearn(Kernel):
    """Any other scikit-learn kernel object, evaluated by its own code.

    Its parameters can be learned, within its bounds: they are called ``source__...``.

    Examples
    --------
    >>> import gramsmith as gs
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> list(gs.as_kernel(Matern(nu=1.7)).parameter_names())
    ['source__length_scale']
    """

    _stored_parameters: ClassVar[dict[str, str]] = {"source": "source"}
    noisy = True  # for all one knows
    differentiable = False  # by its parameters, not by the samples

    def __init__(self, source: Any) -> None:
        self.source = source

    @property
    def requires_vector_input(self) -> bool:
        return bool(self.source.requires_vector_input)

    def parameter_names(self, *, kinds: tuple[str, ...] = ("positive", "free")) -> Iterator[str]:
        if "positive" in kinds:
            yield from (f"source__{h.name}" for h in self._loose())

    def range_of(self, name: str) -> tuple[Any, Any]:
        h = next(h for h in self._loose() if name == f"source__{h.name}")
        low, high = np.transpose(h.bounds)
        return (low, high) if h.n_elements > 1 else (float(low[0]), float(high[0]))

    def _loose(self) -> list[Any]:
        return [h for h in self.source.hyperparameters if not h.fixed]

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        return X[:]  # an object of its own, so that X twice is not taken for one block

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        # Some kernels tell a block with itself from two equal blocks.
        return np.array(self.source(a) if a is b else self.source(a, b))

    def diagonal(self, a: Embedding) -> Array:
        return np.asarray(self.source.diag(a), dtype=np.float64)

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        if wants == "samples":
            raise self._no_derivative()
        # scikit-learn has derivatives of square matrices alone
        both = a if a is b else np.concatenate([a, b])
        J = self.source(both, eval_gradient=True)[1]
        J = J if a is b else J[: len(a), len(a) :]
        return None, None, self._named(np.tensordot(W, J, 2))

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        rows = (a[i : i + 1] for i in range(len(a)))
        J = np.array([self.source(row, eval_gradient=True)[1][0, 0] for row in rows])
        return None, self._named(w @ J)

    def embed_vjp(self, X: Any, reference: Any, E: Any, dE: Any) -> tuple[Any, Derivatives]:
        return None, {}

    def _named(self, by_theta: Array) -> Derivatives:
        """Return derivatives by the parameters from those by their logarithms."""
        found, start = {}, 0
        for h in self._loose():
            value = np.asarray(self._lookup(f"source__{h.name}"), dtype=float)
            part = by_theta[start : start + h.n_elements].reshape(value.shape)
            found[f"source__{h.name}"], start = part / value, start + h.n_elements
        return found


class FromCallable(Kernel):
    """A kernel given by a function of two matrices; or of two samples, the same for (z, x).

    Values of a function of two samples are kept, also for copies of the kernel: every pair is
    computed once. If the function changes, make a new kernel of it. See `as_kernel`.

    Examples
    --------
    >>> import gramsmith as gs
    >>> gs.as_kernel(lambda x, z: float(x[0] * z[0]))([[2.0], [3.0]])
    array([[4., 6.],
           [6., 9.]])
    """

    _stored_parameters: ClassVar[dict[str, str]] = {"function": "code"}
    requires_vector_input = False
    positive_definite = False  # nobody knows

    def __init__(self, function: Callable[[Any, Any], Any], cache: Any = None) -> None:
        self.function = function
        self.cache = cache

    def __sklearn_clone__(self) -> FromCallable:
        copy = type(self)(self.function, self.cache)
        copy._kept = self._values()
        return copy

    def _values(self) -> PairValues:
        kept: PairValues | None = vars(self).get("_kept")
        if kept is None or kept.function is not self.function or kept.cache != self.cache:
            kept = self._kept = PairValues(self.function, self.cache)
        return kept

    def check_input(self, X: Any) -> Any:
        if sp.issparse(X):
            return X.tocsr()
        return X if isinstance(X, np.ndarray) else _as_samples(X)

    def reference(self, *Xs: Any) -> bool:
        """Return whether the function takes matrices, found out once on the first few samples."""
        kept = self._values()
        if kept.in_matrices is None and Xs[0].shape[0] and Xs[-1].shape[0]:
            kept.in_matrices = self._takes_matrices(Xs[0][:3], Xs[-1][:2])
        return kept.in_matrices is not False

    def _takes_matrices(self, a: Any, b: Any) -> bool:
        shape, why = (a.shape[0], b.shape[0]), "the result has another shape"
        try:
            K = self._matrix(a, b)
            # on square X a function of two rows, such as np.dot, gives a matrix by chance
            first = self._matrix(a[:1], b[:1]) if K.shape == shape else K
        except Exception as error:  # a function of two samples may fail on two matrices in any way
            K, first, why = np.empty(0), np.empty(0), str(error)
        if K.shape == shape and first.shape == (1, 1):
            self._check_alone(K, first)
            return True
        pairs = self._values()
        try:
            pairs.matrix(a[:1], pairs.numbers(a[:1]), b[:1], pairs.numbers(b[:1]))
        except Exception as error:
            raise TypeError(
                "Expected a function that takes two matrices and returns the matrix of their "
                f"kernel, or two samples and returns a number; got neither. On matrices: {why}. "
                f"On two samples: {str(error).rstrip('.')}. Let it do one of the two."
            ) from error
        return False

    def _check_alone(self, K: Array, first: Array) -> None:
        top = float(np.abs(K).max(initial=0.0))
        if np.isfinite(top) and not np.allclose(first, K[:1, :1], 1e-6, 1e-6 * top):
            raise ValueError(
                "Expected a function whose matrix holds k(a, b) whatever the other rows are, got "
                f"{K[0, 0]:.6g} for the first pair among others and {first[0, 0]:.6g} for it "
                "alone. Fix what it takes from all rows (a centre, a width) beforehand."
            )

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        in_matrices = self.reference(X) if reference is None else reference
        return X, None if in_matrices else self._values().numbers(X)

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        if a[1] is not None:
            return self._values().matrix(a[0], a[1], b[0], b[1])
        K = self._matrix(a[0], b[0])
        if K.shape != (count(a), count(b)):
            raise ValueError(
                f"Expected a matrix of shape {(count(a), count(b))} from the function, got "
                f"shape {K.shape}. Let it return one number per pair of rows."
            )
        return K

    def _matrix(self, A: Any, B: Any) -> Array:
        found = self.function(A, B)
        check_real(found)
        return np.array(found.toarray() if sp.issparse(found) else found, dtype=float)

    def diagonal(self, a: Embedding) -> Array:
        if a[1] is not None:
            return self._values().diagonal(*a)
        blocks = (a[0][i : i + 1] for i in range(count(a)))
        return np.array([self._matrix(x, x)[0, 0] for x in blocks], dtype=float)


def _as_samples(X: Any) -> Array:
    if hasattr(X, "columns"):  # a table, whose iteration would give the names of its columns
        return np.asarray(X)
    try:
        array = np.asarray(X)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind in "biuf" and array.ndim == 2:
        return array
    if not hasattr(X, "__len__") or array.shape == ():
        raise TypeError(f"Expected samples, one per row, got {abridged(X)}.")
    samples = np.empty(len(X), dtype=object)
    samples[:] = list(X)
    return samples


# ---- the operators ---------------------------------------------------------------------------


def _as_term(value: Any) -> Any:
    """Return an operand as a kernel or a finite number, or raise."""
    value = value.item() if isinstance(value, np.ndarray) and not value.ndim else value
    if isinstance(value, gp.Kernel):
        return from_sklearn(value)
    if not isinstance(value, Real):
        raise TypeError(
            f"Expected a kernel or a number, got {type(value).__name__}. "
            "Wrap other kernels with gramsmith.as_kernel."
        )
    if not is_finite(value):
        raise ValueError(f"Expected a kernel or a finite number, got {abridged(value)}.")
    return float(value)


def _add(left: Any, right: Any) -> Kernel:
    terms = (_as_term(side) for side in (left, right))
    return Sum(*(Constant(term) if isinstance(term, float) else term for term in terms))


def _multiply(left: Any, right: Any) -> Kernel:
    left, right = _as_term(left), _as_term(right)
    if isinstance(left, float):
        return Scaled(right, left)
    return Scaled(left, right) if isinstance(right, float) else Product(left, right)


def _compose(kernel: Kernel, map: Any) -> Kernel:
    if isinstance(map, SampleMap):
        return Composed(kernel, map)
    if not callable(map) and not hasattr(map, "transform"):
        raise TypeError(
            f"Expected a map, a function or a fitted transformer after @, got "
            f"{type(map).__name__}. Use kernel @ LinearMap(S) for a matrix S."
        )
    return Composed(kernel, FunctionMap(map))


OPERATORS.update({"+": _add, "*": _multiply, "**": Power, "@": _compose})
