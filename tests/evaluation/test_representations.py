"""Representations: dense definitions, both ways, every kind of array, batches, errors."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.model_selection import KFold

import gramsmith as gs
from gramsmith.evaluation import representations
from oracle import textbook as tb


def dense(layers, measure, others=None):
    project = {"cka": tb.centred, "cka_debiased": tb.u_centred, "alignment": np.asarray}[measure]
    Ks, Ls = ([project(X @ X.T) for X in side] for side in (layers, others or layers))
    return np.array(
        [[np.sum(K * L) / np.sqrt(np.sum(K * K) * np.sum(L * L)) for L in Ls] for K in Ks]
    )


def related(rng, n, *widths):
    common = rng.normal(size=(n, 2))
    return [common @ rng.normal(size=(2, d)) + rng.normal(size=(n, d)) for d in widths]


@pytest.mark.parametrize("widths", [(3, 5, 2), (3, 70, 40)], ids=["features", "tiles"])
@pytest.mark.parametrize("measure", ["cka_debiased", "cka", "alignment"])
def test_pairs_as_in_the_textbook(measure, widths, rng, sizes):
    sizes("evaluation.representations", TILES=3 * 8 * 16, COLUMNS=2)
    layers = related(rng, 40, *widths)
    found = gs.compare_representations(layers, measure=measure)
    np.testing.assert_allclose(found.values, dense(layers, measure), atol=1e-12)
    single = gs.compare_representations([X.astype(np.float32) for X in layers], measure=measure)
    np.testing.assert_allclose(single.values, found.values, atol=1e-6)
    assert found.errors[0, 1] > 0
    folds = KFold(10, shuffle=True, random_state=np.random.RandomState(0)).split(layers[0])
    for value, (rows, _) in zip(found.left_out, folds, strict=True):
        np.testing.assert_allclose(value, dense([X[rows] for X in layers], measure), atol=1e-11)
    for power in (-25, 25):  # products of products are beyond single precision
        unit = [(X * 10.0**power).astype(np.float32) for X in layers]
        scaled = gs.compare_representations(unit, measure=measure)
        np.testing.assert_allclose(scaled.values, found.values, atol=1e-6)
    moved = gs.compare_representations([X + 1e3 for X in layers], measure="cka")
    np.testing.assert_allclose(moved.values, dense(layers, "cka"), atol=1e-9)


def test_other_kernels_and_measures(rng):
    layers = related(rng, 30, 3, 4)
    kernels = [gs.Gaussian(representations.median_distance(X)) for X in layers]
    Ks = [k(X) for k, X in zip(kernels, layers, strict=True)]
    found = gs.compare_representations(layers, kernel="gaussian")
    assert found.values[0, 1] == pytest.approx(gs.alignment(*Ks, debiased=True), rel=1e-10)
    plain = gs.compare_representations(layers, measure="alignment", kernel=gs.Polynomial(2))
    expected = gs.alignment(*(gs.Polynomial(2)(X) for X in layers))
    assert plain.values[1, 0] == pytest.approx(expected, rel=1e-10)
    K, L = (X @ X.T for X in layers)
    hsic = gs.compare_representations(layers, measure="hsic").values
    assert hsic[0, 1] == pytest.approx(np.sum(tb.centred(K) * L) / 29**2, rel=1e-10)
    unbiased = gs.compare_representations(layers, measure="hsic_unbiased").values
    assert unbiased[0, 1] == pytest.approx(tb.unbiased_hsic(K, L), rel=1e-10)


def test_two_sets_of_layers_and_how_they_are_shown(rng):
    a, b, c = related(rng, 50, 4, 3, 2)
    found = gs.compare_representations({"one": a}, {"two": b, "three": c})
    np.testing.assert_allclose(found.values, dense([a], "cka_debiased", [b, c]), atol=1e-12)
    assert (found.names, found.others) == (["one"], ["two", "three"])
    assert found.frame().loc["one", "two"] == found.values[0, 0]
    assert found.frame(errors=True).shape == (1, 2)
    assert "three" in str(found)
    assert "<table>" in found._repr_html_()
    assert [t.get_text() for t in found.plot().get_xticklabels()] == ["two", "three"]
    low, high = found.interval()
    assert (low < found.values).all()
    assert (found.values < high).all()


def test_kinds_of_arrays(rng, tmp_path):
    activations = rng.normal(size=(30, 4, 3, 2))
    flat, mean = activations.reshape(30, -1), activations.mean(axis=(2, 3))
    other = related(rng, 30, 5)[0]
    found = gs.compare_representations({"conv": activations}, [other])
    np.testing.assert_allclose(found.values, dense([flat], "cka_debiased", [other]), atol=1e-12)
    assert found.notes == ("conv: (30, 4, 3, 2) was flattened to 24 columns.",)
    assert found.notes[0] in found._repr_html_()
    found = gs.compare_representations([activations, other], pooling="mean")
    np.testing.assert_allclose(found.values, dense([mean, other], "cka_debiased"), atol=1e-12)
    assert "averaged over positions to 4 columns" in found.notes[0]
    tokens = rng.normal(size=(30, 6, 5))
    pooled = gs.compare_representations([tokens, other], pooling="mean")
    assert pooled.values[0, 1] == pytest.approx(
        dense([tokens.mean(1), other], "cka_debiased")[0, 1]
    )
    np.save(tmp_path / "layer.npy", other)
    mapped = np.load(tmp_path / "layer.npy", mmap_mode="r")
    for X in (mapped, other.tolist(), np.asfortranarray(other)):
        same = gs.compare_representations([X, flat])
        np.testing.assert_allclose(same.values, dense([other, flat], "cka_debiased"), atol=1e-12)
    half = gs.compare_representations([other.astype(np.float16), flat.astype(np.float16)])
    np.testing.assert_allclose(half.values, dense([other, flat], "cka_debiased"), atol=2e-3)
    whole = np.round(10 * other).astype(int)
    integers = gs.compare_representations([whole, flat])
    np.testing.assert_allclose(integers.values, dense([whole, flat], "cka_debiased"), atol=1e-12)


@pytest.mark.parametrize("widths", [(3, 5), (3, 70)], ids=["features", "tiles"])
def test_arrays_of_other_libraries_are_multiplied_where_they_are(widths, rng):
    layers = related(rng, 40, *widths)
    expected = gs.compare_representations(layers)
    strict = pytest.importorskip("array_api_strict")
    found = gs.compare_representations([strict.asarray(X) for X in layers])
    np.testing.assert_allclose(found.values, expected.values, atol=1e-12)
    assert not found.notes
    torch = pytest.importorskip("torch")
    tensors = [torch.tensor(X, requires_grad=True) for X in layers]
    found = gs.compare_representations(tensors)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-12)
    np.testing.assert_allclose(found.errors, expected.errors, atol=1e-12)
    assert not found.notes
    coarse = gs.compare_representations([X.to(torch.bfloat16) for X in tensors])
    np.testing.assert_allclose(coarse.values, expected.values, atol=0.02)
    curved = gs.compare_representations(tensors, kernel="gaussian")
    np.testing.assert_allclose(
        curved.values, gs.compare_representations(layers, kernel="gaussian").values, atol=1e-12
    )
    assert curved.notes == ("2 of 2 arrays were converted to NumPy.",)
    mixed = gs.compare_representations([tensors[0], layers[1]])
    np.testing.assert_allclose(mixed.values, expected.values, atol=1e-12)
    jax = pytest.importorskip("jax")
    found = gs.compare_representations([jax.numpy.asarray(X) for X in layers])
    np.testing.assert_allclose(found.values, expected.values, atol=1e-5)


def test_batches(rng):
    a, b = related(rng, 96, 3, 40)
    cuts = [slice(i, i + 16) for i in range(0, 96, 16)]
    found = gs.compare_representations({"a": a[cut], "b": b[cut]} for cut in cuts)
    inner = [
        [sum(tb.unbiased_hsic(X[c] @ X[c].T, Y[c] @ Y[c].T) for c in cuts) for Y in (a, b)]
        for X in (a, b)
    ]
    expected = inner[0][1] / np.sqrt(inner[0][0] * inner[1][1])
    assert found.values[0, 1] == pytest.approx(expected, rel=1e-12)
    assert found.n == 96
    assert len(found.left_out) == 6
    assert found.errors[0, 1] > 0
    two = gs.compare_representations(([a[cut]] for cut in cuts), ([b[cut]] for cut in cuts))
    assert two.values[0, 0] == pytest.approx(expected, rel=1e-12)
    short = gs.compare_representations([a[cut], b[cut]] for cut in [*cuts, slice(0, 5)])
    assert short.values[0, 1] == pytest.approx(expected, rel=1e-12)
    assert "5 rows instead of 16, is left out" in short.notes[0]
    curved = gs.compare_representations(([a[c], b[c]] for c in cuts), kernel="gaussian")
    assert 0 < curved.values[0, 1] < 1


def test_layers_that_do_not_vary_have_no_relation(rng):
    layers = [np.ones((20, 3)), rng.normal(size=(20, 3))]
    for measure in ("cka", "cka_debiased"):
        found = gs.compare_representations(layers, measure=measure)
        np.testing.assert_array_equal(found.values, [[0, 0], [0, 1]])
    few = gs.compare_representations([X[:5] for X in related(rng, 20, 2, 3)])
    assert np.isnan(few.errors).all() or np.isfinite(few.errors).all()


def test_values_of_other_libraries():
    a = np.sin(np.arange(64 * 6) * 1.7).reshape(64, 6)
    b = np.maximum(a @ np.cos(np.arange(6 * 5) * 0.9).reshape(6, 5), 0.0)
    layers = [a, b, np.tanh(b @ np.sin(np.arange(5 * 4) * 2.3).reshape(5, 4))]
    batches = ([layer[i : i + 16] for layer in layers] for i in range(0, 64, 16))
    found = {
        # torch_cka 0.21: one batch of 64 rows, then four of 16
        "torch_cka": gs.compare_representations(layers),
        "torch_cka, batches": gs.compare_representations(batches),
        # ckatorch 1.0.3: cka_base
        "ckatorch": gs.compare_representations(layers, measure="cka"),
    }
    values = {
        "torch_cka": (0.9206800951268135, 0.7157871703491465, 0.6829917568122298),
        "torch_cka, batches": (0.9149187142112156, 0.7005027612485492, 0.6683787708474624),
        "ckatorch": (0.9223812628331647, 0.7198567857976578, 0.6871721885127074),
    }
    for name, theirs in values.items():
        ours = found[name].values[np.triu_indices(3, 1)]
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, err_msg=name)


@pytest.mark.slow
def test_intervals_hold_the_average(rng):
    maps = np.random.default_rng(5)
    W = [maps.normal(size=(2, d)) for d in (4, 6)]

    def draw(seed):
        g = np.random.default_rng([7, seed])
        common = g.normal(size=(100, 2))
        return [common @ w + g.normal(size=(100, w.shape[1])) for w in W]

    average = np.mean([dense(draw(i), "cka_debiased")[0, 1] for i in range(600)])
    held = []
    for i in range(200):
        low, high = gs.compare_representations(draw(1000 + i)).interval()
        held.append(low[0, 1] <= average <= high[0, 1])
    assert 0.9 <= np.mean(held) <= 0.99


REFUSED = {
    "an array": (lambda X: gs.compare_representations(X), "Put a single array into a list"),
    "none": (lambda X: gs.compare_representations({}), "at least one array"),
    "rows": (lambda X: gs.compare_representations([X, X[:3]]), "same samples"),
    "axes": (lambda X: gs.compare_representations([np.ones((2,) * 5)]), "two to four axes"),
    "texts": (lambda X: gs.compare_representations([["a", "b"]]), "real numbers"),
    "complex": (lambda X: gs.compare_representations([X, X + 1j]), "real numbers"),
    "sparse": (lambda X: gs.compare_representations([csr_array(X)]), "dense rows"),
    "nan": (lambda X: gs.compare_representations({"a": X, "b": X * np.nan}), "b: expected finite"),
    "measure": (lambda X: gs.compare_representations([X], measure="kta"), "measure among"),
    "pooling": (lambda X: gs.compare_representations([X], pooling="max"), "pooling among"),
    "biased batches": (lambda X: gs.compare_representations(iter([[X]]), measure="cka"), "batches"),
    "small batches": (lambda X: gs.compare_representations(iter([[X[:3]]])), "at least 4 rows"),
    "growing": (lambda X: gs.compare_representations(iter([[X[:5]], [X]])), "Make them equal"),
    "inf": (lambda X: gs.compare_representations({"b": X * np.inf}), "b: expected finite"),
    "huge": (lambda X: gs.compare_representations([1e99 * X]), "Multiply them by a constant"),
    "tiny": (lambda X: gs.compare_representations([1e-99 * X]), "Multiply them by a constant"),
    "no rows": (lambda X: gs.compare_representations([X[:0]]), "at least 2 samples"),
    "no columns": (lambda X: gs.compare_representations([X[:, :0]]), r"shape \(10, 0\)"),
    "a list of batches": (lambda X: gs.compare_representations([{"a": X}]), "pass iter"),
    "fewer batches of others": (
        lambda X: gs.compare_representations(iter([[X], [X]]), iter([[X]])),
        "as many batches of others",
    ),
    "others at once": (lambda X: gs.compare_representations(iter([[X]]), [X]), "an iterator"),
    "a short batch between": (
        lambda X: gs.compare_representations(iter([[X], [X[:5]], [X]])),
        "Make them equal",
    ),
    "no batch": (lambda X: gs.compare_representations(iter([])), "at least one batch"),
    "other layers": (
        lambda X: gs.compare_representations(iter([{"a": X}, {"b": X}])),
        "same representations in every batch",
    ),
}


@pytest.mark.parametrize(("use", "words"), REFUSED.values(), ids=REFUSED)
def test_refused(use, words, rng):
    with pytest.raises((ValueError, TypeError), match=words):
        use(rng.normal(size=(10, 2)))
