"""Mutation testing: a sample of small changes to the code, and whether a test notices each.

    cd tests && python -m tools.mutants [measures] [gram] [solvers] ... --count 300

Changes are those of cosmic-ray's operators, drawn over the files of a room in the order of a digest
(with a seed), so that a sample can be repeated and enlarged and stays much the same when the code
moves. A first run of the room's tests under coverage tells which tests pass through which line; a
mutant meets these alone, the quickest first and of many functions, at most three seconds of them.
One process has collected all tests and forks a child for each mutant, in which the changed
function gets its new code; what runs at import is imported anew. Results are kept in a file: a
killed mutant stays killed as long as its file does not change, a survivor is looked at again when
the tests change.

Not drawn, since nobody promises what they change: annotations; the words of an error or a warning,
that is, whatever stands within a `raise` statement or a call of `warnings.warn`; another exception
in an `except`; decorators; `is` for `==` (or the reverse) beside a literal, which the linter
refuses. `mutants.txt` lists survivors that are right to survive, with a reason.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import ctypes
import difflib
import gc
import hashlib
import inspect
import json
import math
import os
import resource
import shutil
import signal
import stat
import sys
import tempfile
import time
import traceback
import types
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path("src", "gramsmith")
#: room -> (its sources, the tests that guard it)
ROOMS = {
    "measures": (
        ["measures", "moments.py", "targets.py"],
        [
            *("measures", "evaluation", "test_moments.py", "test_targets.py"),
            "oracle/test_golden.py",
            *("test_laws.py::test_measure_is_the_textbook_formula", "test_numerics.py"),
            "test_laws.py::test_facts_that_are_stated",
            "test_laws.py::test_weighted_measure_is_the_textbook_form",
            "test_laws.py::test_adjoint_against_differences",
        ],
    ),
    "gram": (
        ["gram"],
        [
            *("gram", "evaluation/test_evaluate.py", "test_laws.py::test_streamed_equals_dense"),
            "test_laws.py::test_gradient_through_the_whole_chain",
        ],
    ),
    "solvers": (
        ["solvers"],
        [
            *("solvers", "machines/test_relevance_vector.py", "machines/test_ridge.py"),
            *("machines/test_l2svm.py", "machines/test_loss.py", "machines/test_import_vector.py"),
        ],
    ),
    "storage": (["storage"], ["storage"]),
    "selection": (["selection"], ["selection"]),
    "learning": (["learning"], ["learning"]),
    "machines": (["machines"], ["machines", "test_arguments.py"]),
    "tables": (["tables"], ["tables"]),
    "kernels": (
        ["kernels"],
        [
            *("kernels", "test_laws.py", "test_forms.py", "test_unfriendly.py"),
            *("oracle/test_kernels.py", "oracle/test_derivatives.py", "gram/test_features.py"),
        ],
    ),
    "evaluation": (["evaluation"], ["evaluation", "measures", "test_numerics.py"]),
    "export": (["export"], ["export"]),
    "report": (["report"], ["report", "selection/test_outputs.py"]),
    "cli": (["cli"], ["cli"]),
    "beside": (
        [
            *("arguments.py", "cached.py", "docstrings.py", "drift.py", "files.py"),
            *("fingerprint.py", "parameters.py", "progress.py"),
        ],
        [
            *("test_arguments.py", "test_drift.py", "test_progress.py", "test_recorded.py"),
            *("cli/test_drift.py", "kernels/test_pair_file.py", "gram/test_journal.py"),
        ],
    ),
}
# Not among them: a child would start a cluster, or other processes, first.
SLOW = ("gram/test_dask.py",)
SLOW_FUNCTIONS = (
    "gram/test_engine.py::test_same_bits_on_every_engine",
    "gram/test_journal.py::test_a_killed_client_is_resumed",
)
COMPILED = ("gram/test_sweep.py",)  # run once before all others, so that no child has to compile
LEFT_OUT = ("no-op", "Variable", "ExceptionReplacer", "RemoveDecorator")
SECONDS, TESTS = 3.0, 300  # of tests for a mutant, and at most so many
# What tests import, loaded once; not polars, whose threads do not survive a fork.
LOADED = """numpy scipy.linalg scipy.optimize scipy.sparse scipy.stats sklearn.compose
sklearn.ensemble sklearn.model_selection sklearn.neighbors sklearn.pipeline sklearn.svm pandas numba
distributed safetensors.numpy hypothesis.strategies hypothesis.extra.numpy pytest""".split()


class Mutant(NamedTuple):
    """One change: the file below src/gramsmith, the operator, which of its places, and the line."""

    file: str
    operator: str
    occurrence: int
    line: int


Position = tuple[int, int]  # line from 1, column from 0


# What can be changed


def places(room: str) -> list[Mutant]:
    """Return every change that the operators can make to a room and that could matter."""
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast_from_path

    found = []
    for path in _files(room):
        nodes = list(ast_nodes(get_ast_from_path(path)))
        tree = ast.parse(path.read_text("utf-8"))
        silent, literal = list(_silent(tree)), list(_literal(tree))
        for name in sorted(plugins.operator_names()):
            operator = plugins.get_operator(name)
            if any(word in name for word in LEFT_OUT) or operator.arguments():
                continue
            left_out = silent + (literal if _is_for_equal(name) else [])
            positions = (p for node in nodes for p in operator().mutation_positions(node))
            for occurrence, (begin, _) in enumerate(positions):
                if not any(first <= begin < last for first, last in left_out):
                    file = str(path.relative_to(ROOT / PACKAGE))
                    found.append(Mutant(file, name, occurrence, begin[0]))
    return found


def _files(room: str) -> Iterator[Path]:
    for name in ROOMS[room][0]:
        path = ROOT / PACKAGE / name
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _span(node: Any) -> tuple[Position, Position]:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _silent(tree: ast.Module) -> Iterator[tuple[Position, Position]]:
    """Yield the places of annotations and of the words of errors and warnings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            a = node.args
            every = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
            for part in (*(x.annotation for x in every if x is not None), node.returns):
                if part is not None:
                    yield _span(part)
        elif isinstance(node, ast.AnnAssign):
            yield _span(node.annotation)
        elif isinstance(node, ast.Raise) or (
            isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn"
        ):
            yield _span(node)


def _literal(tree: ast.Module) -> Iterator[tuple[Position, Position]]:
    """Yield the places of comparisons with a literal."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            if any(isinstance(x, ast.Constant) for x in (node.left, *node.comparators)):
                yield _span(node)


def _is_for_equal(operator: str) -> bool:
    pair = operator.split("_")[1:]
    return len(pair) == 2 and len({name.startswith("Is") for name in pair}) == 2


def change(mutant: Mutant, source: str) -> str:
    """Return the source with the change in it."""
    from cosmic_ray import plugins
    from cosmic_ray.mutating import mutate_code

    made = mutate_code(source, plugins.get_operator(mutant.operator)(), mutant.occurrence)
    return source if made is None else made


def described(mutant: Mutant, source: str, made: str) -> str:
    """Return the change as it stands in mutants.txt: the file, the line before and after."""
    lines = [
        line
        for line in difflib.unified_diff(source.splitlines(), made.splitlines(), n=0, lineterm="")
        if line[0] in "+-" and line[:3] not in ("+++", "---")
    ]
    before, after = ("; ".join(x[1:].strip() for x in lines if x[0] == sign) for sign in "-+")
    return f"{mutant.file}: {before} => {after}"


# Where it is tried


class Bench:
    """A copy of the checkout in which mutants live, and which tests know which line."""

    def __init__(self, folder: Path, room: str, kept: Path) -> None:
        self.folder, self.room, self.kept = folder, room, kept
        self.server: Any = None
        self.ready = False  # until then bytecode is written, of the code without a change
        for name in ("src", "tests", "benchmarks", "papers", "pyproject.toml"):
            source = ROOT / name
            if source.is_dir():
                skip = shutil.ignore_patterns("__pycache__", ".hypothesis", ".kept")
                shutil.copytree(source, folder / name, ignore=skip)
            else:
                shutil.copy2(source, folder / name)
        for name in ("home", "temporary", "numba"):
            (folder / name).mkdir()
        for library in ("OPENBLAS", "MKL", "OMP"):  # threads do not survive a fork
            os.environ[f"{library}_NUM_THREADS"] = "1"
        for name in LOADED:
            with suppress(ImportError):
                import_module(name)
        gc.freeze()  # what is loaded stays, in every child
        assert "gramsmith" not in sys.modules, "each mutant imports it for itself"
        self.times: dict[str, float] = {}
        self.contexts: dict[str, dict[int, set[str]]] = {}
        for tests in {f"tests/{name}" for name in COMPILED} & set(_test_files(room)):
            outcome(lambda tests=tests: self._test([tests]), 3600.0)
        for tests in _test_files(room):
            for name, (seconds, lines) in self._cover(tests).items():
                self.times[name] = seconds
                for file, numbers in lines.items():
                    for number in numbers:
                        self.contexts.setdefault(file, defaultdict(set))[number].add(name)
        compileall.compile_dir(folder / "src", quiet=1)
        slowest_first = reversed(self._quickest(self.times))
        one_each = {name.partition("::")[0]: name for name in slowest_first}
        control = list(one_each.values())
        alone = self.run(control)
        self.ready = True
        if (alone, self._ask(Path("none"), "", "", control)) != ("survives", "survives"):
            raise SystemExit(f"Expected tests of {room} to pass before any change.{self.said()}")

    def run(self, tests: list[str]) -> str:
        """Return what tests say in a process of their own: "killed", "hangs" or "survives"."""
        return outcome(lambda: self._test(tests), sum(self.times[name] for name in tests))

    def said(self) -> str:
        """Return what the last tests printed."""
        return "\n" + (self.folder / "said.txt").read_text("utf-8", "replace")

    def _test(self, tests: list[str], plugin: Any = None) -> int:
        """Be the child: run tests in the bench, and nowhere else."""
        out = os.open(self.folder / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(out, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        if os.geteuid() == 0:
            _write_nowhere_but(self.folder)
        os.environ |= {
            "PYTHONPATH": str(self.folder / "src"),
            "HOME": str(self.folder / "home"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "TMPDIR": str(self.folder / "temporary"),
            "NUMBA_CACHE_DIR": str(self.folder / "numba"),
        }
        tempfile.tempdir = None
        if "numba" in sys.modules:
            sys.modules["numba"].config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]
        if self.ready:
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
            sys.dont_write_bytecode = True
        os.chdir(self.folder)
        elsewhere = (str(ROOT), str(ROOT / "tests"), str(ROOT / "src"), "")
        sys.path[:] = [str(self.folder / "src"), *(p for p in sys.path if p not in elsewhere)]
        sys.modules["__main__"] = types.ModuleType("__main__")  # nothing that workers import
        import pytest

        options = ["-q", "-x", "--assert=plain", "-p", "no:cacheprovider"]
        options += ["-p", "pytest_timeout", "-p", "_hypothesis_pytestplugin"]
        options += ["--rootdir", "."]
        options += [f"--deselect=tests/{name}" for name in SLOW_FUNCTIONS]
        options += ["-o", "addopts=--import-mode=importlib -m 'not slow'"]  # no doctests
        code = pytest.main([*options, *tests], [plugin] if plugin else [])
        sys.stdout.flush()
        return 0 if code == pytest.ExitCode.NO_TESTS_COLLECTED else int(code)  # all of them slow

    def _cover(self, tests: str) -> dict[str, tuple[float, dict[str, list[int]]]]:
        """Return, for every test of a file, its seconds and the lines of the room it runs."""
        known = _tests_digest([tests], *_files(self.room))
        path = self.kept / f"{self.room}-{tests.replace('/', '-')}-{known}.json"
        if not path.exists():
            report = self.folder / "lines.json"
            seen = Lines(self.folder / PACKAGE, ROOMS[self.room][0], report)
            if outcome(lambda: self._test([tests], seen), 3600.0) != "survives":
                raise SystemExit(f"Expected {tests} to pass before any change.{self.said()}")
            shutil.copy(report, path)
        return dict(json.loads(path.read_text("utf-8")))

    def _ask(self, path: Path, before: str, made: str, tests: list[str]) -> str:
        """Return what tests say in a child of the server, which is started if need be."""
        if self.server is None:
            (asked, ask), (answer, answered) = os.pipe(), os.pipe()
            if os.fork() == 0:
                os.close(ask)
                os.close(answer)
                try:
                    self._test(_test_files(self.room), Server(open(asked), open(answered, "w")))
                finally:
                    os._exit(0)
            os.close(asked)
            os.close(answered)
            self.server = open(ask, "w"), open(answer)
        ask, answer = self.server
        seconds = sum(self.times[name] for name in tests)
        ask.write(json.dumps([str(path), before, made, tests, seconds]) + "\n")
        ask.flush()
        found = str(answer.readline().strip())
        if not found:
            raise SystemExit(f"Expected an answer about {path}.{self.said()}")
        return found

    def look(self, mutant: Mutant, made: str) -> str:
        """Return "killed", "hangs", "survives" or "not run": no test of the room runs its file."""
        path = self.folder / PACKAGE / mutant.file
        before, stamp = path.read_text("utf-8"), path.stat()
        lines = self.contexts.get(mutant.file, {})
        known = next((lines[n] for n in _lines_around(before, mutant.line) if lines.get(n)), None)
        # what the import runs: whoever uses the file, and its own tests
        imported = known is None or _at_import(before, mutant.line)
        own = f"{path.parent.name}/test_{path.name}::"
        users = set().union(*lines.values()) | {name for name in self.times if own in name}
        tests = self._chosen(users if imported else known or ())
        if not tests:
            return "not run"
        path.write_text(made, "utf-8")
        try:
            if imported:
                return self.run(tests)
            return self._ask(path, before, made, tests)
        finally:
            path.write_text(before, "utf-8")
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # as the bytecode knows it

    def _quickest(self, names: Iterable[str]) -> list[str]:
        return sorted(names, key=lambda name: (self.times[name], name))

    def _chosen(self, names: Iterable[str]) -> list[str]:
        """Return some tests, the quickest first; the k-th of a function counts k times its time."""
        seen: Counter[str] = Counter()
        order = []
        for name in self._quickest(names):
            function = name.partition("[")[0]
            seen[function] += 1
            order.append((seen[function] * self.times[name], name))
        chosen, seconds = [], 0.0
        for _, name in sorted(order)[:TESTS]:
            if not chosen or seconds + self.times[name] <= SECONDS:
                chosen.append(name)
                seconds += self.times[name]
        return chosen


def outcome(work: Callable[[], int], seconds: float) -> str:
    """Return what becomes of work in a forked process: "survives" if it returns 0."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.setsid()
            limit = math.ceil(10 + 4 * seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
            code = work()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    until = time.monotonic() + 45 + 8 * seconds
    done, status = 0, 0
    while not done and time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.005)
    with suppress(ProcessLookupError, PermissionError):  # with what it has started
        os.killpg(child, signal.SIGKILL)
    if not done:
        os.waitpid(child, 0)
    if not done or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return "hangs"
    return "killed" if status else "survives"


class Server:
    """A plugin of pytest that runs, instead of all tests, those that are asked for.

    A request names the file and its text before and after; in a forked child the functions whose
    code differs get the new one, so that nothing need be imported or collected again.
    """

    def __init__(self, asked: Any, answered: Any) -> None:
        self.asked, self.answered = asked, answered

    def pytest_runtestloop(self, session: Any) -> None:
        from _pytest.main import pytest_runtestloop

        items = {item.nodeid: item for item in session.items}
        functions: dict[Any, list[Any]] = {}
        for found in gc.get_objects():
            if isinstance(found, types.FunctionType):
                functions.setdefault(_place(found.__code__), []).append(found)
        gc.freeze()  # what is loaded stays, in every child
        for line in self.asked:
            path, before, made, tests, seconds = json.loads(line)
            chosen = [items[name] for name in tests]

            def work(path: str = path, texts: Any = (before, made), chosen: Any = chosen) -> int:
                for old, new in _changed(path, *texts):
                    for function in functions[_place(old)]:
                        function.__code__ = new
                session.items[:] = chosen
                with suppress(session.Failed):
                    pytest_runtestloop(session)
                return int(session.testsfailed > 0)

            self.answered.write(outcome(work, seconds) + "\n")
            self.answered.flush()
        os._exit(0)


def _place(code: types.CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _changed(path: str, before: str, made: str) -> Iterator[tuple[Any, Any]]:
    """Yield the code of functions before and after, where it differs."""
    pairs = [tuple(compile(text, path, "exec") for text in (before, made))]
    while pairs:
        old, new = pairs.pop()
        if old.co_flags & inspect.CO_OPTIMIZED:  # of a function; what is inside goes with it
            if old != new:
                yield old, new
        else:
            both = ([c for c in x.co_consts if isinstance(c, types.CodeType)] for x in (old, new))
            pairs += zip(*both, strict=True)


def _write_nowhere_but(folder: Path) -> None:
    """Give this process a view of the files that is read-only: a change must not harm the machine.

    For the superuser of Linux, who may write everywhere; where the system refuses, nothing happens.
    """
    libc = ctypes.CDLL(None)
    own_mounts, again, bind, read_only, recursive, private = 0x20000, 32, 4096, 1, 0x4000, 1 << 18
    if libc.unshare(own_mounts):
        return
    libc.mount(None, b"/", None, recursive | private, None)
    libc.mount(bytes(folder), bytes(folder), None, bind, None)
    null = folder / "null"  # whatever has become of the one outside
    if not null.exists():
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        null.chmod(0o666)
    libc.mount(bytes(null), b"/dev/null", None, bind, None)
    for place in (b"/", b"/dev"):
        libc.mount(None, place, None, again | bind | read_only, None)


def _lines_around(source: str, line: int) -> Iterator[int]:
    """Yield the line, the first one of its statement, and the body of a function it heads."""
    yield line
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno
            if node.lineno <= line <= (last or node.lineno):
                yield node.lineno
                if isinstance(node, ast.FunctionDef):
                    yield from (statement.lineno for statement in node.body)


def _at_import(source: str, line: int) -> bool:
    """Return whether a line is outside the body of every function."""
    return not any(
        isinstance(node, ast.FunctionDef)
        and node.body[0].lineno <= line <= (node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(source))
    )


class Lines:
    """A plugin of pytest that writes down which lines each test runs, and how long it takes."""

    def __init__(self, package: Path, sources: Iterable[str], report: Path) -> None:
        self.package, self.report = package, report
        self.include = [
            str(package / name / "*" if not name.endswith(".py") else package / name)
            for name in sources
        ]
        self.times: dict[str, float] = {}

    def pytest_configure(self) -> None:
        import coverage

        self.coverage = coverage.Coverage(data_file=None, include=self.include)
        self.coverage.set_option("run:disable_warnings", ["no-data-collected"])
        self.coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.coverage.switch_context(nodeid)
        self.times[nodeid] = -time.process_time()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.times[nodeid] += time.process_time()
        self.coverage.switch_context("")

    def pytest_unconfigure(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        lines: dict[str, dict[str, list[int]]] = {name: {} for name in self.times}
        for path in data.measured_files():
            file = str(Path(path).relative_to(self.package))
            for line, names in data.contexts_by_lineno(path).items():
                for name in filter(None, names):
                    lines[name].setdefault(file, []).append(line)
        found = {name: (seconds, lines[name]) for name, seconds in self.times.items()}
        self.report.write_text(json.dumps(found), "utf-8")


def _test_files(room: str) -> list[str]:
    """Return the files of a room's tests, or single functions of them, below the checkout."""
    found = []
    for name in ROOMS[room][1]:
        path = ROOT / "tests" / name
        found += sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
    slow = {ROOT / "tests" / name for name in SLOW}
    return [str(path.relative_to(ROOT)) for path in found if path not in slow]


def _tests_digest(tests: Iterable[str], *others: Path) -> str:
    files = dict.fromkeys(ROOT / name.partition("::")[0] for name in tests)
    return digest([*others, ROOT / "tests" / "conftest.py", *files])


# What comes out


def digest(paths: Iterable[Path]) -> str:
    """Return a short digest of files."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def interval(killed: int, count: int) -> tuple[float, float]:
    """Return Wilson's interval of 95 % for a share."""
    z, p = 1.96, killed / count
    centre = (p + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z * math.sqrt(p * (1 - p) / count + z**2 / (4 * count**2)) / (1 + z**2 / count)
    return centre - half, centre + half


def explained() -> dict[str, str]:
    """Return survivors that change nothing that is promised: "file: before => after" -> reason."""
    path = Path(__file__).with_name("mutants.txt")
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    pairs = (line.rsplit(" -- ", 1) for line in lines if " -- " in line)
    return {name.strip(): reason.strip() for name, reason in pairs}


class Results:
    """What became of mutants, and which tests they met, kept in a file."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.path = folder, folder / "results.jsonl"
        lines = self.path.read_text("utf-8").splitlines() if self.path.exists() else []
        self.known: dict[str, list[str]] = dict(map(json.loads, lines))

    def get(self, key: str, tests: str) -> str | None:
        """Return what is known; nothing for a survivor of other tests."""
        found, met = self.known.get(key, (None, ""))
        return found if met == tests or found not in ("survives", "not run") else None

    def put(self, key: str, found: str, tests: str) -> None:
        """Remember one more."""
        self.known[key] = [found, tests]
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([key, self.known[key]]) + "\n")


def drawn(room: str, seed: int, count: int) -> Iterator[tuple[Mutant, str, str]]:
    """Yield mutants in the order of a digest, with the text of their file before and after.

    What cosmic-ray makes of stars, as in ``{**a}``, is often no Python: such changes do not count.
    """
    every = places(room)
    every.sort(key=lambda m: hashlib.sha256(f"{seed} {m[:3]}".encode()).digest())
    for mutant in every:
        source = (ROOT / PACKAGE / mutant.file).read_text("utf-8")
        made = change(mutant, source)
        try:
            with warnings.catch_warnings(action="ignore"):
                compile(made, mutant.file, "exec")
        except SyntaxError:
            continue
        if made != source:
            yield mutant, source, made
            count -= 1
        if not count:
            return


def judge(room: str, seed: int, count: int, results: Results) -> Iterator[tuple[str, str]]:
    """Yield each change in words, and what became of it."""
    tests = _tests_digest(_test_files(room))
    bench = None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for mutant, source, made in drawn(room, seed, count):
            key = " ".join(map(str, (*mutant[:3], digest([ROOT / PACKAGE / mutant.file]))))
            found = results.get(key, tests)
            if found is None:
                bench = bench or Bench(Path(folder), room, results.folder)
                found = bench.look(mutant, made)
                results.put(key, found, tests)
            yield described(mutant, source, made), found


def main() -> int:
    """Draw mutants, look at each, print scores and survivors; return 1 below the least score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", choices=[*ROOMS, []], default=list(ROOMS))
    parser.add_argument("--count", type=int, default=300, help="mutants per room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kept", type=Path, default=ROOT / "benchmarks" / ".kept" / "mutants")
    parser.add_argument("--least", type=float, default=0.0, help="share of killed ones to ask for")
    options = parser.parse_args()
    results, reasons, low = Results(options.kept.resolve()), explained(), False
    for room in options.rooms:
        begun = time.monotonic()
        counts: Counter[str] = Counter()
        for change_, found in judge(room, options.seed, options.count, results):
            if found in ("survives", "not run"):
                reason = reasons.get(change_)
                found = "explained" if reason else found
                print(f"  {found}: {change_}{f' -- {reason}' if reason else ''}", flush=True)
            counts[found] += 1
        changed, killed = counts.total(), counts["killed"] + counts["hangs"]
        a, b = interval(killed, max(changed, 1))
        said = ", ".join(f"{found} {n}" for found, n in sorted(counts.items()) if n)
        print(
            f"{room}: {killed} of {changed} killed, {killed / max(changed, 1):.1%} "
            f"({a:.1%} to {b:.1%}); {said}; {time.monotonic() - begun:.0f} s"
        )
        low |= killed < options.least * changed
    return int(low)


if __name__ == "__main__":
    sys.exit(main())
