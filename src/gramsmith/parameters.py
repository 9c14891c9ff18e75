"""Parameters of machines and learners: the constructor, and docstrings completed by the bases."""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import signature
from typing import Any, TypeVar, dataclass_transform

from gramsmith.docstrings import completed, entries_of

Estimator = TypeVar("Estimator")


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def with_parameters(cls: type[Estimator]) -> type[Estimator]:
    """Give an estimator the constructor of its annotated parameters, those of its bases included.

    So are what parameters may be, `_parameter_constraints`, and what is said of them.
    """
    made: Any = dataclass(eq=False, repr=False, match_args=False, kw_only=True)(cls)
    written = signature(made.__init__)
    order = sorted(written.parameters.values(), key=lambda p: p.name in ("n_jobs", "engine"))
    made.__init__.__signature__ = written.replace(parameters=order)  # those two are read last
    made._parameter_constraints = declared(cls, "_parameter_constraints")
    if "Examples\n" in (cls.__doc__ or ""):  # written for users
        made.__doc__ = _completed(made)
    return cls


def declared(cls: type, table: str) -> dict[str, Any]:
    """Return a table such as `_stored`, those of all bases together."""
    return {k: v for base in cls.__mro__[::-1] for k, v in vars(base).get(table, {}).items()}


def forget_optional(estimator: Any) -> None:
    """Remove what an earlier fit, or a calibration of it, has left and the next may not set."""
    for name, kind in declared(type(estimator), "_stored").items():
        if kind.endswith("?"):
            estimator.__dict__.pop(name, None)


def _completed(cls: type) -> str:
    """Return the docstring with what the bases say of parameters and attributes it has."""
    doc = cls.__doc__ or ""
    order = {"Parameters": signature(cls).parameters, "Attributes": declared(cls, "_stored")}
    for section, names in order.items():
        known: dict[str, str] = {}
        for base in cls.__mro__[:0:-1]:
            if "gramsmith" in base.__module__:
                known |= entries_of(base.__doc__, section)
        doc = completed(doc, section, names, known)
    return doc
