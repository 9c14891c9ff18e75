"""Models in files: `save_model`, `load_model`, and a look inside without loading.

A model file is one safetensors container. Its manifest is JSON: classes by their key in a closed
registry, parameters, fitted attributes, labels and text samples; numeric arrays are tensors.
Loading runs no code of the file's choosing: no pickle, no evaluation, no import by a given name.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from gramsmith import __version__
from gramsmith.storage.container import (
    FORMAT,
    VERSION,
    ModelFormatError,
    read_container,
    read_header,
    short,
    write_container,
)
from gramsmith.storage.decode import Decoder
from gramsmith.storage.encode import Encoder

NOTE = (
    "Kernel models keep the training samples they compare new samples with. This file may contain "
    "rows, labels and names from the training data: share it only with those who may see them."
)
KEYS = {"format", "format_version", "gramsmith_version", "note", "about", "model"}


@dataclass(frozen=True)
class ModelSummary:
    """What a model file says about itself.

    Attributes
    ----------
    format_version : int
        Version of the file format.
    gramsmith_version : str
        The version that wrote the file.
    note : str
        What the file may reveal.
    about : dict
        What the writer added: columns, target, command.
    model : dict
        The tree of classes, parameters and fitted attributes, arrays by type and shape.
    tensors : dict of str to (str, tuple of int)
        Type and shape of every tensor.
    """

    format_version: int
    gramsmith_version: str
    note: str
    about: dict[str, Any]
    model: dict[str, Any]
    tensors: dict[str, tuple[str, tuple[int, ...]]]


def save_model(
    model: Any, path: str | PathLike[str], *, about: dict[str, Any] | None = None
) -> None:
    """Write a kernel, learner, machine or pipeline to one safetensors file.

    The file is written beside its destination, read back, compared and only then put in place. It
    contains training samples where the model does.

    Parameters
    ----------
    model : estimator or kernel
        Anything of gramsmith, fitted or not, and scikit-learn's `Pipeline`, `StandardScaler` and
        `MinMaxScaler`. Kernels that hold functions cannot be kept.
    path : str or path-like
        Usually ending in ``.safetensors``. An existing file is replaced.
    about : dict, optional
        Plain JSON values to keep with the model, such as column names.

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
    encoder = Encoder()
    tree = encoder.encode(model, type(model).__name__)
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


def check_storable(model: Any) -> None:
    """Raise a TypeError that says why, if a model could not be saved.

    Ask before a long fit: what a kernel holds (a function, say) is known beforehand.

    Parameters
    ----------
    model : estimator or kernel
        Fitted or not.

    Examples
    --------
    >>> import gramsmith as gs
    >>> from gramsmith.storage import check_storable
    >>> check_storable(gs.Gaussian(2.0))
    >>> check_storable(gs.RankOne(abs))
    Traceback (most recent call last):
        ...
    gramsmith.storage.encode.NotStorable: RankOne.f: expected numbers, ...
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
        decoder = Decoder(tensors)
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
    """Return what a model file holds, without making the model or reading its arrays.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    ModelSummary

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import gramsmith as gs
    >>> from gramsmith.storage import inspect_model
    >>> path = Path(tempfile.mkdtemp()) / "kernel.safetensors"
    >>> gs.save_model(gs.Gaussian(2.0), path)
    >>> inspect_model(path).model["class"]
    'Gaussian'
    """
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
    texts = [manifest["gramsmith_version"], manifest["note"]]
    tree = manifest["model"]
    if not all(isinstance(text, str) for text in texts) or not isinstance(manifest["about"], dict):
        raise ModelFormatError("Expected version and note as text and `about` as an object.")
    if (
        not isinstance(tree, dict)
        or tree.get("$") != "object"
        or type(tree.get("class")) is not str
    ):
        raise ModelFormatError(f"Expected a model of a known class, got {short(tree)}.")
    return manifest
