"""How large the source is, and how many functions a call passes through.

``python -m benchmarks.size [FOLDER ...]`` prints files, lines and code lines (without docstrings,
blank lines and comments) of folders of ``src/gramsmith`` (by default of all of them), the different
named functions of gramsmith that some calls enter, and what a kernel may define beside its six
methods.
"""

from __future__ import annotations

import ast
import io
import sys
import threading
import tokenize
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import gramsmith as gs
from benchmarks.measuring import Row, show
from gramsmith.kernels.base import OptionalHooks
from gramsmith.measures import get_measure
from gramsmith.targets import make_target

SOURCE = Path(gs.__file__).parent
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def lines_of(path: Path) -> tuple[int, int]:
    """Return the lines of a file, and those of them that are code."""
    text = path.read_text(encoding="utf-8")
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            constant = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            if constant and isinstance(first.value.value, str):
                documented.update(range(first.lineno, first.end_lineno + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(text.splitlines()), len(code - documented)


def folders(names: list[str]) -> list[Row]:
    """Return files, lines and code lines of folders or files of the package."""
    parts = [SOURCE / name for name in names] or sorted(
        part for part in SOURCE.iterdir() if part.is_dir() or part.suffix == ".py"
    )
    rows, total = [], np.zeros(3, dtype=int)
    for part in parts:
        files = sorted(part.rglob("*.py")) if part.is_dir() else [part]
        if not files:
            continue
        sizes = np.sum([(1, *lines_of(file)) for file in files], axis=0)
        total += sizes
        rows.append(Row(part.name, "{} files, {} lines, {} code".format(*sizes), "", None))
    rows.append(Row("in all", "{} files, {} lines, {} code".format(*total), "", None))
    return rows


def functions_passed(call: Callable[[], object]) -> str:
    """Return how many different named functions of gramsmith a call enters, and how often."""
    call()  # imports, and what is computed once
    seen: Counter[object] = Counter()

    def note(frame: object, event: str, argument: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        if event == "call" and code.co_filename.startswith(str(SOURCE)) and code.co_name[0] != "<":
            seen[code] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return f"{len(seen)}, by {sum(seen.values())} calls"


def passed() -> list[Row]:
    """Return the functions that some calls pass through."""
    X = np.random.default_rng(0).normal(size=(300, 5))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    goal = make_target(y)

    def there_and_back() -> object:
        G = gs.Gram(gs.Gaussian(), X)
        moments = G.moments(goal)
        _, adjoint = get_measure("cka").value_and_adjoint(moments, goal)
        return G.pullback(adjoint, goal, moments)

    calls = {
        "evaluate([Gaussian()], X, y)": lambda: gs.evaluate([gs.Gaussian()], X, y),
        "moments and pullback of a Gram": there_and_back,
        "cka(Gram(Gaussian(), X), y)": lambda: gs.cka(gs.Gram(gs.Gaussian(), X), y),
        "KernelRidgeClassifier.fit": lambda: gs.KernelRidgeClassifier().fit(X, y),
        "TransformLearner.fit": lambda: gs.TransformLearner(random_state=0).fit(X, y),
        "TwoGaussianLearner.fit on 60 rows": lambda: gs.TwoGaussianLearner(random_state=0).fit(
            X[:60], y[:60]
        ),
        "KernelSelector.fit": lambda: gs.KernelSelector(n_jobs=1).fit(X, y),
        "rank_kernels": lambda: gs.rank_kernels(X, y, n_jobs=1),
    }
    return [
        Row(f"functions passed by {name}", functions_passed(call), "", None)
        for name, call in calls.items()
    ]


def hooks() -> list[Row]:
    """Return the number of names that a kernel may define beside its six methods."""
    names = [name for name in vars(OptionalHooks) if not name.startswith("_")]
    return [Row("optional hooks of a kernel", f"{len(names)}", "", None)]


def main() -> None:
    """Print the tables."""
    show("Size", folders(sys.argv[1:]))
    show("Functions and hooks", passed() + hooks())


if __name__ == "__main__":
    main()
