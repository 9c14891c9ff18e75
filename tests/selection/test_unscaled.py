"""Kernels of non-negative values see the columns as they are, in every step and in what is kept."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import gramsmith as gs
from gramsmith.selection import read
from gramsmith.tables.streams import DataError

FORMS = {
    "frame": lambda X: pd.DataFrame(X, columns=[f"bit {j}" for j in range(X.shape[1])]),
    "float": lambda X: X,
    "bool": lambda X: X.astype(bool),
    "sparse": sp.csr_array,
}
COUNTING = {
    "tanimoto": gs.Tanimoto(),
    "chi2": gs.Chi2(0.1),
    "additive": gs.as_kernel("additive_chi2"),
    "sum": gs.Tanimoto() + gs.Linear(),
    "product": gs.Tanimoto() * gs.Gaussian(3.0),
    "normalized": gs.Normalized(gs.Chi2() + gs.Linear()),
    "scaled": 2.0 * gs.Tanimoto(),
    "columns": gs.Tanimoto() @ gs.TakeColumns(range(10)) + gs.Gaussian() @ gs.TakeColumns([10]),
    "by count": gs.as_kernel("chi2", gamma="auto"),
}


@pytest.fixture
def bits(rng):
    """Sets of several sizes: two halves of the columns, and which of them is fuller."""
    X = (rng.random((90, 20)) < rng.uniform(0.1, 0.5, (90, 1))).astype(float)
    return X, X[:, :10].sum(axis=1) > X[:, 10:].sum(axis=1)


@pytest.mark.parametrize("form", FORMS)
def test_a_ranking_takes_sets_as_they_come(bits, form):
    X, y = bits
    given = FORMS[form](X)
    ranking = gs.rank_kernels(given, y, {"t": gs.Tanimoto()}, cv=3)
    selector = gs.KernelSelector({"t": gs.Tanimoto()}, cv=3).fit(given, y)
    plain = gs.rank_kernels(X, y, {"K": gs.Tanimoto()(X)}, cv=3)
    # as with the matrix that the user would compute
    assert ranking.records[0]["score"] == plain.records[0]["score"]
    encode = ranking.best_estimator.named_steps["encode"]
    np.testing.assert_array_equal(np.asarray(sp.csr_array(encode.transform(given)).todense()), X)
    np.testing.assert_array_equal(selector.predict(given), ranking.best_estimator.predict(given))


@pytest.mark.parametrize("name", COUNTING)
@pytest.mark.parametrize("form", ["frame", "bool"])
def test_every_kernel_of_such_values_does(bits, form, name):
    X, y = bits
    problem = read(FORMS[form](X), y, {name: COUNTING[name], "linear": gs.Linear()})
    views = [problem.samples.views[c.view] for c in problem.candidates]
    np.testing.assert_array_equal(views[0], X)
    np.testing.assert_allclose(views[1].mean(axis=0), 0.0, atol=1e-12)  # others are standardised


def test_names_and_grids(bits):
    X, y = bits
    grid = (gs.Chi2(), {"gamma": [0.1, 1.0]})
    found = gs.rank_kernels(X, y, ["tanimoto", "linear", "chi2", grid, np.eye(90)], cv=3)
    assert {"tanimoto", "linear", "chi2"} < {record["kernel"] for record in found.records}
    problem = read(X, y, ["tanimoto", "linear", "chi2", grid, np.eye(90)])
    seen = [problem.samples.views[c.view] for c in problem.candidates]
    for i in (0, 2, 3, 4):
        np.testing.assert_array_equal(seen[i], X)
    assert seen[5].shape == (90, 90)
    assert isinstance(gs.as_kernel("tanimoto"), gs.Tanimoto)
    assert len(read(X, y, ["auto", "tanimoto"]).samples.views) == 2


def test_each_of_several_views_has_its_own(bits, rng):
    X, y = bits
    Z = rng.normal(size=(90, 2))
    model = gs.rank_kernels((Z, X), y, ["rbf", "tanimoto"], cv=3, ensemble=False)
    problem = read((Z, X), y, ["rbf", "tanimoto"])
    _, second = problem.candidates
    np.testing.assert_array_equal(problem.samples.views[second.view], X)
    assert isinstance(model.best_kernel, gs.Tanimoto)
    assert model.best_estimator.predict((Z, X)).shape == (90,)


def test_what_is_kept_encodes_likewise(bits, stored):
    X, y = bits
    frame = FORMS["frame"](X)
    model = gs.rank_kernels(frame, y, ["tanimoto"], cv=3).best_estimator
    expected = model.predict_proba(frame)
    kept = stored(model)
    np.testing.assert_allclose(kept.predict_proba(frame), expected, rtol=0, atol=1e-12)
    explained = model.explain_row(frame.iloc[:1])
    K = gs.Tanimoto()(X[:1], X[explained.rows])[0]
    np.testing.assert_allclose(explained.distances, np.sqrt(2.0 - 2.0 * K), atol=1e-7)


def test_what_is_exported_encodes_likewise(bits):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = bits
    model = gs.rank_kernels(X, y, ["tanimoto"], cv=3).best_estimator
    graph = gs.to_onnx(model)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    names = {node.name: X for node in session.get_inputs()}
    labels = session.run(None, names)[0]
    np.testing.assert_array_equal(labels, model.predict(X))


def test_a_missing_cell_is_no_obstacle(bits):
    X, y = bits
    frame = FORMS["frame"](X)
    frame.iloc[3, 4] = np.nan
    assert gs.rank_kernels(frame, y, ["tanimoto"], cv=3).best_estimator.predict(frame).shape == (
        90,
    )


@pytest.mark.parametrize("form", ["frame", "float", "sparse"])
def test_a_negative_column_is_named(bits, form):
    X, y = bits
    X[:, 0] = 1.0  # a constant column is left out: the others are counted as the user does
    X[7, 5] = -2.0
    with pytest.raises(DataError) as caught:
        gs.rank_kernels(FORMS[form](X), y, ["linear", gs.Tanimoto()])
    assert caught.value.column == ("bit 5" if form == "frame" else "x5")
    assert caught.value.row == 7


def test_a_negative_value_of_no_weight_is_nobodys_concern(bits):
    X, y = bits
    X[7, 5] = -2.0
    read(X, y, ["tanimoto"], sample_weight=np.arange(90) != 7)


def test_an_encoding_below_zero_names_its_column(bits):
    X, y = bits
    frame = FORMS["frame"](X)
    frame["day"] = pd.date_range("2026-01-01", periods=90)
    with pytest.raises(DataError) as caught:
        gs.rank_kernels(frame, y, ["tanimoto"])
    assert caught.value.column == "day"
    gs.rank_kernels(frame, y, ["tanimoto"], cv=3, roles={"day": "drop"})
