"""Model files of every kind, damaged and forged at random, and what becomes of them.

The default suite runs a few hundred (`tests/storage/test_mutations.py`).
"""

import copy
import json
import sys
import tempfile
import tracemalloc
import warnings
from functools import cache
from pathlib import Path

import numpy as np

import gramsmith as gs
from gramsmith.storage import inspect_model, model_card
from models.write_models import METHODS, new_samples
from tools import forgery
from tools.fuzz import Hanging, limited

MODELS = Path(__file__).parents[2] / "models"
FILES = sorted(MODELS.glob("*/*.safetensors"))

SECONDS = 20  # a mutant that takes longer hangs
SPARE = 1_500_000  # bytes that loading may take beside a few times the file: JSON, messages
COPIES = 20  # of the file
USE = 100_000_000  # bytes that an answer for eight samples may take

NUMBERS = [0, -1, 1, 2, 3, 7, 2**31, 10**9, 2**62, 2**70, 0.0, -0.0, 0.5, -2.5, 1e-300, 1e-160]
NUMBERS += [1e9, 1e149, -1e149, 1e151, 1e308, -1e308]
TEXTS = ["", "x", "precomputed", "rbf", "Gaussian", "os.system", "nan", "hinge", "l2", "\ud800"]
ODD = [None, True, False, [], {}, [1], {"$": "list", "items": []}, {"$": "float", "value": "nan"}]
ODD += [
    {"$": "float", "value": "inf"},
    {"$": "tuple", "items": [1, 2]},
    {"$": "bytes", "hex": "00"},
]
ODD += [{"$": "scalar", "dtype": "int64", "value": 10**9}, {"$": "dict", "items": [[1, 2]]}]
FLOATS = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1.0, 1e-320, 1e-160, 1e9, 1e77, -1e149, 1e308]


def mutant(data, rng):
    """Return a damaged or forged copy of a file, and in which way."""
    kind = str(rng.choice(list(KINDS), p=np.array(list(WEIGHTS)) / sum(WEIGHTS)))
    return kind, KINDS[kind](data, rng)


def _bytes(data, rng):
    """A few bytes anywhere, most of them where structure is."""
    made = bytearray(data)
    end = (
        len(data) if rng.random() < 0.3 else min(len(data), 8 + int.from_bytes(data[:8], "little"))
    )
    for place in rng.integers(0, end, size=rng.integers(1, 5)):
        made[place] = rng.integers(0, 256)
    return bytes(made)


def _length(data, rng):
    """Cut off, extended, a piece repeated or missing, another length of the header, or noise."""
    a, b = sorted(rng.integers(0, len(data), size=2))
    length = int.from_bytes(data[:8], "little") ^ (1 << int(rng.integers(64)))
    noise = rng.bytes(int(rng.integers(400)))
    return [
        *(data[:a], data + data[a:b], data[:a] + data[b:], data[:b] + data[a:]),
        length.to_bytes(8, "little") + data[8:],
        len(noise).to_bytes(8, "little") + noise,
    ][rng.integers(6)]


def _entries(data, rng):
    """Numbers of a tensor that are not those that were written."""
    header, manifest, body = forgery.parts(data)
    names = [name for name in header if name != "__metadata__"]
    if not names:
        return _values(data, rng)
    body = bytearray(body)
    for name in rng.choice(names, size=rng.integers(1, 3)):
        begin, end = header[name]["data_offsets"]
        kind = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4"}.get(
            header[name]["dtype"], "u1"
        )
        entries = np.frombuffer(bytes(body[begin:end]), dtype=kind).copy()
        if not entries.size:
            continue
        whole = rng.random() < 0.3
        places = slice(None) if whole else rng.integers(0, entries.size, size=rng.integers(1, 4))
        if entries.dtype.kind == "f":
            with np.errstate(over="ignore"):
                entries[places] = FLOATS[rng.integers(len(FLOATS))]
        else:
            limits = np.iinfo(entries.dtype)
            chosen = [0, 1, limits.max, limits.min, min(1000, limits.max), entries.max()]
            entries[places] = chosen[rng.integers(len(chosen))]
        body[begin:end] = entries.tobytes()
    return forgery.assemble(header, manifest, bytes(body))


def _values(data, rng):
    """Other values in the manifest, such as a stranger would write."""
    header, manifest, body = forgery.parts(data)
    for _ in range(rng.integers(1, 4)):
        places = list(forgery.places(manifest["model"]))
        place = places[rng.integers(len(places))]
        pool = (NUMBERS, NUMBERS, TEXTS, ODD)[rng.integers(4)]
        value = pool[rng.integers(len(pool))]
        manifest["model"] = forgery.changed(manifest["model"], place, copy.deepcopy(value))
        if not isinstance(manifest["model"], dict):
            break
    return forgery.assemble(header, manifest, body)


def _parameters(data, rng):
    """Other values of parameters alone: the structure stays sound."""
    header, manifest, body = forgery.parts(data)
    leaves = [
        place
        for place in forgery.places(manifest["model"])
        if "params" in place and not isinstance(_at(manifest["model"], place), dict | list)
    ]
    leaves = [place for place in leaves if place[-1] not in ("$", "class", "tensor")]
    for _ in range(rng.integers(1, 3)):
        if leaves:
            place = leaves[rng.integers(len(leaves))]
            pool = NUMBERS if rng.random() < 0.7 else [*TEXTS, *ODD]
            value = copy.deepcopy(pool[rng.integers(len(pool))])
            try:
                manifest["model"] = forgery.changed(manifest["model"], place, value)
            except (KeyError, TypeError):  # the one before has taken its parent
                continue
    return forgery.assemble(header, manifest, body)


def _moved(data, rng):
    """One node of the tree in the place of another, or of another file's."""
    header, manifest, body = forgery.parts(data)
    other = manifest
    if rng.random() < 0.4:
        other = forgery.parts(FILES[rng.integers(len(FILES))].read_bytes())[1]
    source = [p for p in forgery.places(other["model"]) if isinstance(_at(other["model"], p), dict)]
    target = [
        p for p in forgery.places(manifest["model"]) if isinstance(_at(manifest["model"], p), dict)
    ]
    node = copy.deepcopy(_at(other["model"], source[rng.integers(len(source))]))
    place = target[rng.integers(len(target))]
    manifest["model"] = forgery.changed(manifest["model"], place, node)
    return forgery.assemble(header, manifest, body)


def _removed(data, rng):
    """Without one entry of the manifest, or with a new one."""
    header, manifest, body = forgery.parts(data)
    places = [place for place in forgery.places(manifest) if place]
    place = places[rng.integers(len(places))]
    manifest = forgery.without(manifest, place)
    if rng.random() < 0.3:
        holder = _at(manifest, place[:-1])
        if isinstance(holder, dict):
            holder[TEXTS[rng.integers(9)]] = copy.deepcopy(ODD[rng.integers(len(ODD))])
    return forgery.assemble(header, manifest, body)


def _header(data, rng):
    """Other types, shapes and offsets of tensors."""
    header, manifest, body = forgery.parts(data)
    names = [name for name in header if name != "__metadata__"]
    if not names:
        return _values(data, rng)
    name = names[rng.integers(len(names))]
    field = ("dtype", "shape", "data_offsets")[rng.integers(3)]
    choices = {
        "dtype": ["F32", "I64", "U8", "BF16", "BOOL", "F16", "F64", "x"],
        "shape": [[], [0], [2**40], [2**62, 4], [1] * 40, [-1], [1, 2, 3], None],
        "data_offsets": [[0, 0], [0, 2**62], [8, 0], [0, 8], [-8, 8], [0]],
    }[field]
    header[name][field] = choices[rng.integers(len(choices))]
    return forgery.assemble(header, manifest, body)


def _shapes(data, rng):
    """A tensor of another size, in the header and in all nodes: only its meaning is wrong."""
    header, manifest, body = forgery.parts(data)
    names = [name for name in header if name != "__metadata__"]
    if not names:
        return _values(data, rng)
    name = names[rng.integers(len(names))]
    begin, end = header[name]["data_offsets"]
    shape = list(header[name]["shape"])
    size = (end - begin) // max(int(np.prod(shape)), 1)
    way = rng.integers(4)
    if way == 0 and shape:
        shape[rng.integers(len(shape))] = int(rng.integers(0, 4))
    elif way == 1:
        shape = shape[::-1]
    elif way == 2:
        shape = [int(np.prod(shape))] if len(shape) != 1 else [shape[0], 1]
    elif shape:
        axis = rng.integers(len(shape))
        shape[axis] = max(shape[axis] + int(rng.integers(-1, 2)), 0)
    wanted = int(np.prod(shape)) * size
    part = (body[begin:end] * (wanted // max(end - begin, 1) + 1))[:wanted]
    moved = wanted - (end - begin)
    if len(part) < wanted:
        part = part + b"\0" * (wanted - len(part))
    for other in names:
        if header[other]["data_offsets"][0] >= end and other != name:
            header[other]["data_offsets"] = [v + moved for v in header[other]["data_offsets"]]
    header[name] |= {"shape": shape, "data_offsets": [begin, begin + wanted]}
    for node in _nodes(manifest):
        if node.get("tensor") == name:
            node["shape"] = shape
    return forgery.assemble(header, manifest, body[:begin] + part + body[end:])


def _shared(data, rng):
    """Nodes that name another tensor, of a fitting shape or not."""
    header, manifest, body = forgery.parts(data)
    nodes = [node for node in _nodes(manifest) if "tensor" in node]
    if len(nodes) < 2:
        return _values(data, rng)
    a, b = (nodes[i] for i in rng.integers(0, len(nodes), size=2))
    a |= {key: b[key] for key in ("tensor", "dtype", "shape", "order")}
    return forgery.assemble(header, manifest, body)


KINDS = {
    "bytes": _bytes,
    "length": _length,
    "entries": _entries,
    "values": _values,
    "parameters": _parameters,
    "moved": _moved,
    "removed": _removed,
    "header": _header,
    "shapes": _shapes,
    "shared": _shared,
}
WEIGHTS = (2, 1, 3, 3, 3, 2, 1, 1, 3, 1)


def _at(tree, place):
    for step in place:
        tree = tree[step]
    return tree


def _nodes(tree):
    if isinstance(tree, dict):
        yield tree
    for item in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(item)


@cache
def inputs_of(folder):
    """Return what the files of a folder are asked about."""
    with np.load(folder / "inputs.npz") as stored:
        inputs = dict(stored)
    kinds = json.loads((folder / "kinds.json").read_text())
    return inputs, json.loads((folder / "table.json").read_text()), kinds


def outcome(data, original, path):
    """Return "refused", "answers", "refuses to answer", or a defect that begins with "!".

    Loading may raise ModelFormatError and nothing else; what has loaded may give finite numbers or
    raise a ValueError.
    """
    path.write_bytes(data)
    known = len(sys.modules)
    said = _measured(path, original, len(data))
    # modules that are imported by the way take memory once, and are no part of the file
    return said if known == len(sys.modules) else _measured(path, original, len(data))


def _measured(path, original, size):
    """Return the outcome of one look at a file, whose memory is watched."""
    tracemalloc.start()
    try:
        with limited(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _outcome(path, original, size)
    except Hanging:
        return "! hangs"
    finally:
        tracemalloc.stop()


def _outcome(path, original, size):
    for look in (inspect_model, model_card):
        try:
            look(path)
        except gs.ModelFormatError:
            pass
        except Exception as error:
            return f"! {look.__name__}: {type(error).__name__}: {error}"
    try:
        model = gs.load_model(path)
    except gs.ModelFormatError as error:
        if len(str(error)) > 2000:
            return "! a refusal of more than 2000 characters"
        return _within("refused", COPIES * size + SPARE)
    except Exception as error:
        return f"! load: {type(error).__name__}: {error}"
    found = _within("loaded", COPIES * size + SPARE)
    if found != "loaded":
        return found
    tracemalloc.reset_peak()
    return _within(use(model, original), USE)


def _within(found, limit):
    peak = tracemalloc.get_traced_memory()[1]
    return f"! {found} with {peak:,} bytes" if peak > limit else found


def use(model, original):
    """Ask a loaded model everything; return "answers", "refuses to answer" or a defect."""
    inputs, table, kinds = inputs_of(original.parent)
    new = new_samples(kinds[original.stem], inputs, table)
    asked = [method for method in METHODS if hasattr(model, method)]
    calls = [(method, getattr(model, method)) for method in asked]
    for holder in (model, getattr(model, "kernel_", None)):
        if callable(holder):
            calls.append((f"the kernel of {type(model).__name__}", holder))
    said = "answers"
    for name, call in calls:
        try:
            found = np.asarray(call(new))
        except ValueError as error:
            said = "refuses to answer"
            if len(str(error)) > 3000:
                return f"! {name} refuses in more than 3000 characters"
            continue
        except Exception as error:
            if isinstance(error, TypeError) and ": expected " in str(error):
                said = "refuses to answer"  # samples of the wrong kind
                continue
            return f"! {type(model).__name__}.{name}: {type(error).__name__}: {error}"
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            return f"! {type(model).__name__}.{name}: not finite"
    return said


def campaign(count, seed=0, files=FILES):
    """Yield (number, file, kind of mutation, outcome, bytes) of mutants, all files in turn."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant.safetensors"
        for number in range(count):
            original = files[number % len(files)]
            rng = np.random.default_rng([seed, number])
            kind, data = mutant(original.read_bytes(), rng)
            yield number, original, kind, outcome(data, original, path), data


def piece(rng):
    """Return a kind of mutation and what became of one mutant of any file."""
    original = FILES[rng.integers(len(FILES))]
    kind, data = mutant(original.read_bytes(), rng)
    with tempfile.TemporaryDirectory() as folder:
        return f"{kind}({original.stem})", outcome(data, original, Path(folder) / "m.safetensors")
