"""Every public name explains itself: summary, parameters as in the signature, an example."""

import inspect
import re

from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

import gramsmith

# The codes of numpydoc that mean something is missing, wrong or in disorder. Left out are those
# about layout and those that want words where the type or the neighbour has said it all.
ENFORCED = {
    *("GL06", "GL07", "GL08", "GL10"),  # sections known, in order, there at all
    *("SS01", "SS02", "SS03", "SS06"),  # a summary: capital letter, full stop, one line
    *("PR01", "PR02", "PR03"),  # parameters: all, only, in order
    *("RT01", "YD01"),  # what comes back
    "EX01",  # an example, which the doctests run
}


# Public names, and what a measure of one's own is made of.
PUBLIC = {name: getattr(gramsmith, name) for name in gramsmith._PUBLIC} | {
    f"measures.{name}": getattr(gramsmith.measures, name) for name in ("Measure", "Scalar", "Sums")
}


def test_public_names_are_documented():
    wrong = []
    for public, item in PUBLIC.items():
        # An exception is raised, not called: its docstring says when.
        raised = inspect.isclass(item) and issubclass(item, Exception)
        codes = {"GL08", "SS03"} if raised else ENFORCED
        errors = validate(f"gramsmith.{public}")["errors"]
        wrong += [f"{public}: {code} {text}" for code, text in errors if code in codes]
    assert not wrong


def methods_of(item):
    """Yield the public methods that gramsmith defines for a class, wherever in its ancestry."""
    for attribute, method in inspect.getmembers(item, callable):
        owner = next((c for c in item.__mro__ if attribute in vars(c)), object)
        if not attribute.startswith("_") and owner.__module__.startswith("gramsmith"):
            yield attribute, method


def faults(method):
    """Return what is wrong with the docstring of a method, which it may have inherited."""
    text = inspect.getdoc(method)
    if not text:
        return "no docstring, of its own or inherited"
    if not text.splitlines()[0].endswith("."):
        return "the first line is no sentence"
    described = {
        spelled.strip().lstrip("*")
        for parameter in NumpyDocString(text)["Parameters"]
        for spelled in parameter.name.split(",")
    }
    taken = set(inspect.signature(method).parameters) - {"self"}
    if described and described != taken:
        return f"describes {sorted(described)}, takes {sorted(taken)}"
    return None


def test_public_methods_are_documented():
    wrong = {
        f"{public}.{name}": fault
        for public, item in PUBLIC.items()
        if inspect.isclass(item)
        for name, method in methods_of(item)
        if (fault := faults(method))
    }
    assert not wrong


def stated(kind):
    """Return the value after "default=" in the type of a parameter, None where there is none."""
    found = re.search(r"default=(.*)$", kind)
    return None if found is None else found.group(1).strip("`")


def defaults(name, item, text):
    """Yield what a docstring says wrongly of defaults: None needs no more than "optional"."""
    parameters = inspect.signature(item).parameters
    for described in NumpyDocString(inspect.cleandoc(text or ""))["Parameters"]:
        known = [parameters.get(part.strip().lstrip("*")) for part in described.name.split(",")]
        if len(known) != 1 or known[0] is None or not described.type:
            continue
        value = known[0].default
        if not isinstance(value, bool | int | float | str) or "UNCHANGED" in described.type:
            continue
        words = stated(described.type)
        try:
            said = None if words is None else eval(words, {})
        except (NameError, SyntaxError):
            said = words
        if said != value:
            yield f"{name}({described.name}={value!r}): {described.type}"


def test_defaults_are_stated():
    wrong = []
    for public, item in PUBLIC.items():
        if inspect.isclass(item) and issubclass(item, Exception):
            continue
        wrong += defaults(public, item, item.__doc__)
        if inspect.isclass(item):
            for name, method in methods_of(item):
                wrong += defaults(f"{public}.{name}", method, inspect.getdoc(method))
    assert wrong == []
