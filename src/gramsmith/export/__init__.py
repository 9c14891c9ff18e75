"""Models for other programs: ONNX graphs of plain operators."""

from gramsmith.export.kernels import NotExportable as NotExportable
from gramsmith.export.models import to_onnx as to_onnx
