"""Formulas as MathML, which browsers draw by themselves: no script and no network."""

from html import escape

from docutils import nodes
from latex2mathml.converter import convert


def visit_inline(self, node):
    """Write a formula within a line."""
    self.body.append(f'<span class="math">{convert(node.astext())}</span>')
    raise nodes.SkipNode


def visit_display(self, node):
    """Write a formula on a line of its own; wide ones scroll by themselves."""
    label = f' id="{escape(node["ids"][0])}"' if node["ids"] else ""
    formula = convert(node.astext(), display="block")
    self.body.append(f'<div class="math"{label} tabindex="0">{formula}</div>')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
