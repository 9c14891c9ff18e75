"""The closed list of what a model file may hold: classes, their versions, and what they keep.

A file names a class by a key of `REGISTRY` and nothing else. The list is what the packages below
export, so nothing is imported by a name from a file. A class of gramsmith says itself what is kept:

==========================  ====================================================================
``_stored``                 fitted attribute -> specification (:mod:`gramsmith.storage.shapes`)
``_stored_parameters``      the same for parameters that may not be just anything
``_stored_upgrades``        format -> function that brings what a file of that format holds,
                            ``{"class", "params", "fitted"}``, to the next format
``_check_stored()``         raises a ValueError where what was loaded cannot be used together
==========================  ====================================================================

The first two add to those of the base classes. Whoever changes what a class keeps adds the upgrade
from the format of the last release (`container.OLDEST`), and its files load; a class of another
name is entered in `FORMER_NAMES`. Both are dropped when that format is no longer read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import signature
from itertools import pairwise
from types import MappingProxyType, ModuleType
from typing import Any

from sklearn import pipeline, preprocessing
from sklearn.base import BaseEstimator
from sklearn.gaussian_process import kernels as gaussian_process

from gramsmith import kernels, learning, machines, selection, tables
from gramsmith.kernels.adapt import FromCallable, FromSklearn
from gramsmith.storage.transformers import TRANSFORMERS

_INPUTS = {"n_features_in_": "count p?", "feature_names_in_": "names p?"}
_ENGINE = {"engine": "none"}  # of a machine or a cluster, not of a model

State = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """One storable class."""

    cls: type
    fitted: Mapping[str, str]  # fitted attribute -> specification
    params: Mapping[str, str]  # the same of arguments that may not be just anything
    arguments: Mapping[str, bool]  # those of the constructor, and whether each has a default
    upgrades: Mapping[int, Callable[[State], State]]  # from a format of the file to the next
    check: Callable[[Any], None]  # raises where a loaded object cannot be used
    # to what is kept and back, for classes of others, see gramsmith.storage.transformers
    keep: Callable[[Any, State, State], tuple[State, State]] | None = None
    make: Callable[[State, State], Any] | None = None


def _entry(
    cls: type,
    fitted: Mapping[str, str],
    params: Mapping[str, str],
    check: Callable[[Any], None] = lambda model: None,
    **hooks: Any,
) -> Entry:
    arguments = _arguments(cls)
    return Entry(
        cls,
        MappingProxyType({**fitted, **_INPUTS} if fitted else {}),
        MappingProxyType({k: v for k, v in {**_ENGINE, **params}.items() if k in arguments}),
        MappingProxyType(arguments),
        MappingProxyType(getattr(cls, "_stored_upgrades", {})),
        getattr(cls, "_check_stored", check),
        **hooks,
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


def _check_steps(model: Any) -> None:
    """Raise unless the steps of a pipeline can follow each other."""
    used = [step for _, step in model.steps if step not in (None, "passthrough")]
    if not used or not all(hasattr(step, "transform") for step in used[:-1]):
        raise ValueError("Expected steps that transform before the last one, got others.")
    for before, after in pairwise(used):
        width, wanted = _width(before), getattr(after, "n_features_in_", None)
        if None not in (width, wanted) and width != wanted:
            raise ValueError(
                f"Expected {wanted} features for {type(after).__name__}, got the {width} of "
                f"{type(before).__name__}."
            )


def _width(step: Any) -> int | None:
    """Return how many features a fitted step returns, if it can say."""
    if not hasattr(step, "get_feature_names_out") or not hasattr(step, "n_features_in_"):
        return None
    return len(step.get_feature_names_out())


_OURS = {
    cls.__name__: _entry(
        cls,
        _declared(cls, "_stored"),
        _declared(cls, "_stored_parameters"),
        **({"check": _check_steps} if issubclass(cls, pipeline.Pipeline) else {}),
    )
    for cls in (
        *_exported(kernels, machines, learning, selection, tables),
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
    "PairwiseKernel": {
        "gamma": "number | none",
        "metric": "choice linear additive_chi2 chi2 poly polynomial rbf laplacian sigmoid cosine",
        "pairwise_kernels_kwargs": "none",
    },
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
    "Pipeline": _entry(
        pipeline.Pipeline, {}, {"steps": "steps", "memory": "none"}, check=_check_steps
    ),
    "StandardScaler": _entry(
        preprocessing.StandardScaler,
        {
            **dict.fromkeys(("mean_", "var_"), "array p | none"),
            **{"scale_": "positive p | none", "n_samples_seen_": "number | array p"},
        },
        {"with_mean": "flag", "with_std": "flag", "copy": "flag"},
    ),
    "MinMaxScaler": _entry(
        preprocessing.MinMaxScaler,
        {
            **dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), "array p"),
            "n_samples_seen_": "number",
        },
        {"feature_range": "pair", "clip": "flag", "copy": "flag"},
    ),
    **{
        cls.__name__: _entry(cls, fitted, params, keep=keep, make=make)
        for cls, fitted, params, keep, make in TRANSFORMERS
    },
}

REGISTRY: Mapping[str, Entry] = MappingProxyType({**_OURS, **_SKLEARN})
# names of classes in files of earlier formats -> names of today
FORMER_NAMES: Mapping[str, str] = MappingProxyType({"IntervalPipeline": "ModelPipeline"})
KEYS: Mapping[type, str] = MappingProxyType({entry.cls: key for key, entry in REGISTRY.items()})
