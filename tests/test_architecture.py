"""The shape of the package: who may import whom, what is loaded when, how names and files look."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import gramsmith

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "gramsmith"
SOURCES = sorted(SRC.rglob("*.py"))

# Layer -> the layers it imports, bottom up: no other, and all of these. Its modules may import
# each other.
BELOW = {
    "arguments": set(),
    "cached": set(),
    "docstrings": set(),
    "files": set(),
    "fingerprint": set(),
    "parameters": {"docstrings"},
    "progress": set(),
    "kernels": {"arguments", "docstrings", "fingerprint"},
    "targets": {"arguments", "cached"},
    "moments": {"cached", "targets"},
    "measures": {"arguments", "cached", "moments", "targets"},
    "gram": {"arguments", "cached", "fingerprint", "kernels", "moments", "targets"},
    "solvers": {"kernels"},
    "machines": {"arguments", "gram", "kernels", "parameters", "solvers", "targets"},
    "report": {"arguments", "gram", "kernels", "machines"},
    "evaluation": {
        *("arguments", "docstrings", "fingerprint", "gram", "kernels", "measures"),
        *("moments", "report", "targets"),
    },
    "learning": {
        *("arguments", "gram", "kernels", "measures", "moments", "parameters", "solvers"),
        "targets",
    },
    "tables": {"arguments", "kernels"},
    "drift": {"arguments", "evaluation", "report", "tables"},
    "selection": {
        *("arguments", "cached", "evaluation", "files", "fingerprint", "gram", "kernels"),
        *("learning", "machines", "measures", "progress", "report", "solvers"),
        *("tables", "targets"),
    },
    "storage": {
        *("arguments", "files", "kernels", "learning", "machines", "report", "selection"),
        "tables",
    },
    "export": {"files", "kernels", "learning", "machines", "selection", "storage", "tables"},
    "cli": {
        *("arguments", "drift", "evaluation", "export", "files", "gram", "measures", "progress"),
        "report",
        *("selection", "storage", "tables"),
    },
    "__main__": set(),
}

# Third-party package -> the layers that may import it. What is not listed is not a dependency.
HOMES = {
    "numpy": set(BELOW),
    "scipy": set(BELOW),
    "sklearn": set(BELOW),
    "joblib": {"fingerprint", "gram"},
    "threadpoolctl": {"gram"},
    "safetensors": {"storage"},
    "onnx": {"export"},
    "numba": {"kernels"},
    "llvmlite": {"kernels"},
    "dask": {"gram"},
    "cloudpickle": {"gram"},
    "distributed": {"gram"},
    "matplotlib": {"report"},
    "jinja2": {"report"},
    "markupsafe": {"report"},
    "pandas": {"report", "tables", "storage"},  # storage: columns of several types for an encoder
    "pyarrow": {"gram", "tables"},
    "python_calamine": {"tables"},
    "click": {"cli"},
    "rich": {"progress"},
}
OPTIONAL = {
    *("numba", "dask", "distributed", "matplotlib", "jinja2", "pandas", "polars", "pyarrow"),
    *("click", "rich", "onnx", "llvmlite", "cloudpickle"),
}


def layer(path):
    """The first name below gramsmith: a folder, or a module of its own."""
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imports(tree):
    """Yield every absolute import of a module as (node, dotted name)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)


def layers_in(path):
    """Yield (line, layer) of what a module imports from other layers of gramsmith.

    A public name counts for the module behind it.
    """
    for node, target in imports(source(path)):
        package, _, rest = target.partition(".")
        first = rest.partition(".")[0]
        found = gramsmith._PUBLIC.get(first, f"gramsmith.{first}").split(".")[1]
        if package == "gramsmith" and found not in (layer(path), "__version__"):
            yield node.lineno, found


@cache
def source(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def name(path):
    return str(path.relative_to(ROOT))


LAYERED = [path for path in SOURCES if layer(path) != "__init__"]


def breaches(paths, rule):
    """Return what a rule, a function of a path that yields nodes and names, finds in files."""
    return [
        f"{name(path)}, line {getattr(node, 'lineno', node)}: {what}"
        for path in paths
        for node, what in rule(path)
    ]


def outside(*layers):
    return [path for path in LAYERED if layer(path) not in layers]


def words_of(*words):
    """Return a rule: no file has these words."""

    def rule(path):
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            yield from ((number, word) for word in words if word in line)

    return rule


def test_imports_point_downwards():
    unknown = {layer(path) for path in LAYERED} - set(BELOW)
    assert not unknown, "no layers yet: say in BELOW what they import"

    def rule(path):
        return (pair for pair in layers_in(path) if pair[1] not in BELOW[layer(path)])

    assert not breaches(LAYERED, rule), f"a layer may import {BELOW}"


def test_arrows_are_true():
    above = list(BELOW)
    assert all(above.index(low) < above.index(high) for high in BELOW for low in BELOW[high])
    used = {high: set() for high in BELOW}
    for path in LAYERED:
        used[layer(path)] |= {found for _, found in layers_in(path)}
    assert used == BELOW


def test_blas_threads_are_limited_by_the_engine_alone():
    # `dense_work` has the rule; who sets limits of his own undoes those of others
    rule = words_of("one_blas_thread", "threadpool_limits")
    assert not breaches(outside("gram"), rule)


def test_tiles_are_formed_by_the_engine_alone():
    # blocks of samples go by `Gram` or `engine.map`, whose threads and memory have one rule
    rule = words_of("kernel.tile(")
    assert not breaches(outside("gram", "kernels"), rule)


def test_no_clock_that_is_set():
    # hands and networks set the time of day, in the middle of a ranking too; what lasts how long
    # is told by the monotonic clock
    rule = words_of("time.time(", "datetime.now(", "utcnow(")
    assert not breaches(SOURCES, rule)


def test_gramsmith_is_imported_at_the_top():
    # an import inside a function hides a cycle; cli alone answers --help before anything is loaded
    def rule(path):
        at_top = {id(node) for node in source(path).body}
        for node, target in imports(source(path)):
            if target.partition(".")[0] == "gramsmith" and id(node) not in at_top:
                yield node, target

    assert not breaches(outside("cli"), rule)


def test_third_party_packages_stay_at_home():
    known = {*sys.stdlib_module_names, "gramsmith"}

    def rule(path):
        for node, target in imports(source(path)):
            package = target.partition(".")[0]
            if package not in known and layer(path) not in HOMES.get(package, ()):
                yield node, target

    assert not breaches(LAYERED, rule), f"packages are at home in {HOMES}"


def test_optional_packages_are_imported_when_used():
    def rule(path):
        for statement in source(path).body:
            defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
            if isinstance(statement, defined) or _is_type_checking(statement):
                continue
            for node, target in imports(statement):
                if target.partition(".")[0] in OPTIONAL:
                    yield node, target

    # click and rich are what cli is made of; importing cli is using them
    assert not breaches(outside("cli"), rule), "import these inside the function that needs them"


def _is_type_checking(statement):
    return isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"


# What scikit-learn checks parameters with, and the libraries around it use as well: no public
# module has it, and BaseEstimator._validate_params reads nothing else.
DECLARED = "sklearn.utils._param_validation"


def test_no_private_modules_of_others():
    def rule(path):
        for node, target in imports(source(path)):
            parts = target.split(".")
            private = [part for part in parts if part.startswith("_") and part != "__version__"]
            ours = parts[0] in {"gramsmith", "__future__"} or target.startswith(f"{DECLARED}.")
            if private and not ours:
                yield node, target

    assert not breaches(SOURCES, rule), "private names may vanish in any release"


def test_defaults_are_plain_values():
    # An object made once as a default argument is shared by every caller, a kernel above all.
    made = ast.Call | ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp

    def rule(path):
        for node in ast.walk(source(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                for default in (*node.args.defaults, *node.args.kw_defaults):
                    text = "" if default is None else ast.unparse(default)
                    if isinstance(default, made) and not text.startswith("slice("):
                        yield default, text

    assert not breaches(SOURCES, rule), "use None and build the object inside"


def test_a_breach_is_named():
    # the rules above pass on files without faults: here is one with a fault
    path = SRC / "kernels" / "base.py"
    assert breaches([path], words_of("class Kernel("))[0].startswith("src/gramsmith/kernels/base")


def test_no_grab_bags():
    bags = {"util", "utils", "helper", "helpers", "common", "misc"}
    files = [
        path
        for folder in ("src", "tests", "benchmarks", "examples", "papers")
        for path in (ROOT / folder).rglob("*.py")
        if bags & {part.removesuffix(".py").strip("_") for part in path.relative_to(ROOT).parts}
    ]
    assert not files, "a function lives beside the concept it serves"


def test_public_names_are_importable():
    for public, home in gramsmith._PUBLIC.items():
        assert getattr(gramsmith, public) is getattr(import_module(home), public)
    assert set(gramsmith._PUBLIC) <= set(dir(gramsmith))


def test_all_is_the_public_list():
    assert gramsmith.__all__ == ["__version__", *gramsmith._PUBLIC]
    assert max(Counter(gramsmith.__all__).values()) == 1


def test_type_checkers_see_the_same_names():
    seen = {
        alias.asname: node.module
        for node in ast.walk(source(SRC / "__init__.pyi"))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    assert seen == gramsmith._HOMES
    folders = [item for item in seen if item not in gramsmith._PUBLIC]
    assert [f"gramsmith.{item}" for item in folders] == [
        getattr(gramsmith, item).__name__ for item in folders
    ]
    assert (SRC / "py.typed").exists()


def test_every_all_holds_names_that_exist():
    for path in SOURCES:
        if path.name == "__main__.py":
            continue
        dotted = ".".join(path.relative_to(SRC.parent).with_suffix("").parts)
        module = import_module(dotted.removesuffix(".__init__"))
        absent = [item for item in getattr(module, "__all__", ()) if not hasattr(module, item)]
        assert not absent, f"{dotted}.__all__ promises {absent}"


def test_unknown_name_raises_attribute_error():
    with pytest.raises(AttributeError, match="gramsmith"):
        _ = gramsmith.no_such_name


def loaded_after(code):
    """Run code in a fresh interpreter and return the top-level packages it has loaded."""
    script = f"import sys\n{code}\nprint(*{{m.partition('.')[0] for m in sys.modules}})"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    return set(run.stdout.split())


def test_import_loads_nothing_but_the_standard_library():
    loaded = loaded_after("import gramsmith")
    assert not loaded & {"numpy", "scipy", "sklearn", "safetensors", *OPTIONAL}


def test_public_names_load_no_optional_package():
    # scikit-learn looks for some of them itself; what it loads is not our doing
    theirs = loaded_after("import sklearn.gaussian_process, sklearn.model_selection, sklearn.svm")
    loaded = loaded_after("from gramsmith import *")
    assert "sklearn" in loaded
    assert not (loaded - theirs) & OPTIONAL


def test_importing_everything_warns_of_nothing():
    modules = [
        ".".join(path.relative_to(SRC.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in SOURCES
        if path.name != "__main__.py"
    ]
    code = f"import importlib\nfor name in {modules}: importlib.import_module(name)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=120)


def test_import_is_a_handful_of_modules():
    # time depends on the machine, the number of modules does not
    code = (
        "import sys; bare = set(sys.modules); import gramsmith; print(*(set(sys.modules) - bare))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert len(run.stdout.split()) <= 8, run.stdout


def test_one_version():
    """The package, its metadata, the citation and the changelog speak of one version."""
    version = gramsmith.__version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    entries = re.findall(r"^## \[(.+?)\]", log, re.MULTILINE)
    assert next(entry for entry in entries if entry != "Unreleased") == version
