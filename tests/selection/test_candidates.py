"""Candidates: by default, by name, as grids, as matrices, by view, learned."""

import numpy as np
import pytest
import scipy.sparse as sp

import gramsmith as gs
from gramsmith.selection import read
from gramsmith.selection.candidates import (
    ONE_HOT,
    default_candidates,
    learn_weights,
    median_distances,
    named_candidates,
    narrower,
    variant_candidates,
)
from gramsmith.selection.kinds import read_task


@pytest.fixture
def X(rng):
    return rng.normal(size=(30, 4))


def test_gaussian_path_doubles_gamma(X):
    widths = [c.kernel.length_scale for c in default_candidates(X) if c.family == "gaussian"]
    np.testing.assert_allclose(np.array(widths[:-1]) ** 2, 2.0 * np.array(widths[1:]) ** 2)


def test_path_surrounds_the_median_distance(X):
    widths = [c.kernel.length_scale for c in default_candidates(X) if c.family == "gaussian"]
    assert min(widths) < median_distances(X)[0] < max(widths)


def test_names_have_no_exponents(X):
    assert not any("e+" in c.name for c in default_candidates(300.0 * X))


def test_names_are_distinct(X):
    names = [c.name for c in default_candidates(X)]
    assert len(set(names)) == len(names)


def test_sparse_has_no_city_block(X):
    families = {c.family for c in default_candidates(sp.csr_array(X))}
    assert "laplacian" not in families
    assert "gaussian" in families


def test_strings_get_string_kernels():
    found = default_candidates(["abab", "bbaa", "abba"])
    assert {"spectrum", "weighted degree"} <= {c.family for c in found}
    assert all(np.isfinite(c.kernel(["abab", "bbaa"])).all() for c in found)


def test_many_symbols_are_compared_by_their_shares_too(rng):
    def strings(letters):
        return ["".join(rng.choice(list(letters), rng.integers(1, 20))) for _ in range(300)]

    dna, words = strings("ACGT"), strings("ACDEFGHIKLMNPQRSTVWY")
    assert "gaussian of spectra" not in {c.family for c in default_candidates(dna)}
    found = [c for c in default_candidates(words) if c.family == "gaussian of spectra"]
    assert [c.name[-6:] for c in found] == ["trum 1", "trum 2", "1 to 3"]
    for c in found:  # the width is the median distance
        K = c.kernel(words)[np.triu_indices(300, 1)]
        assert np.median(K[K < 1.0]) == pytest.approx(np.exp(-1.0), abs=0.03)
    same = default_candidates(["abcdefgh"] * 5)  # nothing differs: any width will do
    assert all(np.isfinite(c.kernel(["abcdefgh", "hgfedcba"])).all() for c in same)


def test_objects_without_kernels_are_refused():
    with pytest.raises(TypeError, match="sample of type dict"):
        default_candidates([{}, {}])


def test_grid_and_names(X):
    kernels = {"poly": (gs.Polynomial(), {"degree": [2, 3], "coef0": [0.0, 1.0]}), "lin": "linear"}
    found, _ = named_candidates(kernels, (X,))
    assert len(found) == 5
    assert found[-1].name == "lin"
    assert {c.family for c in found[:4]} == {"poly"}


def test_auto_in_a_list_adds_the_defaults(X):
    found, _ = named_candidates(["auto", gs.Constant(1.0) + gs.Linear()], (X,))
    assert len(found) == len(default_candidates(X)) + 1


def test_matrix_becomes_a_view(X):
    found, views = named_candidates({"mine": X @ X.T, "rbf": "rbf"}, (X,))
    assert isinstance(found[0].kernel, gs.Precomputed)
    assert views[found[0].view].shape == (30, 30)


def test_matrix_of_the_wrong_size_is_refused(X):
    with pytest.raises(ValueError, match="matrix of 30 samples"):
        named_candidates([np.eye(7)], (X,))


def test_one_kernel_per_view(X):
    found, _ = named_candidates(["linear", "rbf"], (X, X[:, :1]))
    assert [c.view for c in found] == [0, 1]
    with pytest.raises(ValueError, match="one kernel per view"):
        named_candidates(["linear"], (X, X))


def test_empty_list_is_refused(X):
    with pytest.raises(ValueError, match="at least one kernel"):
        named_candidates([], (X,))


def test_indicator_candidates_are_marked(X):
    assert all(c.name.endswith(ONE_HOT) for c in variant_candidates(X, 1, ONE_HOT))


def test_user_kernel_is_not_shared(X):
    kernel = gs.Gaussian(2.0)
    found, _ = named_candidates([kernel], (X,))
    assert found[0].kernel is not kernel


def test_identical_rows_have_a_distance():
    assert median_distances(np.ones((5, 2))) == (1.0, 1.0)


@pytest.fixture
def task(rng):
    X = rng.normal(size=(100, 4))
    task = read_task(X[:, 0] > 0)
    source = next(c for c in default_candidates(X) if c.family == "gaussian" and c.step == 0)
    return X, task, source


def test_shapes_of_learned_weights(task):
    X, task, source = task
    found = learn_weights(source, source, X, task, np.arange(100), 1)
    assert len({shape.name for shape in found}) == len(found) == 3
    plain, soft, chosen = (shape.kernel.map.S for shape in found)
    for weights in (plain, soft, chosen):
        assert weights[0] == weights.max()
    assert (plain**2 @ X.var(axis=0)) == pytest.approx(soft**2 @ X.var(axis=0))
    assert soft[1:].sum() / soft[0] > plain[1:].sum() / plain[0]
    assert set(chosen / chosen.max()) <= {0.0, 1.0}


def test_second_start_where_samples_are_many(task, sizes):
    X, task, source = task
    sizes(LEARN_TWICE_ROWS=50)
    found = learn_weights(source, source, X, task, np.arange(100), 2)
    assert len(found) == 6
    assert sum("second start" in shape.name for shape in found) == 3


def test_width_of_a_shape_is_a_factor(task):
    X, task, source = task
    wide = learn_weights(source, source, X, task, np.arange(60), 1)[0]
    narrow = narrower(wide, 2.0)
    assert narrow.name == f"{wide.name}, half the width"
    np.testing.assert_allclose(narrow.kernel(X), wide.kernel(X) ** 4)


def test_sets_and_counts_are_compared_by_what_they_share(rng):
    bits = (rng.random((60, 30)) < 0.2).astype(float)
    y = np.arange(60) % 2
    for X in (bits, 3.0 * bits, rng.poisson(0.5, (60, 30)), sp.csr_array(bits)):
        problem = read(X, y)
        found = [c for c in problem.candidates if c.family == "tanimoto"]
        assert len(found) == 1
        K = found[0].kernel(problem.samples.views[found[0].view])
        raw = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
        expected = gs.Tanimoto()(raw[:, raw.std(axis=0) > 0])
        np.testing.assert_allclose(K, expected, rtol=1e-12)
    for X in (bits - 0.5, bits + rng.random((60, 30)), bits[:, :5], bits + 1.0):
        assert not any(c.family == "tanimoto" for c in read(X, y).candidates)


def test_a_model_of_sets_takes_them_as_they_come(rng):
    X = (rng.random((80, 40)) < rng.uniform(0.05, 0.5, (80, 1))).astype(float)
    y = X[:, :10].mean(axis=1) > X[:, 10:].mean(axis=1)
    problem = read(X, y)
    tanimoto = next(c for c in problem.candidates if c.family == "tanimoto")
    machine = gs.KernelRidgeClassifier(gs.Tanimoto())
    model = problem.samples.pipeline(tanimoto, X, machine)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), machine.fit(X, y).predict(X))
