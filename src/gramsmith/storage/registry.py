"""The closed list of what a model file may hold: classes, and the shapes of what they learned.

A file names a class by a key of `REGISTRY` and nothing else. The list is what the packages below
export, so nothing is imported by a name from a file. A class of gramsmith says itself, in
`_stored`, which fitted attributes are kept, and in `_stored_parameters`, which of its parameters
may not be just anything: both map a name to a specification (see :mod:`gramsmith.storage.shapes`),
and both add to those of its base classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from inspect import signature
from types import MappingProxyType, ModuleType

from sklearn import pipeline, preprocessing
from sklearn.base import BaseEstimator
from sklearn.gaussian_process import kernels as gaussian_process

from gramsmith import kernels, learning, machines, selection
from gramsmith.kernels.adapt import FromCallable, FromSklearn

_INPUTS = {"n_features_in_": "count p?", "feature_names_in_": "names p?"}
# What explains a fit but is not kept.
_DROPPED = "dropped"


@dataclass(frozen=True)
class Entry:
    """One storable class.

    Attributes
    ----------
    cls : type
    fitted : mapping of str to str
        Fitted attribute -> specification.
    dropped : frozenset of str
        Attributes that explain a fit and are not kept.
    params : mapping of str to str
        Constructor arguments that may not be just anything, with their specification.
    arguments : mapping of str to bool
        The constructor's arguments, and whether each has a default.
    """

    cls: type
    fitted: Mapping[str, str]
    dropped: frozenset[str]
    params: Mapping[str, str]
    arguments: Mapping[str, bool]


def _entry(cls: type, fitted: Mapping[str, str], params: Mapping[str, str]) -> Entry:
    kept = {name: text for name, text in fitted.items() if text != _DROPPED}
    arguments = _arguments(cls)
    return Entry(
        cls,
        MappingProxyType({**kept, **_INPUTS} if kept else {}),
        frozenset(fitted.keys() - kept.keys()),
        MappingProxyType({k: v for k, v in params.items() if k in arguments}),
        MappingProxyType(arguments),
    )


def _arguments(cls: type) -> dict[str, bool]:
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return {}
    found = signature(cls.__init__).parameters.values()  # type: ignore[misc]
    named = [
        p for p in found if p.name != "self" and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    return {p.name: p.default is not p.empty for p in named}


def _declared(cls: type, attribute: str) -> dict[str, str]:
    """Return what a class and its bases declare, bases first."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        found |= vars(base).get(attribute, {})
    return found


def _exported(*packages: ModuleType) -> Iterable[type]:
    """Yield the estimators and kernels that packages export."""
    for package in packages:
        for item in vars(package).values():
            if isinstance(item, type) and issubclass(item, BaseEstimator):
                yield item


_OURS = {
    cls.__name__: _entry(cls, _declared(cls, "_stored"), _declared(cls, "_stored_parameters"))
    for cls in (
        *_exported(kernels, machines, learning, selection),
        # Made by `as_kernel`. Functions cannot be kept: their kernel is here so that the refusal
        # names the argument.
        *(FromCallable, FromSklearn),
    )
    if cls is not kernels.Kernel
}

_LENGTH = "number | array * | list number"
_SKLEARN_KERNELS: dict[str, dict[str, str]] = {
    "RBF": {"length_scale": _LENGTH},
    "Matern": {"length_scale": _LENGTH, "nu": "real"},
    "RationalQuadratic": {"length_scale": "number", "alpha": "number"},
    "ExpSineSquared": {"length_scale": "number", "periodicity": "number"},
    "DotProduct": {"sigma_0": "number"},
    "ConstantKernel": {"constant_value": "number"},
    "WhiteKernel": {"noise_level": "number"},
    "PairwiseKernel": {"gamma": "number | none", "metric": "text"},
    "Sum": {"k1": "source", "k2": "source"},
    "Product": {"k1": "source", "k2": "source"},
    "Exponentiation": {"kernel": "source", "exponent": "number"},
}
_SKLEARN = {
    **{
        f"sklearn.{name}": _entry(getattr(gaussian_process, name), {}, params)
        for name, params in _SKLEARN_KERNELS.items()
    },
    # a cache folder holds pickles, which fit would load: a file must not be able to name one
    "Pipeline": _entry(pipeline.Pipeline, {}, {"steps": "steps", "memory": "none"}),
    "StandardScaler": _entry(
        preprocessing.StandardScaler,
        {
            **dict.fromkeys(("mean_", "scale_", "var_"), "array p | none"),
            "n_samples_seen_": "number | array p",
        },
        {},
    ),
    "MinMaxScaler": _entry(
        preprocessing.MinMaxScaler,
        {
            **dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), "array p"),
            "n_samples_seen_": "number",
        },
        {},
    ),
}

REGISTRY: Mapping[str, Entry] = MappingProxyType({**_OURS, **_SKLEARN})


def entry_of(cls: type) -> tuple[str, Entry] | None:
    """Return key and entry of exactly this class, or None; subclasses are other classes."""
    for name, entry in REGISTRY.items():
        if entry.cls is cls:
            return name, entry
    return None
