"""Ways to damage a model file: bytes, headers, manifests. Used by the tests of the loader."""

import json
import struct


def parts(data):
    """Split a file into header (as a dict), manifest (as a dict) and tensor bytes."""
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    manifest = json.loads(header["__metadata__"]["gramsmith"])
    return header, manifest, data[8 + length :]


def assemble(header, manifest, body):
    """Put a file together again, with a manifest that is a value or a text."""
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    header = {**header, "__metadata__": {"gramsmith": text}}
    raw = json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + body


def places(tree, path=()):
    """Yield the path of every value in nested JSON."""
    yield path
    children = tree.items() if isinstance(tree, dict) else ()
    children = enumerate(tree) if isinstance(tree, list) else children
    for key, value in children:
        yield from places(value, (*path, key))


def changed(tree, path, value):
    """Return a copy of nested JSON with the value at one path replaced."""
    if not path:
        return value
    key, *rest = path
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[key] = changed(copy[key], tuple(rest), value)
    return copy


def without(tree, path):
    """Return a copy of nested JSON without the value at one path."""
    *parents, key = path
    copy = json.loads(json.dumps(tree))
    holder = copy
    for step in parents:
        holder = holder[step]
    del holder[key]
    return copy
