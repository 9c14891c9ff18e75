"""The closed list of what a model file may hold: classes, and the shapes of what they learned.

A file names a class by a key of `REGISTRY` and nothing else; modules and attribute names come from
here, never from the file. Each fitted attribute has a specification (see
:mod:`gramsmith.storage.shapes`) in which equal letters mean equal sizes within one object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from inspect import signature
from sys import modules
from types import MappingProxyType


@dataclass(frozen=True)
class Entry:
    """One storable class.

    Attributes
    ----------
    module : str
        Where the class is defined or exported.
    name : str
        Its name there.
    fitted : mapping of str to str
        Fitted attribute -> specification.
    transient : frozenset of str
        Attributes that explain a fit and are not kept.
    """

    module: str
    name: str
    fitted: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    transient: frozenset[str] = frozenset()

    def load(self) -> type:
        """Import the class; both names are constants of this module."""
        found: type = getattr(import_module(self.module), self.name)
        return found

    def parameters(self) -> dict[str, bool]:
        """Return the constructor's arguments, and whether each has a default."""
        return _parameters(self.load())


@cache
def _parameters(cls: type) -> dict[str, bool]:
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return {}
    found = signature(cls.__init__).parameters.values()  # type: ignore[misc]
    named = [
        p for p in found if p.name != "self" and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    return {p.name: p.default is not p.empty for p in named}


def _kernels(module: str, *names: str) -> dict[str, Entry]:
    return {name: Entry(f"gramsmith.kernels{module}", name) for name in names}


def _sklearn_kernels(*names: str) -> dict[str, Entry]:
    return {f"sklearn.{name}": Entry("sklearn.gaussian_process.kernels", name) for name in names}


def _estimator(module: str, name: str, *transient: str, **fitted: str) -> dict[str, Entry]:
    return {name: Entry(module, name, MappingProxyType(fitted), frozenset(transient))}


_KERNELS = {
    **_kernels(
        ".radial", "Gaussian", "Laplacian", "Matern", "RationalQuadratic", "Periodic", "Chi2"
    ),
    **_kernels(".inner", "Linear", "Polynomial", "Sigmoid", "Tanimoto", "Bilinear", "Constant"),
    **_kernels(".algebra", "Sum", "Product", "Scaled", "Power", "PolynomialOf", "Exp", "Composed"),
    **_kernels(".normalized", "Normalized", "GaussianOf"),
    **_kernels(".precomputed", "Precomputed"),
    **_kernels(".maps", "LinearMap"),
    **_kernels(".adapt", "FromSklearn"),
    **_kernels("", "AllSubsets", "Subtree"),
    **_kernels(".strings.spectrum", "Spectrum"),
    **_kernels(".strings.substrings", "AllSubstrings"),
    **_kernels(".strings.mismatch", "Mismatch"),
    **_kernels(".strings.subsequence", "Subsequence"),
    **_kernels(".strings.weighted_degree", "WeightedDegree"),
    # Callables cannot be kept: these load nothing, but a refusal can name the argument.
    **_kernels(".maps", "FunctionMap"),
    **_kernels(".inner", "RankOne"),
    **_kernels(".adapt", "FromCallable"),
    **_sklearn_kernels("RBF", "Matern", "RationalQuadratic", "ExpSineSquared", "DotProduct"),
    **_sklearn_kernels("ConstantKernel", "WhiteKernel", "PairwiseKernel"),
    **_sklearn_kernels("Sum", "Product", "Exponentiation"),
}

_INPUTS = {"n_features_in_": "count p?", "feature_names_in_": "labels p?"}

_TRANSFORMERS = {
    **_estimator("sklearn.pipeline", "Pipeline"),
    **_estimator(
        "sklearn.preprocessing",
        "StandardScaler",
        mean_="array p | none",
        scale_="array p | none",
        var_="array p | none",
        n_samples_seen_="number | array p",
        **_INPUTS,
    ),
    **_estimator(
        "sklearn.preprocessing",
        "MinMaxScaler",
        min_="array p",
        scale_="array p",
        data_min_="array p",
        data_max_="array p",
        data_range_="array p",
        n_samples_seen_="number",
        **_INPUTS,
    ),
    **_estimator(
        "gramsmith.kernels", "KernelCenterer", means_="array p", mean_="number", **_INPUTS
    ),
    **_estimator("gramsmith.kernels", "KernelNormalizer", diagonal_="array p", **_INPUTS),
}

# KernelSVC and KernelSVR: s support samples out of n, c classes, t machines (pairs of classes).
_SUPPORT = {
    "kernel_": "kernel",
    "n_samples_fit_": "count n",
    "support_": "index n",
    "support_samples_": "samples s p | none",
    "coefficients_": "array s t",
    "intercept_": "array t",
    "n_iter_": "whole",
    **_INPUTS,
}

_MACHINES = {
    **_estimator("gramsmith.machines.svm", "KernelSVC", classes_="labels c", **_SUPPORT),
    **_estimator("gramsmith.machines.svm", "KernelSVR", **_SUPPORT),
}

_SELECTION = {
    **_estimator(
        "gramsmith.selection",
        "TableEncoder",
        numeric_="array p",
        mean_="array m",
        scale_="array m",
        category_names_="labels c",
        category_counts_="array k",
        feature_names_out_="labels *",
        **_INPUTS,
    ),
}

REGISTRY: Mapping[str, Entry] = MappingProxyType(
    {**_KERNELS, **_TRANSFORMERS, **_MACHINES, **_SELECTION}
)


def entry_of(cls: type) -> tuple[str, Entry] | None:
    """Return key and entry of exactly this class, or None; subclasses are other classes."""
    for name, entry in REGISTRY.items():
        # a module that nobody has imported cannot be the home of an object somebody made
        if entry.name == cls.__name__ and entry.module in modules and entry.load() is cls:
            return name, entry
    return None
