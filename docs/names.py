"""Names of the API in prose: `cka` in single backticks is a link wherever it is a public name."""

import re

from docutils import nodes
from sphinx import addnodes

import gramsmith


def name_role(role, rawtext, text, line, inliner, options=None, content=None):
    """Return a link to a public name, or plain code for anything else."""
    shown = nodes.literal(rawtext, text, classes=["code"])
    found = re.match(r"(?:gs\.|gramsmith\.)?(\w+)", text)
    if found is None or found[1] not in gramsmith._PUBLIC:
        return [shown], []
    shown["classes"] = ["xref", "py", "py-obj"]
    link = addnodes.pending_xref(
        rawtext,
        shown,
        refdomain="py",
        reftype="obj",
        reftarget=f"gramsmith.{found[1]}",
        refexplicit=True,
        refwarn=True,
    )
    return [link], []


def setup(app):
    """Register the role."""
    app.add_role("name", name_role)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
