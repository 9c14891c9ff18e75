"""Docstrings: what several of them say of a parameter is written once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from inspect import cleandoc


def entries_of(doc: str | None, section: str) -> dict[str, str]:
    """Return the text of every entry of a section of a docstring, by its name."""
    text = "\n" + cleandoc(doc or "")
    _, _, rest = text.partition(f"\n{section}\n{'-' * len(section)}\n")
    body = re.split(r"^\s*\n(?=\S)|\Z", rest, maxsplit=1, flags=re.MULTILINE)[0]
    entries = re.split(r"^(?=\S)", body, flags=re.MULTILINE)
    return {text.split(" : ")[0]: text.rstrip("\n") + "\n" for text in entries if text.strip()}


def completed(doc: str | None, section: str, names: Iterable[str], known: Mapping[str, str]) -> str:
    r"""Return a docstring with an entry for every name in a section: its own, or a known one.

    Entries of its own for several names at once come last.

    Examples
    --------
    >>> doc = "Add.\n\nParameters\n----------\ny : int\n\nReturns\n-------\nint"
    >>> whole = completed(doc, "Parameters", ["x", "y"], {"x": "x : float\n"})
    >>> list(entries_of(whole, "Parameters"))
    ['x', 'y']
    """
    doc, own, names = cleandoc(doc or ""), entries_of(doc, section), list(names)
    title = f"{section}\n{'-' * len(section)}\n"
    text = "".join(own.get(name) or known.get(name, "") for name in names)
    text += "".join(own[name] for name in own if name not in names)
    if not own:
        following = r"(\n(?:Attributes|Returns|Notes|References|Examples)\n---)"
        head, line, rest = re.split(following, doc, maxsplit=1)
        return f"{head}\n{title}{text}{line}{rest}"
    head, line, rest = doc.partition(f"\n{title}")
    return head + line + text + rest[len("".join(own.values())) :]
