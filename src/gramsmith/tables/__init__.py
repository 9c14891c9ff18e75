"""Tables: read from a file of any kind, understood column by column, and encoded as numbers."""

from gramsmith.tables.blocks import Categories, Dates, Numbers, Texts
from gramsmith.tables.decide import Column, ColumnTable
from gramsmith.tables.delimited import Writing
from gramsmith.tables.encoder import TableEncoder, TakeColumn
from gramsmith.tables.fasta import read_fasta
from gramsmith.tables.read import Table, read_table
from gramsmith.tables.streams import DataError, Limits

__all__ = [
    "Categories",
    "Column",
    "ColumnTable",
    "DataError",
    "Dates",
    "Limits",
    "Numbers",
    "Table",
    "TableEncoder",
    "TakeColumn",
    "Texts",
    "Writing",
    "read_fasta",
    "read_table",
]
