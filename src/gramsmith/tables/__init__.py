"""Tables: read from a file of any kind, understood column by column, and encoded as numbers."""

from gramsmith.tables.delimited import Writing
from gramsmith.tables.encoding import TableEncoder, TakeColumn
from gramsmith.tables.fasta import read_fasta
from gramsmith.tables.read import Table, read_table
from gramsmith.tables.roles import Column, ColumnTable
from gramsmith.tables.streams import DataError, Limits

__all__ = [
    "Column",
    "ColumnTable",
    "DataError",
    "Limits",
    "Table",
    "TableEncoder",
    "TakeColumn",
    "Writing",
    "read_fasta",
    "read_table",
]
