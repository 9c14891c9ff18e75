"""Docstrings of machines, completed by those of their bases: nothing is written twice."""

from __future__ import annotations

import re
from inspect import cleandoc, signature


def complete_docstring(cls: type) -> None:
    """Add to the docstring of a machine what its bases say of its parameters and attributes."""
    doc = cleandoc(cls.__doc__ or "")
    if "Examples\n-----" not in doc:
        return  # not written for users
    bases = [base.__doc__ or "" for base in cls.__mro__[:0:-1] if "gramsmith" in base.__module__]
    for section in ("Parameters", "Attributes"):
        own = _entries(doc, section)
        known = {name: text for base in bases for name, text in _entries(base, section).items()}
        names = [*own, *(name for name in known if name not in own)]
        if section == "Parameters":
            names = list(signature(cls).parameters)
        text = "".join((known | own)[name] for name in names if name in known or name in own)
        if not own:
            doc = doc.replace("\nExamples\n---", f"\n{section}\n----------\n\nExamples\n---")
        head, line, rest = doc.partition(f"\n{section}\n----------\n")
        doc = head + line + text + rest[len("".join(own.values())) :]
    cls.__doc__ = doc


def _entries(doc: str, section: str) -> dict[str, str]:
    """Return the text of every entry of a section of a docstring, by its name."""
    _, _, rest = cleandoc(doc).partition(f"\n{section}\n----------\n")
    body = re.split(r"^\s*\n(?=\S)|\Z", rest, maxsplit=1, flags=re.MULTILINE)[0]
    parts = re.split(r"^(?=\S)", body, flags=re.MULTILINE)
    return {part.split(" : ")[0]: part.rstrip("\n") + "\n" for part in parts if part.strip()}
