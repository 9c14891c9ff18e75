"""Keeping things: models in safetensors files."""

from gramsmith.storage.card import model_card, overview
from gramsmith.storage.container import ModelFormatError
from gramsmith.storage.encode import NotStorable
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
    "model_card",
    "overview",
    "save_model",
    "upgrade_model",
]
