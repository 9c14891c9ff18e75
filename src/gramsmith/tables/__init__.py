"""Tables: read from a file of any kind, understood column by column, and encoded as numbers."""

from gramsmith.tables.encoding import TableEncoder
from gramsmith.tables.fasta import read_fasta
from gramsmith.tables.read import Table, read_table
from gramsmith.tables.streams import DataError, Limits

__all__ = ["DataError", "Limits", "Table", "TableEncoder", "read_fasta", "read_table"]
