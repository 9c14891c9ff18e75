"""Nodes one by one: what each kind of them may hold, and where its limits are."""

import numpy as np
import pytest
import scipy.sparse as sp

import gramsmith as gs
from gramsmith.storage import ModelFormatError, encode
from gramsmith.storage.container import DEPTH_LIMIT, TYPES
from gramsmith.storage.decode import COPIES, Decoder, whole
from gramsmith.storage.encode import Encoder, NotStorable


def decoded(node, **tensors):
    return Decoder(tensors).decode(node, "here")


def again(value):
    """Return a value, encoded and decoded."""
    encoder = Encoder()
    node = encoder.encode(value, "here")
    decoder = Decoder(encoder.tensors)
    found = decoder.decode(node, "here")
    decoder.finish()
    return found


def boxed(value):
    box = np.empty(1, dtype=object)
    box[0] = value
    return box


# How a value gets one level deeper; keys of dictionaries are tuples, a level by themselves.
LEVELS = {
    "list": lambda v: [v],
    "tuple": lambda v: (v,),
    "frozenset": lambda v: frozenset([v]),
    "dict": lambda v: {"a": v},
    "array": boxed,
    "parameter": lambda v: gs.Exp(v) if v else gs.Linear(),
}


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
def test_nesting_has_one_limit(level, sizes):
    value = 0
    for _ in range(DEPTH_LIMIT):
        value = level(value)
    node = Encoder().encode(value, "here")
    assert repr(decoded(node)) == repr(value)
    with pytest.raises(NotStorable, match=f"nesting below {DEPTH_LIMIT}"):
        Encoder().encode(level(level(value)), "here")
    sizes("storage.encode", DEPTH_LIMIT=1000)
    with pytest.raises(ModelFormatError, match=f"nested past {DEPTH_LIMIT}"):
        decoded(Encoder().encode(level(level(value)), "here"))


@pytest.mark.parametrize("leaf", [np.float64(1.5), sp.csr_array((1, 1))], ids=["number", "sparse"])
def test_what_can_be_written_can_be_read(leaf, sizes):
    """A number of NumPy and the arrays of a sparse matrix are a level deeper than they are."""
    value = leaf
    for _ in range(DEPTH_LIMIT - 1):
        value = [value]
    assert repr(again(value)) == repr(value)
    with pytest.raises(NotStorable):
        Encoder().encode([value], "here")
    sizes("storage.encode", DEPTH_LIMIT=1000)
    with pytest.raises(ModelFormatError, match="nested past"):
        again([value])


def test_numbers_within_numbers_are_nested_too():
    node = 1.5
    for _ in range(DEPTH_LIMIT + 1):
        node = {"$": "scalar", "dtype": "float64", "value": node}
    with pytest.raises(ModelFormatError, match="nested past"):
        decoded(node)


@pytest.mark.parametrize("part", ["key", "fitted"])
def test_keys_and_fitted_attributes_are_a_level_deeper(part, monkeypatch, sizes):
    def value(levels):
        inner = 0
        for _ in range(levels):
            inner = (inner,)
        if part == "key":
            return {inner: 0}
        model = gs.KernelSelector()
        model.summary_ = inner
        return model

    monkeypatch.setattr(encode.Encoder, "_check", lambda *given: None)  # of any type
    with pytest.raises(NotStorable):
        Encoder().encode(value(DEPTH_LIMIT), "here")
    Encoder().encode(value(DEPTH_LIMIT - 1), "here")
    sizes("storage.encode", DEPTH_LIMIT=1000)
    with pytest.raises(ModelFormatError, match="nested past"):
        decoded(Encoder().encode(value(DEPTH_LIMIT), "here"))


def test_keys_of_a_dictionary():
    known = {"a": 1, 2: "b", 2.5: None, False: [], b"x": 3, None: 4, np.int8(5): 6}
    found = again(known)
    assert found == known
    assert list(map(type, found)) == list(map(type, known))
    for keys in ([{"$": "tuple", "items": []}], ["a", "a"], [1, True]):
        with pytest.raises(ModelFormatError, match="unfit or repeated"):
            decoded({"$": "dict", "items": [[key, 0] for key in keys]})
    for pairs in (None, [1], [["a"]], [["a", 1, 2]], [("a", 1)]):
        with pytest.raises(ModelFormatError, match="pairs of key and value"):
            decoded({"$": "dict", "items": pairs})


def test_sets_stay_what_they_are():
    for known in (set(), {1, "a"}, frozenset(), frozenset([1.5, None])):
        found = again(known)
        assert (type(found), found) == (type(known), known)
    for kind in ("set", "frozenset"):
        with pytest.raises(ModelFormatError, match="repeated"):
            decoded({"$": kind, "items": [1, 1]})
        with pytest.raises(ModelFormatError, match="items of a set"):
            decoded({"$": kind, "items": [{"$": "list", "items": []}]})


@pytest.mark.parametrize("name", TYPES)
def test_numbers_keep_their_type(name):
    for value in (TYPES[name].type(1), np.array([0, 1, 1], dtype=name)):
        found = again(value)
        assert found.dtype == value.dtype
        assert np.array_equal(found, value)
    others = {"b": (1, 1.0), "f": (1, True), "i": (1.0, True, 2**70), "u": (1.0, False, -1)}
    for other in (*others[TYPES[name].kind], None, "1"):
        with pytest.raises(ModelFormatError, match=f"is no {name}"):
            decoded({"$": "scalar", "dtype": name, "value": other})


@pytest.mark.parametrize(
    "value", [np.nan, np.inf, -np.inf, 0.1, b"", b"\x00\xff", "", "λ"], ids=repr
)
def test_plain_values_return(value):
    found = again([value, value])
    assert type(found[0]) is type(value)
    assert np.array_equal(found, [value, value]) or np.isnan(found).all()


def test_whole_numbers():
    assert whole([0, 3, 2**48 - 1], "here") == (0, 3, 2**48 - 1)
    assert whole([4, 5], "here", 2) == (4, 5)
    for bad in ((1,), [-1], [2**48], [True], [1.0], None):
        with pytest.raises(ModelFormatError, match="here: expected whole numbers"):
            whole(bad, "here")
    for length in (1, 3):
        with pytest.raises(ModelFormatError, match="whole numbers"):
            whole([4, 5], "here", length)


def array_node(array, name="0", **other):
    shape = {"shape": list(array.shape), "order": "C"}
    return {"$": "array", "tensor": name, "dtype": array.dtype.name, **shape, **other}


def test_arrays_are_those_of_the_file():
    A = np.arange(6.0).reshape(2, 3)
    for order in "CF":
        found = decoded(array_node(A, order=order), **{"0": A})
        assert np.array_equal(found, A)
        assert found.flags[f"{order}_CONTIGUOUS"]
        assert not np.shares_memory(found, A)
    for other in ({"shape": [3, 2]}, {"dtype": "float32"}, {"order": "K"}, {"shape": [6]}):
        with pytest.raises(ModelFormatError, match="damaged"):
            decoded(array_node(A, **other), **{"0": A})
    for name in ("1", 0, None):
        with pytest.raises(ModelFormatError, match="absent"):
            decoded(array_node(A, name), **{"0": A})
    with pytest.raises(ModelFormatError, match="flags 0 and 1"):
        decoded(array_node(np.ones(2, bool)), **{"0": np.array([1, 2], np.uint8).view(bool)})
    flags = np.array([True, False])
    assert decoded(array_node(flags), **{"0": flags}).tolist() == [True, False]
    assert decoded(array_node(np.zeros(0, bool)), **{"0": np.zeros(0, bool)}).size == 0


def test_one_tensor_serves_a_few_arrays():
    A, B = np.ones(4), np.zeros(4)
    nodes = [array_node(A) for _ in range(2 * COPIES)]
    assert len(decoded({"$": "list", "items": nodes}, **{"0": A, "1": B})) == 2 * COPIES
    with pytest.raises(ModelFormatError, match="used too often"):
        decoded({"$": "list", "items": [*nodes, nodes[0]]}, **{"0": A, "1": B})
    decoder = Decoder({"0": A, "1": B})
    decoder.decode(nodes[0], "here")
    with pytest.raises(ModelFormatError, match="got 1 to spare"):
        decoder.finish()


def objects(items, shape=None, dtype="str"):
    shape = [len(items)] if shape is None else shape
    return {"$": "objects", "dtype": dtype, "shape": shape, "items": items}


def test_texts_and_objects():
    found = decoded(objects(["a", "bcd"]))
    assert (found.dtype, found.tolist()) == (np.dtype("<U3"), ["a", "bcd"])
    found = decoded(objects([1, None, "a", 2.5], [2, 2], "object"))
    assert (found.dtype, found.tolist()) == (np.dtype(object), [[1, None], ["a", 2.5]])
    assert decoded(objects([], [0, 3])).shape == (0, 3)
    assert decoded(objects(["a"], [1] * 8)).ndim == 8
    for bad in (objects(["a"], [2]), objects(["a"], [1] * 9), objects(["a"], dtype="bytes")):
        with pytest.raises(ModelFormatError, match="do not fill"):
            decoded(bad)
    with pytest.raises(ModelFormatError, match="texts only"):
        decoded(objects(["a", 1]))
    with pytest.raises(ModelFormatError, match="a list of items"):
        decoded(objects("ab", [2]))


def test_one_long_text_does_not_make_the_others_long():
    # 200 * 210 = 1 000 + 100 * 210 + 100 * 200, and 293 * 157 is one more than its limit
    for count, length, dtype in ((200, 210, "<U210"), (200, 211, object), (293, 157, object)):
        found = decoded(objects(["x" * length, *[""] * (count - 1)]))
        assert found.dtype == np.dtype(dtype)
        assert found[0] == "x" * length


CSR = sp.csr_array(np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]))


def sparse(data=CSR.data, indices=CSR.indices, indptr=CSR.indptr, shape=(2, 3), array=True):
    encoder = Encoder()
    parts = {"data": data, "indices": indices, "indptr": indptr}
    nodes = {name: encoder.encode(part, name) for name, part in parts.items()}
    node = {"$": "sparse", "array": array, "shape": list(shape), **nodes}
    return decoded(node, **encoder.tensors)


def test_sparse_matrices_stay_what_they_are():
    for kind in (sp.csr_array, sp.csr_matrix):
        found = again(kind(CSR))
        assert type(found) is kind
        assert np.array_equal(found.toarray(), CSR.toarray())
    assert again(sp.csr_array((0, 3))).shape == (0, 3)
    assert again(sp.csr_array((3, 0))).shape == (3, 0)


def ints(*values, dtype=CSR.indices.dtype):
    return np.array(values, dtype=dtype)


@pytest.mark.parametrize(
    "parts",
    [
        {"indices": ints(1, 3)},
        {"indices": ints(-1, 2)},
        {"indices": ints(1, 2, dtype=float)},
        {"indices": ints(1, 2, dtype=np.uint32), "indptr": ints(0, 2, 2, dtype=np.uint32)},
        {"indices": ints(1, 2, dtype=np.int16)},
        {"indices": ints(1)},
        {"indices": ints(0, 1, 2)},
        {"indptr": ints(0, 2)},
        {"indptr": ints(0, 2, 2, 2)},
        {"indptr": ints(0, 1, 1)},
        {"indptr": ints(1, 2, 2)},
        {"indptr": ints(0, 3, 2)},
        {"data": np.ones(1)},
        {"data": np.ones(3)},
        {"data": np.ones((2, 1))},
        {"data": np.array(["a", "b"])},
        {"shape": (1, 3)},
        {"shape": (3, 3)},
        {"shape": (2, 2)},
        {"shape": (2, 3, 1)},
        {"array": 1},
    ],
    ids=str,
)
def test_sparse_matrices_that_would_be_read_past_their_end(parts):
    assert sparse().shape == (2, 3)
    with pytest.raises(ModelFormatError):
        sparse(**parts)


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ([], "bare list"),
        ({}, "unknown kind None"),
        ({"$": "code"}, "unknown kind 'code'"),
        ({"$": ["list"]}, "unknown kind"),
        ({"$": "list"}, "expected a list with items"),
        ({"$": "list", "items": [], "more": 1}, "expected a list with items"),
        ({"$": "float", "value": "1.0"}, "unknown number"),
        ({"$": "bytes", "hex": "0"}, "hexadecimal"),
        ({"$": "bytes", "hex": 1}, "hexadecimal"),
        ({"$": "scalar", "dtype": "float16", "value": 1.0}, "unknown type"),
        ({"$": "scalar", "dtype": ["float64"], "value": 1.0}, "unknown type"),
    ],
)
def test_nodes_of_no_kind(node, words):
    with pytest.raises(ModelFormatError, match=words):
        decoded(node)


def kernel_node(**other):
    return {**Encoder().encode(gs.Gaussian(2.0), "k"), **other}


def test_objects_have_parts_by_name():
    assert decoded(kernel_node()).length_scale == 2.0
    for part in ("params", "fitted"):
        with pytest.raises(ModelFormatError, match=f"expected {part} by name"):
            decoded(kernel_node(**{part: []}))
    old = kernel_node(version=1)
    with pytest.raises(ModelFormatError, match="expected a object with"):
        decoded(old)
    assert Decoder({}, 2).decode(old, "here").length_scale == 2.0
