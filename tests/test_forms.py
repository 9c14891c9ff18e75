"""Arrays as they come from files, other machines and other libraries: the same numbers for each."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import is_classifier

import gramsmith as gs
from gramsmith.evaluation.single_measures import measure_value
from gramsmith.tables import TableEncoder
from tools.machine_zoo import MACHINES, fixed, learners, points, strings
from tools.registry import KERNELS, KINDS, samples, targets


def read_only(A):
    A = A.copy()
    A.setflags(write=False)
    return A


def mapped(A, folder):
    path = folder / f"{len(list(folder.iterdir()))}.npy"
    np.save(path, A)
    return np.load(path, mmap_mode="r")


def strided(A):
    wide = np.zeros([2 * size for size in A.shape], A.dtype)
    view = wide[tuple(slice(None, None, -2) for _ in A.shape)]
    view[...] = A
    return view


def unaligned(A):
    place = np.zeros(A.nbytes + 1, np.uint8)
    view = np.ndarray(A.shape, A.dtype, place, offset=1)
    view[...] = A
    assert not view.flags.aligned
    return view


#: name -> (array, empty folder) -> the same numbers in another form
FORMS = {
    "big-endian": lambda A, folder: A.astype(A.dtype.newbyteorder(">")),
    "read-only": lambda A, folder: read_only(A),
    "memory map": mapped,
    "Fortran order": lambda A, folder: np.asfortranarray(A),
    "strides": lambda A, folder: strided(A),
    "unaligned": lambda A, folder: unaligned(A),
    "float16": lambda A, folder: A.astype(np.float16) if A.dtype.kind == "f" else A,
}


@pytest.fixture
def forms(tmp_path):
    """Yield functions that give arrays a form, one for each; see that nobody writes on them."""

    def each():
        for number, (form, make) in enumerate(FORMS.items()):
            folder, given = tmp_path / str(number), []
            folder.mkdir(exist_ok=True)

            def change(A, make=make, folder=folder, given=given):
                changed = make(np.asarray(A), folder)
                given.append((changed, changed.tobytes()))
                return changed

            yield change
            assert all(A.tobytes() == before for A, before in given), f"{form} was changed"

    return each


def in_float16(A):
    """Round to numbers that every form can hold."""
    return A.astype(np.float16).astype(np.float64)


def assert_same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name, forms, rng):
    kernel, _ = KERNELS[name]
    X, Z = (in_float16(samples(kernel, rng, n)) for n in (9, 7))
    for reshaped in forms():
        assert_same(kernel(reshaped(X)), kernel(X))
        assert_same(kernel(reshaped(X), reshaped(Z)), kernel(X, Z))
        assert_same(kernel.diag(reshaped(X)), kernel.diag(X))


@pytest.mark.filterwarnings("ignore:KernelPerceptron:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.__name__)
def test_machines(machine, forms):
    X, codes = points(24)
    X = in_float16(X)
    y = codes if is_classifier(machine()) else in_float16(codes + 0.25 * X[:, 0])
    plain = fixed(machine, gs.Gaussian(2.0)).fit(X, y)
    for reshaped in forms():
        found = fixed(machine, gs.Gaussian(2.0)).fit(reshaped(X), reshaped(y))
        np.testing.assert_allclose(found.predict(reshaped(X)), plain.predict(X), rtol=1e-7)
        if hasattr(plain, "decision_function"):
            values = found.decision_function(reshaped(X))
            np.testing.assert_allclose(values, plain.decision_function(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", KINDS)
def test_measures(name, forms, rng):
    X = in_float16(rng.normal(size=(20, 3)))
    K = in_float16(gs.Gaussian(1.3)(X))
    weights = in_float16(rng.uniform(0.5, 2.0, size=20))
    for kind, y in targets(rng, X).items():
        y = in_float16(y) if y.dtype.kind == "f" else y
        if kind in KINDS[name]:
            expected = measure_value(name, K, y, sample_weight=weights)
            for reshaped in forms():
                w = reshaped(weights)
                found = measure_value(name, reshaped(K), reshaped(y), sample_weight=w)
                assert_same(found, expected)


def test_sweeps(forms, rng):
    X = in_float16(rng.normal(size=(60, 3)))
    y = np.where(X[:, 0] > 0, "yes", "no")
    kernels = [gs.Gaussian(1.0), gs.Laplacian(2.0), gs.Linear()]
    plain = gs.evaluate(kernels, X, y)
    for reshaped in forms():
        found = gs.evaluate(kernels, reshaped(X), reshaped(y))
        for key, cell in plain.cells.items():
            assert_same(found.cells[key].value, cell.value)


@pytest.mark.parametrize("learner", learners(), ids=lambda learner: type(learner).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learners(learner, forms):
    X, y = points(40)
    X = in_float16(X)
    plain = learner.fit(X, y).kernel_(X)
    for reshaped in forms():
        found = learner.fit(reshaped(X), reshaped(y)).kernel_(reshaped(X))
        np.testing.assert_allclose(found, plain, rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_rankings(forms, rng):
    X = in_float16(rng.normal(size=(50, 2)))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    kernels = [gs.Gaussian(0.7), gs.Linear()]
    plain = gs.KernelSelector(kernels, random_state=0).fit(X, y)
    for reshaped in forms():
        found = gs.KernelSelector(kernels, random_state=0).fit(reshaped(X), reshaped(y))
        assert_same(found.ranking_.estimate.value, plain.ranking_.estimate.value)
        np.testing.assert_array_equal(found.predict(reshaped(X)), plain.predict(X))


@pytest.mark.parametrize("kernel", [gs.Spectrum(2), gs.Mismatch(3, 1), gs.Subsequence(2)])
def test_texts(kernel, forms):
    texts = np.array(strings(8)[0])
    for reshaped in forms():
        assert_same(kernel(reshaped(texts)), kernel(texts))


#: name -> a use of a table of numbers x and labels y
USES = {
    "kernel": lambda X, y: gs.Gaussian()(X),
    "measure": lambda X, y: gs.evaluate(gs.Gaussian(), X, y).scores("cka"),
    "machine": lambda X, y: gs.KernelRidgeClassifier().fit(X, y).predict(X),
    "encoder": lambda X, y: TableEncoder().fit_transform(X),
    "ranking": lambda X, y: gs.rank_kernels(X, y, ["rbf"], random_state=0).best_estimator.predict(
        X
    ),
    "selector": lambda X, y: gs.KernelSelector(["rbf"], random_state=0).fit(X, y).predict(X),
    "two samples": lambda X, y: gs.two_sample_test(X, X, n_permutations=9, random_state=0).pvalue,
    "representations": lambda X, y: gs.compare_representations([X]).values,
    "drift": lambda X, y: gs.drift_test(X, X, n_permutations=9, random_state=0).pvalue,
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("use", USES)
def test_frames_of_narwhals_are_those_within(use, rng):
    nw, pl = pytest.importorskip("narwhals"), pytest.importorskip("polars")
    frame = pl.DataFrame({"a": rng.normal(size=30), "b": rng.normal(size=30)})
    y = (frame["a"] > 0).to_numpy()
    expected = USES[use](frame, y)
    assert_array_equal(USES[use](nw.from_native(frame), y), expected)


@pytest.mark.parametrize("use", USES)
def test_lazy_frames_say_what_to_call(use, rng):
    pl = pytest.importorskip("polars")
    frame = pl.LazyFrame({"a": rng.normal(size=30), "b": rng.normal(size=30)})
    with pytest.raises(TypeError, match=r"X\.collect\(\)"):
        USES[use](frame, np.arange(30) % 2)


@pytest.mark.parametrize("use", [use for use in USES if use not in ("two samples", "drift")])
@pytest.mark.parametrize("kind", [np.array, list])
def test_rows_of_several_lengths_are_refused_by_row(use, kind, rng):
    rows = [kind(rng.normal(size=2 + (i == 7))) for i in range(30)]
    with pytest.raises(ValueError, match="rows of one length"):
        USES[use](rows, np.arange(30) % 2)
