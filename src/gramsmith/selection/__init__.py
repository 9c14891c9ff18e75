"""Selection: which kernel, verified, fitted and explained."""

from gramsmith.selection.encoding import TableEncoder

__all__ = ["TableEncoder"]
