"""Models in files: `save_model`, `load_model`, and a look inside without loading.

A model file is one safetensors container. Its manifest is JSON: classes by their key in a closed
registry, parameters, fitted attributes, labels and text samples; numeric arrays are tensors.
Loading runs no code of the file's choosing: no pickle, no evaluation, no import by a given name.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from gramsmith import __version__
from gramsmith.arguments import as_flag
from gramsmith.files import replacing
from gramsmith.machines.averages import AveragedMachines
from gramsmith.machines.base import KernelMachine
from gramsmith.selection import KernelSelector
from gramsmith.storage.container import (
    FORMAT,
    VERSION,
    ModelFormatError,
    identical,
    read_container,
    read_header,
    write_container,
)
from gramsmith.storage.decode import Decoder
from gramsmith.storage.encode import Encoder
from gramsmith.storage.registry import REGISTRY
from gramsmith.tables.streams import short

NOTE = (
    "Kernel models keep the training samples they compare new samples with. This file may contain "
    "rows, labels and names from the training data: share it only with those who may see them."
)
KEYS = {"format", "format_version", "gramsmith_version", "note", "about", "model"}


@dataclass(frozen=True)
class ModelSummary:
    """What a model file says about itself."""

    format_version: int
    gramsmith_version: str  # that wrote the file
    note: str  # what the file may reveal
    about: dict[str, Any]  # what the writer added: columns, target, command
    model: dict[str, Any]  # classes, parameters and fitted attributes, arrays by type and shape
    tensors: dict[str, tuple[str, tuple[int, ...]]]  # type and shape of each

    @property
    def training_rows(self) -> list[str]:
        """What the file holds of the training samples, one phrase per part of the model."""
        return list(dict.fromkeys(_rows_in(self.model)))

    @property
    def facts(self) -> dict[str, Any]:
        """What was known when the model was chosen, see `KernelRanking.summary`; may be empty."""
        found = self.about.get("summary")
        if found is None:
            fitted = self.model.get("fitted")
            node = fitted.get("summary_") if isinstance(fitted, dict) else None
            found = _plain(node)
        return found if isinstance(found, dict) else {}


def _plain(node: Any) -> Any:
    """Return the texts, numbers, lists and dictionaries in a node; of others nothing is made."""
    if not isinstance(node, dict):
        return None if isinstance(node, list) else node
    items = node.get("items")
    if node.get("$") in ("list", "tuple") and isinstance(items, list):
        return [_plain(item) for item in items]
    if node.get("$") == "dict" and isinstance(items, list):
        pairs = [item for item in items if isinstance(item, list) and len(item) == 2]
        return {key: _plain(value) for key, value in pairs if isinstance(key, str)}
    if node.get("$") == "float" and node.get("value") in ("nan", "inf", "-inf"):
        return float(node["value"])
    return _plain(node["value"]) if node.get("$") == "scalar" and "value" in node else None


def _rows_in(node: Any) -> Iterator[str]:
    items = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    name = node.get("class") if isinstance(node, dict) else None
    if isinstance(name, str) and name in REGISTRY:
        entry = REGISTRY[name]
        for part, specifications in (("params", entry.params), ("fitted", entry.fitted)):
            values: Any = node.get(part)
            values = values if isinstance(values, dict) else {}
            for key, specification in specifications.items():
                value = values.get(key)
                # without `support_` the points of an expansion are no training samples
                present = isinstance(value, dict) and values.get("support_", 0) is not None
                if specification.startswith("samples") and present:
                    shape, listed = value.get("shape"), value.get("items")
                    if not isinstance(shape, list) or not shape:
                        shape = [len(listed) if isinstance(listed, list) else "?"]
                    size = " x ".join(map(str, shape))
                    yield f"{key} of {name}: {size}{' numbers' if len(shape) == 2 else ' objects'}"
    for item in items:
        yield from _rows_in(item)


def save_model(
    model: Any,
    path: str | PathLike[str],
    *,
    about: dict[str, Any] | None = None,
    rows: bool = True,
    records: bool = True,
) -> None:
    """Write a kernel, learner, estimator or pipeline to one safetensors file.

    The file is written beside its destination, read back, compared and only then put in place. It
    contains training samples where the model does.

    Parameters
    ----------
    model : estimator or kernel
        Anything of gramsmith, fitted or not, and scikit-learn's `Pipeline`, `ColumnTransformer`,
        `StandardScaler`, `MinMaxScaler`, `PowerTransformer`, `SimpleImputer`, `OneHotEncoder` and
        `OrdinalEncoder`. Kernels that hold functions cannot be kept.
    path : str or path-like
        Usually ending in ``.safetensors``. An existing file is replaced.
    about : dict, optional
        Plain JSON values to keep with the model, such as column names.
    rows : bool, default=True
        Whether training samples may be in the file. If not, models whose kernel has explicit
        features (`Linear` and what is made of it) keep unit vectors in their place and predict the
        same up to rounding; others are refused with a ValueError.
    records : bool, default=True
        Whether numbers of single training rows that predictions do without, such as
        `loo_residuals_`, are kept. A `KernelSelector` is always written without.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import gramsmith as gs
    >>> path = Path(tempfile.mkdtemp()) / "kernel.safetensors"
    >>> gs.save_model(gs.Gaussian(2.0) + gs.Linear(), path)
    >>> print(gs.load_model(path))
    Gaussian(length_scale=2) + Linear()
    """
    if not isinstance(about, dict | None):
        raise TypeError(f"Expected a dictionary as about, got {type(about).__name__}.")
    rows, records = as_flag("rows", rows), as_flag("records", records)
    encoder = Encoder()
    tree = encoder.encode(_lean(model, rows, records), type(model).__name__)
    if not isinstance(tree, dict) or tree["$"] != "object":
        raise TypeError(
            f"Expected a kernel, an estimator or a pipeline, got {type(model).__name__}. "
            "Use numpy.save for arrays."
        )
    manifest = {
        **{"format": FORMAT, "format_version": VERSION, "gramsmith_version": __version__},
        **{"note": NOTE, "about": about or {}, "model": tree},
    }
    write_container(Path(path), encoder.tensors, manifest)


def _lean(model: Any, rows: bool = True, records: bool = True) -> Any:
    """Return a copy of a model as a file keeps it: a selector without records of training rows."""
    other = copy(model)
    if isinstance(model, Pipeline):
        other.steps = [(name, _lean(step, rows, records)) for name, step in model.steps]
    elif isinstance(model, AveragedMachines):
        if hasattr(model, "machines_"):
            other.machines_ = [_lean(part, rows, records) for part in model.machines_]
    elif isinstance(model, KernelSelector):
        if hasattr(model, "best_estimator_"):
            other.best_estimator_ = _lean(model.best_estimator_, rows, False)
    elif not rows and isinstance(model, KernelMachine):
        other = model.without_rows()
    elif not rows and not isinstance(model, str | None):
        found = list(_rows_in(Encoder().encode(model, "")))
        if found:
            raise ValueError(f"Expected a model without training samples, got {found[0]}.")
    entry = REGISTRY.get(type(model).__name__)
    if not (rows and records) and entry is not None:
        for name, specification in entry.fitted.items():
            if specification.startswith("record"):
                vars(other).pop(name, None)
    return other


def upgrade_model(
    path: str | PathLike[str], output: str | PathLike[str] | None = None, *, rows: bool = True
) -> int:
    """Write a model file anew as this version writes it, after proof that it predicts the same.

    What the new file gives back has the same parts to the last bit, and its machines answer the
    same for the samples that they hold, whose number is returned. Otherwise nothing is written, and
    a ModelFormatError says why. Without `output` the file itself is replaced; without `rows` the
    new one holds no training samples, see `save_model`.
    """
    model, about = load_model(path), inspect_model(path).about
    with replacing(Path(path if output is None else output)) as temporary:
        save_model(model, temporary, about=about, rows=rows)
        again = load_model(temporary)
        old, new = Encoder(), Encoder()
        same = old.encode(_lean(model), "") == new.encode(again, "")
        pairs = zip(old.tensors.values(), new.tensors.values(), strict=True)
        if rows and not (same and all(identical(a, b) for a, b in pairs)):
            raise ModelFormatError("Expected the new file to hold the same model, got another.")
        return compare_predictions(model, again, 0.0 if rows else 1e-9)


def compare_predictions(model: Any, again: Any, tolerance: float) -> int:
    """Return for how many of the samples in a model another predicts the same; raise if not all."""
    count = 0
    for old, new in zip(_machines_in(model), _machines_in(again), strict=True):
        X = old.support_samples_
        X = np.eye(old.n_samples_fit_)[:100] if X is None else X
        count += X.shape[0]
        for method in ("predict", "decision_function", "predict_proba"):
            if X.shape[0] and hasattr(old, method):
                with warnings.catch_warnings():  # that names of features are absent
                    warnings.simplefilter("ignore", UserWarning)
                    a, b = getattr(old, method)(X), getattr(new, method)(X)
                numbers = a.dtype.kind == "f" and tolerance
                if not (np.allclose(a, b, tolerance, tolerance) if numbers else (a == b).all()):
                    raise ModelFormatError(f"Expected the same {method}, got other values.")
    return count


def _machines_in(model: Any) -> Iterator[Any]:
    if isinstance(model, KernelMachine) and hasattr(model, "coefficients_"):
        yield model
    parts = [step for _, step in model.steps] if isinstance(model, Pipeline) else []
    parts += getattr(model, "machines_", [])
    for part in (*parts, getattr(model, "best_estimator_", None)):
        if part is not None:
            yield from _machines_in(part)


def check_storable(model: Any) -> None:
    """Raise a TypeError that says why, if a model, fitted or not, could not be saved.

    Ask before a long fit: what a kernel holds (a function, say) is known beforehand.
    """
    Encoder().encode(model, type(model).__name__)


def load_model(path: str | PathLike[str]) -> Any:
    """Return the model that `save_model` wrote; it predicts the same to the last bit.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    estimator or kernel

    Raises
    ------
    ModelFormatError
        If the file is absent, damaged, forged, of another program or of a newer format.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import gramsmith as gs
    >>> path = Path(tempfile.mkdtemp()) / "kernel.safetensors"
    >>> gs.save_model(gs.Matern(nu=2.5), path)
    >>> gs.load_model(path)
    Matern(nu=2.5)
    """
    try:
        manifest, tensors = read_container(Path(path))
        tree = _checked(manifest)["model"]
        decoder = Decoder(tensors, manifest["format_version"])
        with np.errstate(all="ignore"):  # of numbers that are then refused
            model = decoder.decode(tree, tree["class"])
        decoder.finish()
    except ModelFormatError:
        raise
    except Exception as error:  # whatever the bytes, callers meet one exception
        raise ModelFormatError(
            f"Expected a sound model file, got one that cannot be read: "
            f"{type(error).__name__}: {short(str(error))}"
        ) from error
    return model


def inspect_model(path: str | PathLike[str]) -> ModelSummary:
    """Return what a model file holds, without making the model or reading its arrays."""
    try:
        manifest, tensors = read_header(Path(path))
        return ModelSummary(
            **{k: v for k, v in _checked(manifest).items() if k != "format"}, tensors=tensors
        )
    except ModelFormatError:
        raise
    except Exception as error:  # as in load_model
        raise ModelFormatError(f"Expected a sound model file, got: {short(str(error))}") from error


def _checked(manifest: dict[str, Any]) -> dict[str, Any]:
    if manifest.keys() != KEYS:
        raise ModelFormatError(
            f"Expected a manifest with {', '.join(sorted(KEYS))}, got {short(sorted(manifest))}."
        )
    kinds = {"gramsmith_version": str, "note": str, "about": dict}
    if not all(isinstance(manifest[key], kind) for key, kind in kinds.items()):
        raise ModelFormatError("Expected version and note as text and `about` as an object.")
    tree = manifest["model"]
    named = isinstance(tree, dict) and tree.get("$") == "object" and type(tree.get("class")) is str
    if not named:
        raise ModelFormatError(f"Expected a model of a known class, got {short(tree)}.")
    return manifest
