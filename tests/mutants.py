"""Mutation testing: a sample of small changes to the code, and whether a test notices each.

    cd tests && python -m mutants [measures] [gram] [solvers] [storage] --count 300

Changes are those of cosmic-ray's operators, drawn at random over the files of a room (with a seed,
so that a sample can be repeated and enlarged). A first run of the room's tests under coverage tells
which tests pass through which line; a mutant meets these alone, the quickest first. Results are
kept in a file and not computed again. `mutants.txt` lists survivors that are right to survive, with
a reason.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
#: room -> (its sources, the tests that guard it)
ROOMS = {
    "measures": (
        ["measures", "moments.py", "targets.py"],
        ["measures", "evaluation", "test_moments.py", "test_targets.py", "test_golden.py"],
    ),
    "gram": (["gram"], ["gram", "evaluation/test_evaluate.py"]),
    "solvers": (["solvers"], ["solvers", "machines"]),
    "storage": (["storage"], ["storage"]),
}
# annotations and decorators say nothing at run time; another exception is not a wrong number
LEFT_OUT = ("no-op", "variable", "exception-replacer", "remove-decorator")
FIRST, SECONDS = 40, 120  # tests of the first look at a mutant; longest time of a look


class Mutant(NamedTuple):
    """One change: the file below src/gramsmith, the operator, which of its places, and the line."""

    file: str
    operator: str
    occurrence: int
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.operator} {self.occurrence}"


def places(room: str) -> list[Mutant]:
    """Return every change that the operators can make to a room."""
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast_from_path

    found = []
    for path in _files(room):
        tree = get_ast_from_path(path)
        spoken = _annotated(path)
        for name in sorted(plugins.operator_names()):
            if any(word in name for word in LEFT_OUT):
                continue
            make = plugins.get_operator(name)
            if make.arguments():
                continue
            positions = (p for node in ast_nodes(tree) for p in make().mutation_positions(node))
            for occurrence, (begin, _) in enumerate(positions):
                if begin[0] not in spoken:
                    file = str(path.relative_to(ROOT / "src" / "gramsmith"))
                    found.append(Mutant(file, name, occurrence, begin[0]))
    return found


def _files(room: str) -> Iterator[Path]:
    for name in ROOMS[room][0]:
        path = ROOT / "src" / "gramsmith" / name
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _annotated(path: Path) -> set[int]:
    """Return lines of signatures and annotations, which are not evaluated."""
    import ast

    lines: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            for part in (
                *(a.annotation for a in node.args.args + node.args.kwonlyargs),
                node.returns,
            ):
                if part is not None:
                    lines |= set(range(part.lineno, (part.end_lineno or part.lineno) + 1))
        elif isinstance(node, ast.AnnAssign):
            lines.add(node.annotation.lineno)
    return lines


class Bench:
    """A copy of the checkout in which mutants live, and which tests know which line."""

    def __init__(self, folder: Path, room: str) -> None:
        self.folder, self.room = folder, room
        for name in ("src", "tests", "papers", "pyproject.toml"):
            source = ROOT / name
            if source.is_dir():
                skip = shutil.ignore_patterns("__pycache__", ".hypothesis")
                shutil.copytree(source, folder / name, ignore=skip)
            else:
                shutil.copy(source, folder / name)
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(folder / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
        }
        self.contexts = self._cover()

    def run(self, tests: list[str], *options: str, seconds: float = SECONDS) -> bool | None:
        """Return whether tests pass; None if they hang."""
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        try:
            done = subprocess.run(
                [*command, *options, *tests],
                cwd=self.folder,
                env=self.environment,
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        return done.returncode == 0

    def _cover(self) -> dict[tuple[str, int], list[str]]:
        """Return, for every line of the room, the tests that run it, the quickest first."""
        tests = [f"tests/{name}" for name in ROOMS[self.room][1]]
        data, report = self.folder / ".coverage", self.folder / "times.xml"
        options = [
            "--cov=src/gramsmith",
            "--cov-context=test",
            "--cov-report=",
            f"--junitxml={report}",
        ]
        if not self.run(tests, *options, seconds=3600):
            raise SystemExit(f"Expected the tests of {self.room} to pass before any change.")
        times = _times(report)
        with sqlite3.connect(data) as db:
            from coverage.numbits import numbits_to_nums

            found: dict[tuple[str, int], set[str]] = {}
            query = (
                "SELECT file.path, context.context, line_bits.numbits FROM line_bits "
                "JOIN file ON file.id = line_bits.file_id JOIN context ON context.id = context_id"
            )
            for path, context, bits in db.execute(query):
                name, _, phase = context.partition("|")
                if phase != "run":
                    continue
                for line in numbits_to_nums(bits):
                    key = (str(Path(path).relative_to(self.folder / "src" / "gramsmith")), line)
                    found.setdefault(key, set()).add(name)
        quickest = lambda name: times.get(name, 1.0)  # noqa: E731
        return {key: sorted(names, key=quickest) for key, names in found.items()}

    def look(self, mutant: Mutant) -> str:
        """Return "killed", "hangs", "survives" or "not run": no test of the room runs its line."""
        from cosmic_ray import plugins
        from cosmic_ray.mutating import mutate_code

        path = self.folder / "src" / "gramsmith" / mutant.file
        before = path.read_text("utf-8")
        made = mutate_code(before, plugins.get_operator(mutant.operator)(), mutant.occurrence)
        tests = self._around(mutant, before)
        if made is None or made == before:
            return "no change"
        if not tests:
            return "not run"
        path.write_text(made, "utf-8")
        try:
            for chosen in (tests[:FIRST], tests[FIRST:400]):
                passed = self.run(chosen) if chosen else True
                if not passed:
                    return "hangs" if passed is None else "killed"
        finally:
            path.write_text(before, "utf-8")
        return "survives"

    def _around(self, mutant: Mutant, source: str) -> list[str]:
        """Return the tests of the line, or of the statement it belongs to."""
        import ast

        lines = [mutant.line]
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.stmt) and not hasattr(node, "body"):
                if node.lineno <= mutant.line <= (node.end_lineno or node.lineno):
                    lines.append(node.lineno)
        for line in lines:
            if tests := self.contexts.get((mutant.file, line)):
                return tests
        return []


def _times(report: Path) -> dict[str, float]:
    """Return the seconds of each test, by the name that pytest gives it."""
    from xml.etree import ElementTree

    times = {}
    for case in ElementTree.parse(report).iter("testcase"):
        file = case.get("classname", "").replace(".", "/") + ".py"
        times[f"{file}::{case.get('name')}"] = float(case.get("time", 1.0))
    return times


def interval(killed: int, count: int) -> tuple[float, float]:
    """Return Wilson's interval of 95 % for a share."""
    z, p = 1.96, killed / count
    centre = (p + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z * np.sqrt(p * (1 - p) / count + z**2 / (4 * count**2)) / (1 + z**2 / count)
    return float(centre - half), float(centre + half)


def explained() -> dict[str, str]:
    """Return survivors that change nothing that is promised: "file:line operator" -> reason."""
    path = Path(__file__).with_name("mutants.txt")
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    pairs = (line.split(" -- ", 1) for line in lines if " -- " in line)
    return {name.strip(): reason.strip() for name, reason in pairs}


def main() -> int:
    """Draw mutants, look at each, print scores and survivors; return 1 below the least score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", choices=[*ROOMS, []], default=list(ROOMS))
    parser.add_argument("--count", type=int, default=300, help="mutants per room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--kept", type=Path, default=ROOT / "benchmarks" / ".kept" / "mutants.jsonl"
    )
    parser.add_argument("--least", type=float, default=0.0, help="share of killed ones to ask for")
    options = parser.parse_args()
    kept: dict[str, Any] = {}
    if options.kept.exists():
        kept = dict(map(json.loads, options.kept.read_text("utf-8").splitlines()))
    options.kept.parent.mkdir(parents=True, exist_ok=True)
    reasons, low = explained(), False
    for room in options.rooms:
        every = places(room)
        order = np.random.default_rng(options.seed).permutation(len(every))
        chosen = [every[i] for i in order[: options.count]]
        counts: dict[str, int] = {}
        with tempfile.TemporaryDirectory() as folder:
            bench = None
            begun = time.monotonic()
            for mutant in chosen:
                key = str(mutant)
                if key not in kept:
                    bench = bench or Bench(Path(folder), room)
                    kept[key] = bench.look(mutant)
                    with options.kept.open("a", encoding="utf-8") as file:
                        file.write(json.dumps([key, kept[key]]) + "\n")
                found = kept[key]
                if found in ("survives", "not run"):
                    reason = reasons.get(key)
                    found = "explained" if reason else found
                    print(f"  {found}: {key}{f' ({reason})' if reason else ''}", flush=True)
                counts[found] = counts.get(found, 0) + 1
        changed = sum(n for found, n in counts.items() if found != "no change")
        killed = counts.get("killed", 0) + counts.get("hangs", 0)
        a, b = interval(killed, max(changed, 1))
        said = ", ".join(f"{found} {n}" for found, n in sorted(counts.items()))
        print(
            f"{room}: {killed} of {changed} killed, {killed / max(changed, 1):.1%} "
            f"({a:.1%} to {b:.1%}); {said}; {len(every):,} places, {time.monotonic() - begun:.0f} s"
        )
        low |= killed < options.least * changed
    return int(low)


if __name__ == "__main__":
    sys.exit(main())
