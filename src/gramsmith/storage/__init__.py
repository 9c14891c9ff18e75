"""Keeping things: models in safetensors files, tables from files of many kinds."""

from gramsmith.storage.container import ModelFormatError
from gramsmith.storage.encode import NotStorable
from gramsmith.storage.fasta import read_fasta
from gramsmith.storage.models import (
    NOTE,
    ModelSummary,
    check_storable,
    inspect_model,
    load_model,
    save_model,
    upgrade_model,
)

__all__ = [
    "NOTE",
    "ModelFormatError",
    "ModelSummary",
    "NotStorable",
    "check_storable",
    "inspect_model",
    "load_model",
    "read_fasta",
    "save_model",
    "upgrade_model",
]
