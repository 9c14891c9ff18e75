"""What people read is written in the words of the field: tests/words.txt lists those to avoid."""

import ast
import inspect
import re
import tokenize
from pathlib import Path

import pytest

from gramsmith.cli import group
from test_docstrings import PUBLIC, methods_of

ROOT = Path(__file__).parents[1]
# Pages that define the words of the house, or describe the inside.
CODE = re.compile(r"[a-z]+( [a-z]+){0,2}")  # what programs compare with, such as "gap in target"
INSIDE = ("docs/architecture.rst", "docs/theory", "docs/guide/extend.rst", "docs/guide/cluster")


def banned(section):
    """Return (expression, words to use) of a section of words.txt."""
    lines = (Path(__file__).parent / "words.txt").read_text(encoding="utf-8").splitlines()
    start = lines.index(f"[{section}]") + 1
    rules = []
    for line in lines[start:]:
        if line.startswith("["):
            break
        if line and not line.startswith("#"):
            pattern, instead = re.split(r"\s{2,}", line, maxsplit=1)
            rules.append((re.compile(pattern, re.IGNORECASE), instead))
    return rules


EVERYWHERE, GUIDES = banned("everywhere"), banned("guides")


def found(where, text, rules):
    """Return the banned words of a text, each with what to write."""
    text = " ".join(text.split())
    return [
        f"{where}: {text[max(hit.start() - 30, 0) : hit.end() + 30]!r}: write {instead}"
        for pattern, instead in rules
        for hit in pattern.finditer(text)
    ]


def prose(text):
    """Return reStructuredText or Markdown without code, whose names are checked elsewhere."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^ *(>>>|\.\.\. ).*?(\n\s*\n|\Z)", "\n", text, flags=re.DOTALL | re.MULTILINE)
    # a literal block: what is indented after `::` or a directive that shows code
    text = re.sub(
        r"^( *)(\.\. (code-block|math|toctree).*|(?! *\.\. ).*::)\n(\n|\1 +.*\n)*",
        "\n",
        text,
        flags=re.MULTILINE,
    )
    text = re.sub(r"``.*?``", "", text, flags=re.DOTALL)
    text = re.sub(r"`[^`]*?<[^`]*?>`|`[^`]*`", "", text)
    return re.sub(
        r"^\.\. _.*$|^.*:(link|target|img-top): .*$|\]\(.*?\)", "", text, flags=re.MULTILINE
    )


# without what Sphinx writes into docs/api and docs/gallery
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.rst")),
    *(
        p
        for part in ("guide", "theory", "papers")
        for p in sorted((ROOT / "docs" / part).rglob("*.rst"))
    ),
]


@pytest.mark.parametrize(
    "page",
    PAGES,
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_page_is_in_plain_words(page):
    name = page.relative_to(ROOT).as_posix()
    rules = EVERYWHERE + ([] if name.startswith(INSIDE) else GUIDES)
    text = page.read_text(encoding="utf-8")
    if page.name == "promises.rst":  # names of simulations are their seeds
        text = re.sub(r"^   \* - .*$", "", text, flags=re.MULTILINE)
    assert found(name, prose(text), rules) == []


def spoken(script):
    """Return docstring, comments and labels of a script of the gallery."""
    with script.open("rb") as lines:
        comments = [
            t.string for t in tokenize.tokenize(lines.readline) if t.type == tokenize.COMMENT
        ]
    tree = ast.parse(script.read_text(encoding="utf-8"))
    labels = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    ]
    return [prose(text) for text in [" ".join(comments), *labels]]


def test_examples_are_in_plain_words():
    wrong = [
        hit
        for script in sorted((ROOT / "examples").rglob("*.py"))
        for text in spoken(script)
        for hit in found(script.relative_to(ROOT), text, EVERYWHERE)
    ]
    assert wrong == []


def code(text):
    """Return the lines of examples and literal blocks, without their indentation."""
    lines, inside = [], None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if inside is not None and line.strip() and indent <= inside:
            inside = None
        if inside is not None or line.lstrip().startswith((">>>", "... ")):
            lines.append(line.strip())
        if re.match(r" *(\.\. code-block::|(?!\.\. ).*::$)", line):
            inside = indent
    return lines


def test_code_of_the_pages_is_80_columns_wide():
    wide = [
        f"{page.name}: {line}"
        for page in PAGES
        for line in code(page.read_text(encoding="utf-8"))
        if len(line) > 80
    ]
    assert wide == []


def test_the_readme_is_100_columns_wide():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 100] == []


def docstrings(tree):
    """Yield the nodes of the docstrings of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.value


def messages(path):
    """Yield the texts of a module that users may read: literals of words, and no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {id(node) for node in docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
            parts = (p.value if isinstance(p, ast.Constant) else "…" for p in node.values)
            yield node.lineno, "".join(parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in inside and " " in node.value:
                yield node.lineno, node.value


def test_messages_are_in_plain_words():
    wrong = [
        hit
        for path in sorted((ROOT / "src").rglob("*.py"))
        for line, text in messages(path)
        if not CODE.fullmatch(text)
        for hit in found(f"{path.relative_to(ROOT / 'src')}:{line}", prose(text), EVERYWHERE)
    ]
    for page in (ROOT / "src").rglob("*.j2"):
        wrong += found(
            page.name, re.sub(r"<[^>]*>|{.*?}", " ", page.read_text("utf-8")), EVERYWHERE
        )
    assert wrong == []


def test_docstrings_are_in_plain_words():
    wrong = []
    for name, item in PUBLIC.items():
        texts = {name: inspect.getdoc(item)}
        if inspect.isclass(item):
            texts |= {f"{name}.{m}": inspect.getdoc(method) for m, method in methods_of(item)}
        for where, text in texts.items():
            # without names of parameters and quoted values
            text = re.sub(r'^ *[\w, *]+ : |"\w+"', "", text or "", flags=re.MULTILINE)
            wrong += found(where, prose(text), EVERYWHERE)
    for name, command in group.commands.items():
        wrong += found(f"gramsmith {name}", command.help, EVERYWHERE)
    assert wrong == []
